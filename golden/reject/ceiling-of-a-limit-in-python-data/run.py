from speccompile import Function

compiled = Function("train", image="python:3.12", platform={"ceilings": {"cpu": 4}}).run(
    "job", resources={"cpu": {"requests": 1, "limits": 8}}
)
