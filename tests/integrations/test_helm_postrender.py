"""The post-renderer for Helm: runs of a chart become manifests, and every other byte of the stream stays."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers.command_line import Answer, piped
from helpers.paths import ROOT
from helpers.programs import program
from hypothesis import given
from hypothesis import strategies as st

from speccompile import compile_run
from speccompile.integrations.helm_postrender import EMPTY_OUTPUT, split_stream

PLUGIN = ROOT / "contrib" / "helm"
FILENAME = "postrenderer.helm.sh/postrender-filename"

RUN = """\
apiVersion: speccompile.dev/v1alpha1
kind: Run
metadata:
  name: {name}
spec:
  action: job
  image: python:3.12
"""
SERVER = """\
apiVersion: speccompile.dev/v1alpha1
kind: Run
metadata:
  name: {{ .Release.Name }}-web
  namespace: {{ .Release.Namespace }}
  labels:
    helm.sh/chart: demo
spec:
  action: serve
  profile: small
  image: {{ .Values.image | quote }}
  service_ports:
  - port: 80
"""
HOOK = """\
apiVersion: speccompile.dev/v1alpha1
kind: Run
metadata:
  name: migrate
  annotations:
    helm.sh/hook: pre-install
    helm.sh/hook-weight: "-5"
spec:
  action: job
  image: python:3.12
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: hooked
  annotations:
    helm.sh/hook: pre-install
"""
PLAIN = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: plain
data:
  # a comment
  text: |
    apiVersion: speccompile.dev/v1alpha1
    kind: Run
  answer: "no"
"""
PROFILE = "id: small\nresources: {mem: 1Gi}\n"


def called(text: str | bytes, *arguments: str) -> Answer:
    """The post-renderer called with the text on standard input."""
    return piped(text, "helm", *arguments)


def rendered(run: str | Mapping[str, Any]) -> str:
    return compile_run(run).to_yaml()


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chart with runs, a hook and plain objects, beside a profile."""
    monkeypatch.chdir(tmp_path)
    Path("chart/templates").mkdir(parents=True)
    Path("chart/Chart.yaml").write_text("apiVersion: v2\nname: demo\nversion: 0.1.0\n")
    Path("chart/values.yaml").write_text("image: python:3.12\n")
    Path("chart/templates/plain.yaml").write_text(PLAIN)
    Path("chart/templates/web.yaml").write_text(SERVER)
    Path("chart/templates/hook.yaml").write_text(HOOK)
    Path("small.yaml").write_text(PROFILE)


Helm = Callable[..., Answer]


def _helm(name: str, home: Path) -> Helm:
    binaries = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    homes = {f"HELM_{kind}_HOME": str(home / kind) for kind in ("DATA", "CACHE", "CONFIG")}
    environment = {**os.environ, "PATH": binaries, **homes}

    def call(*arguments: str, stderr: int = subprocess.PIPE) -> Answer:
        command = [program(name), *arguments]
        streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": stderr, "text": True}
        done = subprocess.run(command, check=False, env=environment, timeout=60, **streams)
        return Answer(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture(scope="module")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Helm 4 with the plugin."""
    call = _helm("helm", tmp_path_factory.mktemp("helm"))
    installed = call("plugin", "install", str(PLUGIN))
    assert installed.code == 0, installed.stderr
    return call


