"""The wheel carries what the package needs, and works where there is no checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(root)]
    subprocess.run(command, check=True)
    (made,) = folder.glob("*.whl")
    return made


def test_the_wheel_holds_the_package_and_the_bundled_folders(root: Path, wheel: Path) -> None:
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    package = {path.relative_to(root).as_posix() for path in (root / "speccompile").rglob("*.py")}
    assets = {path.relative_to(root).as_posix() for path in (root / "speccompile" / "report" / "assets").iterdir()}
    schemas = {
        f"speccompile/_bundled/{path.relative_to(root).as_posix()}" for path in (root / "schemas").rglob("*.json")
    }
    templates = {
        f"speccompile/_bundled/{path.relative_to(root).as_posix()}" for path in (root / "templates").rglob("*.*")
    }
    presets = {f"speccompile/_bundled/presets/{path.name}" for path in (root / "presets").glob("*.yaml")}
    starter = {
        f"speccompile/_bundled/{path.relative_to(root).as_posix()}" for path in (root / "starter").rglob("*.yaml")
    }
    assert schemas
    assert templates
    assert presets
    assert "speccompile/_bundled/starter/.pre-commit-config.yaml" in starter
    data = {
        f"speccompile/{name}"
        for name in (
            "py.typed",
            "model/diagnostic_codes.toml",
            "schema/foreign_names.yaml",
            "compiler/rendering/prebuilt_skeletons.json",
        )
    }
    assert held == package | assets | schemas | templates | presets | starter | data


def test_the_wheel_runs_in_a_fresh_environment(root: Path, wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", str(wheel)], check=True)
    examples = root / "examples"
    arguments = [str(examples / "runs"), "--project", str(examples / "speccompile.yaml")]
    # Elsewhere than in the checkout, so that nothing of it can be picked up.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    installed, checkout = (
        subprocess.run(
            [*command, "render", *arguments], check=True, capture_output=True, cwd=tmp_path, env=environment
        ).stdout
        for command in ([str(tmp_path / "venv" / "bin" / "speccompile")], [sys.executable, "-m", "speccompile"])
    )
    assert installed == checkout
    assert b"kind: CronJob" in installed
    page = tmp_path / "report.html"
    command = [str(tmp_path / "venv" / "bin" / "speccompile"), "explain"]
    subprocess.run([*command, *arguments, "--html", str(page)], check=True, cwd=tmp_path, env=environment)
    assert "kind: CronJob" in page.read_text(encoding="utf-8")
    subprocess.run([*command, "--code", "schema/cron"], check=True, cwd=tmp_path, env=environment)
    # What `init` writes is the same from the wheel, and `check` finds nothing to say.
    for name, called in (("installed", command[:1]), ("checkout", [sys.executable, "-m", "speccompile"])):
        subprocess.run([*called, "init", name], check=True, capture_output=True, cwd=tmp_path, env=environment)
        subprocess.run([*called, "check"], check=True, capture_output=True, cwd=tmp_path / name, env=environment)
    made, known = (
        {
            path.relative_to(tmp_path / name): path.read_bytes()
            for path in (tmp_path / name).rglob("*")
            if path.is_file()
        }
        for name in ("installed", "checkout")
    )
    assert made == known
    # The plugin stands in whatever pytest run finds the package; the laws it serves are an extra.
    script = "import speccompile.testing, sys; assert 'hypothesis' not in sys.modules"
    subprocess.run([python, "-c", script], check=True, cwd=tmp_path, env=environment)
    version = subprocess.run(
        [tmp_path / "venv" / "bin" / "speccompile", "--version"], check=True, capture_output=True, text=True
    )
    assert version.stdout.startswith("speccompile ")


def test_a_wheel_on_the_path_as_a_zip_works_too(root: Path, wheel: Path, tmp_path: Path) -> None:
    run = str(root / "examples" / "runs" / "clean.yaml")
    command = [sys.executable, "-m", "speccompile", "render", run, "--platform", "digitalhub"]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(wheel)}
    )
    subprocess.run(
        [*command[:3], "explain", run, "--html", str(tmp_path / "report.html")],
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(wheel)},
    )
    assert "kind: Job" in done.stdout
    assert "dhcore/runtime: container" in done.stdout
    subprocess.run(
        [*command[:3], "init", "new"], check=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(wheel)}
    )
    assert (tmp_path / "new" / ".pre-commit-config.yaml").is_file()
