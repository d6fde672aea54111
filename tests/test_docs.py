"""Pages about the code: paths exist, examples run, generated pages are current."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from helpers.page_examples import has_examples, played
from helpers.paths import ROOT

from speccompile.version import VERSION

ARCHITECTURE = ROOT / "ARCHITECTURE.md"
DECISIONS = ROOT / "docs" / "decisions"
MAX_LINES = 140
"""ARCHITECTURE.md is read in one sitting."""
MAX_DECISION_LINES = 30
_SUFFIXES = (".py", ".md", ".json", ".yaml", ".toml", ".j2")
_SEARCHED = ("speccompile", "tests", "schemas", "templates", "docs")


def test_generated_pages_are_current(root: Path) -> None:
    pages = runpy.run_path(str(root / "scripts" / "make_reference.py"))["PAGES"]
    for name, page in pages.items():
        assert (root / "docs" / name).read_text(encoding="utf-8") == page(), "run `make reference`"
    codes = {path.relative_to(root / "docs").as_posix() for path in (root / "docs" / "codes").iterdir()}
    assert codes <= set(pages), "delete pages of groups that no longer exist"


def mentioned_paths(text: str) -> set[str]:
    """Files and folders (with a slash at the end) in backticks, and modules wherever they are mentioned."""
    quoted = {name for name in re.findall(r"`([\w./-]+)`", text) if name.endswith((*_SUFFIXES, "/"))}
    return quoted | set(re.findall(r"\w+(?:/\w+)+\.py", text))


def is_in_repository(path: str) -> bool:
    """Whether the path is relative to the repository or the package; a bare file name may be anywhere."""
    if "/" in path:
        return any((top / path).exists() for top in (ROOT, ROOT / "speccompile"))
    return (ROOT / path).exists() or any(found for top in _SEARCHED for found in (ROOT / top).rglob(path))


@pytest.mark.parametrize("page", [ARCHITECTURE, *sorted(DECISIONS.glob("*.md"))], ids=lambda page: page.stem)
def test_the_paths_that_a_page_about_the_code_mentions_exist(page: Path) -> None:
    paths = mentioned_paths(page.read_text(encoding="utf-8"))
    assert [path for path in sorted(paths) if not is_in_repository(path)] == []


def test_architecture_is_one_page() -> None:
    assert len(ARCHITECTURE.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


def test_the_index_of_decisions_lists_each_once() -> None:
    pages = sorted(DECISIONS.glob("0*.md"))
    titles = [page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") for page in pages]
    index = (DECISIONS / "index.md").read_text(encoding="utf-8")
    listed = re.findall(r"^- \[(.+)\]\((.+)\)$", index, re.MULTILINE)
    assert sorted(listed, key=lambda row: row[1]) == list(zip(titles, [page.name for page in pages], strict=True))
    assert [int(page.name.partition("-")[0]) for page in pages] == [*range(1, len(pages) + 1)]


@pytest.mark.parametrize("page", sorted(DECISIONS.glob("0*.md")), ids=lambda page: page.stem)
def test_a_decision_has_date_context_decision_and_consequences(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert re.match(r"# .+\n\nDate: \d{4}-\d{2}\n", text)
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences"]
    assert len(text.splitlines()) <= MAX_DECISION_LINES


def test_the_examples_of_the_readme_print_what_it_shows(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    readme = root / "README.md"
    text = readme.read_text(encoding="utf-8")
    assert has_examples(text)
    monkeypatch.chdir(tmp_path)
    current = played(text)
    if request.config.getoption("--update-golden"):
        readme.write_text(current, encoding="utf-8")
    else:
        assert text == current, "if this is intended, run pytest --update-golden and read the diff"


@pytest.mark.parametrize("name", ["README.md", "CHANGELOG.md", "ARCHITECTURE.md"])
def test_links_of_the_pages_outside_the_site_exist(name: str, root: Path) -> None:
    """The build of the site checks the links of all other pages."""
    links = re.findall(r"\]\(([^)#]+)", (root / name).read_text(encoding="utf-8"))
    assert [link for link in links if "://" not in link and not (root / link).exists()] == []


def test_no_page_installs_a_release(root: Path) -> None:
    """There is none yet, so extras are installed from a checkout: `pip install '.[verify]'`."""
    pages = (root / "README.md", *sorted((root / "docs").rglob("*.md")))
    assert [page for page in pages if "install 'speccompile[" in page.read_text(encoding="utf-8")] == []


def test_the_changelog_has_this_version(root: Path) -> None:
    assert f"## {VERSION}" in (root / "CHANGELOG.md").read_text()
