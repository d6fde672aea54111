"""A profile in its admin configuration, as the schemas of its runs are made from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from speccompile.compiler.container_resources import resolve_gpu
from speccompile.compiler.documents.admin_config import Setting
from speccompile.compiler.merge import merge_layers
from speccompile.editor_schema.convert import EditorSchema
from speccompile.editor_schema.field_locations import Leaf, placed
from speccompile.editor_schema.resources import Symbols, symbols_of
from speccompile.model.diagnostic import quote
from speccompile.model.documents import Ban, Platform, Profile, Rule
from speccompile.model.key_path import KeyPath
from speccompile.model.node import Node
from speccompile.model.source import Layer
from speccompile.schema.library import Library

FieldSchema: TypeAlias = tuple[str, EditorSchema]
"""A field, and the schema that its value must satisfy."""


@dataclass(frozen=True)
class ProfileView:
    """A profile in its setting, and what follows from the two."""

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
    def symbols(self) -> Symbols:
        return symbols_of(self.platform, self.profile)

    @property
    def own_envs(self) -> Mapping[str, Node]:
        """The patterns of the variables that the platform sets itself."""
        own = self.platform.settings.fields.get("own_envs")
        return own.fields if own else {}

    def setting_at(self, *path: str) -> Any:
        """What the platform's settings say at the path; None if nothing."""
        node = self.platform.settings.at(path)
        return None if node is None else node.plain()

    def placed(self, path: KeyPath, leaf: Leaf) -> FieldSchema:
        """The field of the path, and what must hold of it so that the value there is as the leaf says."""
        field, *steps = path
        return str(field), placed(self.library.fields[str(field)], steps, leaf, self.library)

    def who(self, node: Node) -> str:
        """Who says it, and where."""
        by = "the platform" if node.span.source.layer is Layer.PLATFORM else f"profile {quote(self.profile.id.value)}"
        name = node.span.source.name
        return f"{by} ({self.files.get(name, name)}:{node.span.line})" if node.span.line else by

    def fixed_by(self, node: Node) -> EditorSchema:
        return explained(f"fixed by {self.who(node)}: leave it out")

    def ceiling_reason(self, ceiling: Node) -> str:
        return f"{self.who(ceiling)} has a ceiling of {quote(ceiling.value)}"


def explained(reason: str) -> EditorSchema:
    """A reason, for hovering and for what an editor says of a value that is refused."""
    return {"description": reason, "errorMessage": reason}


def always(made: EditorSchema) -> Leaf:
    """The same schema for every value."""
    return lambda _: made
