"""One row per kind of input: where its seeds come from, and the command line that reads it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML

from speccompile.model.source import Layer, Source
from speccompile.yaml_text.parse import parse

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "golden"
STDIN = "<stdin>"
_COMMANDS = frozenset({"render", "validate", "lint", "place", "verify", "explain"})
_EXPECTED = frozenset({"args", "manifests.yaml", "origins.txt", "diagnostics.txt", "output.txt", "run.py"})
_RUN_API = "speccompile.dev/v1alpha1"


class Seed(NamedTuple):
    """A valid or invalid call, and the one file of it that is mutated."""

    name: str
    files: Mapping[str, str]
    path: str
    """The mutated file, or `<stdin>`."""
    calls: tuple[tuple[str, ...], ...]
    """The command lines that read it."""

    @property
    def text(self) -> str:
        return self.files[self.path]


class Case(NamedTuple):
    """A golden case: its input files and command line."""

    name: str
    files: Mapping[str, str]
    arguments: tuple[str, ...]


@cache
def cases() -> tuple[Case, ...]:
    """The golden cases that a command without side effects reads."""
    found = (_case(folder) for kind in ("accept", "reject") for folder in sorted((GOLDEN / kind).iterdir()))
    return tuple(case for case in found if case and case.arguments[0] in _COMMANDS)


def _case(folder: Path) -> Case | None:
    files: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name not in _EXPECTED:
            try:
                files[name] = path.read_bytes().decode("utf-8")
            except UnicodeDecodeError:
                return None
    if (folder / "args").exists():
        arguments = shlex.split((folder / "args").read_text("utf-8"))
        return Case(f"{folder.parent.name}/{folder.name}", files, tuple(arguments)) if arguments else None
    run = next((name for name in files if name.startswith("run")), None)
    if "speccompile.yaml" in files:
        arguments = ["render"]
    elif run:
        profiles = ["--profiles", "profiles"] if any(name.startswith("profiles/") for name in files) else []
        platform = ["--platform", "platform.yaml"] if "platform.yaml" in files else []
        arguments = ["render", run, *profiles, *platform]
    else:
        return None
    return Case(f"{folder.parent.name}/{folder.name}", files, tuple(arguments))


def _golden(*patterns: str) -> Callable[[], Iterator[Seed]]:
    """Seeds from the files of golden cases that match a pattern, with the case's command line."""

    def seeds() -> Iterator[Seed]:
        for case in cases():
            for path in case.files:
                if any(Path(path).match(pattern) for pattern in patterns):
                    yield Seed(f"{case.name}:{path}", case.files, path, (_without_cache(case.arguments),))

    return seeds


def _without_cache(arguments: tuple[str, ...]) -> tuple[str, ...]:
    return (*arguments, "--no-cache") if arguments[0] == "render" else arguments


def _plain_runs() -> Iterator[Case]:
    """The accepted golden cases that render one file of runs."""
    return (
        case for case in cases() if case.name.startswith("accept/") and case.arguments[:2] == ("render", "run.yaml")
    )


def _bundled(pattern: str) -> Callable[[], Iterator[Seed]]:
    """Seeds from the bundled templates, as an admin's own, with a run of their target."""

    def seeds() -> Iterator[Seed]:
        runs = list(_plain_runs())
        for path in sorted((ROOT / "templates").glob(f"*/{pattern}")):
            target = path.parent.name
            folder = {f"own/{target}/{one.name}": one.read_text("utf-8") for one in path.parent.iterdir()}
            fitting = [case for case in runs if f"target: {target}" in "".join(case.files.values())] or runs
            case = fitting[len(path.name) % len(fitting)]
            arguments = (*_without_cache(case.arguments), "--templates", "own")
            yield Seed(f"{target}/{path.name}", {**case.files, **folder}, f"own/{target}/{path.name}", (arguments,))

    return seeds


