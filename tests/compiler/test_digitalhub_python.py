"""The files that Python functions of DigitalHub run with, executed as in their pods."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from base64 import b64encode, urlsafe_b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers.programs import digitalhub_python

from speccompile import compile_run

MAIN = """
import functools

limit = 0


def init(context, size, unused=None):
    global limit
    limit = size
    context.ready = True


def train(context, event, table, epochs=1):
    return [context.ready, event.body, table, epochs, limit]


def everything(**values):
    return values


def of_run(run, event, size=1):
    return [run, event.body, size]


def doubled(function):
    @functools.wraps(function)
    def decorated(**values):
        return function(**values) * 2

    return decorated


@doubled
def double(size):
    return size


def predict(request):
    tensor = request.inputs[0]
    return [request.id, tensor.name, tensor.data, tensor.parameters, request.outputs, request.json()]
"""
DECORATED = """
from digitalhub_runtime_python import handler


@handler(outputs=["total", "report"])
def train(project_size, epochs=1):
    return [project_size, epochs]
"""
CALL = """
import json, sys
from types import SimpleNamespace

import handler

context = SimpleNamespace(ready=False)
handler.init_context(context)
for body in json.loads(sys.argv[1]):
    print(json.dumps(handler.handler(context, SimpleNamespace(body=body))))
"""


def unpacked(folder: Path, kind: str, spec: Mapping[str, Any], function: Mapping[str, Any]) -> None:
    """Write the files of the function's ConfigMap to the folder, as the init container does."""
    runtime = kind.partition("+")[0]
    documents = [
        {"kind": f"{kind}:run", "project": "demo", "id": "a1", "spec": {"function": f"{runtime}://demo/f:1", **spec}},
        {"kind": runtime, "project": "demo", "name": "f", "id": "1", "spec": function},
    ]
    (folder / "function.yaml").write_text(yaml.safe_dump(documents[1]), encoding="utf-8")
    compiled = compile_run(documents[0], platform="digitalhub", functions=[folder / "function.yaml"])
    data = next(one["data"] for one in yaml.safe_load_all(compiled.to_yaml()) if one["kind"] == "ConfigMap")
    for line in data["context-sources-map.txt"].splitlines():
        key, _, name = line.partition(",")
        assert urlsafe_b64decode(key + "=" * (-len(key) % 4)).decode() == name
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(data[key], encoding="utf-8")


