"""Refuse runs that would replace objects of the cluster, such as the Service of the API server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from speccompile.compiler.compiled import CreatedObject
from speccompile.model.diagnostic import Diagnostic, Note, quote
from speccompile.model.documents import Platform, Run
from speccompile.model.source import Span
from speccompile.schema.field_path import matches_key

_RESERVED: Mapping[str, Sequence[str]] = {
    "ConfigMap": ("kube-root-ca.crt", "openshift-service-ca.crt"),
    "Namespace": ("kube-*", "openshift-*"),
    "Service": ("kubernetes",),
    "ServiceAccount": ("default",),
}
"""Names by kind, or prefixes that end in `*`, that a platform can add to but not remove."""


def reserved_names(run: Run, objects: Sequence[CreatedObject], platform: Platform) -> Iterator[Diagnostic]:
    """Objects with a reserved name, and a reserved namespace that the run chose."""
    for created in objects:
        yield from _reserved(created.kind, created.name, created.place, platform)
    namespace = run.facts.get("namespace")
    if namespace is not None and "namespace" not in platform.settings.fields:
        yield from _reserved("Namespace", str(namespace.value), namespace.span, platform)


def has_reserved_name(created: CreatedObject, platform: Platform) -> bool:
    """Whether an object has a reserved name."""
    if created.kind not in _RESERVED and "reserved_names" not in platform.settings.fields:
        return False
    return any(True for _ in _reserved(created.kind, created.name, created.place, platform))


def _reserved(kind: str, name: str, place: Span, platform: Platform) -> Iterator[Diagnostic]:
    setting = platform.settings.fields.get("reserved_names")
    added = setting.fields.get(kind) if setting else None
    reserving = next((item for item in (added.items if added else ()) if matches_key(str(item.value), name)), None)
    if reserving or any(matches_key(pattern, name) for pattern in _RESERVED.get(kind, ())):
        owner = "the platform" if reserving else "the cluster"
        yield Diagnostic(
            code="policy/reserved-name",
            message=f"{kind} {quote(name)} is reserved: it belongs to {owner}",
            span=place,
            notes=(Note("reserved here", reserving.span),) if reserving else (),
            help="choose another name",
        )
