"""Read profiles, each with everything its parents bring, and choose a run's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import TypeAlias, TypeVar

from speccompile.compiler.admin_rules import read_bans, read_rules
from speccompile.compiler.base_documents import merge_bases
from speccompile.compiler.container_resources import gpu_kinds
from speccompile.compiler.documents.profiles_in_configmap import KIND as CONFIG_MAP
from speccompile.compiler.documents.profiles_in_configmap import files_in
from speccompile.compiler.documents.targets import targets_of
from speccompile.compiler.merge import merge_layers
from speccompile.compiler.normalize import normalize
from speccompile.compiler.policy import DEFAULT_PROFILE, LAYER_CHECKS
from speccompile.model.diagnostic import Diagnostic, Note, quote
from speccompile.model.documents import Ban, Document, Platform, Profile, Rule
from speccompile.model.findings import CompileError
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node, Part
from speccompile.model.source import Source
from speccompile.schema.formats.by_name import FORMATS
from speccompile.schema.library import Library
from speccompile.schema.suggestions import near
from speccompile.schema.validate import described, validate, without_faulty
from speccompile.yaml_text.parsed import Parsed

_OWN = ("id", "name", "description", "extends", "target", "gpu_key", "defaults", "rules", "forbid")
_MOST_LISTED = 12
"""Profiles that a finding lists at most."""
Findings: TypeAlias = tuple[Diagnostic, ...]
Demand = TypeVar("Demand", Rule, Ban)


class Written(NamedTuple):
    """A profile as its file has it, before its parents have spoken."""

    source: Source
    tree: Node
    bases: Mapping[str, Node]

    @property
    def id(self) -> Node:
        return self.tree.fields["id"]

    @property
    def parents(self) -> tuple[Node, ...]:
        told = self.tree.fields.get("extends")
        if told is None:
            return ()
        return told.items if isinstance(told.value, tuple) else (told,)


def read_profiles(
    files: Iterable[Parsed], platform: Platform, library: Library
) -> tuple[Mapping[str, Profile], Findings]:
    """The profiles by id, resolved through their parents; no fault is passed over."""
    written: dict[str, Written] = {}
    findings: list[Diagnostic] = []
    for parsed in files:
        for file in _unwrapped(parsed):
            profile, found = _read_file(file, platform, library)
            findings += found
            if profile is None:
                continue
            first = written.setdefault(str(profile.id.value), profile)
            if first is not profile:
                findings.append(_repeated(profile, first))
    profiles, found = _resolved(written, platform, library)
    return profiles, (*findings, *found)


def _unwrapped(parsed: Parsed) -> Iterator[Parsed]:
    """The file itself, and each file that stands in one of its ConfigMaps."""
    wraps = [document for document in parsed.documents if _kind(document) == CONFIG_MAP]
    others = tuple(document for document in parsed.documents if _kind(document) != CONFIG_MAP)
    if others or parsed.findings or not wraps:
        yield Parsed(others, parsed.findings)
    for document in wraps:
        yield from files_in(document)


def _kind(document: Document) -> object:
    kind = document.root.fields.get("kind")
    return kind.value if kind else None


def _read_file(parsed: Parsed, platform: Platform, library: Library) -> tuple[Written | None, Findings]:
    """The profile of one file with its base documents; None if it has none or has faults."""
    findings = list(parsed.findings)
    bases: dict[str, Node] = {}
    own: list[Document] = []
    for document in parsed.documents:
        if not isinstance(document.root.value, Mapping):
            findings.append(_no_object(document.root))
        elif _kind(document) is not None:
            base, found = validate(document.root, "base", library)
            findings += found
            base = base.marked(Part.BASE)
            first = bases.setdefault(str(base.fields["kind"].value), base)
            if first is not base:
                findings.append(_second_base(base, first))
        else:
            own.append(document)
    findings += [_second_profile(document, own[0]) for document in own[1:]]
    if not own:
        if parsed.documents and not findings:
            findings.append(_no_profile(parsed.documents[0]))
        return None, tuple(findings)
    tree, found = validate(own[0].root, "profile", library)
    findings += found
    if findings:
        # What no single value shows is told in the same go, as far as the tree allows.
        rest = without_faulty(tree, found)
        known = rest.with_fields({name: node for name, node in rest.fields.items() if name not in _OWN})
        return None, (*findings, *normalize(known, platform, library)[1])
    return Written(own[0].source, tree, bases), ()


def _resolved(
    written: Mapping[str, Written], platform: Platform, library: Library
) -> tuple[Mapping[str, Profile], Findings]:
    """Every profile over its parents, each parent resolved alone; those in or below a cycle are left out."""
    findings = [
        _no_parent(parent, one, written)
        for one in written.values()
        for parent in one.parents
        if parent.value not in written
    ]
    order, cycles = _ordered(written)
    profiles: dict[str, Profile] = {}
    for name in order:
        profile, found = _resolve(written[name], profiles, platform, library)
        findings += found
        if profile:
            profiles[name] = profile
    return dict(sorted(profiles.items())), (*findings, *cycles)


def _ordered(written: Mapping[str, Written]) -> tuple[list[str], list[Diagnostic]]:
    """The ids, parents first, without those that lead to themselves; and a finding for each such circle."""
    graph = {
        name: [str(parent.value) for parent in one.parents if parent.value in written] for name, one in written.items()
    }
    cycles: list[Diagnostic] = []
    while True:
        try:
            return list(TopologicalSorter(graph).static_order()), cycles
        except CycleError as error:
            # graphlib lists a circle against the arrows of `extends`, and its first id again at the end.
            circle: list[str] = list(reversed(error.args[1]))[:-1]
            start = circle.index(min(circle))
            circle = circle[start:] + circle[:start]
            cycles.append(_cycle(circle, written))
            graph = {name: parents for name, parents in graph.items() if name not in circle}
            graph = {name: [parent for parent in parents if parent in graph] for name, parents in graph.items()}


def _resolve(
    one: Written, known: Mapping[str, Profile], platform: Platform, library: Library
) -> tuple[Profile | None, Findings]:
    parents = [known[str(parent.value)] for parent in one.parents if parent.value in known]
    findings: list[Diagnostic] = []
    chosen = one.tree.fields.get("gpu_key")
    gpu_key = next((parent.gpu_key for parent in reversed(parents) if parent.gpu_key), None)
    if chosen is not None:
        gpu_key, found = _gpu_key(chosen, platform)
        findings += found
    key = str(gpu_key.value) if gpu_key else None
    inherited = next((parent.target for parent in reversed(parents) if parent.target), None)
    target = one.tree.fields.get("target") or inherited
    if target is not None and target.value not in targets_of(library).named:
        findings.append(_unknown_target(target, library))
    own = one.tree.with_fields({name: node for name, node in one.tree.fields.items() if name not in _OWN})
    fields, found = normalize(own, platform, library, key)
    findings += found
    defaults, found = normalize(one.tree.fields.get("defaults", own.with_fields({})), platform, library, key)
    defaults = defaults.marked(Part.DEFAULT)
    findings += [finding._replace(path=("defaults", *finding.path)) for finding in found]
    rules, unruly = read_rules(one.tree.fields.get("rules"), library)
    bans, unbanned = read_bans(one.tree.fields.get("forbid"), library)
    findings += (*unruly, *unbanned)
    try:
        fields = merge_layers([*(parent.fields for parent in parents), fields], library)
        defaults = merge_layers([*(parent.defaults for parent in parents), defaults], library)
        bases = one.bases
        for parent in reversed(parents):
            bases = merge_bases(parent.bases, bases, library)
    except CompileError as error:
        return None, (*findings, *error.diagnostics)
    if parents:
        findings += [finding for rule in LAYER_CHECKS for finding in rule(fields, platform)]
    if len(parents) < len(one.parents):
        return None, tuple(findings)
    return Profile(
        source=one.source,
        id=one.id,
        about={name: one.tree.fields[name] for name in ("name", "description") if name in one.tree.fields},
        parents=one.parents,
        target=target,
        gpu_key=gpu_key,
        fields=fields,
        defaults=defaults,
        rules=_once((*(rule for parent in parents for rule in parent.rules), *rules)),
        bans=_once((*(ban for parent in parents for ban in parent.bans), *bans)),
        bases=bases,
    ), tuple(findings)


def _once(demands: Iterable[Demand]) -> tuple[Demand, ...]:
    """What two parents have from one grandparent holds once."""
    return tuple({(demand[0], id(demand[1])): demand for demand in demands}.values())


def _gpu_key(chosen: Node, platform: Platform) -> tuple[Node | None, Findings]:
    """The resource a profile's `gpu_key` stands for: one of the platform's names, or a resource name itself."""
    named = gpu_kinds(platform)
    text = str(chosen.value)
    if text in named:
        return chosen.but(value=named[text].value, derived=f"the platform's `{text}`", derived_from=(named[text],)), ()
    fault = FORMATS["extended-resource"](text)
    if fault is None:
        return chosen, ()
    meant = near(text, named)
    return None, (
        Diagnostic(
            code="profile/unknown-gpu",
            message=f"{quote(text)} is neither one of the platform's `gpu_keys` nor a resource name",
            span=chosen.span,
            path=("gpu_key",),
            help=f"did you mean `{meant}`?" if meant else fault.help,
        ),
    )


def _unknown_target(target: Node, library: Library) -> Diagnostic:
    meant = near(str(target.value), targets_of(library))
    return Diagnostic(
        code="profile/unknown-target",
        message=f"there is no target {quote(target.value)}",
        span=target.span,
        path=("target",),
        notes=(Note(f"known targets: {', '.join(f'`{name}`' for name in targets_of(library))}"),),
        help=f"did you mean `{meant}`?" if meant else "name a known target, or give the folder above it by --templates",
    )


def _no_object(node: Node) -> Diagnostic:
    return Diagnostic(
        code="profile/not-an-object",
        message=f"expected a profile or a base document, which are mappings, found {described(node.plain())}",
        span=node.span,
        help="a profile has an `id`; a base document has `apiVersion`, `kind` and `spec`",
    )


def _second_base(base: Node, first: Node) -> Diagnostic:
    kind = base.fields["kind"]
    return Diagnostic(
        code="profile/duplicate-base",
        message=f"the profile has a base {kind.value} already",
        span=kind.span,
        notes=(Note("first here", first.fields["kind"].span),),
        help="join the two into one",
    )


def _second_profile(document: Document, first: Document) -> Diagnostic:
    return Diagnostic(
        code="input/several-documents",
        message="a profile file holds one profile, and this is another",
        span=document.root.span,
        notes=(Note("the first begins here", first.root.span),),
        help="put each into a file of its own; a base document has a `kind`",
    )


def _no_profile(document: Document) -> Diagnostic:
    return Diagnostic(
        code="profile/no-profile",
        message="the file has base documents but no profile they belong to",
        span=document.root.span,
        help="add a document with the profile's `id`, and `---` between the two",
    )


def _repeated(profile: Written, first: Written) -> Diagnostic:
    return Diagnostic(
        code="profile/duplicate-id",
        message=f"profile {quote(profile.id.value)} is defined a second time",
        span=profile.id.span,
        notes=(Note("first here", first.id.span),),
        help="rename one of the two",
    )


def _no_parent(parent: Node, child: Written, written: Mapping[str, Written]) -> Diagnostic:
    meant = near(str(parent.value), (name for name in written if name != child.id.value))
    return Diagnostic(
        code="profile/unknown-parent",
        message=f"profile {quote(child.id.value)} extends {quote(parent.value)}, which is not there",
        span=parent.span,
        path=("extends",),
        help=f"did you mean `{meant}`?" if meant else "give the parent's file with --profiles",
    )


def _cycle(circle: list[str], written: Mapping[str, Written]) -> Diagnostic:
    def arrow(child: str, parent: str) -> Node:
        return next(node for node in written[child].parents if node.value == parent)

    steps = [arrow(child, parent) for child, parent in zip(circle, (*circle[1:], circle[0]), strict=True)]
    way = " → ".join((*circle, circle[0]))
    return Diagnostic(
        code="profile/cycle",
        message=f"profiles extend each other in a circle: {way}" if steps[1:] else f"a profile extends itself: {way}",
        span=steps[0].span,
        path=("extends",),
        notes=tuple(Note(f"{quote(node.value)} is extended here", node.span) for node in steps[1:]),
        help="take one of these out of `extends`" if steps[1:] else "take it out of `extends`",
    )


def choose(wanted: Node | None, profiles: Mapping[str, Profile]) -> tuple[Profile | None, Findings]:
    """The profile a run names, else the one with id `default`, else none; an unknown name is an error."""
    if wanted is None:
        return profiles.get(DEFAULT_PROFILE), ()
    profile = profiles.get(str(wanted.value))
    if profile is not None:
        return profile, ()
    meant = near(str(wanted.value), profiles)
    names = [f"`{name}`" for name in sorted(profiles)]
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    listed = f"known profiles: {', '.join(names[:_MOST_LISTED])}{more}" if names else "no profiles were given"
    return None, (
        Diagnostic(
            code="profile/unknown",
            message=f"unknown profile {quote(wanted.value)}",
            span=wanted.span,
            path=("profile",),
            notes=(Note(listed),),
            help=f"did you mean `{meant}`?" if meant else "name a known profile, or give its file with --profiles",
        ),
    )
