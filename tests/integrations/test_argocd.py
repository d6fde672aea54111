"""The Argo CD plugin: its commands, run as Argo CD runs them, print manifests or fail."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from helpers.paths import ROOT
from helpers.programs import program
from hypothesis import given
from hypothesis import strategies as st

from speccompile import CompileError, compile_run
from speccompile.cli.main import main
from speccompile.compiler.bundled_library import bundled_library
from speccompile.integrations.argocd import Parameters, read_parameters

PLUGIN: dict[str, Any] = yaml.safe_load((ROOT / "contrib" / "argocd" / "plugin.yaml").read_text(encoding="utf-8"))
PAGE = ROOT / "docs" / "howto" / "argocd.md"
SPEC = PLUGIN["spec"]
GENERATE: list[str] = SPEC["generate"]["command"]
ANNOUNCE: list[str] = SPEC["parameters"]["dynamic"]["command"]
LIMIT = 90
"""The timeout of Argo CD for a command, in seconds."""

RUN = "name: {name}\naction: job\nimage: python:3.12\n"
PROFILED = "name: train\naction: job\nimage: python:3.12\nprofile: small\nresources: {mem: 2Gi}\n"
PROFILE = "id: small\nresources: {mem: 1Gi}\n"


class Answer(NamedTuple):
    """What one command gave."""

    code: int
    stdout: str
    stderr: str


def variables(app: str, parameters: Any) -> dict[str, str]:
    """The environment variables that Argo CD sets."""
    return {
        "ARGOCD_APP_NAME": "demo",
        "ARGOCD_APP_NAMESPACE": "elsewhere",
        "ARGOCD_APP_SOURCE_PATH": app,
        "ARGOCD_APP_PARAMETERS": parameters if isinstance(parameters, str) else json.dumps(parameters or []),
        "KUBE_VERSION": "1.33",
    }


def as_argo_cd(command: list[str], app: str = "app", parameters: Any = None) -> Answer:
    """The command as Argo CD runs it: in the application's directory, with its words in the environment."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, **variables(app, parameters)}
    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    done = subprocess.run(command, cwd=app, env=environment, timeout=LIMIT, check=False, **streams)
    return checked(Answer(done.returncode, done.stdout, done.stderr))


def briefly(command: list[str], app: str = "app", parameters: Any = None) -> Answer:
    """The same in this process."""
    name, *arguments = command
    assert name == "speccompile"
    stdout, stderr = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(app)
        patch.setattr(sys, "stdout", stdout)
        patch.setattr(sys, "stderr", stderr)
        for variable, value in variables(app, parameters).items():
            patch.setenv(variable, value)
        try:
            code = main(arguments)
        except SystemExit as stop:  # argparse ends wrong calls in this way
            code = int(stop.code or 0)
    return checked(Answer(code, stdout.getvalue(), stderr.getvalue()))


def checked(answer: Answer) -> Answer:
    assert bool(answer.stdout.strip()) == (answer.code == 0), "blank output that is no failure deletes objects"
    assert "Traceback" not in answer.stderr
    return answer


