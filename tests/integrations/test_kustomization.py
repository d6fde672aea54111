"""`render --kustomization`: folders that real Kustomize builds, and overlays over them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers.programs import program

from speccompile.cli.main import main
from speccompile.integrations.kustomization import kustomization

BUILDERS = [("kubectl", "kustomize"), ("kustomize", "build")]
PROJECT = "runs: [runs]\nprofiles: [profiles]\noutput: base\n"
RUNS = {
    "runs/train.yaml": "name: train\naction: job\nimage: python:3.12\nprofile: gpu\nenvs: {MODE: full}\n",
    "runs/web.yaml": (
        "name: web\nproject: shop\naction: serve\nimage: nginx:1.29\nservice_ports: [{port: 80}]\n"
        "volumes:\n- {name: data, volume_type: persistent_volume_claim, mount_path: /data, spec: {size: 1Gi}}\n"
        "- {name: conf, volume_type: config_map, mount_path: /etc/conf, spec: {data: {a.txt: 'a: {{ b }}\n'}}}\n"
    ),
    "profiles/gpu.yaml": "id: gpu\nresources: {gpu: 1}\nnode_selector: {gpu: a100}\n",
}


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write({"speccompile.yaml": PROJECT, **RUNS})


def write(files: dict[str, str]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


def build(builder: tuple[str, str], folder: str) -> dict[tuple[str, str], Any]:
    """The objects that come out, by kind and name."""
    done = subprocess.run([program(builder[0]), builder[1], folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return by_name(yaml.safe_load_all(done.stdout))


def by_name(objects: Any) -> dict[tuple[str, str], Any]:
    return {(one["kind"], one["metadata"]["name"]): one for one in objects}


def rendered() -> dict[tuple[str, str], Any]:
    files = [path for path in Path("base").rglob("*.yaml") if path.name != "kustomization.yaml"]
    return by_name(one for path in files for one in yaml.safe_load_all(path.read_text()))


@pytest.mark.parametrize("builder", BUILDERS, ids=" ".join)
def test_the_folder_builds_to_what_was_rendered(builder: tuple[str, str]) -> None:
    assert main(["render", "--kustomization"]) == 0
    assert Path("base/kustomization.yaml").read_text() == (
        "# The runs of this folder, listed by speccompile render --kustomization\n"
        "apiVersion: kustomize.config.k8s.io/v1beta1\n"
        "kind: Kustomization\n"
        "resources:\n"
        "- shop/web.yaml\n"
        "- train.yaml\n"
    )
    built = build(builder, "base")
    assert built == rendered()
    assert {kind for kind, _ in built} == {"Job", "Deployment", "Service", "PersistentVolumeClaim", "ConfigMap"}


@pytest.mark.parametrize("builder", BUILDERS, ids=" ".join)
def test_overlays_build_too(builder: tuple[str, str]) -> None:
    """With a prefix for names, a namespace, labels, and a strategic merge patch that finds the container by name."""
    assert main(["render", "--kustomization"]) == 0
    write(
        {
            "overlay/kustomization.yaml": (
                "resources: [../base]\nnamePrefix: dev-\nnamespace: dev\n"
                "labels: [{pairs: {stage: dev}}]\n"
                "patches:\n- path: patch.yaml\n"
            ),
            "overlay/patch.yaml": (
                "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\nspec:\n  template:\n    spec:\n"
                "      containers:\n      - name: main\n        env: [{name: MODE, value: short}]\n"
            ),
        }
    )
    built, base = build(builder, "overlay"), rendered()
    assert {(kind, name.removeprefix("dev-")) for kind, name in built} == set(base)
    assert all(one["metadata"]["namespace"] == "dev" for one in built.values())
    assert all(one["metadata"]["labels"]["stage"] == "dev" for one in built.values())
    [container] = built["Job", "dev-train"]["spec"]["template"]["spec"]["containers"]
    assert container["env"] == [{"name": "MODE", "value": "short"}]
    assert container["image"] == "python:3.12"
    assert built["Job", "dev-train"]["spec"]["template"]["spec"]["nodeSelector"] == {"gpu": "a100"}
    # References to what got a prefix got it too, and selectors find their pods still.
    pod = built["Deployment", "dev-web"]["spec"]["template"]
    claims = [
        one["persistentVolumeClaim"]["claimName"] for one in pod["spec"]["volumes"] if "persistentVolumeClaim" in one
    ]
    assert [("PersistentVolumeClaim", claim) in built for claim in claims] == [True]
    assert built["Service", "dev-web"]["spec"]["selector"].items() <= pod["metadata"]["labels"].items()


def test_check_covers_the_kustomization(capsys: pytest.CaptureFixture[str]) -> None:
    main(["render", "--kustomization"])
    assert main(["check", "--kustomization"]) == 0
    write({"runs/more.yaml": "name: more\naction: job\nimage: python:3.12\n"})
    main(["render"])
    capsys.readouterr()
    assert main(["check", "--kustomization"]) == 4
    assert "+- more.yaml\n" in capsys.readouterr().out
    assert main(["check", "--kustomization", "--fix"]) == 4
    assert main(["check", "--kustomization", "--changed", "runs/more.yaml"]) == 0
    Path("base/kustomization.yaml").unlink()
    assert main(["check", "--kustomization"]) == 4
    assert "[check/missing]: missing: this file lists the manifests" in capsys.readouterr().out


def test_a_call_about_one_run_drops_no_other_from_the_list() -> None:
    one = ["runs/train.yaml", "-o", "base", "--kustomization"]
    assert main(["render", *one]) == 0
    assert "web" not in Path("base/kustomization.yaml").read_text()
    assert main(["check", *one]) == 0
    assert main(["render", "--kustomization"]) == 0
    before = Path("base/kustomization.yaml").read_text()
    assert main(["render", *one]) == 0
    assert main(["check", *one]) == 0
    assert Path("base/kustomization.yaml").read_text() == before
    Path("base/shop/web.yaml").unlink()
    assert main(["render", *one]) == 0
    assert "web" not in Path("base/kustomization.yaml").read_text(), "Kustomize would not build it"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("kustomization.yaml", "resources: [mine.yaml]\n"),
        ("kustomization.yaml", kustomization(["train.yaml"]) + "namespace: mine\n"),
        ("kustomization.yml", "resources: [mine.yaml]\n"),
        ("Kustomization", "resources: [mine.yaml]\n"),
    ],
)
def test_a_handwritten_kustomization_is_never_replaced_or_duplicated(
    name: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write({f"base/{name}": text})
    assert main(["render", "--kustomization"]) == 1
    message = "a file that speccompile did not write" if name == "kustomization.yaml" else "make this one an overlay"
    assert message in capsys.readouterr().err
    assert main(["check", "--kustomization"]) == (4 if name == "kustomization.yaml" else 1)
    assert "Traceback" not in capsys.readouterr().err
    assert main(["check", "--kustomization", "--fix"]) == 1
    assert [path.name for path in Path("base").iterdir()] == [name]
    assert Path(f"base/{name}").read_text() == text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "-", "--kustomization"], "--kustomization needs a directory; add -o DIR"),
        (["--json", "--kustomization"], "not allowed with"),
        (["--helm", "--json"], "not allowed with"),
        (["--helm", "--kustomization"], "not allowed with"),
    ],
)
def test_contradictory_options_are_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["render", *arguments])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_a_run_that_was_broken_before_is_not_listed(capsys: pytest.CaptureFixture[str]) -> None:
    main(["render", "--kustomization"])
    write({"runs/broken.yaml": "name: broken\naction: job\n"})
    assert main(["check", "--kustomization", "--changed", "--fix", "--", "runs/train.yaml"]) == 0
    assert "broken" not in Path("base/kustomization.yaml").read_text()
    Path("base/kustomization.yaml").unlink()
    Path("base/kustomization.yaml").mkdir()
    capsys.readouterr()
    Path("runs/broken.yaml").unlink()
    assert main(["check", "--kustomization", "--format", "json"]) == 1
    assert '"check/in-the-way"' in capsys.readouterr().out
