"""Compiling changes no input, shares no data, and does not depend on earlier runs."""

from __future__ import annotations

from helpers.cases import compiled
from helpers.plain_data import containers
from hypothesis import given
from hypothesis import strategies as st

from speccompile import CompileError, compile_many
from speccompile.testing.strategies.documents import Case, cases


@given(cases())
def test_pure_inputs_stay_and_outputs_are_equal(case: Case) -> None:
    """Compiling changes nothing that was given, and compiling again gives the same bytes and findings."""
    before = case.copy()
    first = compiled(case)
    assert case == before
    second = compiled(case)
    assert first.to_yaml() == second.to_yaml()
    assert [found.message for found in first.diagnostics] == [found.message for found in second.diagnostics]
    assert case == before


@given(cases())
def test_pure_no_container_is_shared(case: Case) -> None:
    """The data of manifests shares no list or mapping with other manifests, with earlier copies or with the inputs."""
    result = compiled(case)
    text = result.to_yaml()
    copies = [manifest.data for manifest in result.manifests for _ in range(2)]
    found = [container for copy in copies for container in containers(copy)]
    given_ones = [container for document in case for container in containers(document)]
    assert len({id(container) for container in found}) == len(found)
    assert not {id(container) for container in found} & {id(container) for container in given_ones}
    for container in found:
        container.clear()
    assert result.to_yaml() == text


@given(st.lists(cases(built_in=True, alone=True), min_size=2, max_size=3, unique_by=lambda case: case.run["name"]))
def test_pure_a_batch_gives_what_each_run_gives_alone(batch: list[Case]) -> None:
    """Runs compiled in one call do not influence each other, unless they would make one object."""
    alone = [compiled(case).to_yaml() for case in batch]
    together = list(compile_many([case.run for case in batch]))
    for text, result in zip(alone, together, strict=True):
        if isinstance(result, CompileError):
            assert {found.code for found in result.diagnostics} == {"run/duplicate-object"}
        else:
            assert result.to_yaml() == text
