"""Evaluate a Jsonnet program to text and print it."""

import json
import sys

import rjsonnet

sys.stdout.write(json.loads(rjsonnet.evaluate_file(sys.argv[1])))
