"""Export functions, tasks and runs with the DigitalHub SDK; run by the Python of `.tools/digitalhub`.

Usage: digitalhub_export.py CASES FOLDER. CASES is tests/digitalhub_sdk.yaml. DHCORE_ENDPOINT is the address of the API.
Prints the SDK's version and the actions of each runtime as JSON.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from copy import deepcopy
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias
from uuid import NAMESPACE_URL, uuid5

import digitalhub
import yaml
from digitalhub.factory.entity import entity_factory
from digitalhub.factory.registry import registry

Arguments: TypeAlias = dict[str, Any]

PROJECT = "demo"
REFERENCES = frozenset({"function", "workflow", "task"})
"""Keys of a spec that the SDK sets itself."""


class Exporter:
    """Entities of one project, exported to a folder under the names that the cases give them."""

    def __init__(self, cases: Arguments, folder: Path) -> None:
        self._cases = cases
        self._folder = folder
        self._functions: dict[str, Any] = {}
        self._tasks: dict[tuple[str, str], Any] = {}
        context = folder / "context"
        context.mkdir(parents=True)
        self._project = digitalhub.new_project(PROJECT, source=str(context))

    def export(self) -> None:
        for name, arguments in self._cases["functions"].items():
            self._function(name, arguments)
        for kind, runtime in self._cases["runtimes"].items():
            self._runtime(kind, runtime["function"], runtime.get("arguments", {}))
        for name, arguments in self._cases["runs"].items():
            self._run(name, **arguments)

    def _runtime(self, kind: str, function: str, minimal: Mapping[str, Arguments]) -> None:
        """Export runs of every action: minimal, and with every keyword of the run, of its task or of its function."""
        of_task, of_function = f"{kind}-task", f"{kind}-function"
        self._function(of_task, self._cases["functions"][function])
        self._function(of_function, {"kind": kind, **self._every_keyword(kind)})
        for action in actions(kind):
            arguments = minimal.get(action, {})
            run_kind = entity_factory.get_run_kind_from_action(kind, action)
            task_kind = entity_factory.get_task_kind_from_action(kind, action)
            self._task(of_task, action, **self._every_keyword(task_kind))
            self._run(f"{kind}-{action}-minimal", function, action, **arguments)
            self._run(f"{kind}-{action}-of-run", function, action, **self._every_keyword(run_kind))
            self._run(f"{kind}-{action}-of-task", of_task, action)
            self._run(f"{kind}-{action}-of-function", of_function, action, **arguments)

    def _function(self, name: str, arguments: Arguments) -> None:
        is_workflow = entity_factory.get_entity_type_from_kind(arguments["kind"]) == "workflow"
        create = self._project.new_workflow if is_workflow else self._project.new_function
        self._functions[name] = create(name=name, uuid=identifier("function", name), **deepcopy(arguments))
        self._write(self._functions[name], "functions", name)

    def _task(self, function: str, action: str, **arguments: Any) -> None:
        """Create the task that `run` would create, with an id that is the same in every export."""
        uuid = identifier("task", function, action)
        self._tasks[function, action] = self._functions[function].new_task(action, uuid=uuid, **arguments)
        self._write(self._tasks[function, action], "tasks", f"{function}-{action}")

    def _run(self, name: str, function: str, action: str, **arguments: Any) -> None:
        if (function, action) not in self._tasks:
            self._task(function, action)
        arguments = {"uuid": identifier("run", name), **deepcopy(arguments)}
        if arguments.get("local_execution"):  # the function's `run` would execute it here
            task = self._tasks[function, action]
            run = task.run(entity_factory.get_run_kind_from_action(self._functions[function].kind, action), **arguments)
        else:
            run = self._functions[function].run(action, **arguments)
        self._write(run, "runs", name)

    def _write(self, entity: Any, kind: str, name: str) -> None:
        target = self._folder / kind / f"{name}.yaml"
        target.parent.mkdir(exist_ok=True)
        Path(entity.export()).rename(target)

    def _every_keyword(self, kind: str) -> Arguments:
        """A value for each key in the SDK's model of this kind. A key without a value is one of a newer SDK."""
        fields = entity_factory.get_spec_validator(kind).model_fields
        values = {name: deepcopy(self._value(kind, name)) for name in fields if name not in REFERENCES}
        return {name: value for name, value in values.items() if value is not None}

    def _value(self, kind: str, name: str) -> Any:
        values = self._cases["values"]
        for scope in (kind, kind.partition("+")[0], "all"):
            if name in values.get(scope, {}):
                value = values[scope][name]
                return value.replace("$KIND", re.sub(r"[+:]", "-", kind)) if isinstance(value, str) else value
        raise SystemExit(f"tests/digitalhub_sdk.yaml has no value for `{name}` of `{kind}`")


def actions(kind: str) -> list[str]:
    """Actions that the SDK allows for functions of this kind."""
    allowed: list[str] = registry.get_entity_builder(kind).get_all_actions()
    return sorted(allowed)


def identifier(*names: str) -> str:
    """An id that is the same in every export."""
    return uuid5(NAMESPACE_URL, "/".join(names)).hex


def main(path: str, folder: str) -> None:
    cases = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    Exporter(cases, Path(folder).resolve()).export()
    allowed = {kind: actions(kind) for kind in cases["runtimes"]}
    json.dump({"version": version("digitalhub"), "actions": allowed}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
