"""The project file: where it is found, what its patterns match, and that the command line overrides it."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, Self

import pytest

from speccompile import Compiled, CompileError, Project, compile_many, load_project
from speccompile.cli.main import main
from speccompile.files.find import matching
from speccompile.files.find_project import find_project


@pytest.fixture(autouse=True)
def elsewhere(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test starts in an empty folder that has nothing to do with the project."""
    folder = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(folder)
    return folder


def run_text(name: str, **fields: object) -> str:
    return json.dumps({"name": name, "action": "job", "image": "python:3.12", **fields})


def make(root: Path, *names: str, **project: object) -> Path:
    """The root, with a project file of these settings, and a run in each of the files."""
    root.mkdir(parents=True, exist_ok=True)
    if project:
        (root / "speccompile.yaml").write_text(json.dumps(project))
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(run_text(name.lower().replace("/", "-").replace(".", "-")))
    return root


def runs(root: Path) -> list[str]:
    return [os.path.relpath(path, root) for path in load_project(root).runs]


def codes(act: Callable[[], object]) -> list[str]:
    with pytest.raises(CompileError) as raised:
        act()
    return [f"{found.code} {found.span.label if found.span else ''}".strip() for found in raised.value.diagnostics]


# What patterns find.

TREE = (
    "a.yaml",
    "b.yml",
    "c.json",
    "d.txt",
    "x/e.yaml",
    "x/y/f.yaml",
    "x/y/z/g.yaml",
    "h/y/i.yaml",
    ".j/k.yaml",
    ".l.yaml",
)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*", "a.yaml b.yml c.json"),
        ("*.yaml", "a.yaml"),
        ("?.y*ml", "a.yaml b.yml"),
        ("[ab].*", "a.yaml b.yml"),
        ("**", "a.yaml b.yml c.json h/y/i.yaml x/e.yaml x/y/f.yaml x/y/z/g.yaml"),
        (".", "a.yaml b.yml c.json h/y/i.yaml x/e.yaml x/y/f.yaml x/y/z/g.yaml"),
        ("**/*.yaml", "a.yaml h/y/i.yaml x/e.yaml x/y/f.yaml x/y/z/g.yaml"),
        ("**/**/**/*.yaml", "a.yaml h/y/i.yaml x/e.yaml x/y/f.yaml x/y/z/g.yaml"),
        ("*/*.yaml", "x/e.yaml"),
        ("*/y/*", "h/y/i.yaml x/y/f.yaml"),
        ("**/y/**", "h/y/i.yaml x/y/f.yaml x/y/z/g.yaml"),
        ("**/y/*.yaml", "h/y/i.yaml x/y/f.yaml"),
        ("**/z/*.yaml", "x/y/z/g.yaml"),
        ("x", "x/e.yaml x/y/f.yaml x/y/z/g.yaml"),
        ("./x/", "x/e.yaml x/y/f.yaml x/y/z/g.yaml"),
        ("x/**", "x/e.yaml x/y/f.yaml x/y/z/g.yaml"),
        ("x/*", "x/e.yaml"),
        ("a.yaml", "a.yaml"),
        ("d.txt", "d.txt"),
        (".j/*", ".j/k.yaml"),
        (".*/*", ".j/k.yaml"),
        (".*.yaml", ".l.yaml"),
        (".l.yaml", ".l.yaml"),
    ],
)
def test_a_pattern_matches_the_expected_files(pattern: str, expected: str, tmp_path: Path) -> None:
    assert runs(make(tmp_path, *TREE, runs=[pattern])) == expected.split()


@pytest.mark.parametrize(
    "pattern", ["*.txt", "*.YAML", "**/nothing", "x/*/*/*/*", "*/../a.yaml", "no/*", "a.yaml/*", "{a,b}.yaml"]
)
def test_a_pattern_that_finds_nothing_is_an_error_at_its_line(pattern: str, tmp_path: Path) -> None:
    make(tmp_path, *TREE)
    (tmp_path / "speccompile.yaml").write_text(f"runs:\n- a.yaml\n- '{pattern}'\n")
    assert codes(lambda: load_project(tmp_path)) == [f"project/no-match {tmp_path / 'speccompile.yaml'}:3:3"]


