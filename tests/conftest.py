"""Options, hypothesis profiles and the fixtures that several test files share."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers.command_line import Answer, Call
from helpers.paths import ROOT
from hypothesis import HealthCheck, settings

from speccompile.cli.main import main
from speccompile.compiler.bundled_library import bundled_library
from speccompile.schema.library import Library

_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}
settings.register_profile("quick", max_examples=50, derandomize=True, **_COMMON)  # type: ignore[arg-type]
settings.register_profile("brief", max_examples=10, derandomize=True, **_COMMON)  # type: ignore[arg-type]
settings.register_profile("thorough", max_examples=2000, **_COMMON)  # type: ignore[arg-type]
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite the expected files in golden/; then read the diff"
    )


@pytest.fixture(scope="session")
def caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders that nobody has used yet."""
    folder = tmp_path_factory.mktemp("caches")
    return (folder / str(number) for number in count())


@pytest.fixture(autouse=True)
def own_cache(caches: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, made if it is used: no test knows what another, or a user, has compiled."""
    folder = next(caches)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    monkeypatch.setenv("XDG_STATE_HOME", f"{folder}-state")
    return folder


@pytest.fixture(scope="session")
def library() -> Library:
    return bundled_library()


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """The command, called in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def answer(*arguments: str | Path, stdin: str | None = None) -> Answer:
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(stdin.encode())))
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:  # argparse ends --help and faults of its own in this way
            code = int(stop.code or 0)
        return Answer(code, *capsys.readouterr())

    return answer
