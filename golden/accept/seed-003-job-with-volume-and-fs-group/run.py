from speccompile import Function

func = Function("train", image="python:3.12")
compiled = func.run(
    action="job",
    fs_group="8877",
    args=["main.py", "--year", "2024"],
    resources={"mem": "32Gi", "cpu": "6"},
    volumes=[
        {
            "volume_type": "persistent_volume_claim",
            "name": "volume-deforestation",
            "mount_path": "/app/files",
            "spec": {"size": "350Gi"},
        }
    ],
)