def test_the_order_is_that_of_a_directory_whatever_the_order_of_patterns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, *TREE)
    patterns = ["x/y/**", "**/*.yaml", "a.yaml", "*.json", "b.yml"]
    expected = ["a.yaml", "b.yml", "c.json", "h/y/i.yaml", "x/e.yaml", "x/y/f.yaml", "x/y/z/g.yaml"]
    for shuffled in itertools.permutations(patterns):
        assert runs(make(tmp_path, runs=shuffled)) == expected
    monkeypatch.chdir(tmp_path)
    make(tmp_path, runs=["."])
    listed = [path for path in matching(Path(), ("**", "*")) if isinstance(path, Path)]
    assert list(load_project(".").runs) == listed


def test_the_order_does_not_depend_on_the_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, *TREE, runs=["**/*.yaml", "*"])
    first = runs(tmp_path)

    class Backwards(list[os.DirEntry[str]]):
        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            pass

    scandir = os.scandir
    monkeypatch.setattr(
        os, "scandir", lambda path: Backwards(sorted(scandir(path), key=lambda e: e.name, reverse=True))
    )
    assert runs(tmp_path) == first


def test_other_files_of_the_project_are_not_runs(tmp_path: Path) -> None:
    make(
        tmp_path,
        *("runs/a.yaml", "profiles/deep/p.yaml", "q.yaml", "platform.yaml", "out/a.yaml", "out/vision/b.yaml"),
        *("sub/speccompile.yaml", ".git/c.yaml"),
        runs=["**/*.yaml", "*/*", "."],
        profiles=["profiles", "q.yaml"],
        platform="platform.yaml",
        output="out",
    )
    assert runs(tmp_path) == ["runs/a.yaml"]


