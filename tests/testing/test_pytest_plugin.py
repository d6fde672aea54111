"""What a platform team sees of `speccompile[testing]`: three lines, a case for each profile and law, clear failures."""

from __future__ import annotations

import re
import shutil
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import yaml

from speccompile import compile_run
from speccompile.testing import PROPERTIES

pytest_plugins = ["pytester"]

# An environment that was installed before the entry point came needs the plugin by name.
PLUGIN = () if entry_points(group="pytest11", name="speccompile") else ("-p", "speccompile.testing.pytest_plugin")
THREE_LINES = """\
from speccompile.testing import AdminProperties
class TestOurProfiles(AdminProperties):
    profiles, platform = ["profiles"], {platform}
"""
FEW = """\
from hypothesis import settings
settings.register_profile("few", max_examples={count}, derandomize=True)
settings.load_profile("few")
"""
BROKEN_MERGE = "import speccompile.compiler.merge as merge\nmerge._replaced = lambda _, __, weaker, ___, ____: weaker\n"


@pytest.fixture
def team(pytester: pytest.Pytester, root: Path) -> pytest.Pytester:
    """A team's repository with the bundled profiles."""
    shutil.copytree(root / "examples" / "profiles", pytester.path / "profiles")
    pytester.makepyfile(test_profiles=THREE_LINES.format(platform=None))
    pytester.makeconftest(FEW.format(count=3))
    return pytester


def run(team: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return team.runpytest_subprocess(*PLUGIN, "-p", "no:cacheprovider", "-p", "no:xdist", *arguments)


def test_pyproject_names_the_plugin(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"speccompile": "speccompile.testing.pytest_plugin"}
    assert {re.split("[>=]", one)[0] for one in project["optional-dependencies"]["testing"]} == {"hypothesis", "pytest"}
    assert "speccompile[dask,docs,testing,verify]" in project["optional-dependencies"]["test"]


def test_profiles_of_other_targets_are_left_out(team: pytest.Pytester) -> None:
    (team.path / "profiles" / "models.yaml").write_text("id: models\ntarget: seldon\nserver: {config: mlserver}\n")
    result = run(team, "--collect-only", "-q")
    assert "[1xa100]" in result.stdout.str()
    assert "[models]" not in result.stdout.str()


def test_three_lines_put_the_bundled_profiles_under_every_law(team: pytest.Pytester) -> None:
    result = run(team, "-v")
    cases = len(PROPERTIES) + len(["some run compiles"])
    result.assert_outcomes(passed=cases * len(["1xa100", "gpu", "no profile"]) + len(["no faults"]))
    for law in PROPERTIES:
        result.stdout.fnmatch_lines([f"*::test_{law.name}[[]1xa100[]] PASSED*"])


def test_a_hole_is_told_with_a_run_that_can_be_pasted(team: pytest.Pytester, root: Path) -> None:
    team.makeconftest(FEW.format(count=50) + BROKEN_MERGE)
    result = run(team, "-k", "test_what_is_fixed_stays and 1xa100")
    result.assert_outcomes(failed=1)
    told = result.stdout.str()
    law = next(law for law in PROPERTIES if law.name == "what_is_fixed_stays")
    assert f"Under profile `1xa100` a law is broken: {law.sentence}" in told
    assert "Traceback" not in told
    assert "speccompile render run.yaml --profiles profiles" in told
    pasted = re.search(r"pasted into a file:\n\n(.*?)\n\nWhat came out:\n\n(.*?)\n\nTry it", told, re.DOTALL)
    assert pasted
    # The run as it stands there, under the compiler as it should be: what the law asks for is what comes out.
    text, came_out = (re.sub("^    ", "", part, flags=re.MULTILINE) for part in pasted.groups())
    good = compile_run(text, profiles=[root / "examples" / "profiles"]).manifests
    assert [manifest.data for manifest in good] != list(yaml.safe_load_all(came_out))


def test_faults_of_the_setting_are_the_failure(team: pytest.Pytester) -> None:
    (team.path / "platform.yaml").write_text("ceilings: {memory: 1Gi}\n")
    team.makepyfile(test_profiles=THREE_LINES.format(platform="'platform.yaml'"))
    result = run(team)
    result.assert_outcomes(failed=1, skipped=len(PROPERTIES) + 1)
    result.stdout.fnmatch_lines(["*error[[]schema/unknown-key[]]*", "*platform.yaml:1:*"])


def test_a_profile_under_which_nothing_compiles_is_told(team: pytest.Pytester) -> None:
    (team.path / "profiles" / "closed.yaml").write_text("id: closed\nforbid: [image]\n")
    result = run(team, "-k", "some_run")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["*No run compiles under profile `closed`*", "*error[[]*"])


def test_profiles_in_a_config_map_and_a_preset_are_read(team: pytest.Pytester) -> None:
    inner = "".join(f"    {line}\n" for line in (team.path / "profiles" / "1xa100.yaml").read_text().splitlines())
    (team.path / "profiles" / "1xa100.yaml").write_text(
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n  gpu.yaml: |\n{inner}"
    )
    (team.path / "platform.yaml").write_text("preset: digitalhub\n")
    team.makepyfile(test_profiles=THREE_LINES.format(platform="'platform.yaml'"))
    result = run(team, "-k", "1xa100 and (fixed or compiles or forbidden or blocked)")
    result.assert_outcomes(passed=4)


def test_the_page_lists_every_law_in_its_own_words(root: Path) -> None:
    page = (root / "docs" / "testing.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `test_(\w+)` \| (.*) \|$", page, re.MULTILINE)
    assert listed == [(law.name, law.sentence) for law in PROPERTIES]
