"""Any input produces manifests or a CompileError with findings, and nothing else is raised."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from helpers.plain_data import containers
from hypothesis import event, example, given
from hypothesis import strategies as st

from speccompile import Compiled, CompileError, compile_run
from speccompile.testing.plain_data import Data
from speccompile.testing.strategies.documents import Case, cases
from speccompile.testing.strategies.resources import quantities
from speccompile.testing.strategies.text import any_texts, json_trees


@st.composite
def damaged(draw: st.DrawFn) -> Case:
    """A case with one value, anywhere, replaced by any other."""
    case = draw(cases())
    documents: list[Any] = [document for document in case if document]
    document = draw(st.sampled_from(documents))
    holders = list(containers(document))
    holder = draw(st.sampled_from([holder for holder in holders if holder]))
    key = draw(st.sampled_from(sorted(holder) if isinstance(holder, dict) else range(len(holder))))
    holder[key] = draw(json_trees() | quantities() | st.sampled_from([deepcopy(other) for other in holders]))
    return case


def is_answered(compile_it: Callable[[], Compiled]) -> bool:
    """Whether it produces manifests; otherwise it raises CompileError with printable findings."""
    try:
        text = compile_it().to_yaml()
    except CompileError as error:
        refused = str(error) if error.diagnostics else ""
    else:
        return bool(text)
    assert refused
    return False


@given(cases())
def test_total_every_valid_case_compiles(case: Case) -> None:
    """Any valid run, profile and platform produce manifests; other properties rely on these strategies."""
    assert case.compile().to_yaml()


@given(damaged())
def test_total_every_damaged_case_compiles_or_has_findings(case: Case) -> None:
    """A valid case with a misplaced value produces manifests or a CompileError."""
    event(f"compiles: {is_answered(case.compile)}")


@given(
    st.fixed_dictionaries({}, optional={side: quantities() for side in ("requests", "limits")}),
    st.sampled_from(("cpu", "mem", "disk", "gpu")),
    st.sampled_from((None, 1, 1.1, 100)),
)
@example({"requests": "7Ei"}, "mem", 2)
def test_total_every_quantity_compiles_or_has_findings(sides: Data, resource: str, factor: float | None) -> None:
    """Quantities of any size, with a platform that multiplies them, produce manifests or a CompileError."""
    run = {"name": "a", "action": "job", "image": "a", "resources": {resource: sides}}
    event(f"compiles: {is_answered(Case(run, None, {'memory_limit_factor': factor}).compile)}")


@given(json_trees())
def test_total_every_tree_compiles_or_has_findings(tree: Any) -> None:
    """Any value that is not a run raises CompileError."""
    is_answered(lambda: compile_run(tree if isinstance(tree, dict) else {"name": tree}))


@given(st.lists(any_texts() | st.sampled_from(("name: a", "action: job", "image: a", "  - b", "args:")), max_size=6))
def test_total_every_text_compiles_or_has_findings(lines: list[str]) -> None:
    """Any text is a run, or is refused with a CompileError."""
    is_answered(lambda: compile_run("\n".join(lines) + "\n"))
