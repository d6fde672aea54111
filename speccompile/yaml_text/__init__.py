"""YAML and JSON text to trees and back. Imports `model`."""
