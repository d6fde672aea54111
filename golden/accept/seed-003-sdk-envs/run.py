from speccompile import Function

func = Function("train", image="python:3.12")
compiled = func.run(
    action="job",
    envs=[
        {"name": "HF_HOME", "value": "/local-data/huggingface"},
        {"name": "TRANSFORMERS_CACHE", "value": "/local-data/huggingface"},
    ],
)
