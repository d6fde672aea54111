from speccompile import Function

func = Function("train", image="python:3.12")
compiled = func.run(action="job", secrets=["CDSETOOL_ESA_USER", "CDSETOOL_ESA_PASSWORD"])
