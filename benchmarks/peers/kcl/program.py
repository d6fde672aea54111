"""Evaluate a KCL program on a profile and a glob of runs, and print the YAML."""

import sys

from kcl_lib import api

_PROGRAM, _FIXED, _RUNS = sys.argv[1:]
_ARGUMENTS = [api.Argument(name="fixed", value=f'"{_FIXED}"'), api.Argument(name="runs", value=f'"{_RUNS}"')]
_RESULT = api.API().exec_program(api.ExecProgramArgs(k_filename_list=[_PROGRAM], args=_ARGUMENTS))
sys.stdout.write(_RESULT.yaml_result)
sys.exit(_RESULT.err_message or 0)
