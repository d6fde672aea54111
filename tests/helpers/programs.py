"""Programs, browser and files that scripts/tools.sh installs; tests skip what is missing."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest
from helpers.paths import ROOT

TOOLS = ROOT / ".tools"
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def sarif_schema() -> dict[str, Any]:
    """The JSON Schema of SARIF 2.1.0."""
    path = TOOLS / "sarif-2.1.0.json"
    if not path.is_file():
        missing("the SARIF schema")
    schema: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return schema


def browser() -> tuple[str, str]:
    """The paths of a browser and of the driver that steers it."""
    found = next(filter(None, map(shutil.which, _BROWSERS)), None)
    driver = shutil.which("chromedriver")
    if found is None or driver is None:
        missing("a browser with its driver")
    return found, driver


def program(name: str) -> str:
    """The path of a program: the pinned one, or that of a Python package, or what is on PATH."""
    places = (str(TOOLS), str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))
    found = shutil.which(name, path=os.pathsep.join(places))
    if found is None:
        missing(name)
    return found


def digitalhub_python() -> str:
    """The path of the Python that has the DigitalHub SDK."""
    folder = TOOLS / "digitalhub"
    if not (folder / "installed.txt").is_file():
        missing("the DigitalHub SDK")
    return str(folder / "bin" / "python")


def missing(what: str) -> NoReturn:
    """In CI, a test that does not run is a test that fails."""
    stop = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
    stop(f"{what} is missing: run scripts/tools.sh")
