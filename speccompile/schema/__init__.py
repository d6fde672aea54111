"""The JSON schemas as one library, and validation of trees against them. Imports `model` and `yaml_text`."""