def test_files_named_by_options_are_not_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make(tmp_path, "run.yaml", runs=["**/*.yaml"], profiles=["old"], platform="no.yaml", output="out")
    for name, text in {
        "old/p": "id: old",
        "new/p": "id: new",
        "settings": "gpu_key: amd.com/gpu",
        "out/x": "a: b",
        "build/x": "a: b",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert main(["render", "--profiles", "new", "--platform", "settings.yaml", "-o", "build"]) == 0
    assert capsys.readouterr() == ("", "wrote 1 file to build/\n")
    assert sorted(path.name for path in Path("build").iterdir()) == ["run-yaml.yaml", "x.yaml"]


def test_a_pattern_inside_the_profiles_finds_none_of_them(tmp_path: Path) -> None:
    make(tmp_path, "profiles/a/p.yaml", runs=["profiles/a/*.yaml"], profiles=["profiles"])
    assert codes(lambda: load_project(tmp_path)) == [f"project/no-match {tmp_path / 'speccompile.yaml'}:1:11"]


def test_names_with_wildcards_above_the_project_are_names(tmp_path: Path) -> None:
    assert runs(make(tmp_path / "[x]*", "runs/a.yaml", runs=["runs/*"])) == ["runs/a.yaml"]


def test_many_stars_are_fast(tmp_path: Path) -> None:
    deep = "/".join(["d"] * 60)
    make(tmp_path, f"{deep}/a.yaml", runs=["/".join(["**", "d"] * 40) + "/x.yaml"])
    assert codes(lambda: load_project(tmp_path)) == [f"project/no-match {tmp_path / 'speccompile.yaml'}:1:11"]


# Links.


def test_links_to_files_are_files_and_one_file_is_one_run(tmp_path: Path) -> None:
    make(tmp_path, "runs/b.yaml", "outside/c.yaml", runs=["runs"])
    (tmp_path / "runs/a.yaml").symlink_to("b.yaml")
    (tmp_path / "runs/c.yaml").symlink_to("../outside/c.yaml")
    assert runs(tmp_path) == ["runs/a.yaml", "runs/c.yaml"]


def test_stars_do_not_follow_circular_links(tmp_path: Path) -> None:
    make(tmp_path, "runs/a.yaml", "more/b.yaml", runs=["runs/**/*.yaml"])
    (tmp_path / "runs/loop").symlink_to(tmp_path, target_is_directory=True)
    assert runs(tmp_path) == ["runs/a.yaml"]
    make(tmp_path, runs=["runs/*/more/*"])
    assert runs(tmp_path) == ["runs/loop/more/b.yaml"]


def test_a_broken_link_is_reported(tmp_path: Path) -> None:
    make(tmp_path, "runs/a.yaml", runs=["runs"])
    (tmp_path / "runs/b.yaml").symlink_to("nowhere")
    (tmp_path / "runs/c.yaml").symlink_to("c.yaml")
    assert runs(tmp_path) == ["runs/a.yaml", "runs/b.yaml", "runs/c.yaml"]
    assert main(["validate", str(tmp_path)]) == 1


def test_a_link_to_a_profile_is_not_a_run(tmp_path: Path) -> None:
    make(tmp_path, "runs/a.yaml", "profiles/p.yaml", runs=["**"], profiles=["profiles"])
    (tmp_path / "runs/p.yaml").symlink_to("../profiles/p.yaml")
    (tmp_path / "runs/more").symlink_to("../profiles", target_is_directory=True)
    assert runs(tmp_path) == ["runs/a.yaml"]


def test_a_linked_folder_of_runs_belongs_to_the_project_around_the_link(tmp_path: Path) -> None:
    make(tmp_path / "other", "runs/a.yaml", profiles=[])
    project = make(tmp_path / "mine", profiles=[])
    (project / "runs").symlink_to("../other/runs", target_is_directory=True)
    assert find_project(project / "runs") == project / "speccompile.yaml"
    assert find_project(project / "runs" / "a.yaml") == project / "speccompile.yaml"
    assert find_project(project / "runs" / ".." / "runs" / "a.yaml") == tmp_path / "other" / "speccompile.yaml"


@pytest.mark.parametrize("output", ["../out", "/out", "a/../../out", ".", "link", "link/deep"])
def test_the_output_stays_below_the_project(output: str, tmp_path: Path) -> None:
    root = make(tmp_path / "root", output=output)
    (root / "link").symlink_to(tmp_path, target_is_directory=True)
    assert codes(lambda: load_project(root)) == [f"project/output-outside {root / 'speccompile.yaml'}:1:12"]


def test_an_absolute_output_would_not_travel_with_the_repository(tmp_path: Path) -> None:
    make(tmp_path, output=str(tmp_path / "out"))
    assert codes(lambda: load_project(tmp_path)) == [f"project/output-outside {tmp_path / 'speccompile.yaml'}:1:12"]


def test_an_output_that_links_to_itself_is_reported(tmp_path: Path) -> None:
    make(tmp_path, "a.yaml", runs=["a.yaml"], output="circle")
    (tmp_path / "circle").symlink_to("circle")
    assert main(["render", "--project", str(tmp_path)]) == 1


# Where it is found.


def test_it_is_the_nearest_one_above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outer = make(tmp_path, "a.yaml", "inner/deep/b.yaml", runs=["*.yaml"]) / "speccompile.yaml"
    inner = make(tmp_path / "inner", runs=["**"]) / "speccompile.yaml"
    assert (
        find_project(tmp_path) == find_project(tmp_path / "a.yaml") == find_project(tmp_path / "no" / "x.yaml") == outer
    )
    assert find_project(tmp_path / "inner" / "deep" / "b.yaml") == find_project(tmp_path / "inner") == inner
    assert load_project(tmp_path / "inner" / "deep").path == inner
    monkeypatch.chdir(tmp_path / "inner" / "deep")
    assert find_project(Path()) == inner
    assert find_project(Path("../../a.yaml")) == outer


def test_a_directory_is_not_a_project_file_and_a_broken_link_is(tmp_path: Path) -> None:
    (tmp_path / "a" / "speccompile.yaml").mkdir(parents=True)
    assert find_project(tmp_path / "a") is None
    (tmp_path / "speccompile.yaml").symlink_to("nowhere")
    assert find_project(tmp_path / "a") == tmp_path / "speccompile.yaml"
    assert codes(lambda: load_project(tmp_path)) == [f"input/missing-file {tmp_path / 'speccompile.yaml'}"]


def test_a_directory_without_a_project_file_is_reported(tmp_path: Path) -> None:
    assert codes(lambda: load_project(tmp_path)) == [f"input/missing-file {tmp_path}"]
    assert codes(lambda: load_project(tmp_path / "no.yaml")) == [f"input/missing-file {tmp_path / 'no.yaml'}"]


def test_a_removed_current_directory_raises_nothing(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    elsewhere.rmdir()
    assert main(["render", "run.yaml"]) == 1
    assert capsys.readouterr().err.startswith("error[input/missing-file]: no such file\n  --> run.yaml\n")


# The library.


def test_a_project_is_all_that_compile_many_needs(tmp_path: Path) -> None:
    make(
        tmp_path,
        "runs/a.yaml",
        "runs/b.yaml",
        runs=["runs"],
        profiles=["p.yaml"],
        platform="platform.yaml",
        output="out",
    )
    (tmp_path / "p.yaml").write_text("id: default\nresources: {mem: 1Gi}\n")
    (tmp_path / "platform.yaml").write_text("memory_limit_factor: 2\n")
    project = load_project(str(tmp_path))
    assert project == Project(
        path=tmp_path / "speccompile.yaml",
        runs=(tmp_path / "runs/a.yaml", tmp_path / "runs/b.yaml"),
        profiles=(tmp_path / "p.yaml",),
        platform=tmp_path / "platform.yaml",
        output=tmp_path / "out",
    )
    assert project == load_project(tmp_path / "speccompile.yaml") == load_project(tmp_path / "runs")
    for compiled in compile_many(project.runs, profiles=project.profiles, platform=project.platform):
        assert isinstance(compiled, Compiled)
        assert "memory: 2Gi" in compiled.to_yaml()


def test_an_empty_project_file_is_valid(tmp_path: Path) -> None:
    (tmp_path / "speccompile.yaml").write_text("runs: null\n")
    assert load_project(tmp_path) == Project(path=tmp_path / "speccompile.yaml")


def test_a_platform_is_a_preset_by_name_and_a_file_by_path(tmp_path: Path) -> None:
    assert load_project(make(tmp_path, "digitalhub", platform="digitalhub")).platform == "digitalhub"
    assert load_project(make(tmp_path, platform="./digitalhub")).platform == tmp_path / "digitalhub"


def test_profiles_and_platform_may_be_outside_the_project(tmp_path: Path) -> None:
    make(tmp_path / "shared", "p/p.yaml", "platform.yaml", "runs/a.yaml", "more/b.yaml")
    root = make(
        tmp_path / "root",
        runs=["../shared/runs/*.yaml", str(tmp_path / "shared" / "**" / "b.yaml")],
        profiles=["../shared/p"],
        platform=str(tmp_path / "shared" / "platform.yaml"),
    )
    project = load_project(root)
    assert [path.resolve() for path in project.runs] == [
        tmp_path / "shared/runs/a.yaml",
        tmp_path / "shared/more/b.yaml",
    ]
    assert project.profiles == (root / "../shared/p",)
    assert project.platform == tmp_path / "shared" / "platform.yaml"


def test_paths_below_the_current_directory_are_shown_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(
        tmp_path,
        "a.yaml",
        "in/b.yaml",
        "in/p.yaml",
        runs=["*.yaml", "in/b.yaml"],
        profiles=["in/p.yaml"],
        output="in/out",
    )
    monkeypatch.chdir(tmp_path / "in")
    expected = Project(
        path=tmp_path / "speccompile.yaml",
        runs=(tmp_path / "a.yaml", Path("b.yaml")),
        profiles=(Path("p.yaml"),),
        output=Path("out"),
    )
    assert load_project(".") == expected
    assert load_project("..").path == load_project(tmp_path).path == expected.path
    monkeypatch.chdir(tmp_path.parent)
    assert load_project(tmp_path).runs == (Path(tmp_path.name, "a.yaml"), Path(tmp_path.name, "in/b.yaml"))


def test_all_errors_are_reported_together(tmp_path: Path) -> None:
    file = tmp_path / "speccompile.yaml"
    file.write_text("runs: [no.yaml]\nprofiles: 3\noutput: ..\nname: x\nplatform: no.yaml\n")
    assert codes(lambda: load_project(tmp_path)) == [
        f"project/no-match {file}:1:8",
        f"schema/wrong-type {file}:2:11",
        f"project/output-outside {file}:3:9",
        f"schema/unknown-key {file}:4:1",
        f"project/no-match {file}:5:11",
    ]
    file.write_text("runs: [no.yaml]\noutput: 3\nplatform: no\n")
    assert codes(lambda: load_project(tmp_path)) == [
        f"schema/needs-quotes {file}:2:9",
        f"yaml/ambiguous-scalar {file}:3:11",
    ]


HOSTILE = (
    "",
    "# nothing\n",
    "runs",
    "[]",
    "- runs\n",
    "{",
    "runs: [[]]\n",
    "runs: [null, 3, {a: b}]\n",
    "runs: ['']\n",
    f"runs: ['{'x' * 5000}']\n",
    f"runs: ['{'x/' * 5000}*']\n",
    f"runs: [run.yaml]\nprofiles: ['{'x' * 5000}']\n",
    f"runs: [run.yaml]\nplatform: '{'x' * 5000}'\n",
    "runs: ['[']\n",
    "runs: ['[!']\n",
    'runs: ["\\0"]\n',
    "runs: &a [*a]\n",
    "runs: !!python/object [x]\n",
    "a: b\n---\nc: d\n",
    "\x00",
)


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:20]))
def test_hostile_files_are_reported(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(tmp_path, "run.yaml")
    (tmp_path / "speccompile.yaml").write_text(text)
    assert main(["validate", "--project", str(tmp_path / "speccompile.yaml")]) == 1
    assert capsys.readouterr().err.startswith("error[")


def test_an_unreadable_folder_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: object) -> NoReturn:
        raise PermissionError(13, "Permission denied", str(path))

    make(tmp_path, "runs/a.yaml", runs=["runs/*"])
    monkeypatch.setattr(os, "scandir", refuse)
    assert codes(lambda: load_project(tmp_path)) == [f"input/unreadable {tmp_path / 'runs'}"]