def answers(folder: Path, *bodies: object, python: str = sys.executable) -> list[Any]:
    """What the handler returns for events with these bodies."""
    (folder / "call.py").write_text(CALL, encoding="utf-8")
    command = [python, "call.py", json.dumps(bodies)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def source(code: str = MAIN, **keys: str) -> dict[str, str]:
    return {"base64": b64encode(code.encode()).decode(), **keys}


def test_a_job_gets_its_inputs_and_parameters(tmp_path: Path) -> None:
    spec = {"inputs": {"table": "s3://a/b"}, "parameters": {"epochs": 3, "other": 1}, "init_parameters": {"size": 7}}
    function = {"python_version": "PYTHON3_12", "source": source(handler="train", init_function="init")}
    unpacked(tmp_path, "python+job", spec, function)
    assert answers(tmp_path, {}) == [[True, {}, "s3://a/b", 3, 7]]
    assert yaml.safe_load((tmp_path / "function.yaml").read_text())["spec"]["triggers"].keys() == {"job"}


def test_the_code_is_imported_once(tmp_path: Path) -> None:
    """Otherwise events would not see what the init function sets; handler and init function are in one module."""
    spec = {"parameters": {"table": "t"}, "init_parameters": {"size": 7}}
    code = source(source="src/code.py", handler="src.code:train", init_function="init")
    unpacked(tmp_path, "python+serve", spec, {"python_version": "PYTHON3_12", "source": code})
    assert answers(tmp_path, "a", "b") == [[True, "a", "t", 1, 7], [True, "b", "t", 1, 7]]


def test_a_function_with_keywords_gets_the_given_values_only(tmp_path: Path) -> None:
    function = {"python_version": "PYTHON3_12", "source": source(handler="everything")}
    unpacked(tmp_path, "python+job", {"parameters": {"a": None, "b": 'it\'s "so"\n'}}, function)
    assert answers(tmp_path, {}) == [{"a": None, "b": 'it\'s "so"\n'}]


def test_a_function_can_ask_for_its_run_which_is_none(tmp_path: Path) -> None:
    function = {"python_version": "PYTHON3_12", "source": source(handler="of_run")}
    unpacked(tmp_path, "python+job", {"parameters": {"size": 3}}, function)
    assert answers(tmp_path, {}) == [[None, {}, 3]]


def test_decorators_of_a_function_apply(tmp_path: Path) -> None:
    function = {"python_version": "PYTHON3_12", "source": source(handler="double")}
    unpacked(tmp_path, "python+job", {"parameters": {"size": 3}}, function)
    assert answers(tmp_path, {}) == [6]


def test_the_decorator_of_the_sdk_reports_no_outputs(tmp_path: Path) -> None:
    """It expects a project and the key of a run as its first arguments."""
    function = {"python_version": "PYTHON3_12", "source": source(DECORATED, handler="train")}
    unpacked(tmp_path, "python+job", {"parameters": {"project_size": 3}}, function)
    assert answers(tmp_path, {}, python=digitalhub_python()) == [[3, 1]]


def test_a_model_gets_the_request(tmp_path: Path) -> None:
    function = {"python_version": "PYTHON3_12", "model_name": "m", "source": source(handler="predict")}
    unpacked(tmp_path, "openinference+serve", {}, function)
    body = {"id": "1", "parameters": {"a": 1}, "inputs": [{"name": "x", "data": [1, 2]}]}
    first, second = answers(tmp_path, body, json.dumps(body))
    *attributes, text = first
    assert attributes == ["1", "x", [1, 2], None, []]
    assert json.loads(text)["inputs"][0].items() >= {"name": "x", "shape": None}.items()
    assert second == first


@pytest.mark.parametrize("has_layer", [False, True])
def test_the_entrypoint_installs_packages_and_starts_the_processor(has_layer: bool, tmp_path: Path) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash")
    function = {"python_version": "PYTHON3_12", "source": source(handler="train"), "requirements": ["acme==1"]}
    unpacked(tmp_path, "python+job", {}, function)
    subprocess.run([bash, "-n", tmp_path / "entrypoint.sh"], check=True)
    log, wheels, home = tmp_path / "log", tmp_path / "whl", tmp_path / "home"
    wheels.mkdir()
    (home / ".venv" / "bin").mkdir(parents=True)
    (home / ".venv" / "bin" / "activate").write_text(f"echo activated >>{log}\n")
    for name in ("processor", "python3", "uv"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho {name} "$@" >>{log}\n')
        (tmp_path / name).chmod(0o755)
    (tmp_path / "common.txt").touch()
    layer = ["--common_requirements", f"{tmp_path}/common.txt,{tmp_path}/none.txt", "--uv_path", f"{tmp_path}/uv"]
    layer += ["--wheel_path", f"{wheels}"]
    command = [bash, f"{tmp_path}/entrypoint.sh", "--processor", f"{tmp_path}/processor", "--config", "function.yaml"]
    command += ["--requirements", f"{tmp_path}/requirements.txt", *(layer if has_layer else [])]
    subprocess.run(command, env={"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(home)}, check=True)
    calls = log.read_text().replace(str(tmp_path), ".").splitlines()
    if has_layer:
        assert calls == [
            "uv venv ./home/.venv --system-site-packages --allow-existing --cache-dir ./home/.uv_cache",
            "activated",
            "uv pip install --cache-dir ./home/.uv_cache --no-index --find-links ./whl -r ./common.txt",
            "uv pip install --cache-dir ./home/.uv_cache --find-links ./whl -r ./requirements.txt",
            "processor --config function.yaml",
        ]
    else:
        assert calls == ["python3 -m pip install --user -r ./requirements.txt", "processor --config function.yaml"]
