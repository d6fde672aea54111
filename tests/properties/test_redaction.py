"""A secret never appears in anything that is printed: wherever it is, however it is written, whatever is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from helpers.command_line import Answer, piped
from hypothesis import given, settings
from hypothesis import strategies as st

from speccompile import CompileError, compile_run
from speccompile.model.finding_text import findings_as_text
from speccompile.report.formats import FORMATS, as_format
from speccompile.report.notebook import findings_html

MARKERS = st.from_regex(r"Z[qxjk7][0-9A-Za-z]{18}", fullmatch=True)
RUN = {"name": "train", "action": "job", "image": "python:3.12"}
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
M = "MARKER"
PLACES: Mapping[str, Mapping[str, Any]] = {
    "a value": {"secrets": f"TOKEN={M}"},
    "a map": {"secrets": {"token": M}},
    "pairs": {"secrets": [{"name": "TOKEN", "value": M}]},
    "lists": {"secrets": [[M]]},
    "a misspelled field": {"secret": {"token": M}},
    "a key that mentions it": {"client_secret": M},
    "a variable that mentions it": {"envs": [{"name": "DB_SECRET", "value": [M]}]},
    "a volume": {"volumes": [{"volume_type": "secret", "name": "v", "mount_path": "/v", "spec": {"data": {"a": M}}}]},
    "a volume, type last": {"volumes": [{"spec": {"data": {"a": M}}, "name": "v", "volumeType": "secret"}]},
    "a Secret": {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": M}},
    "a Secret, kind last": {"data": {"a": M}, "type": M, "apiVersion": "v1", "kind": "Secret"},
    "annotations of a Secret": {"kind": "Secret", "metadata": {"annotations": {"last": M}, "nam": "x"}},
    "a List": {"apiVersion": "v1", "kind": "List", "items": [{"kind": "Secret", "data": {"a": M}}]},
    "a SecretList": {"apiVersion": "v1", "kind": "SecretList", "items": [{"data": {"a": M}}]},
    "a container": {**POD, "spec": {"containers": [{"name": "a", "env": [{"name": "P", "value": M, "val": M}]}]}},
    "a URL": {"image": f"https://user:{M}@reg.io/x"},
    "a URL with a token": {"image": f"https://{M}@reg.io/x"},
    "a URL without a scheme": {"image": f"user:{M}@reg.io/x"},
    "a credential": {"resources": {"mem": f"ghp_{M}"}},
    "an argument": {"args": {"token": f"--token=ghp_{M}"}},
    "a file in a ConfigMap": {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "data": {"p.yaml": f"id: p\nsecrets:\n  a: {M}\n"},
    },
    "an annotation of kubectl": {"labels": {"last": json.dumps({"kind": "Secret", "data": {"a": M}})}},
}

# How a value is written: by itself, and in the file.


def _escaped(text: str) -> str:
    return '"' + "".join(f"\\x{ord(char):02x}" for char in text) + '"'


SCALARS: Mapping[str, Callable[[str], str]] = {
    "quoted": json.dumps,
    "single": lambda text: "'" + text.replace("'", "''") + "'",
    "plain": lambda text: text if re.fullmatch(r"[-\w=]+", text) else json.dumps(text),
    "escaped": lambda text: json.dumps(text) if "\n" in text else _escaped(text),
    "tagged": lambda text: f"!mine {json.dumps(text)}",
    "string": lambda text: f"!!str {json.dumps(text)}",
    "anchored": lambda text: f"&anchor {json.dumps(text)}",
    "continued": lambda text: json.dumps(text)[:-1] + '\\\n     "',
}
BLOCK_SCALARS: Mapping[str, Callable[[str, str], str]] = {
    "literal": lambda text, indent: (
        "|\n" + "".join(f"{indent}  {line}\n" for line in text.rstrip("\n").split("\n"))[:-1]
    ),
    "folded": lambda text, indent: ">-\n" + indent + "  " + text.replace("\n", f"\n\n{indent}  ").rstrip(),
}


def flow(value: Any, scalar: str, *, colon: str = ": ") -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)}{colon}{flow(child, scalar)}" for key, child in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(item, scalar) for item in value) + "]"
    return SCALARS[scalar](value) if M in value and scalar in SCALARS else json.dumps(value)


def block(value: Any, scalar: str, indent: str = "") -> str:
    """The value after its key."""
    if isinstance(value, Mapping):
        return "\n" + "\n".join(f"{indent}{key}: {block(child, scalar, indent + '  ')}" for key, child in value.items())
    if isinstance(value, list):
        return "\n" + "\n".join(f"{indent}- {block(item, scalar, indent + '  ').lstrip()}" for item in value)
    if scalar in BLOCK_SCALARS and M in value:
        return BLOCK_SCALARS[scalar](value, indent)
    return flow(value, scalar)


MISTAKES = [
    *(
        "",
        "colour: red",
        "labels: {a: on}",
        "image: 5",
        "kind: 3",
        "resources: {gpu: x, mem: 8GB}",
        "1: a",
        "name: {a: b}",
    ),
    *(
        "args: [",
        "args: '",
        "x: *y",
        "labels: {a: 1, a: 2}",
        "\tb: 1",
        "- a",
        "a: b: c",
        "{{ x }}: 1",
        "x: !t 1",
        "<<: 3",
    ),
    *(
        "again: *anchor",
        "image: *anchor",
        "name: *anchor",
        "x: \x07",
        "? [a]",
        'x: "a",',
        "%YAML 1.1",
        "---",
        "# secret: x",
    ),
    *("replicas: *anchor", "id: *anchor", "spec: *anchor", "x: \u2028", "}", "envs: {A: *anchor}", "pvc: {size: 2GB}"),
]


class Written(NamedTuple):
    text: str
    place: str


@st.composite
def written(draw: st.DrawFn) -> Written:
    place = draw(st.sampled_from(sorted(PLACES)))
    tree = dict(PLACES[place])
    if draw(st.booleans()):
        tree = {**RUN, **tree}
    style = draw(st.sampled_from(["block", "flow below keys", "flow", "JSON", "doubled"]))
    scalar = "quoted" if style == "JSON" else draw(st.sampled_from([*SCALARS, *BLOCK_SCALARS]))
    before, after = draw(st.sampled_from(MISTAKES)), draw(st.sampled_from(MISTAKES))
    if style == "JSON":
        text = json.dumps(tree, indent=draw(st.sampled_from([None, 2])))
    elif style == "flow":
        text = flow(tree, scalar)
    elif style == "flow below keys":
        text = "\n".join(f"{key}: {flow(value, scalar)}" for key, value in tree.items())
    else:
        text = block(tree, scalar).lstrip("\n")
    if style == "doubled":
        text = f"{text}\n{text}"
    return Written("\n".join(part for part in (before, text, after) if part) + "\n", place)


# How the file is passed.

F = "FILE"
FINDING_FORMATS = ("text", "json", "sarif", "github")
CALLS = {
    "validate": [["validate", F], *(["validate", F, "--format", form] for form in FINDING_FORMATS)],
    "verbose": [["validate", F, "--verbose"]],
    "render": [["render", F], ["render", F, "--strict", "--format", "sarif"], ["render", F, "--plain"]],
    "explain": [["explain", F], ["explain", F, "--format", "json"], ["explain", F, "--html", "-"]],
    "check": [["check", F, "-o", "out"], ["check", F, "-o", "out", "--semantic", "--format", "github"]],
    "verify": [["verify", F, "--format", form] for form in FINDING_FORMATS],
    "lint": [["lint", F, "--format", form] for form in FINDING_FORMATS],
    "place": [["place", F, "--nodes", "nodes.yaml"], ["place", F, "--nodes", "nodes.yaml", "--format", "json"]],
    "profile": [["render", "run.yaml", "--profiles", F], ["validate", "run.yaml", "--profiles", F, "--format", "json"]],
    "profiles": [
        ["profiles", "lint", "--profiles", F],
        ["profiles", "show", "p", "--profiles", F],
        ["profiles", "list", "--profiles", F],
        ["profiles", "impact", "run.yaml", "--old", F, "--new", "p.yaml"],
        ["profiles", "impact", F, "--old", "p.yaml", "--new", "p.yaml"],
    ],
    "platform": [["validate", "run.yaml", "--platform", F, "--format", form] for form in FINDING_FORMATS],
    "project": [["validate", "run.yaml", "--project", F], ["check", "--project", F, "--format", "json"]],
    "crd": [["verify", "run.yaml", "--crd", F, "--format", form] for form in FINDING_FORMATS],
    "nodes": [["place", "run.yaml", "--nodes", F], ["lint", "run.yaml", "--nodes", F, "--format", "json"]],
    "pods": [["place", "run.yaml", "--nodes", "nodes.yaml", "--pods", F]],
    "objects": [
        ["lint", "run.yaml", "--objects", F],
        ["place", "run.yaml", "--nodes", "nodes.yaml", "--objects", F],
    ],
    "target": [["validate", "run.yaml", "--templates", "own"], ["render", "run.yaml", "--templates", "own"]],
    "schema": [["schema", "run", "--platform", F], ["schema", "run", "--profiles", F]],
    "committed": [
        ["check", "run.yaml", "-o", "out"],
        ["check", "run.yaml", "-o", "out", "--semantic"],
        ["check", "run.yaml", "-o", "out", "--semantic", "--format", "json"],
    ],
    "streams": [["validate", "-"], ["render", "-"], ["verify", "-"], ["lint", "-"]],
    "argocd": [["argocd", "generate"]],
}
PRINTS_INPUT = {"helm": [["helm"]], "krm": [["krm"]]}
"""Commands that leave other documents of their input as they are."""
NODE = "{apiVersion: v1, kind: Node, metadata: {name: n}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 10}}}\n"


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("redaction")
    (folder / "own/mine").mkdir(parents=True)
    (folder / "out").mkdir()
    (folder / "nodes.yaml").write_text(NODE)
    (folder / "run.yaml").write_text(json.dumps(RUN))
    (folder / "p.yaml").write_text("id: p\nresources: {gpu: 1}\n")
    with chdir(folder):
        yield


def answers(text: str, arguments: list[str]) -> Answer:
    for name in ("file.yaml", "own/mine/target.yaml", "out/train.yaml"):
        Path(name).write_text(text, encoding="utf-8")
    try:
        return piped(text, *(word.replace(F, "file.yaml") for word in arguments))
    except SystemExit as stop:
        return Answer(int(stop.code or 0), "", "")


def assert_secret(marker: str, output: str) -> None:
    for part in (marker[:8], marker[6:14], marker[-8:]):
        assert part not in output


def filled(text: str, marker: str) -> str:
    """The text with the marker in place of `MARKER`, also where that is written as escapes."""
    return text.replace(_escaped(M)[1:-1], _escaped(marker)[1:-1]).replace(M, marker)


@pytest.mark.parametrize("command", CALLS)
@given(written(), MARKERS, st.data())
@settings(max_examples=150)
def test_no_secret_is_printed(command: str, file: Written, marker: str, data: st.DataObject) -> None:
    answer = answers(filled(file.text, marker), data.draw(st.sampled_from(CALLS[command])))
    assert answer.code != 3, answer.stderr
    assert_secret(marker, answer.stdout + answer.stderr)


@pytest.mark.parametrize("command", PRINTS_INPUT)
@given(written(), MARKERS)
@settings(max_examples=150)
def test_no_secret_is_in_findings_about_a_stream(command: str, file: Written, marker: str) -> None:
    text = filled(file.text, marker)
    lines = "".join(f"  {line}\n" for line in text.splitlines())
    run = f"apiVersion: speccompile.dev/v1alpha1\nkind: Run\n{text}"
    wrapped = f"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig:\n{lines}items: []\n"
    for stream in (run, wrapped, f"{run}---\n{text}"):
        answer = answers(stream, [command])
        assert answer.code != 3, answer.stderr
        assert_secret(marker, answer.stderr)
        results = answer.stdout.partition("\nresults:")[2]
        assert_secret(marker, results)


@given(
    st.sampled_from(sorted(PLACES)), MARKERS, st.sampled_from([{}, {"colour": "red"}, {"image": 5}, {"args": {"a": 1}}])
)
def test_no_secret_of_python_data_is_printed(place: str, marker: str, mistake: dict[str, Any]) -> None:
    def fill(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: fill(child) for key, child in value.items()}
        return [fill(item) for item in value] if isinstance(value, list) else value.replace(M, marker)

    data = fill({**RUN, **PLACES[place]})
    for call in (
        {"run": {**data, **mistake}},
        {"run": RUN, "profiles": [{"id": "p", **data, **mistake}]},
        {"run": RUN, "platform": {**data, **mistake}},
    ):
        try:
            findings = compile_run(**call).diagnostics
        except CompileError as error:
            findings = error.diagnostics
            assert_secret(marker, str(error) + repr(error))
        texts = [as_format(form, findings) for form in FORMATS]
        assert_secret(marker, "".join((*texts, findings_as_text(findings), findings_html(findings))))
