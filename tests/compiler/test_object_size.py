"""Sizes of objects: what real kubectl adds to an object that it applies, and where the limits are."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from helpers.programs import program

from speccompile import Compiled, compile_run
from speccompile.compiler.object_size import MAX_ANNOTATIONS, MAX_CONFIG_MAP, _applied_size
from speccompile.model.findings import CompileError

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_DISCOVERY: dict[str, Any] = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [
            {
                "name": "batch",
                "versions": [{"groupVersion": "batch/v1", "version": "v1"}],
                "preferredVersion": {"groupVersion": "batch/v1", "version": "v1"},
            }
        ],
    },
    "/apis/batch/v1": {
        "kind": "APIResourceList",
        "groupVersion": "batch/v1",
        "resources": [
            {"name": "jobs", "namespaced": True, "kind": "Job", "verbs": ["create", "get", "patch"]},
        ],
    },
}


class _Api(BaseHTTPRequestHandler):
    """As much of an API server as `kubectl apply` needs to create a Job."""

    def do_GET(self) -> None:
        answer = _DISCOVERY.get(self.path.partition("?")[0])
        self._answer(200 if answer else 404, answer or {"kind": "Status", "status": "Failure", "reason": "NotFound"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.created.append(body)  # type: ignore[attr-defined]
        self._answer(201, body)

    def _answer(self, code: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def api_server() -> Iterator[tuple[str, list[Any]]]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Api) as server:
        server.created = []  # type: ignore[attr-defined]
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", server.created  # type: ignore[attr-defined]
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("fields", [{}, {"annotations": {"a/b": '<&>"é\u2028\\'}, "parameters": {"text": "x<y\n"}}])
@pytest.mark.parametrize("platform", [{}, {"namespace": "team"}])
def test_the_annotation_of_kubectl_has_this_size(fields: Any, platform: Any, tmp_path: Path) -> None:
    compiled = compile_run({"name": "train", "action": "job", "image": "python", **fields}, platform=platform)
    (tmp_path / "job.yaml").write_text(compiled.to_yaml())
    kubectl = [
        program("kubectl"),
        "apply",
        "--validate=false",
        "--cache-dir",
        str(tmp_path / "cache"),
        "-f",
        "job.yaml",
    ]
    with api_server() as (address, created):
        done = subprocess.run(
            [*kubectl, "--server", address], cwd=tmp_path, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    assert len(created[0]["metadata"]["annotations"][LAST_APPLIED].encode()) == _applied_size(compiled.manifests[0])


def sized(**fields: Any) -> Compiled:
    return compile_run({"name": "train", "action": "job", "image": "python", **fields})


def codes(**fields: Any) -> list[str]:
    try:
        return [finding.code for finding in sized(**fields).diagnostics]
    except CompileError as error:
        return [finding.code for finding in error.diagnostics]


def test_the_limits_are_exact() -> None:
    small = sized(annotations={"a/b": ""})
    other = _applied_size(small.manifests[0]) + len("a/b") + len(LAST_APPLIED)
    # The value is in the annotation, and in the copies of the Job and of its pod template.
    fitting, rest = divmod(MAX_ANNOTATIONS - other, 3)
    assert codes(annotations={"a/b": "x" * fitting}) == []
    assert codes(annotations={"a/b": "x" * (fitting + 1)}) == ["policy/too-large-to-apply"]
    assert codes(annotations={"a/b": "x" * (MAX_ANNOTATIONS - 3)}) == ["policy/too-large-to-apply"]
    assert codes(annotations={"a/b": "x" * (MAX_ANNOTATIONS - 2)}) == ["policy/annotations-too-large"]
    assert rest < 3


def test_files_of_config_maps_have_limits() -> None:
    def with_file(size: int) -> list[str]:
        files = {
            "volume_type": "config_map",
            "name": "files",
            "mount_path": "/files",
            "spec": {"data": {"a": "x" * size}},
        }
        return codes(volumes=[files])

    assert with_file(MAX_ANNOTATIONS - 1000) == []
    assert with_file(MAX_ANNOTATIONS) == with_file(MAX_CONFIG_MAP) == ["policy/too-large-to-apply"]
    assert with_file(MAX_CONFIG_MAP + 1) == ["policy/refused-by-kubernetes"]


def test_annotations_of_base_documents_count() -> None:
    metadata = {"annotations": {"a/b": "x" * (MAX_ANNOTATIONS // 2)}}
    base = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": {"metadata": metadata}}}
    run = {"name": "train", "action": "job", "image": "python", "profile": "p", "annotations": {"c/d": "x" * 200_000}}
    with pytest.raises(CompileError) as caught:
        compile_run(run, profiles=[[{"id": "p"}, base]])
    assert [finding.code for finding in caught.value.diagnostics] == ["policy/annotations-too-large"]