# The command line.


Called = tuple[int, str, str]
"""Exit code, stdout and stderr."""
Call = Callable[..., Called]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    def answer(*arguments: str | Path) -> Called:
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = int(stop.code or 0)
        return (code, *capsys.readouterr())

    return answer


def vision(root: Path) -> Path:
    """A project with a profile that everybody gets, and an output."""
    make(root, "runs/a.yaml", "runs/b.yaml", runs=["runs/*.yaml"], profiles=["profiles"], output="out")
    make(root / "profiles")
    (root / "profiles/default.yaml").write_text("id: default\npriority_class: low\n")
    return root


def test_without_a_path_all_runs_go_to_the_output(tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(vision(tmp_path))
    assert call("validate") == (0, "", "2 runs valid\n")
    assert not Path("out").exists()
    assert call("render") == (0, "", "wrote 2 files to out/\n")
    assert [path.name for path in sorted(Path("out").iterdir())] == ["runs-a-yaml.yaml", "runs-b-yaml.yaml"]
    written = "---\n".join(path.read_text() for path in sorted(Path("out").iterdir()))
    assert "priorityClassName: low" in written
    assert call("render", "-o", "-") == (0, written, "")
    assert call("render", "runs") == call("render", ".") == call("render", "speccompile.yaml") == (0, written, "")


def test_another_output_and_none(tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(vision(tmp_path))
    assert call("render", "-o", "other") == (0, "", "wrote 2 files to other/\n")
    assert call("render", "runs/a.yaml", "-o", "third") == (0, "", "wrote 1 file to third/\n")
    assert not Path("out").exists()
    assert len(list(Path("other").iterdir())) == 2
    assert len(list(Path("third").iterdir())) == 1
    make(tmp_path, runs=["runs"])
    assert call("render")[1].count("kind: Job") == 2


def test_an_output_that_is_a_dash_by_name_is_a_folder(
    tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(make(tmp_path, "a.yaml", runs=["a.yaml"], output="./-"))
    assert call("render") == (0, "", "wrote 1 file to -/\n")
    assert Path("-", "a-yaml.yaml").is_file()


def test_the_same_from_any_directory(tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    file = vision(tmp_path) / "speccompile.yaml"
    expected = call("render", "--project", file, "-o", "-")
    assert (expected[0], expected[1].count("priorityClassName: low"), expected[2]) == (0, 2, "")
    assert call("render", tmp_path / "runs") == call("render", "--project", tmp_path / "runs", "-o", "-") == expected
    for folder in (tmp_path, tmp_path / "runs", tmp_path / "profiles"):
        monkeypatch.chdir(folder)
        assert call("render", "-o", "-") == expected
        assert call("render", "--project", os.path.relpath(file), "-o", "-") == expected
    assert call("render") == (0, "", f"wrote 2 files to {tmp_path / 'out'}/\n")
    assert len(list((tmp_path / "out").iterdir())) == 2


def test_the_command_line_overrides_the_project_file(
    tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(vision(tmp_path))
    Path("high.yaml").write_text("id: default\npriority_class: high\n")
    Path("platform.yaml").write_text("security: {disable_root: false}\n")
    _, stdout, _ = call("render", "runs/a.yaml", "--profiles", "high.yaml", "--platform", "platform.yaml")
    assert stdout.count("kind: Job") == 1
    assert "priorityClassName: high" in stdout
    assert "runAsNonRoot" not in stdout


def test_overridden_paths_of_the_project_need_not_exist(
    tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(make(tmp_path, "a.yaml", runs=["no/*"], profiles=["no"], platform="no.yaml"))
    (tmp_path / "p.yaml").write_text("id: p\n")
    (tmp_path / "platform.yaml").write_text("{}\n")
    assert call("validate")[2].count("error[project/no-match]") == 3
    assert call("validate", "a.yaml")[2].count("error[project/no-match]") == 2
    assert call("validate", "a.yaml", "--profiles", "p.yaml")[2].count("error[project/no-match]") == 1
    assert call("validate", "a.yaml", "--profiles", "p.yaml", "--platform", "platform.yaml") == (0, "", "1 run valid\n")
    make(tmp_path, profile=[])
    assert call("validate", "a.yaml", "--profiles", "p.yaml")[2].startswith("error[schema/unknown-key]")


def test_standard_input_belongs_to_the_current_directory(
    tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(vision(tmp_path))
    with Path("runs/a.yaml").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert "priorityClassName: low" in call("render", "-")[1]


def test_paths_of_two_projects_are_refused(tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = vision(tmp_path / "one"), vision(tmp_path / "two")
    monkeypatch.chdir(tmp_path)
    code, stdout, stderr = call("render", "one/runs", "two/runs/a.yaml")
    assert (code, stdout) == (2, "")
    assert "the paths belong to two projects, one/speccompile.yaml and two/speccompile.yaml" in " ".join(stderr.split())
    assert "--project FILE" in stderr
    assert call("validate", "one/runs/a.yaml", "two/runs/b.yaml", "--project", "one/speccompile.yaml")[0] == 0
    assert call("validate", one / "runs/a.yaml", "one/runs/b.yaml")[0] == 0
    (two / "speccompile.yaml").unlink()
    assert call("validate", "one/runs/a.yaml", "two/runs/b.yaml")[0] == 0


def test_a_call_without_path_and_project_is_refused(
    tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    for command in ("render", "validate"):
        code, stdout, stderr = call(command)
        assert (code, stdout) == (2, "")
        assert stderr.startswith(f"usage: speccompile {command} ")
        assert "no PATH given, and no speccompile.yaml here or in a parent directory" in stderr
    for command in ("check", "validate"):
        code, stdout, stderr = call(command, "--changed", "run.yaml")
        assert (code, stdout) == (2, "")
        assert "--changed needs a project, and there is no speccompile.yaml here or in a parent directory" in stderr
    monkeypatch.chdir(make(tmp_path, profiles=[]))
    code, stdout, stderr = call("render")
    assert (code, stdout) == (2, "")
    assert "speccompile.yaml has no `runs`; add them there, or pass a PATH" in stderr


def test_a_missing_project_file_is_an_input_error(call: Call) -> None:
    code, stdout, stderr = call("render", "--project", "no.yaml")
    assert (code, stdout) == (1, "")
    assert stderr.startswith("error[input/missing-file]: no such file\n  --> no.yaml\n")


def test_other_files_of_the_project_are_skipped_in_a_directory(
    tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(vision(tmp_path / "root"))
    assert call("render")[0] == 0
    assert call("validate", ".") == (0, "", "2 runs valid\n")
    assert call("validate", "..", "--project", "speccompile.yaml") == (0, "", "2 runs valid\n")
    assert "error[run/unknown-form]" in call("validate", "profiles")[2] + call("validate", "out")[2]


def test_profiles_may_be_next_to_the_project_file(tmp_path: Path, call: Call) -> None:
    make(tmp_path / "admin", profiles=["."])
    (tmp_path / "admin/default.yaml").write_text("id: default\npriority_class: low\n")
    make(tmp_path, "a.yaml")
    code, stdout, stderr = call("render", tmp_path / "a.yaml", "--project", tmp_path / "admin")
    assert (code, stderr) == (0, "")
    assert "priorityClassName: low" in stdout


def test_the_examples_find_their_profiles_by_themselves(
    root: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    platform = ("--platform", "examples/platform.yaml")
    expected = call("render", "examples/runs", "--profiles", "examples/profiles", *platform)
    assert expected[0] == 0
    assert call("render", "examples/runs") == expected
    assert call("render", "--project", "examples/speccompile.yaml", "-o", "-") == expected
