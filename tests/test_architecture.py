"""The shape of the code: stages do not know each other, only the edges touch the outside, imports stay cheap."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest
from helpers.paths import PACKAGE

FOLDERS = (
    *("terminal", "model", "yaml_text", "schema", "compiler", "diff", "admin", "editor_schema", "verify", "placement"),
    *("integrations", "files", "report", "batch", "cli", "testing"),
)
"""The folders of the package, bottom-up: each imports only from those before it."""
FRONT = "(front)"
"""The modules at the top of the package, which users import."""
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
EDGES = ("__main__", "api", "schema.bundled", "testing.suite", "files.", "batch.", "cli.")
"""Modules and folders that may use files, streams, clocks and processes."""
TESTING = "speccompile.testing"
HEAVY = {"subprocess", "jinja2", "ruamel", "jsonschema", "deepmerge", "referencing", "hypothesis"}

SHARED = {"format_findings"}
"""Names of functions that modules have in common because a table calls them by it."""
MOST_LATE = 60
_CACHED = "a call that the cache answers loads no compiler"
_ERRORS = "only documents with errors need it"
_HEAVY = "slow to import, and most calls do not need it"
LATE: dict[tuple[str, str], str] = {
    ("__init__", "importlib"): "`import speccompile` loads nothing until a name is used",
    ("testing.__init__", "importlib"): "pytest imports the plugin in projects that may never use it",
    # Third-party packages, or a module of ours around one, that a valid run does not need.
    ("compiler.merge", "deepmerge"): "loaded with the first merge, not with `--help`",
    ("compiler.render", "speccompile.compiler.rendering.skeleton_from_template"): "Jinja; known skeletons need none",
    ("report.explain_html", "speccompile.report.html_template"): "Jinja; `--html` only",
    ("report.place_html", "speccompile.report.html_template"): "Jinja; `--html` only",
    ("schema.library", "speccompile.schema.jsonschema_validator"): "jsonschema; valid documents need none",
    ("verify.verify", "speccompile.verify.api_validator"): "jsonschema; valid objects need none",
    ("verify.go_regex", "re2"): "an optional extra that some platforms lack",
    ("batch.executors", "distributed"): "an optional extra; `--dask` only",
    ("yaml_text.parse", "speccompile.yaml_text.parse_strict"): "ruamel.yaml in Python; text without faults needs none",
    ("model.yaml_outline", "_ruamel_yaml"): "an optional extra that some platforms lack",
    ("model.yaml_outline", "ruamel.yaml"): "only findings about a text that mentions secrets need it",
    # The command line chooses.
    ("__main__", "speccompile.cli.main"): "Ctrl-C is handled while it is imported",
    ("cli.options", "speccompile.model.diagnostic"): "only wrong values need it",
    ("cli.options", "speccompile.cli.suggest"): "schemas; only wrong calls and options that name codes need it",
    ("cli.commands.render", "speccompile.cli.override_report"): "`--report` only",
    ("cli.commands.render", "speccompile.batch.straight"): _CACHED,
    ("cli.commands.render", "speccompile.batch.accelerate"): "cache and workers; the straight path needs neither",
    ("files.work", "speccompile.files.load_admin_config"): _CACHED,
    ("files.call_inputs", "speccompile.files.project_file"): "parser and schemas; only with a project file",
    ("files.admin_texts", "speccompile.yaml_text.from_python"): "only for profiles and platforms as Python data",
    ("files.admin_texts", "json"): "only for profiles and platforms as Python data",
    ("files.write", "speccompile.yaml_text.serialize"): _CACHED,
    ("batch.accelerate", "speccompile.batch.straight"): _CACHED,
    ("batch.accelerate", "speccompile.batch.compile_unit"): _CACHED,
    ("batch.open_caches", "speccompile.batch.cached_skeletons"): "the compiler; custom templates only",
    ("batch.accelerate", "speccompile.batch.open_caches"): "sqlite3 and hashlib; not with `--no-cache`",
    ("batch.accelerate", "speccompile.batch.forked"): "select; many runs only",
    ("batch.accelerate", "speccompile.batch.dispatch"): "concurrent.futures; `--jobs` and `--dask` only",
    ("batch.accelerate", "speccompile.batch.executors"): "multiprocessing; `--jobs` and `--dask` only",
    ("api", "speccompile.batch.with_executor"): "concurrent.futures; only with an executor",
    ("compiler.compile_files", "speccompile.compiler.shapes.known_shapes"): "a single run needs none",
    ("compiler.compiled", "speccompile.compiler.explain"): "dataclasses; `explain` only",
    ("compiler.documents.run", "speccompile.compiler.documents.wrong_document"): _ERRORS,
    ("compiler.documents.run_forms", "speccompile.compiler.documents.wrong_document"): _ERRORS,
    ("compiler.documents.profiles", "speccompile.compiler.documents.wrong_document"): _ERRORS,
    ("compiler.documents.platform", "speccompile.compiler.documents.wrong_document"): _ERRORS,
    ("files.project_file", "speccompile.compiler.documents.wrong_document"): _ERRORS,
    # Regular expressions of rules and targets.
    ("schema.formats.safe_regex", "speccompile.schema.formats.pattern_reader"): "only patterns need it",
    # The standard library.
    ("schema.bundled", "speccompile.model.diagnostic_codes"): f"tomllib: {_HEAVY}",
    ("schema.bundled", "importlib.resources"): _HEAVY,
    ("schema.library", "hashlib"): _HEAVY,
    ("schema.suggestions", "speccompile.schema.foreign_names"): _ERRORS,
    ("schema.validate", "speccompile.schema.find_errors"): _ERRORS,
    ("schema.validate", "speccompile.schema.validation_help"): "shlex; valid documents need none",
    ("model.object_names", "hashlib"): _HEAVY,
    ("model.quantity", "decimal"): _HEAVY,
    ("model.quantity", "fractions"): _HEAVY,
    ("compiler.policy", "speccompile.schema.shell_words"): _HEAVY,
    ("files.defer_interrupt", "signal"): _HEAVY,
    ("files.git_revision", "subprocess"): _HEAVY,
    ("batch.disk_spool", "tempfile"): _HEAVY,
    ("model.internal_error", "traceback"): _HEAVY,
}
"""Where modules are imported inside functions, and why; everywhere else, imports are at module level."""


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def called(module: Path) -> str:
    """The module's name inside the package, such as `testing.admin`."""
    return ".".join(module.relative_to(PACKAGE).with_suffix("").parts)


