from speccompile import Function

func = Function("train", image="python:3.12")
compiled = func.run(action="job", resources={"mem": "32Gi"})
