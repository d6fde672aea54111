from speccompile import Function

func = Function("train", image="python:3.12")
compiled = func.run(action="job", run_as_user=1000)
