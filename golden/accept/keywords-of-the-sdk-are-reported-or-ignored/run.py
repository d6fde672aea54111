from speccompile import Function


class Dataset:
    """Stands in for a data item of the SDK."""

    key = "store://demo/dataitem/table/employees"


function = Function("train", image="python:3.12", project="demo")
compiled = function.run(
    action="job",
    inputs={"employees": Dataset()},
    parameters={"epochs": 3},
    instructions=["pip3 install torch"],
    max_length=5000,
    init_parameters=None,
    local_execution=False,
    wait=True,
)
