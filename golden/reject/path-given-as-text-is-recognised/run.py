from speccompile import compile_run

compiled = compile_run("run.yaml")