@pytest.fixture(scope="module")
def helm3(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    return _helm("helm3", tmp_path_factory.mktemp("helm3"))


TEMPLATE = ("template", "rel", "chart", "--namespace", "team")
WITH_PROFILE = ("--post-renderer-args", "--profiles", "--post-renderer-args", "small.yaml")
HELM_4 = ("--post-renderer", "speccompile")
HELM_3 = ("--post-renderer", str(PLUGIN / "speccompile-postrender"))


def objects(text: str) -> dict[tuple[str, str], dict[str, Any]]:
    found = [one for one in yaml.safe_load_all(text) if one]
    named = {(one["kind"], one["metadata"]["name"]): one for one in found}
    assert len(named) == len(found)
    return named


def expected(*, with_hook: bool) -> dict[tuple[str, str], dict[str, Any]]:
    """What `render` makes of the runs of the chart, and what Helm makes of the rest."""
    server = SERVER
    for old, new in (
        ("{{ .Release.Name }}", "rel"),
        ("{{ .Release.Namespace }}", "team"),
        ("{{ .Values.image | quote }}", "python:3.12"),
    ):
        server = server.replace(old, new)
    hook, hooked = HOOK.split("---\n")
    made = compile_run(server, profiles=["small.yaml"]).to_yaml()
    migrated = rendered(hook) if with_hook else hook
    return objects(f"{PLAIN}---\n{made}---\n{migrated}---\n{hooked}")


def sources(text: str) -> dict[str, str]:
    """The template that each object names as its origin."""
    parts = [part.text for part in split_stream(text) if part.text.strip()]
    lines = [part.strip().partition("\n") for part in parts]
    return {
        f"{one['kind']}/{one['metadata']['name']}": head for head, _, body in lines if (one := yaml.safe_load(body))
    }


def test_helm_4_with_the_plugin_produces_what_render_does_and_keeps_the_rest(helm: Helm) -> None:
    found = helm(*TEMPLATE, *HELM_4, *WITH_PROFILE)
    assert found.code == 0, found.stderr
    assert objects(found.stdout) == expected(with_hook=True)
    assert FILENAME not in found.stdout
    assert sources(found.stdout) == {
        "ConfigMap/plain": "# Source: demo/templates/plain.yaml",
        "Deployment/rel-web": "# Source: demo/templates/web.yaml",
        "Service/rel-web": "# Source: demo/templates/web.yaml",
        "Job/migrate": "# Source: demo/templates/hook.yaml",
        "ConfigMap/hooked": "# Source: demo/templates/hook.yaml",
    }


def test_helm_3_with_the_script_produces_the_same_except_hooks_which_it_does_not_pass_on(helm3: Helm) -> None:
    found = helm3(*TEMPLATE, *HELM_3, *WITH_PROFILE)
    assert found.code == 0, found.stderr
    assert objects(found.stdout) == expected(with_hook=False)
    assert sources(found.stdout)["Service/rel-web"] == "# Source: demo/templates/web.yaml"
    assert f"---\n# Source: demo/templates/plain.yaml\n{PLAIN}" in found.stdout


def test_manifests_of_a_hook_are_hooks(helm: Helm) -> None:
    found = helm(*TEMPLATE, *HELM_4, *WITH_PROFILE, "--no-hooks")
    assert found.code == 0, found.stderr
    assert {name for _, name in objects(found.stdout)} == {"plain", "rel-web"}


def test_findings_are_shown_and_nothing_is_rendered(helm: Helm, helm3: Helm) -> None:
    for call, options in ((helm, HELM_4), (helm3, HELM_3)):
        found = call(*TEMPLATE, *options)
        assert (found.code, found.stdout.strip()) == (1, "")
        assert "error[profile/unknown]" in found.stderr
        assert "  --> demo/templates/web.yaml (Run rel-web):" in found.stderr


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the plugin finds Helm's standard error there")
@pytest.mark.parametrize("kind", ["pipe", "file", "appended", "fifo", "socket"])
def test_findings_are_printed_like_errors_of_helm_4_and_never_block_it(helm: Helm, kind: str) -> None:
    Path("err").write_text("before\n")
    os.mkfifo("fifo")
    held = os.open("fifo", os.O_RDWR)
    near, far = socket.socketpair()
    given = {
        "pipe": lambda: subprocess.PIPE,
        "file": lambda: os.open("err", os.O_WRONLY | os.O_TRUNC),
        "appended": lambda: os.open("err", os.O_WRONLY | os.O_APPEND),
        "fifo": lambda: os.open("fifo", os.O_WRONLY),
        "socket": near.fileno,
    }[kind]()
    # Nobody reads the FIFO from here on, so opening it for writing would block.
    os.close(held)
    with near, far:
        found = helm(*TEMPLATE, *HELM_4, stderr=given)
    # An error that Helm cannot print kills it.
    assert found.code == (-signal.SIGPIPE if kind == "fifo" else 1)
    assert found.stdout.strip() == ""
    shown = found.stderr if kind == "pipe" else Path("err").read_text()
    assert ("error[profile/unknown]" in shown) == (kind in ("pipe", "appended"))
    assert kind != "appended" or shown.startswith("before\nerror[profile/unknown]")
    assert kind != "file" or shown.startswith("Error: ")


def test_helm_3_does_not_show_notices(helm3: Helm) -> None:
    Path("small.yaml").write_text("id: small\nimage: other\n")
    assert "notice[merge/overridden]" in called(helm3(*TEMPLATE).stdout, "--profiles", "small.yaml").stderr
    found = helm3(*TEMPLATE, *HELM_3, *WITH_PROFILE)
    assert (found.code, found.stderr) == (0, "")


def test_a_chart_that_renders_nothing_is_valid(helm: Helm, helm3: Helm) -> None:
    shutil.rmtree("chart/templates")
    Path("chart/templates").mkdir()
    Path("chart/templates/none.yaml").write_text("{{ if false }}{{ end }}")
    for call, options in ((helm, HELM_4), (helm3, HELM_3)):
        found = call(*TEMPLATE, *options)
        assert found.code == 0, found.stderr
        assert [one for one in yaml.safe_load_all(found.stdout) if one] == []


@pytest.mark.parametrize("text", ["", "\n", "  \n\n"])
def test_output_is_never_empty(text: str) -> None:
    assert called(text) == (0, EMPTY_OUTPUT, "")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("---\n", ""),
        ("--- # why\n", ""),
        ("%YAML 1.2\n---\n", "...\n"),
        ("# only a comment\n---\n", "---\n---\n# another\n"),
        ("a: 1\n---\n", "---\r\nb: no\r\n...\r\n# end"),
        ("a: >\n  --- no marker\n\n...\n", "--- |\n  text"),
        ("---\na: &x [012, !!binary aGk=]\nb: *x\na: 2\n---\n", "---\tc\n"),
    ],
)
def test_text_around_a_run_is_unchanged(before: str, after: str) -> None:
    run = RUN.format(name="train")
    marker = before.replace("--- # why\n", "---\n")
    for end in ("\n", "\r\n"):
        assert called(before + run.replace("\n", end) + after) == (0, marker + rendered(run) + after, "")


