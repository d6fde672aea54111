"""Read profiles, merge them with their parents, and choose the profile of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import TypeAlias, TypeVar

from speccompile.compiler.admin_rules import read_bans, read_rules
from speccompile.compiler.base_documents import merge_bases
from speccompile.compiler.container_resources import gpu_kinds
from speccompile.compiler.documents.profiles_in_configmap import KIND as CONFIG_MAP
from speccompile.compiler.documents.profiles_in_configmap import files_in
from speccompile.compiler.documents.targets import targets_of, unknown_target
from speccompile.compiler.merge import merge_layers
from speccompile.compiler.normalize import normalize
from speccompile.compiler.policy import DEFAULT_PROFILE, LAYER_CHECKS
from speccompile.model.diagnostic import Diagnostic, Note, quote
from speccompile.model.documents import Ban, Document, Platform, Profile, Rule
from speccompile.model.findings import CompileError, has_errors
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node, Part
from speccompile.model.source import Source
from speccompile.schema.formats.by_name import FORMAT_CHECKS
from speccompile.schema.library import Library
from speccompile.schema.suggestions import near
from speccompile.schema.validate import describe_value, validate, without_faulty
from speccompile.yaml_text.parsed import Parsed

_PROFILE_KEYS = ("id", "name", "description", "extends", "target", "gpu_key", "defaults", "rules", "forbid")
_MAX_LISTED = 12
"""The number of profiles that a finding lists."""
ProfileFindings: TypeAlias = tuple[Diagnostic, ...]
Constraint = TypeVar("Constraint", Rule, Ban)


class ProfileFile(NamedTuple):
    """A profile as written, before it is merged with its parents."""

    source: Source
    tree: Node
    bases: Mapping[str, Node]

    @property
    def id(self) -> Node:
        return self.tree.fields["id"]

    @property
    def parents(self) -> tuple[Node, ...]:
        extends = self.tree.fields.get("extends")
        if extends is None:
            return ()
        return extends.items if isinstance(extends.value, tuple) else (extends,)


def read_profiles(
    files: Iterable[Parsed], platform: Platform, library: Library
) -> tuple[Mapping[str, Profile], ProfileFindings]:
    """Read profiles by id, merged with their parents, and report all errors."""
    by_id: dict[str, ProfileFile] = {}
    findings: list[Diagnostic] = []
    for parsed in files:
        for file in _unwrap(parsed):
            profile, errors = _read_file(file, platform, library)
            findings += errors
            if profile is None:
                continue
            first = by_id.setdefault(str(profile.id.value), profile)
            if first is not profile:
                findings.append(_duplicate_id(profile, first))
    profiles, errors = _resolve_all(by_id, platform, library)
    return profiles, (*findings, *errors)


def _unwrap(parsed: Parsed) -> Iterator[Parsed]:
    """The file itself, and each file in its ConfigMaps."""
    config_maps = [document for document in parsed.documents if _kind(document) == CONFIG_MAP]
    others = tuple(document for document in parsed.documents if _kind(document) != CONFIG_MAP)
    if others or parsed.findings or not config_maps:
        yield Parsed(others, parsed.findings)
    for document in config_maps:
        yield from files_in(document)


def _kind(document: Document) -> object:
    kind = document.root.fields.get("kind")
    return kind.value if kind else None


def _read_file(parsed: Parsed, platform: Platform, library: Library) -> tuple[ProfileFile | None, ProfileFindings]:
    """Read the profile of one file with its base documents; None if there is none, or there are errors."""
    findings = list(parsed.findings)
    bases: dict[str, Node] = {}
    profiles: list[Document] = []
    for document in parsed.documents:
        if not isinstance(document.root.value, Mapping):
            findings.append(_no_object(document.root))
        elif _kind(document) is not None:
            base, errors = validate(document.root, "base", library)
            if errors and (wrong := _wrong_document(document, library)):
                findings.append(wrong)
                continue
            findings += errors
            base = base.marked(Part.BASE)
            first = bases.setdefault(str(base.fields["kind"].value), base)
            if first is not base:
                findings.append(_second_base(base, first))
        else:
            profiles.append(document)
    findings += [_second_profile(document, profiles[0]) for document in profiles[1:]]
    if not profiles:
        if parsed.documents and not findings:
            findings.append(_no_profile(parsed.documents[0]))
        return None, tuple(findings)
    tree, schema_findings = validate(profiles[0].root, "profile", library)
    if has_errors(schema_findings) and (wrong := _wrong_document(profiles[0], library)):
        return None, (*findings, wrong)
    findings += schema_findings
    if has_errors(findings):
        # Errors between valid fields are reported together with those of single fields.
        valid = without_faulty(tree, schema_findings)
        fields = valid.with_fields({name: node for name, node in valid.fields.items() if name not in _PROFILE_KEYS})
        return None, (*findings, *normalize(fields, platform, library)[1])
    return ProfileFile(profiles[0].source, tree, bases), tuple(findings)


def _wrong_document(document: Document, library: Library) -> Diagnostic | None:
    from speccompile.compiler.documents.wrong_document import wrong_document  # most profiles have no errors

    return wrong_document(document.root, "profile", library)


def _resolve_all(
    files: Mapping[str, ProfileFile], platform: Platform, library: Library
) -> tuple[Mapping[str, Profile], ProfileFindings]:
    """Merge every profile with its parents; profiles in or below a cycle are left out."""
    findings = [
        _unknown_parent(parent, file, files)
        for file in files.values()
        for parent in file.parents
        if parent.value not in files
    ]
    order, cycles = _parents_first(files)
    profiles: dict[str, Profile] = {}
    for name in order:
        profile, errors = _resolve(files[name], profiles, platform, library)
        findings += errors
        if profile:
            profiles[name] = profile
    return dict(sorted(profiles.items())), (*findings, *cycles)


def _parents_first(files: Mapping[str, ProfileFile]) -> tuple[list[str], list[Diagnostic]]:
    """Sort the ids, parents first, without those in cycles, and report each cycle."""
    graph = {
        name: [str(parent.value) for parent in file.parents if parent.value in files] for name, file in files.items()
    }
    cycles: list[Diagnostic] = []
    while True:
        try:
            return list(TopologicalSorter(graph).static_order()), cycles
        except CycleError as error:
            # graphlib lists a cycle from parent to child, and repeats the first id at the end.
            cycle: list[str] = list(reversed(error.args[1]))[:-1]
            start = cycle.index(min(cycle))
            cycle = cycle[start:] + cycle[:start]
            cycles.append(_cycle(cycle, files))
            graph = {name: parents for name, parents in graph.items() if name not in cycle}
            graph = {name: [parent for parent in parents if parent in graph] for name, parents in graph.items()}


def _resolve(
    file: ProfileFile, resolved: Mapping[str, Profile], platform: Platform, library: Library
) -> tuple[Profile | None, ProfileFindings]:
    parents = [resolved[str(parent.value)] for parent in file.parents if parent.value in resolved]
    findings: list[Diagnostic] = []
    chosen = file.tree.fields.get("gpu_key")
    gpu_key = next((parent.gpu_key for parent in reversed(parents) if parent.gpu_key), None)
    if chosen is not None:
        gpu_key, errors = _gpu_key(chosen, platform)
        findings += errors
    key = str(gpu_key.value) if gpu_key else None
    inherited = next((parent.target for parent in reversed(parents) if parent.target), None)
    target = file.tree.fields.get("target") or inherited
    if target is not None and target.value not in targets_of(library).names:
        findings.append(unknown_target(target, library, "profile/unknown-target", ("target",)))
    fields = file.tree.with_fields({name: node for name, node in file.tree.fields.items() if name not in _PROFILE_KEYS})
    empty = fields.with_fields({})
    fields, errors = normalize(fields, platform, library, key)
    findings += errors
    defaults, errors = normalize(file.tree.fields.get("defaults", empty), platform, library, key)
    defaults = defaults.marked(Part.DEFAULT)
    findings += [finding._replace(path=("defaults", *finding.path)) for finding in errors]
    rules, rule_findings = read_rules(file.tree.fields.get("rules"), library)
    bans, ban_findings = read_bans(file.tree.fields.get("forbid"), library)
    findings += (*rule_findings, *ban_findings)
    try:
        fields = merge_layers([*(parent.fields for parent in parents), fields], library)
        defaults = merge_layers([*(parent.defaults for parent in parents), defaults], library)
        bases = file.bases
        for parent in reversed(parents):
            bases = merge_bases(parent.bases, bases, library)
    except CompileError as error:
        return None, (*findings, *error.diagnostics)
    if parents:
        findings += [finding for rule in LAYER_CHECKS for finding in rule(fields, platform)]
    if len(parents) < len(file.parents):
        return None, tuple(findings)
    return Profile(
        source=file.source,
        id=file.id,
        about={name: file.tree.fields[name] for name in ("name", "description") if name in file.tree.fields},
        parents=file.parents,
        target=target,
        gpu_key=gpu_key,
        fields=fields,
        defaults=defaults,
        rules=_unique((*(rule for parent in parents for rule in parent.rules), *rules)),
        bans=_unique((*(ban for parent in parents for ban in parent.bans), *bans)),
        bases=bases,
    ), tuple(findings)


def _unique(constraints: Iterable[Constraint]) -> tuple[Constraint, ...]:
    """Drop repetitions, which two parents inherit from one grandparent."""
    return tuple({(one[0], id(one[1])): one for one in constraints}.values())


def _gpu_key(chosen: Node, platform: Platform) -> tuple[Node | None, ProfileFindings]:
    """The resource of a profile's `gpu_key`, which is a name from the platform's `gpu_keys` or a resource name."""
    kinds = gpu_kinds(platform)
    text = str(chosen.value)
    if text in kinds:
        return chosen.but(value=kinds[text].value, derived=f"the platform's `{text}`", derived_from=(kinds[text],)), ()
    fault = FORMAT_CHECKS["extended-resource"](text)
    if fault is None:
        return chosen, ()
    meant = near(text, kinds)
    return None, (
        Diagnostic(
            code="profile/unknown-gpu",
            message=f"{quote(text)} is neither one of the platform's `gpu_keys` nor a resource name",
            span=chosen.span,
            path=("gpu_key",),
            help=f"did you mean `{meant}`?" if meant else fault.help,
        ),
    )


def _no_object(node: Node) -> Diagnostic:
    return Diagnostic(
        code="profile/not-an-object",
        message=f"expected a profile or a base document, found {describe_value(node.plain())}",
        span=node.span,
        help="write a mapping: a profile has an `id`, a base document has `apiVersion` and `kind`",
    )


def _second_base(base: Node, first: Node) -> Diagnostic:
    kind = base.fields["kind"]
    return Diagnostic(
        code="profile/duplicate-base",
        message=f"the profile has two base documents of kind {quote(kind.value)}",
        span=kind.span,
        notes=(Note("first here", first.fields["kind"].span),),
        help="merge the two",
    )


def _second_profile(document: Document, first: Document) -> Diagnostic:
    return Diagnostic(
        code="input/several-documents",
        message="this file has a second profile",
        span=document.root.span,
        notes=(Note("first here", first.root.span),),
        help="move it to another file; a base document needs a `kind`",
    )


def _no_profile(document: Document) -> Diagnostic:
    return Diagnostic(
        code="profile/no-profile",
        message="the file has base documents, but no profile",
        span=document.root.span,
        help="add a document with the `id` of the profile, separated by `---`",
    )


def _duplicate_id(profile: ProfileFile, first: ProfileFile) -> Diagnostic:
    return Diagnostic(
        code="profile/duplicate-id",
        message=f"profile {quote(profile.id.value)} is defined twice",
        span=profile.id.span,
        notes=(Note("first here", first.id.span),),
        help="rename one of the two",
    )


def _unknown_parent(parent: Node, child: ProfileFile, files: Mapping[str, ProfileFile]) -> Diagnostic:
    meant = near(str(parent.value), (name for name in files if name != child.id.value))
    return Diagnostic(
        code="profile/unknown-parent",
        message=f"parent profile {quote(parent.value)} not found",
        span=parent.span,
        path=("extends",),
        help=f"did you mean `{meant}`?" if meant else "pass the parent's file with --profiles",
    )


def _cycle(cycle: list[str], files: Mapping[str, ProfileFile]) -> Diagnostic:
    def extends(child: str, parent: str) -> Node:
        return next(node for node in files[child].parents if node.value == parent)

    steps = [extends(child, parent) for child, parent in zip(cycle, (*cycle[1:], cycle[0]), strict=True)]
    path = " → ".join((*cycle, cycle[0]))
    return Diagnostic(
        code="profile/cycle",
        message=f"profiles extend each other in a cycle: {path}" if steps[1:] else f"a profile extends itself: {path}",
        span=steps[0].span,
        path=("extends",),
        notes=tuple(Note(f"{quote(node.value)} is extended here", node.span) for node in steps[1:]),
        help="remove one of these from `extends`" if steps[1:] else "remove it from `extends`",
    )


def choose(wanted: Node | None, profiles: Mapping[str, Profile]) -> tuple[Profile | None, ProfileFindings]:
    """The profile that a run names, or `default` if it exists; an unknown name is an error."""
    if wanted is None:
        return profiles.get(DEFAULT_PROFILE), ()
    profile = profiles.get(str(wanted.value))
    if profile is not None:
        return profile, ()
    meant = near(str(wanted.value), profiles)
    names = [f"`{name}`" for name in sorted(profiles)]
    more = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    listed = f"known profiles: {', '.join(names[:_MAX_LISTED])}{more}" if names else "no profiles were given"
    return None, (
        Diagnostic(
            code="profile/unknown",
            message=f"unknown profile {quote(wanted.value)}",
            span=wanted.span,
            path=("profile",),
            notes=(Note(listed),),
            help=f"did you mean `{meant}`?" if meant else "name a known profile, or pass its file with --profiles",
        ),
    )
