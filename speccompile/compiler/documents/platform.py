"""Read the platform file over its preset and the built-in platform."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from speccompile.compiler.admin_rules import read_bans, read_rules
from speccompile.compiler.container_resources import GPU
from speccompile.compiler.merge import merge_layers
from speccompile.compiler.normalize import normalize
from speccompile.model.diagnostic import Diagnostic, Note, quote
from speccompile.model.documents import Platform
from speccompile.model.node import Node, Part, over_setting
from speccompile.model.object_names import placeholders
from speccompile.model.source import BUILT_IN, Layer, Source
from speccompile.schema.library import Library, Schema
from speccompile.schema.validate import validate, without_faulty
from speccompile.yaml_text.parse import parse, several_documents
from speccompile.yaml_text.parsed import Parsed

_LAYERS = ("defaults", "enforce")
_SELECTING = frozenset({"own_labels", "selector_labels"})
_DEMANDS = (*_LAYERS, "rules", "forbid", "preset")
_TELLING = frozenset({"name", "id"})
_MISSING = frozenset({"namespace", "user", "profile", "named_profile"})
"""Placeholders that may have no value; a label that mentions one is then left out."""


def read_platform(parsed: Parsed | None, library: Library) -> tuple[Platform, tuple[Diagnostic, ...]]:
    """The platform over its preset over the built-in one, which alone speaks where there is no file."""
    platform = Platform(settings=_built_in(library), defaults=Node({}, BUILT_IN), enforced=Node({}, BUILT_IN))
    if parsed is None:
        return platform, ()
    findings = list(parsed.findings)
    findings += [several_documents(document, "platform") for document in parsed.documents[1:]]
    for document in parsed.documents[:1]:
        tree, found = validate(document.root, "platform", library)
        if found:
            from speccompile.compiler.documents.wrong_document import wrong_document  # most files have no errors

            if wrong := wrong_document(document.root, "platform", library):
                return platform, (*findings, wrong)
        findings += found
        for text in _preset(tree, library):
            preset, _ = validate(text, "platform", library)
            platform, _ = _over(platform, preset, library)
        faulty = {finding.path[0] for finding in found if finding.path}
        platform, more = _over(platform, without_faulty(tree, found), library)
        # Labels that were refused are no reason to say that selectors lack them.
        findings += [finding for finding in more if not faulty & _SELECTING or finding.code != "platform/selector"]
    return platform, tuple(findings)


def _preset(tree: Node, library: Library) -> Iterator[Node]:
    """The text of the preset that the file names; the schema has refused a name that is none."""
    named = tree.fields.get("preset")
    if named is not None and str(named.value) in library.presets:
        source = Source(f"presets/{named.value}.yaml", library.presets[str(named.value)], Layer.PLATFORM)
        yield from (document.root for document in parse(source).documents)


def _over(weaker: Platform, tree: Node, library: Library) -> tuple[Platform, tuple[Diagnostic, ...]]:
    """The platform with everything that the tree says of it."""
    told = {name: node.marked(Part.SETTING, weak=True) for name, node in tree.fields.items() if name not in _DEMANDS}
    settings = _settings(weaker.settings, tree.with_fields(told), library.schemas["platform"], library)
    known = weaker._replace(settings=settings)
    findings = list(_selector_faults(settings))
    layers: dict[str, Node] = {}
    for name in _LAYERS:
        if name in tree.fields:
            layers[name], found = normalize(tree.fields[name], known, library, GPU)
            findings += [finding._replace(path=(name, *finding.path)) for finding in found]
    rules, unruly = read_rules(tree.fields.get("rules"), library)
    bans, unbanned = read_bans(tree.fields.get("forbid"), library)
    grown = known._replace(
        defaults=_merged(known.defaults, layers["defaults"].marked(Part.DEFAULT, weak=True), library)
        if "defaults" in layers
        else known.defaults,
        enforced=_merged(known.enforced, layers["enforce"], library) if "enforce" in layers else known.enforced,
        rules=(*known.rules, *rules),
        bans=(*known.bans, *bans),
    )
    return grown, (*findings, *unruly, *unbanned)


def _merged(weaker: Node, stronger: Node, library: Library) -> Node:
    return merge_layers([weaker, stronger], library) if weaker.fields else stronger


def _built_in(library: Library) -> Node:
    root: dict[str, Any] = {}
    for path, value in library.defaults("platform"):
        fields = root
        for step in path[:-1]:
            fields = fields.setdefault(step, {})
        fields[path[-1]] = value
    return _node(root).marked(Part.SETTING, weak=True)


def _node(value: Any) -> Node:
    if isinstance(value, Mapping):
        return Node({key: _node(child) for key, child in value.items()}, BUILT_IN)
    if isinstance(value, list):
        return Node(tuple(_node(item) for item in value), BUILT_IN)
    return Node(value, BUILT_IN)


def _settings(weaker: Node, stronger: Node, schema: Schema, library: Library) -> Node:
    """Sections are merged key by key; a map of the admin's own keys is one value, unless its schema says otherwise."""
    properties = schema.get("properties", {})
    known = {key: library.resolve(properties.get(key, {})) for key in stronger.fields}
    grown = {
        key: _settings(weaker.fields[key], child, known[key], library)
        if key in weaker.fields and ("properties" in known[key] or known[key].get("x-merge") == "map")
        else over_setting(child, weaker.fields.get(key))
        for key, child in stronger.fields.items()
    }
    return stronger.with_fields({**weaker.fields, **grown})


def _selector_faults(settings: Node) -> Iterator[Diagnostic]:
    """Selectors must find a run's own pods and no others."""
    labels, selector = settings.fields["own_labels"], settings.fields["selector_labels"]
    written = selector.place if selector.span is not BUILT_IN else labels.place
    unknown = [item for item in selector.items if item.value not in labels.fields]
    for item in unknown if written is not labels.place else unknown[:1]:
        yield Diagnostic(
            code="platform/selector",
            message=f"selectors use {quote(item.value)}, which is none of the platform's own labels",
            span=item.span if item.span is not BUILT_IN else written,
            path=("selector_labels",),
            notes=(Note("the labels stand here", labels.place),) if written is not labels.place else (),
            help="name labels of `own_labels` under `selector_labels`",
        )
    if unknown:
        return
    used = [set(placeholders(str(labels.fields[str(item.value)].value))) for item in selector.items]
    if not any(names & _TELLING and not names & _MISSING for names in used):
        yield Diagnostic(
            code="platform/selector",
            message="the labels that select pods may be the same for two runs",
            span=written,
            path=("selector_labels",),
            help="name a label that says `{name}` or `{id}`, and nothing that a run may lack, such as `{user}`",
        )
