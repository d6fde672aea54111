"""The test class that platform teams inherit."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

from speccompile.compiler.choose_manifests import target_of
from speccompile.compiler.documents.profiles_in_configmap import KIND, files_in
from speccompile.compiler.documents.targets import DEFAULT_TARGET
from speccompile.files.find import Unlisted
from speccompile.files.load import load
from speccompile.files.load_admin_config import read_setting
from speccompile.files.read import expand
from speccompile.model.finding_text import as_text
from speccompile.model.findings import CompileError
from speccompile.model.source import Layer
from speccompile.testing.admin import Admin, Data
from speccompile.testing.hostile_runs import attempts
from speccompile.testing.properties.table import PROPERTIES, Property
from speccompile.testing.pytest_plugin import LawBroken
from speccompile.yaml_text.serialize import serialize

_NO_PROFILE = "no profile"


class AdminProperties:
    """The laws as tests, for profiles and a platform given as paths that are relative to the test file.

    A subclass whose name begins with `Test` is all that a platform team writes. How many runs are tried for each law
    and profile is hypothesis' own `max_examples`.
    """

    profiles: ClassVar[Sequence[str]] = ()
    platform: ClassVar[str | None] = None

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """A case for each profile, and one for runs without, where no profile is theirs by default.

        The laws draw runs of the usual target and look at its manifests, so profiles of others are left out.
        """
        if "profile" not in metafunc.fixturenames:
            return
        setting = read_setting(*_paths(type(self)))
        known = {} if setting.is_broken else setting.profiles
        ids: list[str | None] = [
            one for one, profile in known.items() if target_of(profile, setting.library).name == DEFAULT_TARGET
        ]
        if not setting.is_broken and "default" not in known:
            ids.append(None)
        metafunc.parametrize("profile", ids, ids=[one or _NO_PROFILE for one in ids])

    def test_profiles_and_platform_have_no_faults(self) -> None:
        """What is wrong with them is told here, and no law is tried."""
        setting = read_setting(*_paths(type(self)))
        if setting.is_broken:
            raise LawBroken(as_text(setting.findings))

    def test_some_run_compiles(self, profile: str | None) -> None:
        """A profile under which nothing compiles keeps every law, and serves nobody."""
        admin = _read(type(self))
        refused: list[tuple[Data, CompileError]] = []

        def compiles(run: Data) -> None:
            try:
                admin.compile(run)
            except CompileError as error:
                refused.append((run, error))
            else:
                raise _FoundError

        try:
            _search(compiles, attempts(admin, profile))
        except _FoundError:
            return
        run, error = min(refused, key=lambda one: len(str(one[0])))
        raise LawBroken(
            f"No run compiles under {_called(profile)}. One that was tried:\n\n{_indented(serialize([run]))}\n\n{error}"
        )


class _FoundError(Exception):
    """A run that compiles: the search is over."""


def _test_of(law: Property) -> Callable[[AdminProperties, str | None], None]:
    def test(self: AdminProperties, profile: str | None) -> None:
        broken = breach(law, _read(type(self)), profile)
        if broken:
            raise LawBroken(f"{broken}\n\nTry it:\n\n    {_command(type(self))}")

    test.__doc__ = law.sentence
    test.__name__ = f"test_{law.name}"
    return test


for _law in PROPERTIES:
    setattr(AdminProperties, f"test_{_law.name}", _test_of(_law))


def breach(law: Property, admin: Admin, profile: str | None) -> str | None:
    """What to tell the admin of the smallest run found that breaks the law; None if none was found."""
    last: list[Data] = []

    def holds(run: Data) -> None:
        last[:] = [run]
        law.holds(run, admin)

    try:
        _search(holds, attempts(admin, profile, about=law.about))
    except AssertionError as error:
        return _told(law, str(error).partition("\nassert ")[0], last[0], admin, profile)
    return None


def _search(holds: Callable[[Data], None], runs: SearchStrategy[Data]) -> None:
    """Calls the function with many runs; if it raises, the last call was with the smallest run it raises for."""
    quietly = settings(
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        print_blob=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    quietly(given(runs)(holds))()


def _told(law: Property, found: str, run: Data, admin: Admin, profile: str | None) -> str:
    made = admin.compile(run)
    return "\n\n".join(
        (
            f"Under {_called(profile)} a law is broken: {law.sentence}",
            _indented(found),
            "The run, which can be pasted into a file:",
            _indented(serialize([run])),
            "What came out:",
            _indented(made.to_yaml()),
        )
    )


def _called(profile: str | None) -> str:
    return f"profile `{profile}`" if profile else _NO_PROFILE


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in text.rstrip("\n").split("\n"))


def _paths(suite: type[AdminProperties]) -> tuple[list[Path], Path | None]:
    here = Path(inspect.getfile(suite)).parent
    told = [suite.profiles] if isinstance(suite.profiles, str) else suite.profiles
    return [here / path for path in told], None if suite.platform is None else here / suite.platform


def _command(suite: type[AdminProperties]) -> str:
    told = [suite.profiles] if isinstance(suite.profiles, str) else suite.profiles
    flags = [*(f"--profiles {path}" for path in told), *([f"--platform {suite.platform}"] if suite.platform else [])]
    return " ".join(("speccompile render run.yaml", *flags))


def _read(suite: type[AdminProperties]) -> Admin:
    """What the admin wrote as plain data; faults were told by a test of their own."""
    profiles, platform = _paths(suite)
    files = tuple(file for path in expand(profiles) for file in _files(path))
    if platform is None:
        return Admin(files)
    (document, *_) = load(platform, Layer.PLATFORM).documents
    return Admin(files, document.root.plain())


def _files(path: Path | Unlisted) -> Iterator[tuple[Data, ...]]:
    """The documents of a file, and of each file that stands in one of its ConfigMaps."""
    own: list[Data] = []
    for document in load(path, Layer.PROFILE).documents:
        data = document.root.plain()
        if data.get("kind") != KIND:
            own.append(data)
            continue
        for parsed in files_in(document):
            yield tuple(inner.root.plain() for inner in parsed.documents)
    if own:
        yield tuple(own)
