"""Variables that the platform sets in every run: its setting `own_envs`."""

from __future__ import annotations

from collections.abc import Mapping

from speccompile.compiler.name_placeholders import facts_of
from speccompile.model.documents import Platform, Profile, Run
from speccompile.model.node import Node
from speccompile.model.object_names import PLACEHOLDERS, fill_pattern, placeholders


def has_own_envs(platform: Platform) -> bool:
    envs = platform.settings.fields.get("own_envs")
    return envs is not None and bool(envs.fields)


def own_envs(run: Run, profile: Profile | None, platform: Platform) -> Node:
    """The variables that the platform sets in every run; no other layer can override them."""
    patterns = platform.settings.fields.get("own_envs")
    if patterns is None or not has_own_envs(platform):
        return Node({}, run.name.span)
    facts = facts_of(run, profile, platform)
    # Kubernetes expands `$(NAME)` in a value, and a run's name must not refer to another variable.
    escaped = {name: str(node.value).replace("$", "$$") for name, node in facts.items()}
    texts = {**dict.fromkeys(PLACEHOLDERS, ""), **escaped}
    items = (
        Node(
            {
                "name": Node(name, pattern.key or pattern.span, part=pattern.part),
                "value": _filled(pattern, texts, facts),
            },
            pattern.span,
            pattern.key,
            part=pattern.part,
        )
        for name, pattern in patterns.fields.items()
    )
    return Node({"envs": Node(tuple(items), patterns.span, patterns.key)}, patterns.span)


def _filled(pattern: Node, texts: Mapping[str, str], facts: Mapping[str, Node]) -> Node:
    """The filled pattern; its origin is the pattern, derived from the facts it mentions."""
    used = tuple(facts[name] for name in placeholders(str(pattern.value)) if name in facts)
    text = fill_pattern(str(pattern.value), texts)
    how = "the platform's pattern, filled" if used else None
    return Node(text, pattern.span, derived=how, derived_from=used, part=pattern.part, overridden=pattern.overridden)