def _embedded(case: Case) -> Iterator[dict[str, Any]]:
    """The runs of a case as Kubernetes objects."""
    for run in load(case.files["run.yaml"]):
        if isinstance(run, dict) and isinstance(run.get("name"), str):
            spec = {key: value for key, value in run.items() if key != "name"}
            yield {"apiVersion": _RUN_API, "kind": "Run", "metadata": {"name": run["name"]}, "spec": spec}


def _krm() -> Iterator[Seed]:
    for case in _plain_runs():
        items = list(_embedded(case))
        if items:
            resources: dict[str, Any] = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList"}
            profiles = [load(text)[0] for path, text in case.files.items() if path.startswith("profiles/")]
            if profiles:
                config = {"apiVersion": _RUN_API, "kind": "Compile", "metadata": {"name": "x"}}
                resources["functionConfig"] = {**config, "spec": {"profiles": profiles}}
            yield Seed(case.name, {STDIN: dump([{**resources, "items": items}])}, STDIN, (("krm",),))


def _helm() -> Iterator[Seed]:
    for case in _plain_runs():
        items = list(_embedded(case))
        options = case.arguments[2:]
        if items:
            yield Seed(case.name, {**case.files, STDIN: dump(items)}, STDIN, (("helm", *options),))


def _manifests() -> Iterator[Seed]:
    nodes = next(case for case in cases() if "nodes.yaml" in case.files).files["nodes.yaml"]
    for path in sorted(GOLDEN.glob("accept/*/manifests.yaml")):
        files = {"manifests.yaml": path.read_text("utf-8"), "nodes.yaml": nodes}
        calls = (("verify", "manifests.yaml"), ("lint", "manifests.yaml"))
        place = ("place", "manifests.yaml", "--nodes", "nodes.yaml")
        yield Seed(f"accept/{path.parent.name}", files, "manifests.yaml", (*calls, place))


class Target(NamedTuple):
    """A kind of input."""

    seeds: Callable[[], Iterator[Seed]]
    is_yaml: bool = True
    has_secrets: bool = False
    """Whether messages must not quote values below a key `secrets`; base documents and pipes are copied to stdout."""
    has_plain_path: bool = False
    """Whether `--plain` must produce the same output."""


TARGETS: Mapping[str, Target] = {
    "run": Target(_golden("run.yaml", "runs/*.yaml"), has_secrets=True, has_plain_path=True),
    "profile": Target(_golden("profiles/*.yaml"), has_secrets=True),
    "platform": Target(_golden("platform.yaml")),
    "project": Target(_golden("speccompile.yaml")),
    "templates": Target(_bundled("*.j2"), is_yaml=False),
    "target": Target(_bundled("target.yaml")),
    "krm": Target(_krm, has_secrets=True),
    "helm": Target(_helm, has_secrets=True),
    "manifests": Target(_manifests),
    "crds": Target(_golden("crd.yaml")),
    "nodes": Target(_golden("nodes.yaml", "cluster.yaml", "pods.yaml", "objects.yaml")),
}


@cache
def seeds_of(target: str) -> Mapping[str, Seed]:
    return {seed.name: seed for seed in TARGETS[target].seeds()}


def as_input(seed: Seed, text: str) -> bytes:
    """An input of the fuzzer: the name of its seed, and the text of the mutated file."""
    return f"{seed.name}\n{text}".encode("utf-8", "replace")


def from_input(target: str, data: bytes) -> tuple[Seed, str]:
    """The seed of an input, or some seed if its name was damaged, and the text."""
    name, _, text = data.decode("utf-8", "replace").partition("\n")
    seeds = seeds_of(target)
    return seeds.get(name) or list(seeds.values())[len(data) % len(seeds)], text


def load(text: str) -> list[Any]:
    """The documents of a text as plain data; none if it cannot be read."""
    return [document.root.plain() for document in parse(Source("x", text, Layer.RUN)).documents]


def dump(documents: list[Any]) -> str:
    """The documents as text, with short collections in one line."""
    writer = YAML(typ="safe")
    writer.default_flow_style = None
    writer.width = 200
    stream = StringIO()
    writer.dump_all(documents, stream)
    return stream.getvalue()
