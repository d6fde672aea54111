"""Takes a Jsonnet program that gives a text, gives the text."""

import json
import sys

import rjsonnet

sys.stdout.write(json.loads(rjsonnet.evaluate_file(sys.argv[1])))
