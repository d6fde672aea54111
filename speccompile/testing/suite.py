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
from speccompile.compiler.policy import DEFAULT_PROFILE
from speccompile.files.find import Unlisted
from speccompile.files.load import load
from speccompile.files.load_admin_config import read_setting
from speccompile.files.read import expand
from speccompile.model.documents import Platform
from speccompile.model.findings import CompileError
from speccompile.model.source import Layer
from speccompile.testing.accepted_values import errors_of
from speccompile.testing.admin import AdminConfig
from speccompile.testing.hostile_runs import attempts
from speccompile.testing.plain_data import Data
from speccompile.testing.properties.table import PROPERTIES, Property
from speccompile.testing.pytest_plugin import PropertyViolation
from speccompile.yaml_text.serialize import serialize

_NO_PROFILE = "no profile"
_LEAST_COMPILED = 1 / 3
"""The share of generated runs that must compile: those that do not cannot violate a property."""


class AdminProperties:
    """Tests of all properties for profiles and a platform file, given as paths relative to the test file.

    Platform teams inherit from it in a class whose name begins with `Test`. Hypothesis' `max_examples` sets the number
    of runs that are tried for each property and profile.
    """

    pytestmark = pytest.mark.speccompile_properties
    profiles: ClassVar[Sequence[str]] = ()
    platform: ClassVar[str | None] = None

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Generate a case for each profile, and one without a profile if there is no default profile.

        Properties generate runs for the default target only, so profiles of other targets are skipped, and so are
        profiles that the platform allows to no project.
        """
        if "profile" not in metafunc.fixturenames:
            return
        setting = read_setting(*_paths(type(self)))
        profiles = {} if setting.is_broken else setting.profiles
        ids: list[str | None] = [
            one
            for one, profile in profiles.items()
            if target_of(profile, setting.library).name == DEFAULT_TARGET and _is_allowed(one, setting.platform)
        ]
        if not setting.is_broken and "default" not in profiles:
            ids.append(None)
        metafunc.parametrize("profile", ids, ids=[one or _NO_PROFILE for one in ids])

    def test_profiles_and_platform_have_no_errors(self) -> None:
        """Profiles and platform file are valid; otherwise, no property is tested."""
        setting = read_setting(*_paths(type(self)))
        if setting.is_broken:
            raise PropertyViolation(str(CompileError(setting.findings)))


def _make_test(prop: Property) -> Callable[[AdminProperties, str | None], None]:
    def test(self: AdminProperties, profile: str | None) -> None:
        violation = find_violation(prop, _read(type(self)), profile)
        if violation:
            raise PropertyViolation(f"{violation}\n\nTo reproduce:\n\n    {_command(type(self))}")

    test.__doc__ = prop.sentence
    test.__name__ = f"test_{prop.name}"
    return test


for _property in PROPERTIES:
    setattr(AdminProperties, f"test_{_property.name}", _make_test(_property))


def find_violation(prop: Property, admin: AdminConfig, profile: str | None) -> str | None:
    """A report about the smallest run that violates the property, or about too few runs that compile, or None."""
    last: list[Data] = []
    tries = _Tries()

    def check(run: Data) -> None:
        last[:] = [run]
        tries.count(run, admin)
        prop.check(run, admin)

    try:
        _search(check, attempts(admin, profile, fields=prop.fields))
    except AssertionError as error:
        return _violation_text(prop, str(error).partition("\nassert ")[0], last[0], admin, profile)
    return tries.shortage(prop, profile)


class _Tries:
    """How many runs compile, and the one that came closest of those that do not."""

    def __init__(self) -> None:
        self.runs = self.compiled = 0
        self.closest: tuple[int, int, Data, str] | None = None

    def count(self, run: Data, admin: AdminConfig) -> None:
        self.runs += 1
        errors = errors_of(run, admin)
        if not errors:
            self.compiled += 1
            return
        found = (len(errors), len(str(run)), run, str(CompileError(errors)))
        if self.closest is None or found[:2] < self.closest[:2]:
            self.closest = found

    def shortage(self, prop: Property, profile: str | None) -> str | None:
        """A report if so few runs compile that the property was not really tested."""
        if self.closest is None or self.compiled >= self.runs * _LEAST_COMPILED:
            return None
        *_, run, errors = self.closest
        return "\n\n".join(
            (
                f"Property not really tested with {_profile_text(profile)}: {prop.sentence}",
                f"Only {self.compiled} of {self.runs} generated runs compile. The one that came closest:",
                _indented(serialize([run])),
                "What rejects it:",
                _indented(errors),
            )
        )


def _search(check: Callable[[Data], None], runs: SearchStrategy[Data]) -> None:
    """Call the function with many runs. If it raises, the last call was with the smallest such run."""
    configure = settings(
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        print_blob=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    configure(given(runs)(check))()


def _violation_text(prop: Property, detail: str, run: Data, admin: AdminConfig, profile: str | None) -> str:
    return "\n\n".join(
        (
            f"Property violated with {_profile_text(profile)}: {prop.sentence}",
            _indented(detail),
            "The run:",
            _indented(serialize([run])),
            "Its manifests:",
            _indented(admin.compile(run).to_yaml()),
        )
    )


def _profile_text(profile: str | None) -> str:
    return f"profile `{profile}`" if profile else _NO_PROFILE


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in text.rstrip("\n").split("\n"))


def _paths(suite: type[AdminProperties]) -> tuple[list[Path], Path | None]:
    folder = Path(inspect.getfile(suite)).parent
    return [folder / path for path in _profiles(suite)], None if suite.platform is None else folder / suite.platform


def _profiles(suite: type[AdminProperties]) -> Sequence[str]:
    return [suite.profiles] if isinstance(suite.profiles, str) else suite.profiles


def _command(suite: type[AdminProperties]) -> str:
    flags = [f"--profiles {path}" for path in _profiles(suite)]
    flags += [f"--platform {suite.platform}"] if suite.platform else []
    return " ".join(("speccompile render run.yaml", *flags))


def _is_allowed(profile: str, platform: Platform) -> bool:
    """Whether any project may use the profile."""
    projects = platform.settings.fields.get("project_profiles")
    return (
        projects is None
        or profile == DEFAULT_PROFILE
        or any(profile == item.value for allowed in projects.fields.values() for item in allowed.items)
    )


def _read(suite: type[AdminProperties]) -> AdminConfig:
    """The files as plain data; another test reports their errors."""
    profiles, platform = _paths(suite)
    files = tuple(file for path in expand(profiles) for file in _files(path))
    if platform is None:
        return AdminConfig(files)
    (document, *_) = load(platform, Layer.PLATFORM).documents
    return AdminConfig(files, document.root.plain())


def _files(path: Path | Unlisted) -> Iterator[tuple[Data, ...]]:
    """The documents of a file, and of each file in its ConfigMaps."""
    documents: list[Data] = []
    for document in load(path, Layer.PROFILE).documents:
        data = document.root.plain()
        if data.get("kind") != KIND:
            documents.append(data)
            continue
        for parsed in files_in(document):
            yield tuple(inner.root.plain() for inner in parsed.documents)
    if documents:
        yield tuple(documents)
