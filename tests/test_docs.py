"""Texts that speak of the code say what is true of it."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from helpers.page_examples import has_examples, played

from speccompile.version import VERSION


def test_the_pages_that_are_made_are_fresh(root: Path) -> None:
    pages = runpy.run_path(str(root / "scripts" / "make_reference.py"))["PAGES"]
    for name, page in pages.items():
        assert (root / "docs" / name).read_text(encoding="utf-8") == page(), "run `make reference`"


def test_architecture_names_only_modules_that_exist_and_all_of_them(root: Path) -> None:
    named = set(re.findall(r"`([a-z_/]+\.py)`", (root / "ARCHITECTURE.md").read_text(encoding="utf-8")))
    package = root / "speccompile"
    modules = {path.relative_to(package).as_posix() for path in package.rglob("*.py")}
    assert named - {path.relative_to(root).as_posix() for path in (root / "tests").rglob("*.py")} <= modules
    assert {name for name in modules - named if not name.endswith(("__init__.py", "__main__.py"))} == set()


def test_the_examples_of_the_readme_give_what_it_shows(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert has_examples(text)
    assert text == played(text)


def test_the_changelog_knows_this_version(root: Path) -> None:
    assert f"## {VERSION}" in (root / "CHANGELOG.md").read_text()
