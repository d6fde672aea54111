from speccompile import compile_run

TEXT = """\
name: one
action: job
image: python:3.12
---
name: two
action: job
image: python:3.12
"""

compiled = compile_run(TEXT)
