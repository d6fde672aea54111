from speccompile import Function

func = Function(
    "sentiment",
    image="ghcr.io/acme/sentiment:3.1",
    project="language",
    command=["python", "-m", "serve"],
    kind="container",
    profiles=[{"id": "gpu", "resources": {"gpu": 1}, "run_as_user": 1000}],
    platform={"gpu_key": "amd.com/gpu", "service_type": "NodePort"},
)
compiled = func.run(
    "serve",
    profile="gpu",
    resources={"cpu": 0.5, "gpu": 2},
    service_ports=[{"port": 80, "target_port": 8080}],
    schedule=None,
)
