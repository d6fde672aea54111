from pathlib import Path

from speccompile import CompileError, compile_run
from speccompile.verify import violations

run = {"name": "train", "action": "job", "image": "python:3.12", "profile": "slow"}
compiled = compile_run(run, profiles=[Path("profiles")])
raise CompileError(violations(compiled, "1.33.0"))
