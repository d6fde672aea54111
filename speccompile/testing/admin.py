"""Profiles and a platform file as plain data, and variants of them for comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from speccompile.compiler.bundled_library import bundled_library
from speccompile.compiler.compile_files import compile_files
from speccompile.compiler.compiled import Compiled, Result
from speccompile.compiler.documents.admin_config import Setting, prepare
from speccompile.model.documents import Document
from speccompile.model.findings import CompileError, stop_if_any
from speccompile.model.source import Layer, Source
from speccompile.schema.validate import validate
from speccompile.testing.plain_data import Data
from speccompile.yaml_text.from_python import wrap
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.parsed import Parsed

_REJECTING_KEYS = ("rules", "forbid", "ceilings", "allowed_registries", "project_profiles", "overrides")
_FACTOR_KEYS = ("memory_limit_factor", "cpu_limit_factor")


@dataclass(frozen=True)
class AdminConfig:
    """Profile files, each with its documents, and a platform file."""

    files: tuple[tuple[Data, ...], ...] = ()
    platform: Data | None = None

    @cached_property
    def setting(self) -> Setting:
        """The parsed profiles and platform. Raise CompileError if they have errors."""
        setting = self.read()
        stop_if_any(setting.findings)
        return setting

    def read(self) -> Setting:
        """Parse the profiles and the platform, without a cache and with all findings."""
        platform = None if self.platform is None else wrap(self.platform, Source("<platform>", "", Layer.PLATFORM))
        return prepare([_parsed(file) for file in self.files], platform, bundled_library())

    def compile(self, run: Data) -> Compiled:
        """Compile one run. Raise CompileError if it has errors."""
        (result,) = self.compile_all([run])
        if isinstance(result, CompileError):
            raise result
        return result

    def compile_all(self, runs: list[Data]) -> list[Result]:
        """Compile several runs in one call."""
        return list(compile_files((wrap(run, Source("<run>", "", Layer.RUN)) for run in runs), self.setting))

    def manifests(self, run: Data) -> list[Data] | None:
        """The manifests of a run as data; None if the run has errors."""
        try:
            return [manifest.data for manifest in self.compile(run).manifests]
        except CompileError:
            return None

    def platform_setting(self, *path: str) -> Any:
        """The platform setting at the path, built-in settings included."""
        node = self.setting.platform.settings.at(path)
        return node.plain() if node else None

    @cached_property
    def profiles(self) -> Mapping[str, Data]:
        """Each profile document with canonical keys, without values of its parents."""
        documents = (_canonical(data, "profile") for file in self.files for data in file if "kind" not in data)
        return {profile["id"]: profile for profile in documents}

    @cached_property
    def full_platform(self) -> Data:
        """The platform file with canonical keys, merged with its preset."""
        return _with_preset(_canonical(self.platform or {}, "platform"))

    def bases_of(self, profile: str) -> list[Data]:
        """The base documents in the file of the profile."""
        return [
            _canonical(data, "base")
            for file in self.files
            if _contains(file, profile)
            for data in file
            if "kind" in data
        ]

    def lineage(self, profile: str | None) -> Iterator[str]:
        """The ancestors of the profile, lowest precedence first and possibly repeated, and the profile itself."""
        if profile is None:
            return
        parents = self.profiles[profile].get("extends") or []
        for parent in [parents] if isinstance(parents, str) else parents:
            yield from self.lineage(parent)
        yield profile

    # Variants

    def with_profile(self, profile: str, *files: tuple[Data, ...]) -> AdminConfig:
        """A copy in which other files replace that of the profile."""
        return replace(self, files=(*(file for file in self.files if not _contains(file, profile)), *files))

    @cached_property
    def lenient(self) -> AdminConfig:
        """A copy without anything that could reject a run, to compile a minimal run."""
        platform = {
            **_without(self.full_platform, *_REJECTING_KEYS),
            "volumes": {**_without(self.full_platform.get("volumes", {}), "allowed_types"), "allow_existing": True},
            "secrets": {**self.full_platform.get("secrets", {}), "allow_foreign": True},
            "overrides": "notice",
        }
        files = tuple(tuple(_without(data, "rules", "forbid") for data in file) for file in self.files)
        return AdminConfig(files, platform)

    @cached_property
    def fixed_only(self) -> AdminConfig:
        """A copy with only what runs cannot change: fields of profiles and of `enforce`."""
        files = tuple(tuple(_without(data, "defaults") for data in file if "kind" not in data) for file in self.files)
        return AdminConfig(
            tuple(tuple(_without(data, "rules", "forbid") for data in file) for file in files),
            _without(self.lenient.platform or {}, "defaults", *_FACTOR_KEYS),
        )

    @cached_property
    def bare(self) -> AdminConfig:
        """A copy with only the settings of the platform."""
        return AdminConfig((), _without(self.fixed_only.platform or {}, "enforce"))


def profile_of(run: Data, admin: AdminConfig) -> str | None:
    """The id of the profile that applies to a run."""
    return run.get("profile") or ("default" if "default" in admin.profiles else None)


def _parsed(file: tuple[Data, ...]) -> Parsed:
    parts = [wrap(data, Source("<profile>", "", Layer.PROFILE)) for data in file]
    return Parsed(
        tuple(document for part in parts for document in part.documents),
        tuple(finding for part in parts for finding in part.findings),
    )


def _contains(file: tuple[Data, ...], profile: str) -> bool:
    return any("kind" not in data and data.get("id") == profile for data in file)


def _canonical(data: Data, schema: str) -> Data:
    parsed = wrap(data, Source(f"<{schema}>", "", Layer.PROFILE))
    documents: tuple[Document, ...] = parsed.documents
    tree, _ = validate(documents[0].root, schema, bundled_library())
    plain: Data = tree.plain()
    return plain


def _with_preset(platform: Data) -> Data:
    preset = bundled_library().presets.get(platform.get("preset", ""))
    if preset is None:
        return platform
    (document,) = parse(Source("<preset>", preset, Layer.PLATFORM)).documents
    return _merge(_canonical(document.root.plain(), "platform"), _without(platform, "preset"))


_REPLACED_MAPPINGS = ("own_labels", "own_envs", "gpu_keys", "project_profiles")


def _merge(weaker: Data, stronger: Data) -> Data:
    """Merge mappings by key, except those whose keys the admin chooses; otherwise the stronger value applies."""
    merged = {
        key: _merge(weaker[key], value)
        if isinstance(value, dict) and isinstance(weaker.get(key), dict) and key not in _REPLACED_MAPPINGS
        else value
        for key, value in stronger.items()
    }
    return {**weaker, **merged}


def _without(data: Data, *names: str) -> Data:
    return {key: value for key, value in data.items() if key not in names}
