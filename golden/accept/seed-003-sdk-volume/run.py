from speccompile import Function

func = Function("train", image="python:3.12")
compiled = func.run(
    action="job",
    volumes=[
        {
            "volume_type": "persistent_volume_claim",
            "name": "my-pvc",
            "mount_path": "/data",
            "spec": {"size": "10Gi"},
        }
    ],
)