@pytest.fixture(autouse=True)
def _repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository with an application in it, and profiles beside it."""
    monkeypatch.chdir(tmp_path)
    for folder in ("app/runs", "profiles"):
        Path(folder).mkdir(parents=True)
    Path("profiles/small.yaml").write_text(PROFILE)
    Path("app/speccompile.yaml").write_text("runs: [runs]\nprofiles: [../profiles]\n")
    Path("app/runs/train.yaml").write_text(PROFILED)
    Path("app/runs/clean.yaml").write_text(RUN.format(name="clean"))


def rendered(*runs: str, platform: str | None = None) -> str:
    return "---\n".join(compile_run(run, profiles=["profiles"], platform=platform).to_yaml() for run in runs)


def test_the_plugin_is_valid_for_argo_cd() -> None:
    assert (PLUGIN["apiVersion"], PLUGIN["kind"]) == ("argoproj.io/v1alpha1", "ConfigManagementPlugin")
    assert PLUGIN.keys() == {"apiVersion", "kind", "metadata", "spec"}
    assert PLUGIN["metadata"] == {"name": "speccompile"}
    assert SPEC.keys() == {"discover", "generate", "parameters"}
    assert SPEC["parameters"].keys() == {"static", "dynamic"}
    keys = {"name", "title", "tooltip", "required", "itemType", "collectionType", "string", "array", "map"}
    for announced in SPEC["parameters"]["static"]:
        assert announced.keys() <= keys
        assert isinstance(announced[announced["collectionType"]], str)
        assert isinstance(announced["tooltip"], str)


def test_an_application_is_a_folder_with_a_project_file() -> None:
    assert sorted(path.as_posix() for path in Path("app").glob(SPEC["discover"]["fileName"])) == [
        "app/speccompile.yaml"
    ]


def test_generate_prints_what_render_renders_and_nothing_else() -> None:
    found = as_argo_cd(GENERATE)
    assert found.code == 0
    assert found.stdout == rendered(RUN.format(name="clean"), PROFILED)
    assert "notice[merge/overridden]" in found.stderr
    assert "elsewhere" not in found.stdout


def test_the_description_of_parameters_is_json() -> None:
    found = as_argo_cd(ANNOUNCE)
    assert found == briefly(ANNOUNCE)
    assert isinstance(json.loads(found.stdout), list)


def test_a_failure_is_reported_on_stderr_only() -> None:
    Path("app/runs/train.yaml").write_text("name: [")
    found = as_argo_cd(GENERATE)
    assert found.code == 1
    assert "error[yaml/syntax]" in found.stderr


def test_the_output_is_read_by_kubectl() -> None:
    Path("out.yaml").write_text(as_argo_cd(GENERATE).stdout)
    command = [program("kubectl"), "kustomize", "."]
    Path("kustomization.yaml").write_text("resources: [out.yaml]\n")
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert [one["metadata"]["name"] for one in yaml.safe_load_all(done.stdout)] == ["clean", "train"]


@pytest.mark.parametrize(
    ("parameters", "run", "platform"),
    [
        ([{"name": "runs", "array": ["runs/train.yaml"]}], PROFILED, None),
        (
            [{"name": "runs", "array": ["runs/train.yaml"]}, {"name": "platform", "string": "digitalhub"}],
            PROFILED,
            "digitalhub",
        ),
        ([{"name": "project", "string": "../other.yaml"}], RUN.format(name="clean"), None),
        (
            [{"name": "runs", "array": ["runs/clean.yaml"]}, {"name": "platform", "string": ""}],
            RUN.format(name="clean"),
            None,
        ),
        ([{"name": "runs", "array": ["runs/clean.yaml", ""], "string": None}], RUN.format(name="clean"), None),
    ],
)
def test_applications_set_parameters(parameters: Any, run: str, platform: str | None) -> None:
    Path("other.yaml").write_text("runs: [app/runs/clean.yaml]\n")
    found = briefly(GENERATE, parameters=parameters)
    assert found.code == 0, found.stderr
    assert found.stdout == rendered(run, platform=platform)


def test_strict_turns_overrides_into_errors_and_its_default_is_described() -> None:
    (default,) = (one["string"] for one in SPEC["parameters"]["static"] if one["name"] == "strict")
    for value, code in (("true", 1), (default, 0)):
        assert briefly(GENERATE, parameters=[{"name": "strict", "string": value}]).code == code


def test_parameters_are_described_with_the_values_of_the_application() -> None:
    announced = {one["name"]: one for one in json.loads(briefly(ANNOUNCE).stdout)}
    assert announced["runs"]["array"] == ["runs"]
    assert announced["profiles"]["array"] == ["../profiles"]
    assert "small" in announced["profiles"]["tooltip"]
    assert announced["platform"]["string"] == ""
    assert all(one["collectionType"] in one for one in announced.values())
    # Setting what is announced changes nothing.
    set_again = [{"name": name, one["collectionType"]: one[one["collectionType"]]} for name, one in announced.items()]
    assert briefly(GENERATE, parameters=set_again) == briefly(GENERATE)
    # Nor does it leave out what comes later.
    Path("app/runs/later.yaml").write_text(RUN.format(name="later"))
    assert briefly(GENERATE, parameters=set_again) == briefly(GENERATE)


@pytest.mark.parametrize(
    ("project", "parameters", "announced"),
    [
        ("runs: [runs/*.yaml]\nprofiles: [../profiles]\n", [], []),
        ("runs: [runs/clean.yaml]\nprofiles: [../profiles]\n", [], ["runs/clean.yaml"]),
        (
            "runs: [runs]\nprofiles: [../profiles]\n",
            [{"name": "runs", "array": ["runs/clean.yaml"]}],
            ["runs/clean.yaml"],
        ),
        ("runs: [runs]\n", [{"name": "project", "string": "../speccompile.yaml"}], ["runs/clean.yaml"]),
    ],
)
def test_runs_are_described_as_the_project_file_names_them(project: str, parameters: Any, announced: list[str]) -> None:
    Path("app/speccompile.yaml").write_text(project)
    Path("speccompile.yaml").write_text("runs: [app/runs/clean.yaml]\n")
    found = {one["name"]: one for one in json.loads(briefly(ANNOUNCE, parameters=parameters).stdout)}
    assert found["runs"]["array"] == announced
    set_again = [one for one in parameters if one["name"] == "project"] + [{"name": "runs", "array": announced}]
    assert briefly(GENERATE, parameters=set_again).stdout == briefly(GENERATE, parameters=parameters).stdout


TELLING = "hunter2: [hunter2\n"


@pytest.fixture
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outside")
    for name in ("secret.yaml", "speccompile.yaml"):
        (folder / name).write_text(TELLING)
    return folder


def test_no_link_may_point_outside_the_repository(outside: Path) -> None:
    for link in ("profiles/link.yaml", "app/runs/link.yaml", "app/speccompile.yaml"):
        target, content = Path(link), Path(link).read_text() if Path(link).exists() else None
        target.unlink(missing_ok=True)
        target.symlink_to(outside / "secret.yaml")
        for command in (GENERATE, ANNOUNCE):
            found = briefly(command)
            assert found.code == 1, link
            assert "error[input/outside-repository]" in found.stderr
            assert "hunter2" not in found.stderr
        target.unlink()
        if content:
            target.write_text(content)


@pytest.mark.parametrize(
    "parameters",
    [
        [],
        [{"name": "runs", "array": ["runs"]}],
        [{"name": "runs", "array": ["sub/a.yaml"]}],
        [{"name": "project", "string": "."}],
    ],
)
def test_no_project_file_is_searched_outside_the_repository(outside: Path, parameters: Any) -> None:
    app = outside / "repository" / "app"
    (app / "runs").mkdir(parents=True)
    (app / "sub").mkdir()
    (app / "sub" / "speccompile.yaml").symlink_to(outside / "secret.yaml")
    for folder in ("runs", "sub"):
        (app / folder / "a.yaml").write_text(RUN.format(name="a"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(outside / "repository")
        found = briefly(GENERATE, parameters=parameters or [{"name": "runs", "array": ["runs"]}])
        assert "hunter2" not in found.stderr
        is_asked_for = any(one["name"] == "project" for one in parameters)
        assert found.code == is_asked_for
        assert ("error[input/missing-file]" in found.stderr) == is_asked_for


def test_profiles_and_platform_of_the_parameters_are_not_runs() -> None:
    Path("app/speccompile.yaml").unlink()
    Path("profiles").rename("app/profiles")
    Path("app/platform.yaml").write_text("namespace: ai-jobs\n")
    parameters = [{"name": "profiles", "array": ["profiles"]}, {"name": "platform", "string": "platform.yaml"}]
    found = briefly(GENERATE, parameters=parameters)
    assert found.code == 0, found.stderr
    assert found.stdout.count("  namespace: ai-jobs\n") == 2


@pytest.mark.parametrize(
    ("project", "message"),
    [
        (
            "profiles: [../profiles]\n",
            "speccompile.yaml has no `runs`; add them, or set the parameter `runs`",
        ),
        ("runs: [runs]\nprofiles: [loop]\n", "cannot resolve 'loop'"),
    ],
)
def test_errors_of_an_application_are_not_command_line_errors(project: str, message: str) -> None:
    Path("app/loop").symlink_to("loop")
    Path("app/speccompile.yaml").write_text(project)
    found = briefly(GENERATE)
    assert found.code == 1
    assert message in found.stderr
    assert "usage" not in found.stderr


def test_secrets_in_parameters_are_never_shown() -> None:
    found = briefly(GENERATE, parameters='[{"name": "runs", "secrets": {"A": "hunter2hunter2"}, "bogus": 1}]')
    assert found.code == 1
    assert "hunter2" not in found.stderr


def test_applications_cannot_set_fixed_parameters() -> None:
    Path("fixed.yaml").write_text("namespace: fixed\n")
    fixed = ["--platform", str(Path("fixed.yaml").resolve())]
    assert briefly([*GENERATE, *fixed]).stdout.count("  namespace: fixed\n") == 2
    found = briefly([*GENERATE, *fixed], parameters=[{"name": "platform", "string": "digitalhub"}])
    assert (found.code, "the plugin fixes parameter" in found.stderr) == (1, True)
    assert "platform" not in [one["name"] for one in json.loads(briefly([*ANNOUNCE, *fixed]).stdout)]


@pytest.mark.parametrize(
    ("option", "fixed"),
    [("--platform", {"platform"}), ("--profiles", {"profiles", "platform"}), ("--project", {"profiles", "platform"})],
)
def test_what_the_plugin_names_cannot_be_replaced_by_other_parameters(option: str, fixed: set[str]) -> None:
    Path("admin").mkdir()
    Path("admin/platform.yaml").write_text("{}\n")
    Path("admin/small.yaml").write_text(PROFILE)
    # The project file of the plugin is outside the repository, with the files that it names.
    runs = str(Path("app/runs").resolve())
    Path("admin/speccompile.yaml").write_text(json.dumps({"runs": [runs], "profiles": ["small.yaml"]}))
    files = {"--platform": "platform.yaml", "--profiles": "small.yaml", "--project": "speccompile.yaml"}
    command = [*GENERATE, option, str(Path("admin", files[option]).resolve())]
    assert briefly(command).code == 0
    values: dict[str, Any] = {"platform": {"string": "digitalhub"}, "profiles": {"array": ["../profiles"]}}
    for name, value in values.items():
        found = briefly(command, parameters=[{"name": name, **value}])
        assert (found.code, f"the plugin fixes parameter `{name}`" in found.stderr) == (
            (1, True) if name in fixed else (0, False)
        )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("[{", "error[yaml/syntax]"),
        ('{"name": "runs"}', "error[schema/wrong-type]: expected a list"),
        ('[{"name": "strict", "string": "true"}]\n---\n[]', "the parameters must be one document"),
        ([1], "error[schema/wrong-type]"),
        ([{"string": "x"}], "error[schema/missing-key]: missing `name`"),
        ([{"name": "profile", "array": ["x"]}], "did you mean `profiles`?"),
        ([{"name": "runs", "string": "x"}], "the value of parameter `runs` must be in `array`"),
        ([{"name": "platform", "array": ["x"]}], "the value of parameter `platform` must be in `string`"),
        ([{"name": "platform", "map": {"a": "x"}}], "the value of parameter `platform` must be in `string`"),
        ([{"name": "strict", "string": "yes"}], "expected one of `true`, `false`"),
        ([{"name": "runs", "array": ["runs"]}, {"name": "runs", "array": ["runs"]}], "appears twice"),
        ([{"name": "runs", "array": ["nowhere.yaml"]}], "error[input/missing-file]"),
        ([{"name": "runs", "array": ["-"]}], "error[input/missing-file]"),
        ([{"name": "runs", "array": ["/etc/passwd"]}], "error[input/outside-repository]"),
        ([{"name": "platform", "string": "../../secret.yaml"}], "error[input/outside-repository]"),
        ([{"name": "project", "string": "/etc/passwd"}], "error[input/outside-repository]"),
        ([{"name": "profiles", "array": ["link"]}], "error[input/outside-repository]"),
        ([{"name": "profiles", "array": ["loop"]}], "error"),
    ],
)
def test_invalid_parameters_fail(parameters: Any, message: str) -> None:
    Path("app/link").symlink_to("/etc")
    Path("app/loop").symlink_to("loop")
    for command in (
        (GENERATE, ANNOUNCE) if not isinstance(parameters, list) or "runs" not in str(parameters) else (GENERATE,)
    ):
        found = briefly(command, parameters=parameters)
        assert found.code != 0
        assert message in found.stderr


@pytest.mark.parametrize(
    "project", ["", "runs: []\n", "profiles: [../profiles]\n", "runs: [empty]\n", "runs: [empty/*]\n"]
)
def test_an_application_without_runs_is_a_failure(project: str) -> None:
    Path("app/empty").mkdir()
    Path("app/speccompile.yaml").write_text(project)
    assert briefly(GENERATE).code != 0


def test_one_faulty_run_fails_the_whole_application() -> None:
    Path("app/runs/bad.yaml").write_text(RUN.format(name="bad") + "resources: {mem: 8GB}\n")
    found = briefly(GENERATE)
    assert found.code == 1
    assert "  --> runs/bad.yaml:4:18\n" in found.stderr
    assert briefly([*GENERATE, "--ignore", "schema/quantity"]).code == 1


def test_a_folder_without_a_project_file_belongs_to_the_project_above() -> None:
    Path("app/speccompile.yaml").unlink()
    Path("speccompile.yaml").write_text("runs: [profiles]\nprofiles: [profiles]\n")
    found = briefly(GENERATE, app="app/runs")
    assert found.code == 0, found.stderr
    assert found.stdout == rendered(RUN.format(name="clean"), PROFILED)
    announced = {one["name"]: one for one in json.loads(briefly(ANNOUNCE, app="app/runs").stdout)}
    assert announced["runs"]["array"] == ["."]
    assert announced["profiles"]["array"] == ["../../profiles"]


def test_the_sidecar_runs_the_image_that_the_page_builds() -> None:
    folder = ROOT / "contrib" / "argocd"
    patch = yaml.safe_load((folder / "sidecar.yaml").read_text(encoding="utf-8"))
    pod = patch["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    texts = [(folder / "Dockerfile").read_text(encoding="utf-8"), PAGE.read_text(encoding="utf-8")]
    assert [re.findall(r"docker build -f contrib/argocd/Dockerfile -t (\S+) \.\n", text) for text in texts] == [
        [container["image"]]
    ] * 2
    (user,) = re.findall(r"^USER (\d+)$", texts[0], re.MULTILINE)
    assert int(user) == container["securityContext"]["runAsUser"]
    copied = dict(re.findall(r"^COPY (\S+) (\S+)$", texts[0], re.MULTILINE))
    assert all((ROOT / source).exists() for source in copied)
    # The volumes of the sidecar do not hide the plugin in the image.
    mounts = {mount["name"]: Path(mount["mountPath"]) for mount in container["volumeMounts"]}
    assert {volume["name"] for volume in pod["volumes"]} <= mounts.keys()
    plugin = Path(copied["contrib/argocd/plugin.yaml"])
    assert not any(plugin.is_relative_to(path) for path in mounts.values())
    assert any(Path(container["command"][0]).is_relative_to(path) for path in mounts.values())


def test_the_image_contains_only_files_in_git() -> None:
    names = (ROOT / ".dockerignore").read_text(encoding="utf-8").split("\n")
    ignored = {line.removesuffix("/") for line in (ROOT / ".gitignore").read_text(encoding="utf-8").split()}
    ignored_by_docker = {line.removeprefix("**/") for line in names if line and not line.startswith("#")}
    assert ignored - {"examples/manifests"} <= ignored_by_docker
    assert ".git" in ignored_by_docker


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9) | st.sampled_from(["runs", "strict", "true"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "string", "array", "map", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(text=_JSON.map(json.dumps) | st.text(max_size=30))
def test_no_parameters_raise(text: str) -> None:
    with suppress(CompileError):
        assert isinstance(read_parameters(text, (), bundled_library()), Parameters)
