"""`speccompile[testing]` as a platform team uses it: three lines, a case per profile and property, clear failures."""

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

# An environment without the entry point needs the plugin by name.
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


def test_profiles_of_other_targets_are_skipped(team: pytest.Pytester) -> None:
    (team.path / "profiles" / "models.yaml").write_text("id: models\ntarget: seldon\nserver: {config: mlserver}\n")
    result = run(team, "--collect-only", "-q")
    assert "[1xa100]" in result.stdout.str()
    assert "[models]" not in result.stdout.str()


def test_three_lines_test_every_property(team: pytest.Pytester) -> None:
    result = run(team, "-v")
    tests = len(PROPERTIES) * len(["1xa100", "gpu", "no profile"]) + len(["no errors"])
    result.assert_outcomes(passed=tests)
    result.stdout.re_match_lines([rf"speccompile: {tests} property tests took \d+\.\d s"])
    for prop in PROPERTIES:
        result.stdout.fnmatch_lines([f"*::test_{prop.name}[[]1xa100[]] PASSED*"])


def test_a_violation_is_reported_with_a_run(team: pytest.Pytester, root: Path) -> None:
    team.makeconftest(FEW.format(count=50) + BROKEN_MERGE)
    result = run(team, "-k", "test_fixed_values_apply and 1xa100")
    result.assert_outcomes(failed=1)
    output = result.stdout.str()
    prop = next(prop for prop in PROPERTIES if prop.name == "fixed_values_apply")
    assert f"Property violated with profile `1xa100`: {prop.sentence}" in output
    assert "Traceback" not in output
    assert "speccompile render run.yaml --profiles profiles" in output
    parts = re.search(r"The run:\n\n(.*?)\n\nIts manifests:\n\n(.*?)\n\nTo reproduce", output, re.DOTALL)
    assert parts
    # The intact compiler produces other manifests for the same run.
    text, manifests = (re.sub("^    ", "", part, flags=re.MULTILINE) for part in parts.groups())
    good = compile_run(text, profiles=[root / "examples" / "profiles"]).manifests
    assert [manifest.data for manifest in good] != list(yaml.safe_load_all(manifests))


def test_errors_of_the_profiles_fail(team: pytest.Pytester) -> None:
    (team.path / "platform.yaml").write_text("ceilings: {memory: 1Gi}\n")
    team.makepyfile(test_profiles=THREE_LINES.format(platform="'platform.yaml'"))
    result = run(team)
    result.assert_outcomes(failed=1, skipped=len(PROPERTIES))
    result.stdout.fnmatch_lines(["*error[[]schema/unknown-key[]]*", "*platform.yaml:1:*"])


def test_a_property_that_hardly_any_run_could_violate_fails(team: pytest.Pytester) -> None:
    (team.path / "profiles" / "closed.yaml").write_text(
        "id: closed\nforbid: [image]\nrules: {image: {required: true}}\n"
    )
    result = run(team, "-k", "closed")
    result.assert_outcomes(failed=len(PROPERTIES))
    result.stdout.fnmatch_lines(
        [
            f"Property not really tested with profile `closed`: {PROPERTIES[0].sentence}",
            "Only 0 of 3 generated runs compile. The one that came closest:",
            "    profile: closed",
            "What rejects it:",
            "*error[[]*",
            "*speccompile render run.yaml --profiles profiles",
        ]
    )


def test_profiles_that_no_project_may_use_are_skipped(team: pytest.Pytester) -> None:
    (team.path / "platform.yaml").write_text("project_profiles: {vision: [1xa100]}\n")
    team.makepyfile(test_profiles=THREE_LINES.format(platform="'platform.yaml'"))
    output = run(team, "--collect-only", "-q").stdout.str()
    assert ("[1xa100]" in output, "[gpu]" in output, "[no profile]" in output) == (True, False, True)


def page_files(page: Path) -> dict[str, str]:
    """The first version of each file on a page."""
    files: dict[str, str] = {}
    for name, text in re.findall(r"^```yaml\n# file: (\S+)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
        files.setdefault(name, text)
    return files


def test_the_example_of_the_documentation_passes(team: pytest.Pytester, root: Path) -> None:
    shutil.rmtree(team.path / "profiles")
    for name, text in page_files(root / "docs" / "admin.md").items():
        if name.startswith(("profiles/", "platform.yaml")):
            (team.path / name).parent.mkdir(exist_ok=True)
            (team.path / name).write_text(text)
    team.makepyfile(test_profiles=THREE_LINES.format(platform="'platform.yaml'"))
    team.makeconftest(FEW.format(count=20))
    tests = len(PROPERTIES) * len(["1xa100", "no profile"]) + len(["no errors"])
    run(team).assert_outcomes(passed=tests)


def test_profiles_in_a_config_map_and_a_preset_are_read(team: pytest.Pytester) -> None:
    inner = "".join(f"    {line}\n" for line in (team.path / "profiles" / "1xa100.yaml").read_text().splitlines())
    (team.path / "profiles" / "1xa100.yaml").write_text(
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n  gpu.yaml: |\n{inner}"
    )
    (team.path / "platform.yaml").write_text("preset: digitalhub\n")
    team.makepyfile(test_profiles=THREE_LINES.format(platform="'platform.yaml'"))
    result = run(team, "-k", "1xa100 and (fixed or forbidden or blocked)")
    result.assert_outcomes(passed=3)


def test_the_page_lists_every_property(root: Path) -> None:
    page = (root / "docs" / "testing.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `test_(\w+)` \| (.*) \|$", page, re.MULTILINE)
    assert listed == [(prop.name, prop.sentence) for prop in PROPERTIES]
