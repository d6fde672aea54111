from speccompile import Function

compiled = Function("train", image="python:3.12").run("job", inputs={"text": "x" * 300_000})
