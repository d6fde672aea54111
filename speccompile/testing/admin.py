"""An admin's profiles and platform as plain data, with variants to compare with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

from speccompile.compiler.bundled_library import bundled_library
from speccompile.compiler.compile_files import compile_files
from speccompile.compiler.compiled import Compiled, Result
from speccompile.compiler.documents.admin_config import Setting, prepare
from speccompile.model.documents import Document
from speccompile.model.findings import CompileError, stop_if_any
from speccompile.model.source import Layer, Source
from speccompile.schema.validate import validate
from speccompile.yaml_text.from_python import wrap
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.parsed import Parsed

Data: TypeAlias = dict[str, Any]
_REFUSING = ("rules", "forbid", "ceilings", "allowed_registries", "project_profiles", "overrides")
_FACTORS = ("memory_limit_factor", "cpu_limit_factor")


@dataclass(frozen=True)
class Admin:
    """Profile files, each the documents it holds, and a platform."""

    files: tuple[tuple[Data, ...], ...] = ()
    platform: Data | None = None

    @cached_property
    def setting(self) -> Setting:
        """What runs are compiled under; raises CompileError where nothing can be."""
        setting = self.read()
        stop_if_any(setting.findings)
        return setting

    def read(self) -> Setting:
        """The setting read afresh, faults and all."""
        platform = None if self.platform is None else wrap(self.platform, Source("<platform>", "", Layer.PLATFORM))
        return prepare([_parsed(file) for file in self.files], platform, bundled_library())

    def compile(self, run: Data) -> Compiled:
        """The compilation of one run; raises CompileError."""
        (result,) = self.compile_all([run])
        if isinstance(result, CompileError):
            raise result
        return result

    def compile_all(self, runs: list[Data]) -> list[Result]:
        """The results of one call."""
        return list(compile_files((wrap(run, Source("<run>", "", Layer.RUN)) for run in runs), self.setting))

    def manifests(self, run: Data) -> list[Data] | None:
        """The manifests of a run as data; None if it is refused, which is always safe."""
        try:
            return [manifest.data for manifest in self.compile(run).manifests]
        except CompileError:
            return None

    def settled(self, *path: str) -> Any:
        """What the platform's settings say at the path, the built-in ones where its file says nothing."""
        node = self.setting.platform.settings.at(path)
        return node.plain() if node else None

    @cached_property
    def profiles(self) -> Mapping[str, Data]:
        """Each profile document in canonical spelling, as it was written: without what its parents bring."""
        found = (_canonical(data, "profile") for file in self.files for data in file if "kind" not in data)
        return {profile["id"]: profile for profile in found}

    @cached_property
    def demands(self) -> Data:
        """The platform's document in canonical spelling, with its preset written out."""
        return _written_out(_canonical(self.platform or {}, "platform"))

    def bases_of(self, profile: str) -> list[Data]:
        """The base documents in the profile's own file."""
        return [
            _canonical(data, "base") for file in self.files if _holds(file, profile) for data in file if "kind" in data
        ]

    def lineage(self, profile: str | None) -> Iterator[str]:
        """The profile's ancestors, weakest first, and itself; one that is reached by several ways stands again."""
        if profile is None:
            return
        told = self.profiles[profile].get("extends") or []
        for parent in [told] if isinstance(told, str) else told:
            yield from self.lineage(parent)
        yield profile

    # Variants

    def with_profile(self, profile: str, *files: tuple[Data, ...]) -> Admin:
        """The same with other files in the place of the profile's own."""
        return replace(self, files=(*(file for file in self.files if not _holds(file, profile)), *files))

    @cached_property
    def lenient(self) -> Admin:
        """The same without anything that could refuse a run: for asking what comes out where a run says nothing."""
        platform = {
            **_without(self.demands, *_REFUSING),
            "volumes": {**_without(self.demands.get("volumes", {}), "allowed_types"), "allow_existing": True},
            "secrets": {**self.demands.get("secrets", {}), "allow_foreign": True},
            "overrides": "notice",
        }
        files = tuple(tuple(_without(data, "rules", "forbid") for data in file) for file in self.files)
        return Admin(files, platform)

    @cached_property
    def fixed_only(self) -> Admin:
        """The same with nothing but what no run can change: fields of profiles and of the platform's `enforce`."""
        files = tuple(tuple(_without(data, "defaults") for data in file if "kind" not in data) for file in self.files)
        return Admin(
            tuple(tuple(_without(data, "rules", "forbid") for data in file) for file in files),
            _without(self.lenient.platform or {}, "defaults", *_FACTORS),
        )

    @cached_property
    def bare(self) -> Admin:
        """The same without profiles, defaults and what the platform enforces: its settings alone."""
        return Admin((), _without(self.fixed_only.platform or {}, "enforce"))


def profile_of(run: Data, admin: Admin) -> str | None:
    """The id of the profile a run is compiled under."""
    return run.get("profile") or ("default" if "default" in admin.profiles else None)


def _parsed(file: tuple[Data, ...]) -> Parsed:
    parts = [wrap(data, Source("<profile>", "", Layer.PROFILE)) for data in file]
    return Parsed(
        tuple(document for part in parts for document in part.documents),
        tuple(finding for part in parts for finding in part.findings),
    )


def _holds(file: tuple[Data, ...], profile: str) -> bool:
    return any("kind" not in data and data.get("id") == profile for data in file)


def _canonical(data: Data, schema: str) -> Data:
    parsed = wrap(data, Source(f"<{schema}>", "", Layer.PROFILE))
    documents: tuple[Document, ...] = parsed.documents
    tree, _ = validate(documents[0].root, schema, bundled_library())
    plain: Data = tree.plain()
    return plain


def _written_out(platform: Data) -> Data:
    preset = bundled_library().presets.get(platform.get("preset", ""))
    if preset is None:
        return platform
    (document,) = parse(Source("<preset>", preset, Layer.PLATFORM)).documents
    return _over(_canonical(document.root.plain(), "platform"), _without(platform, "preset"))


_ONE_VALUE = ("own_labels", "own_envs", "gpu_keys", "project_profiles")


def _over(weaker: Data, stronger: Data) -> Data:
    """Mappings by key, except those whose keys are the admin's own; of all else the stronger."""
    met = {
        key: _over(weaker[key], value)
        if isinstance(value, dict) and isinstance(weaker.get(key), dict) and key not in _ONE_VALUE
        else value
        for key, value in stronger.items()
    }
    return {**weaker, **met}


def _without(data: Data, *names: str) -> Data:
    return {key: value for key, value in data.items() if key not in names}
