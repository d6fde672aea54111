"""Every folder of golden/ is a case: inputs, and the exact bytes that come of them.

accept/<case>/: run.yaml (or run.json, run.py) with an optional profiles/ folder and platform.yaml,
    → manifests.yaml, origins.txt, and diagnostics.txt if anything was noticed.
    With a project file, speccompile.yaml, that names all inputs itself, they are where it says.
reject/<case>/: the same inputs → diagnostics.txt.
A command other than `render` and `validate` leaves what it prints in output.txt instead of manifests.yaml.
A file `args` holds the command line, if it is not the usual `render run.yaml …`.
A run.py leaves its compilation in the name `compiled`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers.golden_cases import CASES, EXPECTED, outcome

from speccompile.files.find import PROJECT_FILE
from speccompile.schema.bundled import bundled_codes

CODES = {"accept": (0,), "reject": (1, 2, 4)}


@pytest.mark.parametrize("case", CASES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_case(case: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    found = outcome(case, monkeypatch)
    assert found.code in CODES[case.parent.name], found.diagnostics
    if request.config.getoption("--update-golden"):
        for name in EXPECTED:
            (case / name).unlink(missing_ok=True)
        for name, text in found.files.items():
            (case / name).write_text(text)
    expected = {name: (case / name).read_text() for name in EXPECTED if (case / name).exists()}
    assert found.files == expected, "if this is meant, run pytest --update-golden and read the diff"


def test_no_file_is_left_over() -> None:
    known = {"run.yaml", "run.json", "run.py", "args", "functions", "profiles", "platform.yaml", "README.md", *EXPECTED}
    strays = [path for case in CASES for path in case.iterdir() if path.name not in known and not _named(case, path)]
    assert strays == []


def _named(case: Path, path: Path) -> bool:
    """Whether the command line or the project file of the case speaks of it; a project may hold any folder."""
    if (case / PROJECT_FILE).exists():
        return path.name == PROJECT_FILE or path.is_dir()
    return (case / "args").exists() and path.name in (case / "args").read_text()


def test_every_code_has_a_case() -> None:
    files = [case / name for case in CASES for name in ("diagnostics.txt", "output.txt")]
    seen = "".join(file.read_text() for file in files if file.exists())
    # A folder of golden/ has neither a git repository nor standard input: see files/test_git_revision.py and
    # integrations/test_krm_function.py.
    expected = [code for code in bundled_codes() if not code.startswith("revision/") and code != "yaml/uneditable"]
    assert [code for code in expected if f"[{code}]:" not in seen] == []
    assert set(re.findall(r"^(?:error|warning|notice)\[(\S+?)\]:", seen, re.MULTILINE)) <= bundled_codes().keys()
