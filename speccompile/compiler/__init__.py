"""The compiler: `pipeline` is the whole of it on one page, with one module per stage beside it.

Imports `model`, `yaml_text` and `schema`.
"""
