"""Work and memory grow in proportion to the input: four times the input takes about four times the calls."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
from helpers.work import assert_near_linear, at_most_cpu_seconds

from speccompile import Compiled, CompileError, compile_run
from speccompile.cli.main import main
from speccompile.compiler.documents.entities import as_exported
from speccompile.compiler.duplicate_objects import RunClaim, refuse_duplicates
from speccompile.files.load_admin_config import read_setting
from speccompile.model.source import Layer, Source
from speccompile.yaml_text.parse import parse

RUN = "name: r{0}\naction: job\nimage: a/b:1\n"
MEMORY = 256 * 1024 * 1024
MEASURED = """
import pathlib, re, resource, sys
from speccompile.cli.main import main
try:
    main()
finally:
    # On Linux, `ru_maxrss` counts the memory of the process that started this one.
    status = pathlib.Path("/proc/self/status")
    if status.exists():
        print(1024 * int(re.search(r"VmHWM:\\s+(\\d+)", status.read_text())[1]), file=sys.stderr)
    else:
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""


def documents(text: str, number: int) -> str:
    return "".join(f"---\n{text.format(index)}" for index in range(number))


def items(text: str, number: int) -> str:
    return "name: r\naction: job\nimage: a/b:1\n" + "".join(text.format(index) for index in range(number))


INPUTS: dict[str, Callable[[int], str]] = {
    "runs": lambda number: documents(RUN, number),
    "equal runs": lambda number: documents("name: r\naction: job\nimage: a/b:1\n", number),
    "unknown keys": lambda number: documents("a{0}: 1\n", number),
    "tiny documents": lambda number: documents("a\n", number),
    "lines of a quoted scalar": lambda number: items("args: ['a'", 1) + ",\n 'b\n  c'" * number + "]\n",
    "lines of a plain scalar": lambda number: items("description: a\n", 1) + "  b\n" * number,
    "lines between brackets": lambda number: items("args: [a", 1) + ",\nb" * number + "]\n",
    "an open quote": lambda number: items('description: "a\n', 1) + " b\n" * number,
    "directives": lambda number: "%YAML 1.2\n---\na: b\n...\n" * number,
    "clashing volumes": lambda number: (
        items("volumes:\n", 1) + "- {volume_type: empty_dir, name: v, mount_path: /v}\n" * number
    ),
    "clashing objects": lambda number: documents(
        "name: r{0}\naction: serve\nservice_name: s\nimage: a/b:1\nservice_ports: [{{port: 1, target_port: 1}}]\n",
        number,
    ),
    "wrong types": lambda number: items("envs:\n", 1) + "- 1\n" * number,
    "variables": lambda number: items("envs:\n", 1) + "".join(f"- {{name: E{i}, value: x}}\n" for i in range(number)),
    "letters of an exported run": lambda number: (
        "kind: container+job:run\nproject: p\nspec:\n  function: container://p/f\n  args:\n"
        + "  - n\n" * number
        + "---\nkind: container\nproject: p\nname: f\nspec: {image: 'a/b:1'}\n"
    ),
    "ambiguous values": lambda number: items("args:\n", 1) + "- yes\n" * number,
}


@pytest.mark.parametrize("form", ["text", "json", "sarif"])
@pytest.mark.parametrize("kind", INPUTS)
def test_validate_takes_linear_work(kind: str, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "runs.yaml"

    def validate(number: int) -> None:
        file.write_text(INPUTS[kind](number), "utf-8")
        assert main(["validate", str(file), "--format", form]) in {0, 1}
        capsys.readouterr()

    assert_near_linear(validate, 50)


def test_letters_of_entities_take_linear_time() -> None:
    text = "kind: container+job:run\nspec:\n  args:\n" + "  - n\n" * 20_000
    parsed = parse(Source("run.yaml", text, Layer.RUN))
    assert len(parsed.findings) == 20_000
    # Comparisons of findings are no calls.
    with at_most_cpu_seconds(5):
        assert as_exported(parsed).findings == ()


LIST = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"


def resource(index: int, image: str = "a/b:1", more: str = "") -> str:
    metadata = f"apiVersion: speccompile.dev/v1alpha1\nkind: Run\nmetadata:\n  name: r{index}\n"
    return f"{metadata}spec:\n  action: job\n  image: {image}\n{more}"


def resources(*texts: str) -> str:
    return LIST + "".join("- " + text.rstrip().replace("\n", "\n  ") + "\n" for text in texts)


VOLUME = "  - {volume_type: empty_dir, name: v, mount_path: /v}\n"
STREAMS: dict[str, tuple[str, Callable[[int], str]]] = {
    "helm": ("helm", lambda number: "---\n".join(map(resource, range(number)))),
    "krm": ("krm", lambda number: resources(*map(resource, range(number)))),
    "krm with errors": ("krm", lambda number: resources(*(resource(index, "a b") for index in range(number)))),
    "krm with many errors in a run": (
        "krm",
        lambda number: resources(resource(0, more=f"  volumes:\n{VOLUME * number}")),
    ),
}


@pytest.mark.parametrize("kind", STREAMS)
def test_streams_take_linear_work(
    kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command, text = STREAMS[kind]

    def pipe(number: int) -> None:
        stdin = TextIOWrapper(BytesIO(text(number).encode()))
        monkeypatch.setattr(sys, "stdin", stdin)
        code = main([command])
        answer = capsys.readouterr()
        assert code == int("errors" in kind), answer.err

    assert_near_linear(pipe, 30)


@pytest.mark.parametrize("form", ["text", "json", "sarif"])
def test_many_documents_take_little_memory(form: str, tmp_path: Path) -> None:
    file = tmp_path / "runs.yaml"
    file.write_text(INPUTS["equal runs"](8_000), "utf-8")
    command = [sys.executable, "-c", MEASURED, "validate", str(file), "--format", form]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert int(result.stderr.splitlines()[-1]) < MEMORY


class Claims(list[RunClaim]):
    """The runs so far, and how often one was looked up."""

    reads = 0

    def __getitem__(self, number: Any) -> Any:
        self.reads += 1
        return super().__getitem__(number)


def test_a_run_with_many_clashing_objects_is_looked_up_once() -> None:
    compiled = compile_run(RUN.format(1))
    one = compiled.objects[0]

    def with_objects(name: str, number: int) -> Compiled:
        return Compiled(
            name=name,
            project=compiled.project,
            place=compiled.place,
            objects=tuple(one._replace(name=f"x{index}") for index in range(number)),
            diagnostics=(),
            text=lambda: "",
            whole=NotImplemented,
        )

    claims = Claims()
    results = list(
        refuse_duplicates(
            [with_objects("a", 100), with_objects("b", 100)], lambda: read_setting((), None).platform, claims
        )
    )
    assert isinstance(results[1], CompileError)
    assert len(results[1].diagnostics) == 100
    assert claims.reads == 1
