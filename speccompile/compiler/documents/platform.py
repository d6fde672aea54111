"""Read the platform file over its preset and the built-in platform."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from speccompile.compiler.admin_rules import read_bans, read_rules
from speccompile.compiler.container_resources import GPU
from speccompile.compiler.documents.targets import targets_of, unknown_target
from speccompile.compiler.kubernetes_rules import job_labels
from speccompile.compiler.merge import merge_layers
from speccompile.compiler.normalize import normalize
from speccompile.compiler.policy import platform_labels
from speccompile.model.diagnostic import Diagnostic, Note, quote
from speccompile.model.documents import Platform, Runtime
from speccompile.model.node import Node, Part, over_setting
from speccompile.model.object_names import placeholders
from speccompile.model.source import BUILT_IN, Layer, Source
from speccompile.schema.library import Library, Schema
from speccompile.schema.validate import validate, without_faulty
from speccompile.yaml_text.parse import parse, several_documents
from speccompile.yaml_text.parsed import Parsed

_LAYERS = ("defaults", "enforce")
_LABEL_SETTINGS = frozenset({"own_labels", "selector_labels"})
_NOT_SETTINGS = (*_LAYERS, "rules", "forbid", "preset")
_RUNTIMES = "runtimes"
_IDENTIFYING = frozenset({"name", "id"})
"""Placeholders that differ between runs."""
_OPTIONAL = frozenset({"namespace", "user", "profile", "named_profile"})
"""Placeholders that may be unset; a label that uses one is then left out."""


def read_platform(parsed: Parsed | None, library: Library) -> tuple[Platform, tuple[Diagnostic, ...]]:
    """Read the platform file on top of its preset and the built-in platform, and report all errors."""
    settings = _built_in(library)
    platform = Platform(settings=settings, defaults=Node({}, BUILT_IN), enforced=Node({}, BUILT_IN))
    platform, _ = _with_runtimes(platform, settings, library)
    if parsed is None:
        return platform, ()
    findings = list(parsed.findings)
    findings += [several_documents(document, "platform") for document in parsed.documents[1:]]
    for document in parsed.documents[:1]:
        tree, errors = validate(document.root, "platform", library)
        if errors:
            from speccompile.compiler.documents.wrong_document import wrong_document  # most files have no errors

            if wrong := wrong_document(document.root, "platform", library):
                return platform, (*findings, wrong)
        findings += errors
        for text in _preset(tree, library):
            preset, _ = validate(text, "platform", library)
            platform, _ = _apply(platform, preset, library)
        faulty = {finding.path[0] for finding in errors if finding.path}
        platform, file_errors = _apply(platform, without_faulty(tree, errors), library)
        # A selector that uses a label with an error is not reported as well.
        findings += [
            finding for finding in file_errors if not faulty & _LABEL_SETTINGS or finding.code != "platform/selector"
        ]
    return platform, tuple(findings)


def fix_project(platform: Platform, project_file: Parsed, library: Library) -> tuple[Platform, tuple[Diagnostic, ...]]:
    """The platform with the project that the project file names, and an error if the platform names another."""
    findings = list(project_file.findings)
    for document in project_file.documents[:1]:
        tree, errors = validate(document.root, "project", library)
        findings += errors
        name, fixed = without_faulty(tree, errors).fields.get("project"), platform.settings.fields.get("project")
        if name is None:
            continue
        if fixed is not None and fixed.value != name.value:
            findings.append(_other_project(name, fixed))
        setting = name.marked(Part.SETTING, weak=True)
        settings = platform.settings.with_fields({**platform.settings.fields, "project": setting})
        platform = platform._replace(settings=settings)
    return platform, tuple(findings)


def _other_project(name: Node, fixed: Node) -> Diagnostic:
    return Diagnostic(
        code="schema/conflict",
        message=f"the project is {quote(name.value)} here, and {quote(fixed.value)} on the platform",
        span=name.span,
        path=("project",),
        notes=(Note("set here by the platform", fixed.span),),
        help="remove it here, or set the same project",
    )


def _preset(tree: Node, library: Library) -> Iterator[Node]:
    """The documents of the preset that the file names; the schema reports an unknown name."""
    name = tree.fields.get("preset")
    if name is not None and str(name.value) in library.presets:
        source = Source(f"presets/{name.value}.yaml", library.presets[str(name.value)], Layer.PLATFORM)
        yield from (document.root for document in parse(source).documents)


def _apply(weaker: Platform, tree: Node, library: Library) -> tuple[Platform, tuple[Diagnostic, ...]]:
    """Apply the file, or a preset, to a platform."""
    changes = {
        name: node.marked(Part.SETTING, weak=True) for name, node in tree.fields.items() if name not in _NOT_SETTINGS
    }
    settings = _merge_settings(weaker.settings, tree.with_fields(changes), library.schemas["platform"], library)
    platform = weaker._replace(settings=settings)
    findings = [*_check_selector(settings), *job_labels(platform_labels(platform), ("own_labels",))]
    layers: dict[str, Node] = {}
    for name in _LAYERS:
        if name in tree.fields:
            layers[name], errors = normalize(tree.fields[name], platform, library, GPU)
            findings += [finding._replace(path=(name, *finding.path)) for finding in errors]
    rules, rule_findings = read_rules(tree.fields.get("rules"), library)
    bans, ban_findings = read_bans(tree.fields.get("forbid"), library)
    platform = platform._replace(
        defaults=_merge(platform.defaults, layers["defaults"].marked(Part.DEFAULT, weak=True), library)
        if "defaults" in layers
        else platform.defaults,
        enforced=_merge(platform.enforced, layers["enforce"], library) if "enforce" in layers else platform.enforced,
        rules=(*platform.rules, *rules),
        bans=(*platform.bans, *bans),
    )
    if "enforce" in layers:
        platform = _with_enforced_runtimes(platform, layers["enforce"], library)
    platform, runtime_findings = _with_runtimes(platform, tree, library)
    return platform, (*findings, *rule_findings, *ban_findings, *runtime_findings)


def _with_enforced_runtimes(platform: Platform, enforced: Node, library: Library) -> Platform:
    """The platform with what a file enforces over what its preset enforces for runtimes."""

    def stronger(runtime: Runtime) -> Runtime:
        fields = {name: node for name, node in enforced.fields.items() if name in runtime.enforced.fields}
        if not fields:
            return runtime
        return runtime._replace(enforced=_merge(runtime.enforced, enforced.with_fields(fields), library))

    return platform._replace(runtimes={name: stronger(one) for name, one in platform.runtimes.items()})


def _with_runtimes(platform: Platform, tree: Node, library: Library) -> tuple[Platform, tuple[Diagnostic, ...]]:
    """The platform with the runtimes of the tree, merged over its own by name and key."""
    runtimes: dict[str, Runtime] = dict(platform.runtimes)
    findings: list[Diagnostic] = []
    for name, node in tree.fields[_RUNTIMES].fields.items() if _RUNTIMES in tree.fields else ():
        weaker = runtimes.get(name)
        target = node.fields.get("target") or (weaker.target if weaker else None)
        if target is None:
            findings.append(_no_target(name, node))
            continue
        if target.value not in targets_of(library).names:
            findings.append(unknown_target(target, library, "schema/wrong-value", (_RUNTIMES, name, "target")))
        layers: list[Node] = []
        for key, part, inherited in (
            ("defaults", Part.DEFAULT, weaker.defaults if weaker else None),
            ("enforce", Part.FIELD, weaker.enforced if weaker else None),
        ):
            fields, errors = normalize(node.fields.get(key) or node.with_fields({}), platform, library, GPU)
            findings += [finding._replace(path=(_RUNTIMES, name, key, *finding.path)) for finding in errors]
            fields = fields.marked(part, weak=part is Part.DEFAULT)
            layers.append(_merge(inherited, fields, library) if inherited else fields)
        runtimes[name] = Runtime(target, *layers)
    return platform._replace(runtimes=runtimes), tuple(findings)


def _no_target(name: str, node: Node) -> Diagnostic:
    return Diagnostic(
        code="schema/missing-key",
        message=f"runtime {quote(name)} has no `target`",
        span=node.place,
        path=(_RUNTIMES, name),
        help="add `target: kubernetes`, or the name of another target",
    )


def _merge(weaker: Node, stronger: Node, library: Library) -> Node:
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


def _merge_settings(weaker: Node, stronger: Node, schema: Schema, library: Library) -> Node:
    """Merge sections key by key; a map with free keys is one value, unless its schema has `x-merge: map`."""
    properties, others = schema.get("properties", {}), schema.get("additionalProperties")
    free = others if isinstance(others, Mapping) else {}
    schemas = {key: library.resolve(properties.get(key, free)) for key in stronger.fields}
    merged = {
        key: _merge_settings(weaker.fields[key], child, schemas[key], library)
        if key in weaker.fields and ("properties" in schemas[key] or schemas[key].get("x-merge") == "map")
        else over_setting(child, weaker.fields.get(key))
        for key, child in stronger.fields.items()
    }
    return stronger.with_fields({**weaker.fields, **merged})


def _check_selector(settings: Node) -> Iterator[Diagnostic]:
    """Selectors must match the pods of one run only."""
    labels, selector = settings.fields["own_labels"], settings.fields["selector_labels"]
    place = selector.place if selector.span is not BUILT_IN else labels.place
    unknown = [item for item in selector.items if item.value not in labels.fields]
    for item in unknown if place is not labels.place else unknown[:1]:
        yield Diagnostic(
            code="platform/selector",
            message=f"`selector_labels` has {quote(item.value)}, which is not in `own_labels`",
            span=item.span if item.span is not BUILT_IN else place,
            path=("selector_labels",),
            notes=(Note("`own_labels` is set here", labels.place),) if place is not labels.place else (),
            help="use labels of `own_labels`",
        )
    if unknown:
        return
    used = [set(placeholders(str(labels.fields[str(item.value)].value))) for item in selector.items]
    if not any(names & _IDENTIFYING and not names & _OPTIONAL for names in used):
        yield Diagnostic(
            code="platform/selector",
            message="two runs may have the same selector labels",
            span=place,
            path=("selector_labels",),
            help="add a label with `{name}` or `{id}`, and without placeholders that a run may lack, such as `{user}`",
        )
