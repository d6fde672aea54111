"""Runs that are compiled by the page of their shape give what the ordinary path gives."""

from __future__ import annotations

import json

from helpers.shapes import SCALARS, outcome, scalars_in, source, with_scalars
from hypothesis import given
from hypothesis import strategies as st

from speccompile.compiler.compile_files import compile_file, source_compiler
from speccompile.compiler.documents.admin_config import Setting
from speccompile.compiler.shapes.split_text import split_text
from speccompile.testing.admin import AdminConfig
from speccompile.testing.admin_strategies import attempted
from speccompile.testing.plain_data import Data
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.serialize import serialize


def assert_same(texts: list[str], setting: Setting) -> None:
    """Compile the texts in order, and each of them alone by the ordinary path."""
    compile_source = source_compiler(setting)
    for number, text in enumerate(texts):
        one = source(text, f"run-{number}.yaml")
        expected = [outcome(result) for result in compile_file(parse(one), setting)]
        assert [outcome(result) for result in compile_source(one)] == expected, text


def in_flow(run: Data) -> str:
    """The run with each field on one line."""
    return "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in run.items())


@st.composite
def sequences(draw: st.DrawFn) -> tuple[list[str], AdminConfig]:
    """Texts of one structure, and what they are compiled with."""
    run, admin = draw(attempted())
    write = draw(st.sampled_from([lambda one: serialize([one]), in_flow]))
    text = write(run)
    split = split_text(text)
    texts = [text, text]
    if split is None or not split.scalars:
        return texts, admin
    known = [*dict.fromkeys([*split.scalars, *scalars_in(admin.files), *scalars_in(admin.platform)])]
    scalars = st.sampled_from(SCALARS) | st.sampled_from(known) | st.sampled_from([f"{one}7" for one in split.scalars])
    for _ in range(draw(st.integers(2, 5))):
        changed = list(split.scalars)
        for number in draw(st.lists(st.integers(0, len(changed) - 1), min_size=1, max_size=4)):
            changed[number] = draw(scalars)
        texts.append(with_scalars(split, changed))
    return [*texts, text], admin


@given(sequences())
def test_law_a_page_gives_what_the_ordinary_path_gives(sequence: tuple[list[str], AdminConfig]) -> None:
    texts, admin = sequence
    assert_same(texts, admin.setting)