def test_a_run_without_a_last_line_end_or_on_the_line_of_the_marker_is_a_run() -> None:
    run = RUN.format(name="train")
    assert called(run.rstrip("\n")).stdout == rendered(run)
    line = '{"apiVersion": "speccompile.dev\\/v1alpha1", "kind": "Run", "metadata": {"name": "train"}, "spec": '
    assert called(f'--- {line}{{"action": "job", "image": "python:3.12"}}}}').stdout == "---\n" + rendered(run)


def test_manifests_keep_the_template_name_of_helm() -> None:
    run = RUN.format(name="a").replace("  name: a\n", f"  name: a\n  annotations:\n    {FILENAME}: 'x/y.yaml'\n")
    server = run.replace("job", "serve").replace("  image", "  service_ports: [{port: 80}]\n  image")
    made = list(yaml.safe_load_all(called(server).stdout))
    assert [one["kind"] for one in made] == ["Deployment", "Service"]
    assert [one["metadata"]["annotations"] for one in made] == [{FILENAME: "x/y.yaml"}] * 2
    assert "annotations" not in made[0]["spec"]["template"]["metadata"]
    commented = called(f"---\n# Source: x/y.yaml\n# more\n{server}").stdout
    assert commented.count("# Source: x/y.yaml\n") == 2
    assert "# more" not in commented


def test_findings_name_the_template_and_the_run_and_come_all_at_once() -> None:
    faulty = RUN.format(name="b") + "  resources: {mem: 8GB}\n"
    unnamed = RUN.format(name="[]")
    broken = "apiVersion: speccompile.dev/v1alpha1\nkind: Run\nmetadata: [\n"
    stream = "---\n".join((f"# Source: x.yaml\n{faulty}", unnamed, broken, RUN.format(name="c"), RUN.format(name="c")))
    found = called(stream)
    assert (found.code, found.stdout) == (1, "")
    for place in (
        "[schema/quantity]: `8GB` does not end in a known suffix\n  --> x.yaml (Run b):9:20\n",
        "[schema/wrong-type]: expected a string, found a list\n  --> a Run:4:3\n",
        "[yaml/syntax]: ",
        "[run/duplicate]: run `c` of project `default` is defined twice\n  --> Run c:4:9\n",
    ):
        assert f"error{place}" in found.stderr


