"""Custom templates: they replace bundled ones everywhere, and errors are reported at their line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from helpers.command_line import piped
from helpers.paths import GOLDEN, ROOT
from helpers.programs import program
from helpers.work import at_most_calls
from hypothesis import example, given
from hypothesis import strategies as st

from speccompile import Compiled, CompileError, Function, compile_many, compile_run, load_project
from speccompile.cli.main import main
from speccompile.compiler.bundled_library import bundled_library, library_of, with_templates
from speccompile.compiler.render import fill, sketch_template
from speccompile.compiler.rendering.prebuilt_skeletons import (
    dump_skeletons,
    lend_skeletons,
    load_skeletons,
    prebuilt_of,
    read_skeletons,
    reusable_skeletons,
)
from speccompile.compiler.rendering.references import MOST_STEPS, weight
from speccompile.compiler.rendering.skeleton_cache import Shelf, shelf_of
from speccompile.compiler.rendering.skeleton_from_template import skeleton
from speccompile.compiler.rendering.template_errors import TemplateFault
from speccompile.model.input_texts import TemplateFile
from speccompile.schema.library import Library

ENV = "own/kubernetes/_env.j2"
RUN = "name: train\naction: job\nimage: python:3.12\nenvs: {A: a, B: b}\n"
OURS = "name: {{ item.name }}\nvalue: {{ item.value }}\nours: literal\n"
MOST_CALLS = 15_000_000
"""Function calls that a run may take before it is refused: twice what the worst of the cases below takes."""
MOST_CPU_SECONDS = 60
"""Seconds; none of what is bounded here takes five."""


class Answer(NamedTuple):
    code: int
    stdout: str
    stderr: str


Call = Callable[..., Answer]


def files(texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8", newline="")


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """The command, beside a run and a template of an admin."""
    monkeypatch.chdir(tmp_path)
    files({"run.yaml": RUN, ENV: OURS})

    def answer(*arguments: str) -> Answer:
        code = main([*arguments])
        return Answer(code, *capsys.readouterr())

    return answer


@pytest.fixture
def project(call: Call) -> Call:
    """The same in a project that names all of it."""
    files({"speccompile.yaml": "runs: [run.yaml]\ntemplates: own\noutput: manifests\n"})
    return call


# What they do


def test_a_template_replaces_the_bundled_one_of_its_path(call: Call) -> None:
    plain, own = call("render", "run.yaml"), call("render", "run.yaml", "--templates", "own")
    assert (own.code, own.stderr) == (0, "")
    assert own.stdout.count("ours: literal") == 2
    lines = [line for line in own.stdout.splitlines() if "ours" not in line]
    assert lines == plain.stdout.splitlines()


def test_the_project_file_names_them_too(project: Call) -> None:
    assert project("render", "-o", "-").stdout.count("ours: literal") == 2
    assert project("validate").code == 0


def test_the_command_line_overrides_the_project_file(project: Call) -> None:
    files({"other/kubernetes/_env.j2": "name: {{ item.name }}\nother: literal\n"})
    assert project("render", "-o", "-", "--templates", "other").stdout.count("other: literal") == 2


def test_the_library_takes_them(call: Call) -> None:
    assert call("validate", "run.yaml").code == 0
    data = {"name": "train", "action": "job", "image": "x:1", "envs": {"A": "a"}}
    assert "ours: literal" in compile_run(data, templates="own").to_yaml()
    [result] = compile_many([data], templates=Path("own"))
    assert isinstance(result, Compiled)
    assert "ours: literal" in result.to_yaml()
    made = Function("train", image="x:1", templates="own").run("job", envs={"A": "a"})
    assert "ours: literal" in made.to_yaml()
    assert "ours: literal" not in compile_run(data).to_yaml()


def test_a_project_can_be_compiled_by_the_library(project: Call) -> None:
    known = load_project(".")
    assert known.templates == Path("own")
    [result] = compile_many(known.runs, templates=known.templates)
    assert isinstance(result, Compiled)
    assert "ours: literal" in result.to_yaml()
    assert project("validate").code == 0


def test_other_processes_use_them(call: Call) -> None:
    runs = [{"name": f"run-{number}", "action": "job", "image": "x:1", "envs": {"A": "a"}} for number in range(3)]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        results = list(compile_many(runs, templates="own", executor=executor))
    assert all(isinstance(result, Compiled) and "ours: literal" in result.to_yaml() for result in results)
    assert call("validate", "run.yaml").code == 0


def test_jobs_use_them(call: Call) -> None:
    files({"runs.yaml": "---\n".join(RUN.replace("train", f"train-{number}") for number in range(4))})
    one, two = (call("render", "runs.yaml", "--templates", "own", "--no-cache", "--jobs", jobs) for jobs in "12")
    assert one == two
    assert one.stdout.count("ours: literal") == 8


def test_a_template_of_another_target_is_no_trouble(call: Call) -> None:
    files({"own/seldon/server.yaml.j2": "{{ nothing of this is read", "own/kubernetes/deep/part.j2": "{% nor this"})
    assert call("render", "run.yaml", "--templates", "own").code == 0


def test_further_templates_can_be_included(call: Call) -> None:
    files(
        {ENV: '{% include "kubernetes/parts/one.j2" %}', "own/kubernetes/parts/one.j2": "name: {{ item.name }}\nx: 1\n"}
    )
    assert "- name: A\n          x: 1\n" in call("render", "run.yaml", "--templates", "own").stdout


def test_hidden_files_and_other_endings_are_passed_over(call: Call) -> None:
    before = call("render", "run.yaml", "--templates", "own")
    files({"own/kubernetes/.job.yaml.j2": "{{", "own/.hidden/x.j2": "{{", "own/kubernetes/_pod.j2.bak": "{{"})
    assert call("render", "run.yaml", "--templates", "own", "--no-cache") == before


def test_line_ends_of_any_kind_and_a_mark_at_the_start_make_no_difference(call: Call) -> None:
    wanted = call("render", "run.yaml", "--templates", "own").stdout
    for text in ("\ufeff" + OURS, OURS.replace("\n", "\r\n"), OURS.replace("\n", "\r")):
        files({ENV: text})
        found = call("explain", "run.yaml", "env", "--templates", "own")
        assert "own/kubernetes/_env.j2:3" in found.stdout
        assert call("render", "run.yaml", "--templates", "own").stdout == wanted


def test_yaml_files_beside_templates_are_no_runs(call: Call) -> None:
    files({"speccompile.yaml": "runs: [.]\ntemplates: own\n", "own/kubernetes/values.yaml": "no: run\n"})
    assert call("validate") == Answer(0, "", "1 run valid\n")


# Origins


def test_explain_shows_the_admins_file(call: Call) -> None:
    found = call("explain", "run.yaml", "env", "--templates", "own").stdout
    assert "ours: literal          # template  own/kubernetes/_env.j2:3" in found
    report = json.loads(call("explain", "run.yaml", "env", "--templates", "own", "--format", "json").stdout)
    assert '"own/kubernetes/_env.j2"' in json.dumps(report)
    assert (
        call("explain", "run.yaml", "apiVersion", "--templates", "own").stdout.count("  # template  job.yaml.j2:1\n")
        == 1
    )


def test_literals_know_the_file_by_the_name_that_was_given(call: Call) -> None:
    found = compile_run(Path("run.yaml"), templates="own")
    [job] = found.manifests
    labels = {node.span.label for _, node in job.tree.walk() if node.value == "literal"}
    assert labels == {"own/kubernetes/_env.j2:3:1"}
    assert str(found.origin(job, ("kind",))) == "template templates/kubernetes/job.yaml.j2:2:1"
    assert call("validate", "run.yaml").code == 0


def test_reports_for_programs_name_the_file(call: Call) -> None:
    files({ENV: "name: {{ nope }}\n"})
    found = call("validate", "run.yaml", "--templates", "own", "--format", "github").stdout
    assert found.startswith("::error file=own/kubernetes/_env.j2,line=1,")
    [result] = json.loads(call("validate", "run.yaml", "--templates", "own", "--format", "sarif").stdout)["runs"][0][
        "results"
    ]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == ENV
    assert place["region"]["startLine"] == 1


# Where they are not


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ({}, "error[input/missing-file]: no such directory\n  --> mine\n"),
        (
            {"mine": ""},
            "error[input/unreadable]: expected a directory of templates, found a file\n  --> mine\n",
        ),
        ({"mine/_env.j2": OURS}, "error[input/empty-directory]: no .j2 files and no targets in the subdirectories"),
        ({"mine/kubernetes/env.txt": OURS}, "error[input/empty-directory]: no .j2 files"),
        ({"mine/kubernetes/_env.j2": "x" * (1024 * 1024 + 1)}, "error[input/too-large]: the file is larger than 1 MiB"),
    ],
)
def test_a_directory_without_templates_is_reported(texts: Mapping[str, str], expected: str, call: Call) -> None:
    files(texts)
    for command in ("render", "validate", "explain"):
        found = call(command, "run.yaml", "--templates", "mine")
        assert (found.code, found.stdout) == (1, "")
        assert found.stderr.startswith(expected)
        assert found.stderr.endswith("speccompile: 1 error\n")
    with pytest.raises(CompileError, match="input/"):
        compile_run(Path("run.yaml"), templates="mine")


def test_a_template_that_is_not_text_is_reported(call: Call) -> None:
    Path(ENV).write_bytes(b"name: \xe4\n")
    found = call("render", "run.yaml", "--templates", "own")
    assert found.stderr.startswith("error[input/encoding]: byte 0xe4 is not UTF-8\n  --> own/kubernetes/_env.j2:1:7\n")


def test_a_missing_directory_of_a_project_is_reported_at_its_line(call: Call) -> None:
    files({"speccompile.yaml": "runs: [run.yaml]\ntemplates: mine\n"})
    found = call("validate")
    assert "error[project/no-match]: `mine` does not exist\n  --> speccompile.yaml:2:12\n" in found.stderr
    assert call("validate", "--templates", "own").code == 0


def test_nothing_is_written_over_a_template(call: Call) -> None:
    """Not even over one that looks like a manifest of ours, and goes by another name."""
    assert call("render", "run.yaml", "-o", "out").code == 0
    files({"run.yaml": RUN.replace("3.12", "3.13")})
    Path(ENV).unlink()
    Path(ENV).symlink_to("../../out/train.yaml")
    before = Path("out/train.yaml").read_text()
    found = call("render", "run.yaml", "-o", "out", "--templates", "own")
    assert found.code == 1
    assert "nothing was written" in found.stderr
    assert Path("out/train.yaml").read_text() == before


# What is wrong with them


FAULTS = {
    "syntax": ("# one\nname: {{ item.name\n", 2, "invalid template: unexpected end of template"),
    "tag": ("name: x\n{% do x %}\n", 2, "invalid template: encountered unknown tag `do`"),
    "filter": ("name: x\nvalue: {{ item.value | uper }}\n", 2, "unknown filter `uper`"),
    "test": ("{% if item.name is dfined %}\n{% endif %}\n", 1, "unknown test `dfined`"),
    "field": ("name: x\n\nvalue: {{ spec.imag }}\n", 3, "`spec` has no field `imag`"),
    "name": ("name: x\nvalue: {{ itm.value }}\n", 2, "unknown name `itm`"),
    "include": ("name: x\n{% include 'kubernetes/nope.j2' %}\n", 2, "template `kubernetes/nope.j2` not found"),
    "each": ("name:\n- {{ spec.envs | each('nope.j2') }}\n", None, "template `nope.j2` not found"),
    "nothing": ("{# nothing #}\n", 1, "the template produces no output"),
    "documents": ("name: x\n---\nname: z\n", 3, "expected one document, but the template produces 2"),
    "yaml": (
        "name: x\nvalue: a: b\n",
        2,
        "the template does not produce valid YAML: `: ` in a value that is not in quotes",
    ),
    "twice": ("{{ item.name }}: 1\nA: 2\n", 2, "two keys of a mapping become `A`"),
    "key": ("name: x\n{{ item.nope }}: 2\n", 1, "a key is absent or not text"),
    "inside text": ("name: x-{{ spec.labels }}\n", 1, "a value inside text is absent, a list or a map"),
    "a list": ("name: {{ [1] }}\n", 1, "an expression produces a list or a map"),
    "absent": (
        "name: {{ spec.command ~ 'x' }}\n",
        1,
        "`spec.command` is unset, and cannot be used in an expression",
    ),
    "division": ("name: {{ 1 // 0 }}\n", 1, "an expression cannot be evaluated: integer division or modulo by zero"),
    "method": ("name: {{ 'x'.ljust(3) }}\n", 1, "`ljust` cannot be called here"),
    "call": ("name: {{ item.name() }}\n", 1, "this value cannot be called here"),
    "private": ("name: x\nvalue: \ue000\n", 1, "the template contains private-use characters"),
    "items": ("name: {{ spec.envs | each('kubernetes/_mount.j2') }}\n", 1, "`each` can only be used alone"),
    "recursive": ("{% for x in 'ab' recursive %}{% endfor %}\n", 1, "recursive loops are not supported"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_an_error_is_reported_once_at_its_line(name: str, call: Call) -> None:
    text, line, message = FAULTS[name]
    files({ENV: text, "runs.yaml": RUN + "---\n" + RUN.replace("train", "other")})
    found = call("render", "runs.yaml", "--templates", "own")
    assert (found.code, found.stdout) == (1, "")
    assert found.stderr.startswith("error[template/fault]: ")
    assert message in found.stderr
    where = ENV if line else "templates/nope.j2"
    assert f"  --> {where}:{line}:" in found.stderr if line else f"  --> {where}\n" in found.stderr
    assert found.stderr.count("= help: ") == 1
    assert found.stderr.endswith("speccompile: 1 error\n")
    assert "Traceback" not in found.stderr


def test_a_near_name_is_suggested(call: Call) -> None:
    for text, meant in (("a: {{ item.name | uper }}\n", "upper"), ("a: {{ itm }}\n", "item")):
        files({ENV: text})
        assert f"= help: did you mean `{meant}`?" in call("render", "run.yaml", "--templates", "own").stderr


@pytest.mark.parametrize(
    "text", ["kind: Job\n", "metadata: {name: x}\n", "- a\n", "text\n", "kind: [Job]\nmetadata: 1\n"]
)
@pytest.mark.parametrize("base", [False, True])
def test_output_that_is_not_a_manifest_is_an_error(text: str, call: Call, *, base: bool) -> None:
    files({"own/kubernetes/job.yaml.j2": text})
    base_document = "---\napiVersion: batch/v1\nkind: Job\nspec: {backoffLimit: 1}\n" if base else ""
    files({"profiles/default.yaml": f"id: default\n{base_document}"})
    found = call("render", "run.yaml", "--templates", "own", "--profiles", "profiles")
    assert "a manifest needs a `kind` and a `metadata.name`" in found.stderr
    assert found.code == 1


@pytest.mark.parametrize(
    "spec", ["spec: 1", "spec: [1]", "spec: {template: x}", "spec: {template: {spec: [a]}}", "x: 1"]
)
def test_what_has_not_the_shape_of_its_kind_does_not_meet_base_documents(spec: str, call: Call) -> None:
    """Alone, it is for `verify` to say what Kubernetes refuses."""
    job = f"apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {{{{ run.name }}}}\n{spec}\n"
    containers = "[{name: main, image: x}, {name: side, image: x}]"
    base = f"apiVersion: batch/v1\nkind: Job\nspec: {{template: {{spec: {{containers: {containers}}}}}}}\n"
    files({"own/kubernetes/job.yaml.j2": job, "profiles/default.yaml": f"id: default\n---\n{base}"})
    for command in ("render", "explain"):
        found = call(command, "run.yaml", "--templates", "own", "--profiles", "profiles")
        assert (found.code, found.stdout) == (1, "")
        assert "the template's output cannot be merged over a base document" in found.stderr
        assert "  --> own/kubernetes/job.yaml.j2:" in found.stderr
    assert call("render", "run.yaml", "--templates", "own").code == 0


CASES = [
    path
    for path in sorted((GOLDEN / "accept").iterdir())
    if (path / "run.yaml").exists() and not (path / "args").exists() and not (path / "speccompile.yaml").exists()
]


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled templates as somebody's own."""
    folder = tmp_path_factory.mktemp("copies")
    for path, text in bundled_library().templates.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    return folder


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_equal_templates_produce_equal_manifests(case: Path, copies: Path) -> None:
    profiles, platform, functions = case / "profiles", case / "platform.yaml", case / "functions"
    results = compile_many(
        [case / "run.yaml"],
        profiles=[profiles] if profiles.exists() else (),
        platform=platform if platform.exists() else None,
        functions=[functions] if functions.exists() else (),
        templates=copies,
    )
    texts = [result.to_yaml() for result in results if isinstance(result, Compiled)]
    assert "---\n".join(texts) == (case / "manifests.yaml").read_text()


