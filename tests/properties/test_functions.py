"""Functions and tasks of exported runs are as weak as the runs: no admin is bypassed through them."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from speccompile import CompileError, compile_run
from speccompile.compiler.compile_files import compile_file
from speccompile.compiler.compiled import Compiled, Result
from speccompile.model.source import Layer, Source
from speccompile.testing.admin import AdminConfig
from speccompile.testing.admin_strategies import attempted
from speccompile.testing.plain_data import Data
from speccompile.testing.strategies.text import any_texts, json_trees
from speccompile.yaml_text.from_python import wrap
from speccompile.yaml_text.parsed import Parsed

ENVELOPE = ("name", "project", "action")


def entities(run: Data, layers: dict[str, str]) -> list[Data]:
    """The run as exported, with its function and task; `layers` has the entity that each field is set in."""
    head = {key: run[key] for key in ENVELOPE if run.get(key) is not None}
    project, kind = head.get("project", "default"), f"container+{head.pop('action')}"
    specs: dict[str, Data] = {layer: {} for layer in ("run", "task", "function")}
    for key, value in run.items():
        if key not in ENVELOPE:
            specs[layers.get(key, "run")][key] = value
    specs["run"] |= {"function": f"container://{project}/f", "task": f"{kind}://{project}/t"}
    return [
        {"kind": f"{kind}:run", **head, "spec": specs["run"]},
        {"kind": kind, "project": project, "id": "t", "spec": specs["task"]},
        {"kind": "container", "project": project, "name": "f", "spec": specs["function"]},
    ]


def compiled(documents: list[Data], admin: AdminConfig) -> Result:
    files = [wrap(document, Source("<run>", "", Layer.RUN)) for document in documents]
    file = Parsed(tuple(one for parsed in files for one in parsed.documents), ())
    (result,) = compile_file(file, admin.setting)
    return result


def outcome(result: Result) -> tuple[str, Counter[str]]:
    """The manifests, empty with errors, and the codes of all findings."""
    codes = Counter(finding.code for finding in result.diagnostics)
    return result.to_yaml() if isinstance(result, Compiled) else "", codes


@given(attempted(), st.data())
def test_law_a_field_has_the_same_effect_in_run_task_and_function(
    attempt: tuple[Data, AdminConfig], data: st.DataObject
) -> None:
    run, admin = attempt
    assume(isinstance(run.get("action"), str) and re.fullmatch("[a-z]+", run["action"]))
    # A reference cannot name other projects.
    assume(re.fullmatch(r"(?!\.{1,2}$)[^/:\s]+", str(run.get("project") or "default")))
    layers = {key: data.draw(st.sampled_from(("run", "task", "function")), label=key) for key in run}
    assert outcome(compiled(entities(run, layers), admin)) == outcome(compiled(entities(run, {}), admin))


@given(attempted(("image", "args", "priority_class")))
def test_law_a_function_overrides_its_run_and_its_task(attempt: tuple[Data, AdminConfig]) -> None:
    """What a stronger one of the three replaces leaves no trace in the manifests."""
    run, admin = attempt
    assume(isinstance(run.get("action"), str) and re.fullmatch("[a-z]+", run["action"]))
    assume(re.fullmatch(r"(?!\.{1,2}$)[^/:\s]+", str(run.get("project") or "default")))
    alone = entities(run, dict.fromkeys(run, "function"))
    weaker: dict[str, Any] = {"image": "docker.io/other/image:1", "args": ["x"], "priority_class": "other"}
    shadowed = {key: value for key, value in weaker.items() if run.get(key) is not None}
    changed = [alone[0] | {"spec": {**shadowed, **alone[0]["spec"]}}, alone[1] | {"spec": shadowed}, alone[2]]
    assert outcome(compiled(changed, admin))[0] == outcome(compiled(alone, admin))[0]


ENTITIES = st.fixed_dictionaries(
    {"kind": st.sampled_from(["container", "container+job", "python", "x", 5, None]), "spec": json_trees()},
    optional={"name": json_trees(), "project": json_trees(), "id": json_trees(), "metadata": json_trees()},
)


@given(st.lists(st.one_of(ENTITIES, json_trees()), max_size=3), any_texts(), json_trees())
def test_law_no_function_crashes_the_compiler(functions: list[Any], name: str, task: Any) -> None:
    run = {"kind": "container+job:run", "name": "a", "spec": {"function": f"container://{name}", "task": task}}
    with suppress(CompileError):
        compile_run(run, functions=functions)
