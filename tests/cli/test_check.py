"""`speccompile check` finds and fixes files that are out of date, missing or left over, and touches no others."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from speccompile.cli.main import main
from speccompile.diff.chosen_runs import only

PROJECT = "runs: [runs]\nprofiles: [profiles]\noutput: manifests\n"
RUN = "name: {name}\naction: job\nimage: python:3.12\nprofile: {profile}\nresources: {{mem: 6Gi}}\n"
GPU = "id: gpu\nresources: {gpu: 1}\nnode_selector: {gpu: a100}\n"

LABEL = "app.kubernetes.io/managed-by: speccompile\n"
LABELLED = f"metadata:\n  labels:\n    {LABEL}"

Call = Callable[[str], tuple[int, str, str]]


def write(files: dict[str, str]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


def replace(name: str, old: str, new: str) -> None:
    text = Path(name).read_text()
    assert old in text
    Path(name).write_text(text.replace(old, new))


def files() -> dict[str, str]:
    return {str(path): path.read_text() for path in sorted(Path("manifests").rglob("*")) if path.is_file()}


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """A call in a project with three runs and two profiles, whose manifests are up to date."""
    monkeypatch.chdir(tmp_path)
    write(
        {
            "speccompile.yaml": PROJECT,
            "profiles/gpu.yaml": GPU,
            "profiles/cpu.yaml": "id: cpu\n",
            "runs/train.yaml": RUN.format(name="train", profile="gpu"),
            "runs/clean.yaml": RUN.format(name="clean", profile="cpu"),
            "runs/team.yaml": "project: vision\n" + RUN.format(name="label", profile="cpu"),
        }
    )

    def answer(line: str) -> tuple[int, str, str]:
        try:
            code = main(shlex.split(line))
        except SystemExit as stop:
            code = int(stop.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    assert answer("render")[0] == 0
    return answer


def test_what_render_wrote_is_up_to_date(call: Call) -> None:
    assert call("check") == (0, "", "3 files up to date\n")
    assert call("check --quiet") == (0, "", "")
    assert call("check --format github") == (0, "", "")
    assert call("check --format json")[2] == ""
    assert call("check --quiet") == (0, "", "")


def test_each_kind_of_drift_is_found_and_fixed(call: Call) -> None:
    fresh = files()
    replace("manifests/train.yaml", "6Gi", "7Gi")
    Path("manifests/clean.yaml").unlink()
    write({"manifests/vision/old.yaml": fresh["manifests/train.yaml"]})
    code, out, err = call("check")
    assert code == 4
    assert "error[check/missing]: missing: run `clean` produces this file\n  --> manifests/clean.yaml\n" in out
    assert "-            memory: 7Gi\n+            memory: 6Gi\n" in out
    assert "error[check/orphan]: left over: no run produces this file\n  --> manifests/vision/old.yaml\n" in out
    assert err == "speccompile: 1 file out of date, 1 missing, 1 left over\n"
    output = "wrote manifests/clean.yaml\nwrote manifests/train.yaml\nremoved manifests/vision/old.yaml\n"
    assert call("check --fix") == (4, output, "speccompile: updated 3 files\n")
    assert files() == fresh
    assert call("check --fix")[0] == 0


def test_empty_folders_are_removed(call: Call) -> None:
    Path("runs/team.yaml").unlink()
    assert call("check --fix")[1] == "removed manifests/vision/label.yaml\n"
    assert not Path("manifests/vision").exists()
    assert Path("manifests").exists()


def test_other_files_are_not_left_over(call: Call) -> None:
    others = {"manifests/hand.yaml": "kind: Service\n", "manifests/notes.txt": "managed-by: speccompile\n"}
    write(others)
    assert call("check --fix")[0] == 0
    assert all(Path(name).exists() for name in others)


def test_other_files_are_never_overwritten(call: Call) -> None:
    Path("manifests/clean.yaml").write_text("kind: Service\n")
    replace("manifests/train.yaml", "6Gi", "7Gi")
    before = files()
    code, _, err = call("check --fix")
    assert code == 1
    assert "nothing was written: a file that speccompile did not write is in the way: manifests/clean.yaml" in err
    assert files() == before


@pytest.mark.parametrize("paths", ["runs/train.yaml", "runs", "runs/train.yaml runs/clean.yaml"])
def test_a_call_for_some_runs_removes_nothing(call: Call, paths: str) -> None:
    """It must not remove the manifests of other runs."""
    write({"manifests/old.yaml": files()["manifests/train.yaml"]})
    assert call(f"check --fix {paths}")[0] == 0
    assert Path("manifests/old.yaml").exists()
    assert call("check speccompile.yaml")[0] == 4


def test_without_a_project_nothing_is_left_over(call: Call) -> None:
    Path("speccompile.yaml").unlink()
    before = files()
    assert call("check runs/train.yaml --profiles profiles -o manifests --fix")[0] == 0
    Path("runs/clean.yaml").unlink()
    assert call("check runs --profiles profiles -o manifests --fix")[0] == 0
    assert files() == before


def test_nothing_is_compared_or_removed_while_a_run_has_errors(call: Call) -> None:
    replace("runs/train.yaml", "profile: gpu", "profile: gpus")
    replace("manifests/clean.yaml", "6Gi", "7Gi")
    before = files()
    code, out, err = call("check --fix")
    assert (code, out) == (1, "")
    assert "error[profile/unknown]" in err
    assert files() == before
    code, _, err = call("check --fix --ignore profile/unknown")
    assert "skipped 1 run" in err
    assert Path("manifests/train.yaml").exists(), "the run may produce it once it is fixed"


def test_left_over_files_with_labels_of_the_platform_are_found(call: Call) -> None:
    write({"speccompile.yaml": PROJECT.replace("manifests", "other") + "platform: digitalhub\n"})
    assert call("render")[0] == 0
    write({"other/service.yaml": "kind: Service\nmetadata:\n  labels:\n    app.kubernetes.io/managed-by: dhcore\n"})
    Path("runs/clean.yaml").unlink()
    code, out, _ = call("check")
    assert code == 4
    assert "error[check/orphan]" in out
    assert "--> other/clean.yaml\n" in out
    assert out.count("-->") == 1


THEIRS = {
    "a selector": "kind: NetworkPolicy\nmetadata:\n  name: a\nspec:\n  podSelector:\n    matchLabels:\n      {label}",
    "a service": "kind: Service\nmetadata:\n  name: a\nspec:\n  selector:\n    {label}",
    "a comment": "# {label}kind: Service\nmetadata:\n  name: a\n",
    "a text": "kind: ConfigMap\nmetadata:\n  name: a\ndata:\n  labels: |\n    {label}",
    "one of two": "kind: Job\nmetadata:\n  name: a\n  labels:\n    {label}---\nkind: Service\nmetadata:\n  name: b\n",
    "a syntax error": "kind: Job\nmetadata:\n  name: a\n  labels:\n    {label}spec: [\n",
}


@pytest.mark.parametrize("text", THEIRS.values(), ids=THEIRS.keys())
def test_files_that_only_mention_the_label_are_not_left_over(call: Call, text: str) -> None:
    write({"manifests/theirs.yaml": text.replace("{label}", LABEL)})
    assert call("check --fix")[0] == 0
    assert Path("manifests/theirs.yaml").exists()


@pytest.mark.parametrize("text", list(THEIRS.values())[:4], ids=list(THEIRS)[:4])
def test_files_that_only_mention_the_label_are_not_replaced(call: Call, text: str) -> None:
    write({"manifests/train.yaml": text.replace("{label}", LABEL)})
    before = files()
    assert call("render")[0] == 1
    assert call("check --fix")[0] == 1
    assert files() == before


def test_specs_are_never_removed_or_replaced(call: Call) -> None:
    """Not even if they are in the directory of manifests and look like manifests."""
    manifest = Path("manifests/train.yaml").read_text()
    replace("speccompile.yaml", "profiles: [profiles]", "profiles: [profiles]\nplatform: platform.yaml")
    write({"platform.yaml": "labels: {}\n".replace("labels", "defaults")})
    before = {str(path): path.read_bytes() for path in Path().rglob("*.yaml") if path.parts[0] != "manifests"}
    assert call("check -o . --fix")[0] == 4
    after = {str(path): path.read_bytes() for path in Path().rglob("*.yaml")}
    assert before.items() <= after.items()
    assert after["manifests/train.yaml"] == manifest.encode(), "the directory of the project is another matter"
    write({"runs/other.yaml": manifest})
    assert call("check -o runs --fix --ignore run/unknown-form --warning run/unknown-form")[0] in (1, 4)
    assert Path("runs/other.yaml").read_text() == manifest


def test_a_value_of_a_run_does_not_make_a_file_left_over(call: Call) -> None:
    label = "app.kubernetes.io/managed-by: Helm"
    write(
        {
            "platform.yaml": "own_labels: {app: '{name}'}\nselector_labels: [app]\n",
            "speccompile.yaml": PROJECT.replace("manifests", "other") + "platform: platform.yaml\n",
            "runs/train.yaml": RUN.format(name="train", profile="gpu") + f"envs: {{X: '{label}'}}\n",
            "other/svc.yaml": f"kind: Service\nmetadata:\n  name: a\n  labels:\n    {label}\n",
        }
    )
    assert call("render")[0] == 0
    assert call("check --fix")[0] == 0
    assert Path("other/svc.yaml").exists()


def test_a_link_is_out_of_date_and_its_target_is_not_shown(call: Call, tmp_path: Path) -> None:
    fresh = files()
    secret = tmp_path / "outside.yaml"
    for text in ("password: hunter2\n", fresh["manifests/train.yaml"]):
        secret.write_text(text)
        Path("manifests/train.yaml").unlink()
        Path("manifests/train.yaml").symlink_to(secret)
        code, out, err = call("check")
        assert code == 4
        assert "is a symbolic link" in out
        assert "hunter2" not in out + err
        assert call("check --fix")[0] == 4
        assert files() == fresh
        assert not Path("manifests/train.yaml").is_symlink()
        assert secret.read_text() == text


def test_possible_secrets_in_a_manifest_are_not_shown(call: Call) -> None:
    replace("manifests/train.yaml", "spec:\n  backoff", "secrets: {token: hunter2}\nspec:\n  backoff")
    for how in ("", "--semantic", "--format json", "--format github", "--format sarif"):
        code, out, err = call(f"check {how}")
        assert code == 4
        assert "hunter2" not in out + err


@pytest.mark.parametrize("name", ["speccompile", "kustomization"])
def test_a_run_never_replaces_a_special_file(call: Call, name: str) -> None:
    write({"runs/other.yaml": RUN.format(name=name, profile="cpu")})
    assert call("render --kustomization")[0] == 0
    assert f"name: {name}\n" in Path(f"manifests/{name}_.yaml").read_text()
    assert call("check --kustomization")[0] == 0
    Path("runs/other.yaml").unlink()
    assert call("check --fix --kustomization")[1].endswith(f"removed manifests/{name}_.yaml\n")


def test_a_very_large_file_is_reported_without_reading_it(call: Call) -> None:
    with Path("manifests/train.yaml").open("a") as stream:
        stream.truncate(3 * 1024 * 1024 * 1024)
    code, out, _ = call("check")
    assert code == 4
    assert "too many to be compared" in out or "\ufffd" in out
    assert len(out) < 10_000_000
    assert call("check --fix")[0] == 4


def test_file_names_cannot_forge_output(call: Call) -> None:
    text = Path("manifests/train.yaml").read_text()
    write({"manifests/\x1b[31mred.yaml": text, "manifests/x\nremoved everything.yaml": text})
    for how in ("", "--fix"):
        _, out, err = call(f"check {how}")
        assert "\x1b" not in out + err
        assert "\nremoved everything" not in out + err


def test_quiet_shows_errors_only(call: Call) -> None:
    write({"manifests/old.yaml": files()["manifests/train.yaml"]})
    assert call("check --warning check/orphan --quiet") == (0, "", "")


def test_null_differs_from_absent(call: Call) -> None:
    replace("manifests/train.yaml", "  backoffLimit: 0\n", "  backoffLimit: 0\n  suspend: null\n")
    assert "`spec.suspend` of Job `train` is `null`, expected to be absent" in call("check --semantic")[1]


def test_severities_apply(call: Call) -> None:
    write({"manifests/old.yaml": files()["manifests/train.yaml"]})
    assert call("check --ignore check/orphan") == (0, "", "3 files up to date\n")
    assert call("check --ignore check/orphan --fix")[0] == 0
    assert Path("manifests/old.yaml").exists()
    code, out, _ = call("check --warning check/orphan")
    assert code == 0
    assert "warning[check/orphan]" in out


def test_formats_contain_file_and_line(call: Call) -> None:
    replace("manifests/train.yaml", "6Gi", "7Gi")
    code, out, err = call("check --format json")
    assert (code, err) == (4, "speccompile: 1 file out of date\n")
    [finding] = json.loads(out)["findings"]
    assert finding["code"] == "check/stale"
    assert (finding["place"]["file"], finding["place"]["line"]) == ("manifests/train.yaml", 32)
    code, out, _ = call("check --semantic --format github")
    assert "::error file=manifests/train.yaml,line=32," in out
    assert "runs/train.yaml:5:18" in out


def test_by_field_a_difference_names_the_field_and_its_origin(call: Call) -> None:
    replace("manifests/train.yaml", "gpu: a100", "gpu: h100")
    code, out, _ = call("check --semantic")
    assert code == 4
    assert "`spec.template.spec.nodeSelector.gpu` of Job `train` is `h100`, expected `a100`" in out
    assert "note: set here by the profile\n  ::: profiles/gpu.yaml:3:22" in out
    assert "+++" not in out


def test_by_field_formatting_does_not_count(call: Call) -> None:
    text = Path("manifests/train.yaml").read_text()
    Path("manifests/train.yaml").write_text("# a comment\n" + text.replace("backoffLimit: 0", "backoffLimit:   0"))
    assert call("check --semantic")[0] == 0
    assert call("check")[0] == 4


def test_by_field_whole_objects_can_be_missing_or_too_many(call: Call) -> None:
    serve = "name: web\naction: serve\nimage: python:3.12\nservice_ports: [{port: 80}]\n"
    write({"runs/web.yaml": serve})
    call("render")
    first, second = Path("manifests/web.yaml").read_text().split("---\n")
    Path("manifests/web.yaml").write_text(first + "---\n" + second.replace("name: web", "name: wob", 1))
    _, out, _ = call("check --semantic")
    assert "error[check/stale]: Service `web` is missing\n  --> manifests/web.yaml\n" in out
    assert "error[check/stale]: Service `wob` is not produced by this run\n  --> manifests/web.yaml" in out


@pytest.mark.parametrize(
    "text",
    [
        "",
        LABELLED,
        f"{LABELLED}---\n- 1\n",
        f"kind: [Job]\nname: 1\n{LABELLED}",
        f"kind: Job\n{LABELLED}  name: train\nspec: [{{}}, null]\n",
        f"kind: Job\n{LABELLED}  name: train\n---\nkind: Job\n{LABELLED}  name: train\n",
        f"a: &a [*a]\nb: \x00\x1b[31m\n{LABELLED}",
        "x: no\n" * 9000 + LABELLED,
        f"<<<<<<< HEAD\n{LABELLED}=======\n>>>>>>> other\n" + "[" * 3000,
    ],
    ids=range(9),
)
@pytest.mark.parametrize("how", ["", "--semantic"])
def test_any_content_is_reported_and_fixed(call: Call, text: str, how: str) -> None:
    fresh = files()
    Path("manifests/train.yaml").write_text(text)
    code, out, err = call(f"check {how}")
    assert code == 4
    assert "[check/stale]:" in out
    assert "\x1b" not in out + err
    assert call(f"check --fix {how}")[0] == 4
    assert files() == fresh


def test_missing_newline_and_windows_line_endings_are_reported(call: Call) -> None:
    text = Path("manifests/train.yaml").read_text()
    Path("manifests/train.yaml").write_text(text.rstrip("\n"))
    assert "\\ No newline at end of file\n" in call("check")[1]
    Path("manifests/train.yaml").write_bytes(text.replace("\n", "\r\n").encode())
    code, out, _ = call("check")
    assert code == 4
    assert "\n-kind: Job\ufffd\n" in out
    assert "\n+kind: Job\n" in out


def test_the_diff_can_be_applied(call: Call) -> None:
    fresh = files()
    replace("manifests/train.yaml", "6Gi", "7Gi")
    replace("manifests/clean.yaml", "backoffLimit: 0", "backoffLimit: 3")
    _, out, _ = call("check")
    subprocess.run(["git", "apply", "-p0"], input=out, text=True, check=True)
    assert files() == fresh


def test_unreadable_files_stop_the_call(call: Call) -> None:
    Path("manifests/train.yaml").unlink()
    Path("manifests/train.yaml").mkdir()
    code, _, err = call("check")
    assert code == 1
    assert "a directory is in the way" in err
    assert "--> manifests/train.yaml\n" in err


def test_a_directory_is_required(call: Call) -> None:
    write({"speccompile.yaml": "runs: [runs]\nprofiles: [profiles]\n"})
    code, _, err = call("check")
    assert code == 2
    assert "no directory to check" in err
    assert call("check -o -")[0] == 2
    assert call("check -o manifests")[0] == 0


def test_json_and_chart_templates_are_checked_as_they_were_written(call: Call) -> None:
    replace("runs/train.yaml", "resources:", "envs: {TEXT: '{{ x }}'}\nresources:")
    for shape in ("--json", "--helm"):
        assert call(f"render {shape} -o {shape[2:]}")[0] == 0
        assert call(f"check {shape} -o {shape[2:]}")[0] == 0
        suffix = "json" if shape == "--json" else "yaml"
        replace(f"{shape[2:]}/train.{suffix}", "6Gi", "7Gi")
        code, out, _ = call(f"check {shape} -o {shape[2:]} --semantic")
        assert code == 4
        assert out.count("error[check/stale]") == 1
        assert "is `7Gi`, expected `6Gi`" in out


def test_render_does_not_touch_files_that_are_up_to_date(call: Call) -> None:
    os.utime("manifests/train.yaml", (1, 1))
    replace("runs/clean.yaml", "3.12", "3.13")
    assert call("render")[0] == 0
    assert Path("manifests/train.yaml").stat().st_mtime == 1
    assert "3.13" in Path("manifests/clean.yaml").read_text()


def test_the_command_finds_the_projects_folder_for_single_runs(call: Call) -> None:
    replace("manifests/train.yaml", "6Gi", "7Gi")
    assert call("check runs/clean.yaml")[0] == 0
    assert call("check runs/train.yaml")[0] == 4


def test_by_field_unread_text_is_compared_too(call: Call) -> None:
    """A truncated file, and templates in comments, which Helm executes."""
    pod = "\n---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: evil\n"
    with Path("manifests/train.yaml").open("a", encoding="utf-8") as stream:
        stream.write(f"#{'一' * 699_500}{pod}")
    assert call("check --semantic")[0] == 4
    assert call("render --helm -o chart")[0] == 0
    with Path("chart/train.yaml").open("a", encoding="utf-8") as stream:
        stream.write(f"# {{{{ {json.dumps(pod)} }}}}\n")
    assert call("check --helm --semantic -o chart")[0] == 4


def test_a_linked_folder_is_not_followed(call: Call, tmp_path: Path) -> None:
    Path("manifests/vision").rename(tmp_path / "elsewhere")
    Path("manifests/vision").symlink_to(tmp_path / "elsewhere")
    code, out, _ = call("check")
    assert code == 4
    assert "is a symbolic link" in out
    assert call("check --fix")[0] == 1
    assert (tmp_path / "elsewhere/label.yaml").exists()


def test_incomparable_files_are_never_up_to_date(call: Call) -> None:
    Path("manifests/train.yaml").unlink()
    Path("manifests/train.yaml").mkdir()
    assert call("check --ignore check/in-the-way")[0] == 1
    assert call("check --fix --warning check/in-the-way")[0] == 1


def test_manifests_of_a_nested_project_are_not_touched(call: Call) -> None:
    write(
        {"manifests/team/speccompile.yaml": PROJECT, "manifests/team/manifests/x.yaml": files()["manifests/train.yaml"]}
    )
    before = files()
    assert call("check --fix")[0] == 0
    assert files() == before


def test_other_directories_may_be_shared(call: Call) -> None:
    assert call("render -o shared")[0] == 0
    write({"shared/other.yaml": files()["manifests/train.yaml"]})
    assert call("check -o shared --fix")[0] == 0
    assert Path("shared/other.yaml").exists()


def test_a_common_manager_label_is_not_enough(call: Call) -> None:
    labels = "{app.kubernetes.io/managed-by: Helm, app.kubernetes.io/name: '{name}'}"
    foreign = {"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/name": "redis"}
    write(
        {
            "platform.yaml": f"own_labels: {labels}\nselector_labels: [app.kubernetes.io/name]\n",
            "speccompile.yaml": PROJECT.replace("manifests", "other") + "platform: platform.yaml\n",
            "other/mine.yaml": json.dumps({"kind": "ConfigMap", "metadata": {"name": "a", "labels": foreign}}),
        }
    )
    assert call("render")[0] == 0
    assert call("check --fix")[0] == 0
    assert Path("other/mine.yaml").exists()


def test_removing_replaces_nothing(call: Call) -> None:
    write({"manifests/.speccompile-clean.yaml": "precious\n"})
    Path("runs/clean.yaml").unlink()
    assert call("check --fix")[1] == "removed manifests/clean.yaml\n"
    assert sorted(path.name for path in Path("manifests").iterdir()) == [
        ".speccompile-clean.yaml",
        "train.yaml",
        "vision",
    ]


def test_pipes_in_the_folder_are_left_alone(call: Call) -> None:
    os.mkfifo("manifests/pipe.yaml")
    Path("manifests/linked.yaml").symlink_to("pipe.yaml")
    assert call("check --fix")[0] == 0


def test_windows_line_endings_and_a_new_application_name_are_fixed(call: Call) -> None:
    fresh = files()
    path = Path("manifests/train.yaml")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert call("check --fix")[0] == 4
    assert files() == fresh
    for name in ("acme", "beta"):
        write({"platform.yaml": f"application: {name}\n", "speccompile.yaml": PROJECT + "platform: platform.yaml\n"})
        assert call("check --fix")[0] == 4
        assert f"managed-by: {name}\n" in path.read_text()


class TestChanged:
    """With `--changed`, only affected runs are compiled."""

    @pytest.fixture(autouse=True)
    def _in_a_repository(self, call: Call) -> None:
        del call  # it makes the files
        git("init", "--quiet")
        git("add", "--all")
        git("commit", "--quiet", "--message", "all")

    @pytest.mark.parametrize(
        ("paths", "expected"),
        [
            ("runs/train.yaml", "1 file up to date (checked 1 of 3 runs)"),
            ("./runs/../runs/train.yaml", "1 file up to date (checked 1 of 3 runs)"),
            ("runs/train.yaml runs/team.yaml", "2 files up to date (checked 2 of 3 runs)"),
            ("profiles/gpu.yaml", "1 file up to date (checked 1 of 3 runs)"),
            ("profiles/cpu.yaml", "2 files up to date (checked 2 of 3 runs)"),
            ("manifests/vision/label.yaml", "1 file up to date (checked 1 of 3 runs)"),
            ("manifests/hand.yaml", "0 files up to date (checked 0 of 3 runs)"),
            ("speccompile.yaml", "3 files up to date"),
        ],
    )
    def test_only_affected_runs_are_checked(self, call: Call, paths: str, expected: str) -> None:
        write({"manifests/hand.yaml": "by hand\n"})
        assert call(f"check --changed {paths}") == (0, "", f"{expected}\n")

    def test_other_files_affect_no_run(self, call: Call) -> None:
        success = "no run is affected by the changes\n"
        assert call("check --changed") == (0, "", success)
        write({"README.md": "hello\n"})
        assert call("check --changed README.md") == (0, "", success)

    def test_the_platform_affects_all_runs(self, call: Call) -> None:
        write(
            {"platform.yaml": "enforce: {labels: {a: b}}\n", "speccompile.yaml": PROJECT + "platform: platform.yaml\n"}
        )
        call("render")
        assert call("check --changed platform.yaml")[2] == "3 files up to date\n"

    def test_a_parent_affects_runs_of_its_children(self, call: Call) -> None:
        write({"profiles/gpu.yaml": "extends: [base]\n" + GPU, "profiles/base.yaml": "id: base\nfs_group: 5\n"})
        assert call("check --fix --changed profiles/base.yaml")[1] == "wrote manifests/train.yaml\n"

    def test_a_broken_run_stops_only_its_change(self, call: Call) -> None:
        replace("runs/train.yaml", "image: python:3.12", "imaeg: python:3.12")
        write({"runs/syntax.yaml": "a: [\n"})
        assert call("check --changed runs/clean.yaml")[0] == 0
        assert call("validate --changed runs/clean.yaml")[0] == 0
        assert call("check --changed runs/train.yaml")[0] == 1
        assert call("validate --changed runs/syntax.yaml")[0] == 1
        assert call("check --changed profiles/gpu.yaml")[0] == 1

    def test_nothing_is_left_over_if_a_file_cannot_be_read(self, call: Call) -> None:
        """It may contain the run that produces the file."""
        write({"runs/clean.yaml": "a: [\n"})
        code, _, err = call("check --fix --changed runs/train.yaml")
        assert code == 0
        assert "did not look for left-over files: runs/clean.yaml cannot be read" in err
        assert Path("manifests/clean.yaml").exists()

    def test_a_renamed_run_leaves_its_old_file(self, call: Call) -> None:
        replace("runs/clean.yaml", "name: clean", "name: tidy")
        output = "wrote manifests/tidy.yaml\nremoved manifests/clean.yaml\n"
        assert call("check --fix --changed runs/clean.yaml")[1] == output

    def test_a_run_that_takes_the_name_of_another_is_found(self, call: Call) -> None:
        replace("runs/clean.yaml", "name: clean", "name: train")
        code, _, err = call("check --changed runs/clean.yaml")
        assert code == 1
        assert "error[run/duplicate]" in err

    def test_a_removed_default_profile_affects_its_runs(self, call: Call) -> None:
        write({"profiles/default.yaml": "id: default\nfs_group: 5\n"})
        replace("runs/clean.yaml", "profile: cpu\n", "")
        call("render")
        git("add", "--all")
        git("commit", "--quiet", "--message", "default")
        Path("profiles/default.yaml").unlink()
        assert call("check --fix --changed")[1] == "wrote manifests/clean.yaml\n"
        git("add", "--all")
        git("commit", "--quiet", "--message", "gone")
        write({"profiles/cpu.yaml": "id: default\nfs_group: 6\n---\n"})
        replace("runs/team.yaml", "profile: cpu\n", "")
        assert "wrote manifests/clean.yaml\n" in call("check --fix --changed profiles/cpu.yaml")[1]

    def test_a_removed_function_affects_all_runs(self, call: Call) -> None:
        """Any run may name a function beside the runs."""
        write(
            {
                "runs/tool.yaml": "kind: container\nproject: demo\nname: tool\nspec: {image: 'a/b:1'}\n",
                "runs/exported.yaml": (
                    "kind: container+job:run\nproject: demo\nname: exported\n"
                    "spec: {function: 'container://demo/tool'}\n"
                ),
            }
        )
        assert call("render")[0] == 0
        git("add", "--all")
        git("commit", "--quiet", "--message", "function")
        Path("runs/tool.yaml").unlink()
        for paths in ("", "runs/tool.yaml"):
            code, _, err = call(f"check --changed {paths}")
            assert code == 1
            assert "error[function/unknown]" in err

    def test_a_directory_means_all_files_in_it(self, call: Call) -> None:
        """As for a submodule, or a link to a directory."""
        assert "(checked 3 of 3 runs)" in call("check --changed profiles")[2]
        Path("profiles").rename("elsewhere")
        Path("profiles").symlink_to("elsewhere")
        assert "(checked 3 of 3 runs)" in call("check --changed profiles")[2]

    def test_a_link_means_its_target(self, call: Call) -> None:
        Path("profiles/gpu.yaml").rename("gpu.yaml")
        Path("profiles/gpu.yaml").symlink_to("../gpu.yaml")
        git("add", "--all")
        git("commit", "--quiet", "--message", "link")
        assert "(checked 1 of 3 runs)" in call("check --changed profiles/gpu.yaml")[2]
        assert "(checked 1 of 3 runs)" in call("check --changed gpu.yaml")[2]

    def test_a_run_with_the_same_name_in_another_project_is_affected(self, call: Call) -> None:
        """Both would produce the same Job."""
        write({"runs/other.yaml": "project: other\n" + RUN.format(name="train", profile="cpu")})
        code, _, err = call("check --changed runs/other.yaml")
        assert code == 1
        assert "error[run/duplicate-object]" in err
        assert call("validate --changed runs/other.yaml")[0] == 1

    def test_a_removed_profile_is_found_from_anywhere(
        self, call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        write({"profiles/default.yaml": "id: default\nfs_group: 5\n"})
        replace("runs/clean.yaml", "profile: cpu\n", "")
        call("render")
        Path("profiles/default.yaml").unlink()
        monkeypatch.chdir("runs")
        assert call("check --changed ../profiles/default.yaml")[0] == 4
        monkeypatch.chdir("/")
        assert call(f"check --changed --project {tmp_path} {tmp_path}/profiles/default.yaml")[0] == 4

    def test_removed_files_are_those_of_the_projects_repository(
        self, call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        Path("runs/clean.yaml").unlink()
        git("config", "diff.relative", "true")
        for folder in ("/", "runs", "."):
            monkeypatch.chdir(tmp_path / folder)
            assert call(f"check --changed --project {tmp_path}/speccompile.yaml")[0] == 4
        monkeypatch.chdir(tmp_path)
        git("add", "--all")
        git("commit", "--quiet", "--message", "gone")
        assert call("check --changed")[0] == 0
        monkeypatch.setenv("PRE_COMMIT_FROM_REF", "HEAD~1")
        assert call("check --changed")[0] == 4

    def test_without_git_all_runs_are_checked(self, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
        Path("runs/clean.yaml").unlink()
        Path(".git/config").write_text("[nonsense")
        assert call("check --changed")[0] == 4
        monkeypatch.setenv("PATH", "")
        assert call("check --changed")[0] == 0, "without git there is nobody to ask"

    def test_a_merge_affects_all_runs(self, call: Call) -> None:
        """During a merge, pre-commit passes only the files that both sides changed."""
        replace("manifests/train.yaml", "6Gi", "7Gi")
        assert call("check --changed runs/clean.yaml")[0] == 0
        Path(".git/MERGE_HEAD").write_text(git("rev-parse", "HEAD"))
        assert call("check --changed runs/clean.yaml")[0] == 4

    def test_before_the_first_commit_nothing_is_removed(self, call: Call) -> None:
        shutil.rmtree(".git")
        git("init", "--quiet")
        assert "(checked 1 of 3 runs)" in call("check --changed runs/train.yaml")[2]

    @pytest.mark.parametrize("name", ["a" * 300, "nowhere/a.yaml", "\n", "*"])
    def test_unusual_file_names_affect_no_run(self, call: Call, name: str) -> None:
        assert call(f"check --changed {shlex.quote(name)}")[0] == 0

    def test_a_file_name_is_not_an_option(self, call: Call) -> None:
        write(
            {"evil/speccompile.yaml": "runs: [a.yaml]\noutput: m\n", "evil/a.yaml": RUN.format(name="a", profile="''")}
        )
        replace("manifests/train.yaml", "6Gi", "7Gi")
        assert call("check --changed -- --project=evil/speccompile.yaml manifests/train.yaml")[0] == 4

    def test_only_affected_runs_are_compiled(self, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
        compiled: list[str] = []

        def watched(*arguments: object) -> object:
            for parsed in only(*arguments):  # type: ignore[arg-type]
                compiled.extend(document.source.name for document in parsed.documents)
                yield parsed

        monkeypatch.setattr("speccompile.cli.changed.only", watched)
        call("check --changed runs/train.yaml")
        assert compiled == ["runs/train.yaml"]


def git(*arguments: str) -> str:
    others = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    names = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {**others, **names, "GIT_CONFIG_GLOBAL": os.devnull}
    done = subprocess.run(["git", *arguments], env=environment, check=True, capture_output=True, text=True)
    return done.stdout