X = "x" * 100
HOSTILE = {
    "loops": f"{{% for a in '{X}' %}}" * 10 + "{% endfor %}" * 10,
    "filtered loops": f"{{% for a in '{X}' %}}{{% for b in '{X}' %}}{{% for c in '{X * 100}' if false %}}"
    + "{% endfor %}" * 3,
    "text in loops": f"{{% for a in '{X}' %}}{{% for b in '{X}' %}}{'y' * 100_000}{{% endfor %}}{{% endfor %}}",
    "texts that double": "{% set a = 'xxxxxxxxxx' %}\n" + "{% set a = a ~ a %}\n" * 60,
    "sums that double": "{% set a = 'xxxxxxxxxx' %}\n" + "{% set a = a + a %}\n" * 60,
    "lists that double": "{% set a = ['x'] %}\n" + "{% set a = [a, a] %}\n" * 60 + "a: {{ a | string }}\n",
    "keys that double": "{% set a = ('x',) %}\n" + "{% set a = (a, a) %}\n" * 60 + "a: {{ {a: 1} | length }}\n",
    "blocks that double": "{% set a %}xxxxxxxxxx{% endset %}" + "{% set a %}{{ a }}{{ a }}{% endset %}" * 60,
    "macros": "".join(
        f"{{% macro m{at}() %}}{{% set x = m{at + 1}() %}}{{% set x = m{at + 1}() %}}{{% endmacro %}}"
        for at in range(30)
    )
    + "{% macro m30() %}{% endmacro %}a: {{ m0() }}\n",
    "a macro that calls itself": "{% macro m() %}{{ m() }}{% endmacro %}a: {{ m() }}\n",
    "a template that includes itself": "{% include 'kubernetes/_env.j2' %}",
    "a template that extends itself": "{% extends 'kubernetes/_env.j2' %}",
    "a template that is its own item": "a:\n- {{ spec.envs | each('kubernetes/_env.j2') }}\n",
    "padding": "a: {{ 'a'.ljust(10000000000) }}\n",
    "indenting": "a: {{ 'a\nb' | indent(10000000000) }}\n",
    "replacing": "{% set a = 'x' * 90000 %}a: {{ a | replace('x', a) | length }}\n",
    "joining": "{% set a = 'x' * 90000 %}a: {{ a | join(a) | length }}\n",
    "batches": "a: {{ 'a' | batch(10000000000, 'x') | length }}\n",
    "slices": "a: {{ 'a' | slice(10000000000) | length }}\n",
    "rounding": "a: {{ 1.5 | round(1000000000, 'ceil') }}\n",
    "adding lists": "a: {{ ([[1]] * 90000) | sum(start=[]) | length }}\n",
    "powers": "a: {{ ((((2**64)**64)**64)**64)**64 }}\n",
    "comparing": "{% set a = ['x'] * 90000 %}{% for i in a %}{% if a == ['x'] * 90000 %}{% endif %}{% endfor %}",
    "copying": "{% set a = ['x'] * 90000 %}{% for i in a %}{% set b = a[:] %}{% endfor %}",
    "sorting": "{% set a = ['x'] * 90000 %}{% for i in a %}{% set b = a | sort %}{% endfor %}",
    "nesting": "a: {{ " + "(" * 5000 + "1" + ")" * 5000 + " }}\n",
    "blocks in blocks": "{% for x in 'a' %}" * 30 + "{% endfor %}" * 30,
    "words": "{{ 1 }}" * 140_000,
    "lines": "a: 1\n" * 200_000,
    "aliases": "a0: &a0 [x, x]\n" + "".join(f"a{at}: &a{at} [*a{at - 1}, *a{at - 1}]\n" for at in range(1, 60)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_template_that_would_take_forever_is_refused(name: str, call: Call) -> None:
    files({ENV: HOSTILE[name]})
    with at_most_calls(MOST_CALLS):
        found = call("render", "run.yaml", "--templates", "own", "--no-cache")
    assert (found.code, found.stdout) == (1, "")
    assert found.stderr.startswith("error[template/fault]: ")
    assert f"  --> {ENV}:" in found.stderr


def test_items_of_items_of_items_are_refused(call: Call) -> None:
    """Each level has all variables as its items: ten to the fifteenth."""
    chain = {
        f"own/kubernetes/e{at}.j2": f"a:\n- {{{{ spec.envs | each('kubernetes/e{at + 1}.j2') }}}}\n" for at in range(14)
    }
    files({**chain, "own/kubernetes/e14.j2": "a: 1\n", ENV: chain["own/kubernetes/e0.j2"]})
    files({"run.yaml": RUN.replace("{A: a, B: b}", "{" + ", ".join(f"A{at}: a" for at in range(10)) + "}")})
    with at_most_calls(MOST_CALLS):
        found = call("render", "run.yaml", "--templates", "own", "--no-cache")
    assert "the manifests of this run take too many steps" in found.stderr


def test_a_real_process_ends_within_bounds_of_memory_and_cpu_time(call: Call) -> None:
    files({ENV: HOSTILE["text in loops"]})
    limits = f"ulimit -v 1500000; ulimit -t {MOST_CPU_SECONDS}"
    limited = f"{limits}; exec {program('speccompile')} render run.yaml --templates own"
    done = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, check=False, env={**os.environ})
    assert done.returncode == 1
    assert "error[template/fault]: the template takes too many steps" in done.stderr
    assert call("validate", "run.yaml").code == 0


def test_ordinary_work_is_far_from_the_bounds(call: Call) -> None:
    """A thousand variables by a loop, and not by `each`."""
    pod = bundled_library().templates["kubernetes/_pod.j2"]
    looped = "{% for one in spec.envs %}\n    - name: {{ one.name }}\n      value: {{ one.value }}\n{% endfor %}\n"
    files({"own/kubernetes/_pod.j2": pod.replace('    - {{ spec.envs | each("kubernetes/_env.j2") }}\n', looped)})
    Path(ENV).unlink()
    files({"run.yaml": RUN.replace("{A: a, B: b}", "{" + ", ".join(f"A{at}: a" for at in range(1000)) + "}")})
    assert call("render", "run.yaml", "--templates", "own").stdout == call("render", "run.yaml").stdout


def test_the_step_limit_does_not_depend_on_the_cache(call: Call) -> None:
    """Skeletons count what they were to make, found or made."""
    many = ", ".join(f"A{at}: a" for at in range(40))
    loops = f"{{% for a in '{'x' * 700}' %}}" * 2 + "{% endfor %}" * 2
    files({ENV: f"{loops}name: {{{{ item.name }}}}\n"})
    files({"run.yaml": RUN.replace("{A: a, B: b}", "{" + many + "}")})
    found = [call("render", "run.yaml", "--templates", "own") for _ in range(2)]
    assert found[0] == found[1]
    assert found[0].code == 1
    assert "take too many steps" in found[0].stderr
    files({"run.yaml": RUN})
    assert call("render", "run.yaml", "--templates", "own").code == 0


@given(st.recursive(st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_the_weight_of_a_value_is_at_least_that_of_what_it_holds(value: Any) -> None:
    assert weight(value) >= 1
    assert weight([value]) > weight(value) or weight(value) > MOST_STEPS
    assert weight({"k": value}) > weight(value) or weight(value) > MOST_STEPS


def test_values_of_a_run_are_no_template(call: Call) -> None:
    files({"run.yaml": 'name: train\naction: job\nimage: x:1\nenvs: {A: "{{ 7 * 7 }}", B: "{% raw %}"}\n'})
    found = call("render", "run.yaml", "--templates", "own").stdout
    assert '"{{ 7 * 7 }}"' in found
    assert '"{% raw %}"' in found


# Who has to know of them


def test_results_follow_changes_of_the_text(call: Call) -> None:
    first = call("render", "run.yaml", "--templates", "own")
    files({ENV: OURS.replace("literal", "literas")})
    assert "ours: literas" in call("render", "run.yaml", "--templates", "own").stdout
    files({ENV: OURS})
    assert call("render", "run.yaml", "--templates", "own") == first
    files({"own/kubernetes/_job.j2": "backoffLimit: 7\n"})
    assert "backoffLimit: 7" in call("render", "run.yaml", "--templates", "own").stdout
    Path("own/kubernetes/_job.j2").unlink()
    assert call("render", "run.yaml", "--templates", "own") == first
    assert "ours" not in call("render", "run.yaml").stdout


def test_check_finds_manifests_of_another_template_stale(project: Call) -> None:
    assert project("render").code == 0
    assert project("check").code == 0
    files({ENV: OURS.replace("literal", "other")})
    found = project("check")
    assert found.code == 4
    assert "+          ours: other" in found.stdout
    assert project("check", "--fix").code == 4
    assert project("check").code == 0


def test_a_changed_template_concerns_all_runs(project: Call) -> None:
    assert project("render").code == 0
    files({ENV: OURS.replace("literal", "other")})
    assert project("check", "--changed", "--", "elsewhere.txt").code == 0
    assert project("check", "--changed", "--", ENV).code == 4


def test_a_removed_template_concerns_all_runs(project: Call) -> None:
    git = (program("git"), "-c", "user.name=x", "-c", "user.email=x@example.com")
    files({"own/kubernetes/other.j2": "x: 1\n"})
    assert project("render").code == 0
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "all"], check=True)
    assert project("check", "--changed").code == 0
    Path(ENV).unlink()
    assert project("check", "--changed").code == 4


def test_verify_checks_their_manifests(call: Call) -> None:
    found = call("verify", "run.yaml", "--templates", "own", "--kubernetes", "1.33")
    assert found.code == 1
    assert "error[api/violation]" in found.stderr
    assert "  --> own/kubernetes/_env.j2:3:1" in found.stderr


def test_the_impact_of_profiles_is_computed_with_the_same_templates_on_both_sides(call: Call) -> None:
    files({"old/a.yaml": "id: default\n", "new/a.yaml": "id: default\npriority_class: low\n"})
    found = call("profiles", "impact", "--old", "old", "--new", "new", "run.yaml", "--templates", "own")
    assert found.code == 4
    assert "ours" not in found.stdout
    files({ENV: "name: {{ nope }}\n"})
    assert call("profiles", "impact", "--old", "old", "--new", "new", "run.yaml", "--templates", "own").code == 1


STREAM = """\
apiVersion: speccompile.dev/v1alpha1
kind: Run
metadata: {name: train}
spec: {action: job, image: "x:1", envs: {A: a}}
"""


def test_streams_of_other_tools_are_compiled_with_them(call: Call) -> None:
    assert "ours: literal" in piped(STREAM, "helm", "--templates", "own").stdout
    items = "".join(f"  {line}\n" for line in STREAM.splitlines())
    listed = f"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n-{items[1:]}"
    assert "ours: literal" in piped(listed, "krm", "--templates", "own").stdout
    assert call("validate", "run.yaml").code == 0


def test_an_argo_cd_application_cannot_bring_templates_past_the_plugins_platform(call: Call) -> None:
    files({"speccompile.yaml": "runs: [run.yaml]\ntemplates: own\n", "platform.yaml": "namespace: ai\n"})
    assert "ours: literal" in call("argocd", "generate").stdout
    found = call("argocd", "generate", "--platform", "platform.yaml")
    assert (found.code, found.stdout) == (1, "")
    assert "error[project/untrusted]: a project file next to the runs cannot set `templates`" in found.stderr
    assert call("argocd", "generate", "--platform", "platform.yaml", "--templates", "own").code == 0


def test_an_argo_cd_application_cannot_bring_templates_from_outside(call: Call, tmp_path: Path) -> None:
    files({"app/speccompile.yaml": "runs: [../run.yaml]\ntemplates: ../own\n", "app/run.yaml": RUN})
    files({"app/speccompile.yaml": "runs: [run.yaml]\ntemplates: ../own\n"})
    os.chdir(tmp_path / "app")
    found = call("argocd", "generate")
    assert found.code == 1
    assert "error[input/outside-repository]" in found.stderr


# Skeletons that go from one call to the next


SCRIPT = """\
import sys
from speccompile.cli.main import main
code = main(sys.argv[1:])
sys.stderr.write(",".join(name for name in ("jinja2", "jsonschema") if name in sys.modules))
sys.exit(code)
"""


def cold(*arguments: str) -> Answer:
    """The call in a process of its own; on stderr, the libraries it took."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def test_a_second_call_needs_no_jinja(call: Call) -> None:
    arguments = ("render", "run.yaml", "--templates", "own")
    assert cold(*arguments).stderr == "jinja2"
    files({"run.yaml": RUN.replace("3.12", "3.13").replace("A: a", "A: other, C: c")})
    second = cold(*arguments)
    assert (second.code, second.stderr) == (0, "")
    assert second.stdout == cold(*arguments, "--no-cache").stdout
    # Of another template, nothing is known.
    files({ENV: OURS + "more: 1\n"})
    third = cold(*arguments)
    assert third.stderr == "jinja2"
    assert third.stdout.count("more: 1") == 3
    assert call("validate", "run.yaml").code == 0


def test_skeletons_that_depend_on_a_value_are_rendered_again(call: Call) -> None:
    files({ENV: "name: {{ item.name ~ '_X' }}\nvalue: {{ item.value }}\n"})
    arguments = ("render", "run.yaml", "--templates", "own")
    assert cold(*arguments).stderr == "jinja2"
    files({"run.yaml": RUN.replace("A: a", "C: c")})
    second = cold(*arguments)
    assert second.stderr == "jinja2"
    assert "name: C_X" in second.stdout
    assert call("validate", "run.yaml").code == 0


def own_library(text: str = OURS) -> Library:
    return with_templates(bundled_library(), [TemplateFile("kubernetes/_env.j2", ENV, text)])


def test_one_library_serves_equal_templates() -> None:
    templates = (TemplateFile("kubernetes/_env.j2", ENV, OURS),)
    assert library_of(templates) is library_of((TemplateFile("kubernetes/_env.j2", ENV, OURS),))
    assert library_of(()) is bundled_library()
    assert library_of(templates).digest != bundled_library().digest


def item(**data: str) -> dict[str, Any]:
    from speccompile.model.source import Layer, Source
    from speccompile.yaml_text.from_python import wrap

    report = wrap({"item": data}, Source("<run>", "", Layer.RUN)).documents[0].root
    return {"spec": None, **report.fields}


def lent() -> tuple[str, Library]:
    library = own_library()
    made = skeleton("kubernetes/_env.j2", item(name="A", value="a"), library)
    return dump_skeletons([("kubernetes/_env.j2", made)], library), library


def test_lent_skeletons_have_the_places_of_the_admins_file() -> None:
    text, library = lent()
    [known] = load_skeletons(read_skeletons(text).of("kubernetes/_env.j2", library), library)
    assert known.tree.fields["ours"].span.label == f"{ENV}:3:1"
    assert known.steps > 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 5) | st.text(max_size=3) | st.sampled_from(["spec", "item", "truth"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["each", "value", "read"]), inner),
    max_leaves=12,
)


@example([], 1)
@given(st.one_of(json_values, st.lists(st.tuples(*[json_values] * 4), max_size=2)), st.integers(0, 3))
def test_any_json_in_place_of_skeletons_is_survived(value: Any, at: int) -> None:
    text, library = lent()
    [tree, placed, questions, steps] = json.loads(json.loads(text)["skeletons"]["kubernetes/_env.j2"])[0]
    whole = [tree, placed, questions, steps]
    damaged = [*whole[:at], value, *whole[at + 1 :]]
    shelf = Shelf()
    for report in (json.dumps(value), json.dumps([damaged]), json.dumps([whole, damaged])):
        for known in load_skeletons(report, library):
            shelf.lend("kubernetes/_env.j2", known)
    stored = {
        "templates": {},
        "uses": {"kubernetes/_env.j2": []},
        "skeletons": {"kubernetes/_env.j2": json.dumps([damaged])},
    }
    lend_skeletons(json.dumps(stored), library)
    with suppress(TemplateFault):
        fill(sketch_template("kubernetes/_env.j2", item(name="A", value="a"), library))
    lend_skeletons(json.dumps(value), library)
    assert not prebuilt_of(library).skeletons


@pytest.mark.parametrize("text", ["[" * 100_000, "\ud800", "{", "[[[]]]", "null"])
def test_text_that_is_no_json_is_survived(text: str) -> None:
    library = own_library()
    assert list(load_skeletons(text, library)) == []
    lend_skeletons(text, library)
    assert not prebuilt_of(library).skeletons


def test_a_skeleton_with_other_questions_is_not_used() -> None:
    _, library = lent()
    texts = {
        "test/a.j2": "{% if spec.image %}\na: 1\n{% endif %}\nb: 1\n",
        "test/b.j2": "{% if spec.args %}\n{% endif %}\nb: 1\n",
    }
    other = library.but(texts)
    shelf = Shelf()
    for template in texts:
        shelf.lend("test/a.j2", skeleton(template, {"spec": None, "item": None}, other))
    assert len(shelf) == 1


def test_only_skeletons_that_survive_serialization_are_lent() -> None:
    """JSON has no keys but text, so that a question about `{1: 2}` would come back as another."""
    library = Library(bundled_library().schemas, {"test/a.j2": "a: {{ 'x' if spec.labels == {1: 2} else 'y' }}\n"})
    sketch_template("test/a.j2", {"spec": None, "item": None}, library)
    assert len(shelf_of(library)) == 1
    assert list(reusable_skeletons(shelf_of(library), library)) == []
