"""The shape of the code: stages do not know each other, only the edges touch the outside, imports stay cheap."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.paths import PACKAGE

FOLDERS = (
    *("model", "terminal", "yaml_text", "schema", "compiler", "diff", "admin", "editor_schema", "verify", "placement"),
    *("integrations", "files", "report", "batch", "cli", "testing"),
)
"""The folders of the package, bottom-up: each imports only from those before it."""
STAGES = {
    "parse": "yaml_text",
    "validate": "schema",
    "normalize": "compiler",
    "merge": "compiler",
    "approve": "compiler",
    "plan": "compiler",
    "render": "compiler",
    "serialize": "yaml_text",
}
# Render reads what templates give with the one YAML reader.
EXCEPTIONS = {"render": {"parse"}}
OUTSIDE = {"os", "sys", "io", "pathlib", "tempfile", "time", "datetime", "random", "subprocess", "socket", "secrets"}
EDGES = {
    "api",
    "schema.bundled",
    "testing.suite",
    *("batch.cache_store", "batch.compiler_fingerprint", "batch.disk_spool", "batch.executors"),
    *("files.call_inputs", "files.find", "files.git_revision", "files.load_admin_config", "files.orphans"),
    *("files.project_file", "files.read", "files.write"),
}
COMMANDS = "cli."
TESTING = "speccompile.testing"
HEAVY = {"subprocess", "jinja2", "ruamel", "jsonschema", "deepmerge", "referencing", "hypothesis"}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def called(module: Path) -> str:
    """The module's name inside the package, such as `testing.laws`."""
    return ".".join(module.relative_to(PACKAGE).with_suffix("").parts)


def is_edge(module: Path) -> bool:
    return called(module) in EDGES or called(module).startswith(COMMANDS)


def imports(module: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def architecture() -> str:
    return (PACKAGE.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")


def test_the_page_lists_all_folders_in_order() -> None:
    section = architecture().partition("\n## Folders\n")[2].partition("\n\nBeside the package")[0]
    folders = {path.parent.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("__init__.py")} - {"."}
    assert {folder.partition("/")[0] for folder in folders} == set(FOLDERS)
    expected = sorted(folders, key=lambda folder: (FOLDERS.index(folder.partition("/")[0]), folder))
    assert re.findall(r"`([a-z_/]+)/`", section) == expected


def test_the_page_draws_all_stages_in_order() -> None:
    diagram = architecture().partition("```\n")[2].partition("```")[0]
    drawn = [path for path in re.findall(r"[a-z_/]+\.py", diagram) if path != "compiler/base_documents.py"]
    assert drawn == [f"{folder}/{stage}.py" for stage, folder in STAGES.items()]


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_knows_no_other_stage(stage: str) -> None:
    module = PACKAGE / STAGES[stage] / f"{stage}.py"
    homes = {f"speccompile.{folder}.{name}": name for name, folder in STAGES.items()}
    used = {homes[name] for name in imports(module) if name in homes}
    assert used & set(STAGES) <= EXCEPTIONS.get(stage, set())


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_has_one_function_of_its_own_name(stage: str) -> None:
    module = PACKAGE / STAGES[stage] / f"{stage}.py"
    functions = {node.name for node in ast.parse(module.read_text()).body if isinstance(node, ast.FunctionDef)}
    assert stage in functions


@pytest.mark.parametrize("module", [path for path in modules() if not is_edge(path)], ids=called)
def test_only_the_edges_touch_the_outside(module: Path) -> None:
    assert {name.partition(".")[0] for name in imports(module)} & OUTSIDE == set()


@pytest.mark.parametrize("module", modules(), ids=called)
def test_every_module_has_a_docstring(module: Path) -> None:
    assert ast.get_docstring(ast.parse(module.read_text(encoding="utf-8")))


@pytest.mark.parametrize("module", [path for path in modules() if not called(path).startswith("testing.")], ids=called)
def test_what_is_for_testing_stays_out_of_the_compiler(module: Path) -> None:
    used = imports(module)
    assert not [name for name in used if name.partition(".")[0] in ("hypothesis", "pytest") or name.startswith(TESTING)]


@pytest.mark.parametrize(
    ("code", "allowed"),
    [
        ("import speccompile", set()),
        ("from speccompile.cli.main import main\ntry: main(['--help'])\nexcept SystemExit: pass", set()),
        ("import speccompile; speccompile.compile_run", {"ruamel"}),
        ("import speccompile.testing.pytest_plugin", {"subprocess"}),  # pytest itself
    ],
)
def test_imports_stay_cheap(code: str, allowed: set[str]) -> None:
    script = f"{code}\nimport sys\nprint('loaded:', *sorted({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.rpartition("loaded:")[2].split())
    assert loaded & HEAVY <= allowed
