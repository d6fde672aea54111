from speccompile import Function

func = Function("train", image="python:3.12", profiles=["profiles"])
value = "store://vision/dataitem/table/images"
compiled = func.run(
    action="job",
    inputs={"input1": value},
    profile="1xa100",  # selected hardware profile
    resources={"mem": "6Gi"},
    volumes=[
        {
            "volume_type": "persistent_volume_claim",
            "name": "train-volume",
            "mount_path": "/local-data",
            "spec": {"size": "10Gi"},
        }
    ],
)
