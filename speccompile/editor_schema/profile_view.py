"""A profile with its admin configuration, from which the schema of its runs is generated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from speccompile.compiler.container_resources import resolve_gpu
from speccompile.compiler.documents.admin_config import Setting
from speccompile.compiler.merge import merge_layers
from speccompile.editor_schema.convert import EditorSchema
from speccompile.editor_schema.field_locations import Leaf, constrained
from speccompile.editor_schema.resources import ResourceSymbols, symbols_of
from speccompile.model.diagnostic import quote
from speccompile.model.documents import Ban, Platform, Profile, Rule
from speccompile.model.key_path import KeyPath
from speccompile.model.node import Node
from speccompile.model.source import Layer
from speccompile.schema.library import Library

FieldSchema: TypeAlias = tuple[str, EditorSchema]
"""A field and a schema for its value."""


@dataclass(frozen=True)
class ProfileView:
    """A profile with its setting, and values derived from the two."""

    profile: Profile
    setting: Setting
    files: Mapping[str, str]

    @property
    def library(self) -> Library:
        return self.setting.library

    @property
    def platform(self) -> Platform:
        return self.setting.platform

    @cached_property
    def fixed(self) -> Node:
        """The fields that no run can change."""
        enforced = resolve_gpu(self.platform.enforced, self.platform, self.profile)
        return merge_layers([self.profile.fields, enforced], self.library)

    @cached_property
    def defaults(self) -> Node:
        common = resolve_gpu(self.platform.defaults, self.platform, self.profile)
        return merge_layers([common, self.profile.defaults], self.library)

    @property
    def rules(self) -> tuple[Rule, ...]:
        return (*self.platform.rules, *self.profile.rules)

    @property
    def bans(self) -> tuple[Ban, ...]:
        return (*self.platform.bans, *self.profile.bans)

    @cached_property
    def symbols(self) -> ResourceSymbols:
        return symbols_of(self.platform, self.profile)

    @property
    def own_envs(self) -> Mapping[str, Node]:
        """The patterns of the variables that the platform sets."""
        patterns = self.platform.settings.fields.get("own_envs")
        return patterns.fields if patterns else {}

    def setting_at(self, *path: str) -> Any:
        """The value of the platform's setting at the path; None if it is unset."""
        node = self.platform.settings.at(path)
        return None if node is None else node.plain()

    def constrained(self, path: KeyPath, leaf: Leaf) -> FieldSchema:
        """The field of the path, with the schema that applies the leaf's constraint at the path."""
        field, *steps = path
        return str(field), constrained(self.library.fields[str(field)], steps, leaf, self.library)

    def author_of(self, node: Node) -> str:
        """The profile or the platform that set the value, with file and line."""
        by = "the platform" if node.span.source.layer is Layer.PLATFORM else f"profile {quote(self.profile.id.value)}"
        name = node.span.source.name
        return f"{by} ({self.files.get(name, name)}:{node.span.line})" if node.span.line else by

    def fixed_by(self, node: Node) -> EditorSchema:
        return with_reason(f"{self.author_of(node)} fixes this value: leave it out")

    def limit_reason(self, limit: Node) -> str:
        return f"{self.author_of(limit)} has a limit of {quote(limit.value)}"


def with_reason(reason: str) -> EditorSchema:
    """The reason as keywords, which editors show on hover and for a rejected value."""
    return {"description": reason, "errorMessage": reason}


def for_any_value(constraint: EditorSchema) -> Leaf:
    """The same constraint for every value."""
    return lambda _: constraint