def is_edge(module: Path) -> bool:
    return called(module) in EDGES or called(module).startswith(tuple(edge for edge in EDGES if edge.endswith(".")))


class Import(NamedTuple):
    """An import somewhere in a module."""

    module: str
    """The module that imports, inside the package: `compiler.merge`."""
    name: str
    """The module that is imported: `jinja2.sandbox`, `speccompile.model.node`."""
    function: str
    """The function it is in; empty at module level."""


NAMES = {f"speccompile.{called(path)}".removesuffix(".__init__") for path in modules()}


@cache
def imports_in(module: Path) -> tuple[Import, ...]:
    """Every import of a module, also those inside functions and under TYPE_CHECKING."""
    found: list[Import] = []

    def visit(node: ast.AST, function: str) -> None:
        for child in ast.iter_child_nodes(node):
            inner = f"{function}.{child.name}".lstrip(".") if isinstance(child, ast.FunctionDef) else function
            if isinstance(child, ast.Import):
                found.extend(Import(called(module), alias.name, function) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                assert child.module, "no relative imports"
                whole = {f"{child.module}.{alias.name}" for alias in child.names} & NAMES
                found.extend(Import(called(module), name, function) for name in sorted(whole or {child.module}))
            visit(child, inner)

    visit(ast.parse(module.read_text(encoding="utf-8")), "")
    return tuple(found)


def imports(module: Path) -> set[str]:
    return {one.name for one in imports_in(module)}


def rank(name: str) -> int:
    """The place of a module's folder in the order; the public front is above all that `testing` is not."""
    folder = name.removeprefix("speccompile.").partition(".")[0]
    order = ("version", *FOLDERS[:-1], FRONT, FOLDERS[-1])
    return order.index(folder if folder in order else FRONT)


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


@pytest.mark.parametrize("module", modules(), ids=called)
def test_imports_point_down_the_order_of_folders(module: Path) -> None:
    assert {name for name in imports(module) if name in NAMES and rank(name) > rank(called(module))} == set()


def test_no_imports_close_a_cycle() -> None:
    graph = {
        f"speccompile.{called(path)}".removesuffix(".__init__"): {name for name in imports(path) if name in NAMES}
        for path in modules()
    }
    order = TopologicalSorter(graph)
    order.prepare()  # raises CycleError, which names the modules


def test_imports_inside_functions_are_those_of_the_list() -> None:
    found = [one for path in modules() for one in imports_in(path) if one.function]
    places = {(one.module, one.name) for one in found}
    assert places - LATE.keys() == set(), "import it at module level, or add the place with its reason"
    assert LATE.keys() - places == set(), "no longer there"
    assert len(found) <= MOST_LATE


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


def test_a_public_name_is_defined_in_one_module() -> None:
    homes: dict[str, list[str]] = {}
    for module in modules():
        for node in ast.parse(module.read_text(encoding="utf-8")).body:
            targets = [node] if isinstance(node, ast.FunctionDef | ast.ClassDef) else getattr(node, "targets", [])
            for target in targets or [getattr(node, "target", node)]:
                name = getattr(target, "name", getattr(target, "id", "_"))
                if not name.startswith("_"):
                    homes.setdefault(name, []).append(called(module))
    assert {name: homes[name] for name in homes if len(homes[name]) > 1 and name not in SHARED} == {}


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
