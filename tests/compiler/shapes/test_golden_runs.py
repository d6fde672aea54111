"""The runs of golden/ and examples/ with values of each other, by the page of their shape and by the ordinary path.

Each field, setting and check has golden cases, so one that reads values of runs is compared here without a test of its
own: with the values that its cases refuse, those of its configuration, and some of other cases.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path

import pytest
from helpers.golden_cases import CASES
from helpers.paths import ROOT
from helpers.shapes import Page, marked_scalars, source, with_scalars

from speccompile.compiler.shapes.known_shapes import _numbers_of
from speccompile.compiler.shapes.split_text import SplitText, split_text
from speccompile.compiler.shapes.varying import AMOUNT, COUNT, NAME, PATH, PORT, TEXT
from speccompile.files.load_admin_config import read_setting
from speccompile.model.key_path import KeyPath
from speccompile.schema.library import Library
from speccompile.yaml_text.parse import parse

FOLDERS = [*CASES, ROOT / "examples"]
_NEUTRAL: Mapping[str, str] = {
    TEXT: "a",
    NAME: "a{}",
    PATH: "/a{}",
    PORT: "300{}",
    COUNT: "5",
    AMOUNT: "5Mi",
    "cpu": "3",
}
"""Values that hardly any check refuses, by kind or key; filled with the number of the scalar."""
_WITHOUT_PAGE = {
    "credential-in-a-variable-is-not-shown": "secrets",
    "explain-what-left-nothing": "secrets",
    "objects-too-large-for-kubectl-apply": "a long text",
    "platform-variables": "a variable of the platform",
}
"""Cases whose runs are compiled one by one although some of their values may vary, and the reason."""
_MOST_OTHERS = 4
"""Values of other cases that a scalar is replaced by."""


def _texts(folder: Path, *patterns: str) -> Iterator[str]:
    """The documents in the files of a folder, each as a text of its own."""
    files = [file for pattern in patterns for file in sorted(folder.glob(pattern)) if file.is_file()]
    for file in files:
        yield from file.read_text(errors="replace").split("---\n")


def _runs(folder: Path) -> Iterator[str]:
    return _texts(folder, "run*.yaml", "runs/*.yaml")


def _scalars(text: str) -> Sequence[str]:
    split = split_text(text)
    return split.scalars if split else ()


def _keys(path: KeyPath) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The first and last key of a path, and the first alone."""
    names = [step for step in path if isinstance(step, str)]
    return (names[0], names[-1]), (names[0],)


@cache
def _known() -> Mapping[tuple[str, ...], Sequence[str]]:
    """The scalars of all runs, by the keys of their path."""
    known: dict[tuple[str, ...], dict[str, None]] = defaultdict(dict)
    for text in (text for folder in FOLDERS for text in _runs(folder)):
        split = split_text(text) or SplitText(text, ())
        for document in parse(source(text)).documents if split.scalars else ():
            numbers = _numbers_of(document.root, split)
            for path, node in document.root.walk():
                for keys in _keys(path) if id(node) in numbers else ():
                    known[keys][split.scalars[numbers[id(node)]]] = None
    return {keys: [*scalars] for keys, scalars in known.items()}


def _of_other_cases(path: KeyPath, turn: int) -> Iterator[str]:
    """Scalars of the same field, then of related ones, from a start that depends on the turn."""
    for scalars in (_known().get(keys, ()) for keys in _keys(path)):
        start = turn % max(1, len(scalars))
        yield from (*scalars[start:], *scalars[:start])


def _neutral(text: str, library: Library) -> str:
    """The run with neutral values in all fields that the schemas mark, so that most of the refused ones are valid."""
    split = split_text(text) or SplitText(text, ())
    scalars = [*split.scalars]
    for number, (kind, key) in marked_scalars(text, library).items():
        scalars[number] = _NEUTRAL["cpu" if key == "cpu" else kind].format(number)
    return with_scalars(split, scalars)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_values_of_other_runs(folder: Path) -> None:
    profiles, platform, turn = folder / "profiles", folder / "platform.yaml", FOLDERS.index(folder)
    setting = read_setting([profiles] if profiles.exists() else [], platform if platform.exists() else None)
    of_admin = [one for text in _texts(folder, "profiles/*.yaml", "platform.yaml") for one in _scalars(text)]
    for text in _runs(folder):
        neutral, original = Page(_neutral(text, setting.library), setting), _scalars(text)
        # A marker that is refused, or changed on the way to the manifests, prevents the page.
        is_uniform = neutral.exists or neutral.holes is None or folder.name in _WITHOUT_PAGE
        assert is_uniform, f"a marked value decides something: {text}"
        for page in (neutral, Page(text, setting)):
            for number, varying in enumerate(page.holes.varying if page.holes and page.exists else ()):
                if varying:
                    others = page.with_others(number, dict.fromkeys(_of_other_cases(varying.path, turn)))
                    aimed = page.with_others(number, dict.fromkeys((original[number], *of_admin)))
                    for changed in (*aimed, *islice(others, _MOST_OTHERS)):
                        page.assert_same(changed)
