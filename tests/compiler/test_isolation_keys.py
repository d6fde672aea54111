"""Labels and annotations that only admins may set."""

from __future__ import annotations

import pytest
from helpers.paths import ROOT

from speccompile import CompileError, compile_run
from speccompile.compiler.isolation_keys import ISOLATION_KEYS

RUN = {"name": "a", "action": "job", "image": "python"}


@pytest.mark.parametrize("pattern", ISOLATION_KEYS)
@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_a_run_may_set_a_key_only_where_the_platform_allows_it(field: str, pattern: str) -> None:
    key = pattern.replace("*", "x")
    # Kubernetes knows the values of some annotations.
    entry = {key: "runtime/default" if field == "annotations" else "a"}
    with pytest.raises(CompileError) as caught:
        compile_run({**RUN, field: entry})
    assert [finding.code for finding in caught.value.diagnostics] == ["policy/confinement"]
    for allowed in (key, f"{key[:-1]}*"):
        assert key in compile_run({**RUN, field: entry}, platform={"allowed_keys": [allowed]}).to_yaml()
    assert key in compile_run(RUN, platform={"enforce": {field: entry}}).to_yaml()


@pytest.mark.parametrize(
    "key",
    [
        "example.com/owner",
        "kueue.x-k8s.io/queue-name",
        "karpenter.sh/do-not-disrupt",
        "crio.io",
        "not-vault.hashicorp.com/a",
        "prometheus.io/scrape",
    ],
)
def test_other_keys_are_left_to_runs(key: str) -> None:
    assert key in compile_run({**RUN, "annotations": {key: "a"}}).to_yaml()


def test_the_documentation_lists_all_keys() -> None:
    page = (ROOT / "docs" / "admin.md").read_text(encoding="utf-8")
    assert [pattern for pattern in ISOLATION_KEYS if f"`{pattern}`" not in page] == []