def test_an_unknown_kind_of_the_group_is_refused() -> None:
    assert "expected `Run`" in called(RUN.format(name="a").replace("kind: Run", "kind: Runn")).stderr


def test_a_run_inside_a_list_is_refused() -> None:
    inner = RUN.format(name="a").rstrip("\n").replace("\n", "\n  ")
    found = called(f"# Source: x.yaml\napiVersion: v1\nkind: List\nitems:\n- kind: X\n- {inner}\n")
    assert (found.code, found.stdout) == (1, "")
    assert "a run in a `List` is not compiled\n  --> x.yaml (a List):7:9\n" in found.stderr


def test_text_that_contains_a_run_is_not_a_run() -> None:
    for text in (PLAIN + "x: *y\n", PLAIN.replace("apiVersion", "  apiVersion", 1), f"{{a: {{{RUN}"):
        assert called(text) == (0, text, "")


@pytest.mark.parametrize("arguments", [["--ignore", "schema/quantity"], ["--notice", "schema/quantity"]])
def test_a_run_with_an_ignored_error_still_fails(arguments: list[str]) -> None:
    found = called(RUN.format(name="a") + "  resources: {mem: 8GB}\n", *arguments)
    assert (found.code, found.stdout) == (1, "")
    assert "error[schema/quantity]" in found.stderr


def test_a_project_file_above_applies() -> None:
    Path("speccompile.yaml").write_text("profiles: [small.yaml]\nplatform: digitalhub\n")
    run = RUN.format(name="a") + "  profile: small\n"
    made = compile_run(run, profiles=["small.yaml"], platform="digitalhub").to_yaml()
    assert called(run) == (0, made, "")


_LINES = st.lists(
    st.sampled_from(
        ["---", "...", "a: 1", "# c", "", "%YAML 1.2", "--- x", "---x", " ---", "kind: Run", "'", "b: |", "  ---"]
    )
    | st.text(max_size=6),
    max_size=8,
)
_ENDS = st.sampled_from(["\n", "\r\n", "\r"])


@given(lines=_LINES, end=_ENDS)
def test_a_stream_without_runs_is_unchanged(lines: list[str], end: str) -> None:
    text = end.join(lines).encode("utf-8", "replace").decode()
    assert called(text) == (0, text if text.strip() else EMPTY_OUTPUT, "")


@given(streams=st.lists(_LINES, min_size=1, max_size=4))
def test_only_runs_change(streams: list[list[str]]) -> None:
    texts = ["".join(f"{line}\n" for line in lines).encode("utf-8", "replace").decode() for lines in streams]
    runs = [RUN.format(name=f"r-{index}") for index in range(len(texts))]
    stream = "".join(f"{text}---\n{run}---\n" for text, run in zip(texts, runs, strict=True))
    wanted = "".join(f"{text}---\n{rendered(run)}---\n" for text, run in zip(texts, runs, strict=True))
    assert called(stream) == (0, wanted, "")


@given(start=st.integers(0, 200), length=st.integers(0, 9), new=st.text(max_size=3))
def test_no_text_raises(start: int, length: int, new: str) -> None:
    text = f"---\n# Source: x\n{RUN.format(name='a')}---\n{PLAIN}"
    found = called((text[:start] + new + text[start + length :]).encode("utf-8", "surrogatepass"))
    assert found.code in (0, 1)
    assert bool(found.stdout) == (found.code == 0)
    assert "Traceback" not in found.stderr


def test_the_plugin_has_the_version_of_the_package() -> None:
    manifest = yaml.safe_load((PLUGIN / "plugin.yaml").read_text(encoding="utf-8"))
    assert manifest["version"] == version("speccompile")
