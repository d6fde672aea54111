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
    """Compiling changes no input, and compiling again produces the same bytes and findings."""
    before = case.copy()
    first = compiled(case)
    assert case == before
    second = compiled(case)
    assert first.to_yaml() == second.to_yaml()
    assert [one.message for one in first.diagnostics] == [one.message for one in second.diagnostics]
    assert case == before


@given(cases())
def test_pure_no_container_is_shared(case: Case) -> None:
    """The data of manifests shares no list or mapping with other manifests, with earlier copies or with the inputs."""
    result = compiled(case)
    text = result.to_yaml()
    copies = [manifest.data for manifest in result.manifests for _ in range(2)]
    of_manifests = [container for copy in copies for container in containers(copy)]
    of_inputs = [container for document in case for container in containers(document)]
    assert len({id(container) for container in of_manifests}) == len(of_manifests)
    assert not {id(container) for container in of_manifests} & {id(container) for container in of_inputs}
    for container in of_manifests:
        container.clear()
    assert result.to_yaml() == text


@given(st.lists(cases(built_in=True, alone=True), min_size=2, max_size=3, unique_by=lambda case: case.run["name"]))
def test_pure_a_batch_produces_what_each_run_produces_alone(batch: list[Case]) -> None:
    """Runs compiled in one call do not influence each other, unless they would produce the same object."""
    alone = [compiled(case).to_yaml() for case in batch]
    together = list(compile_many([case.run for case in batch]))
    for text, result in zip(alone, together, strict=True):
        if isinstance(result, CompileError):
            assert {finding.code for finding in result.diagnostics} == {"run/duplicate-object"}
        else:
            assert result.to_yaml() == text
