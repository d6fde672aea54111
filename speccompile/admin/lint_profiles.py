"""Likely mistakes in profiles and platforms: the LINTS table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import TypeAlias

from speccompile.compiler.admin_rules import CHECKS, Symbols, broken_rules
from speccompile.compiler.ceilings import claims_above_ceiling, resources_above_ceilings
from speccompile.compiler.choose_manifests import target_of
from speccompile.compiler.container_resources import disk_name, gpu_names, is_device, settled
from speccompile.compiler.documents.admin_config import Setting
from speccompile.compiler.merge import merge_layers
from speccompile.compiler.pod_structure import containers_of, pod_of, volumes_of
from speccompile.model.diagnostic import Diagnostic, Note, Severity, quote
from speccompile.model.documents import Platform, Profile, Rule
from speccompile.model.findings import in_order
from speccompile.model.key_path import KeyPath, format_path
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.quantity import QuantityError
from speccompile.model.source import Layer
from speccompile.schema.field_path import called_by_admins, concrete, node_at
from speccompile.schema.library import Library
from speccompile.schema.suggestions import near

_CONDITIONS = "node.kubernetes.io/"
"""What the taints begin with that Kubernetes itself sets: they say how a node is, and not whom it is for."""
_REQUIRED_NODES: KeyPath = ("nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")


class Case(NamedTuple):
    """What holds for runs under one profile, or under none, with nothing yet said by the run."""

    library: Library
    platform: Platform
    profile: Profile | None
    parents: tuple[Profile, ...]
    own_rules: tuple[Rule, ...]
    """The rules that are written here, and not inherited."""
    rules: tuple[Rule, ...]
    """All rules that hold."""
    fixed: Node
    """What no run can change."""
    defaults: Node
    """What holds where neither the run nor anything fixed says otherwise."""
    symbols: Symbols


Lint: TypeAlias = Callable[[Case], Iterator[Diagnostic]]


def lint(setting: Setting) -> tuple[Diagnostic, ...]:
    """Everything worth a warning, in source order, each once."""
    parents = {str(parent.value) for profile in setting.profiles.values() for parent in profile.parents}
    cases = [_case(setting, None), *(_case(setting, profile) for profile in setting.profiles.values())]
    used = [case for case in cases if case.profile and case.profile.id.value not in parents]
    return in_order(
        (
            *(finding for check in LINTS for case in cases for finding in check(case)),
            # A profile that others extend may be a part that makes no whole alone.
            *(finding for check in LINTS_OF_A_WHOLE for case in used for finding in check(case)),
            *_unknown_profiles(setting),
        )
    )


def _case(setting: Setting, profile: Profile | None) -> Case:
    platform, library = setting.platform, setting.library
    parents = tuple(setting.profiles[str(parent.value)] for parent in (profile.parents if profile else ()))
    inherited = {id(rule.constraint) for parent in parents for rule in parent.rules}
    rules = profile.rules if profile else platform.rules
    return Case(
        library=library,
        platform=platform,
        profile=profile,
        parents=parents,
        own_rules=tuple(rule for rule in rules if id(rule.constraint) not in inherited),
        rules=(*platform.rules, *(profile.rules if profile else ())),
        fixed=_layered(profile.fields if profile else None, settled(platform.enforced, platform, profile), library),
        defaults=_layered(
            settled(platform.defaults, platform, profile), profile.defaults if profile else None, library
        ),
        symbols={"gpu": gpu_names(platform, profile), "disk": (disk_name(platform),)},
    )


def _layered(weaker: Node | None, stronger: Node | None, library: Library) -> Node:
    layers = [layer for layer in (weaker, stronger) if layer is not None]
    return merge_layers(layers, library)


def _warning(code: str, message: str, node: Node, help_text: str, *notes: Note) -> Diagnostic:
    return Diagnostic(
        code=code,
        message=message,
        span=node.place,
        severity=Severity.WARNING,
        notes=notes,
        help=help_text,
    )


# Rules.


def _rules_can_fire(case: Case) -> Iterator[Diagnostic]:
    for rule in case.own_rules:
        told = rule.constraint.fields
        required = "required" in told and bool(told["required"].value)
        called = f"the rule on `{format_path(called_by_admins(rule.path))}`"
        if not required and not CHECKS.keys() & told.keys():
            yield _warning(
                "lint/idle-rule",
                f"{called} demands nothing",
                rule.constraint,
                "add `min`, `max`, `options`, `pattern` or `required: true`, or take it out",
            )
            continue
        values = [node_at(case.fixed, path, case.library) for path in concrete(rule.path, case.symbols)]
        is_everywhere = "x-actions" not in case.library.fields[str(rule.path[0])]
        if all(value and value.is_scalar and _fits(value, rule) for value in values) and (
            is_everywhere or not required
        ):
            value = values[0]
            assert value is not None
            yield _warning(
                "lint/idle-rule",
                f"{called} can never fire: no run can change {quote(value.value)}",
                rule.constraint,
                "take the rule out, or move the value to `defaults`",
                Note("the value is fixed here", value.span),
            )


def _fits(value: Node, rule: Rule) -> bool:
    return all(check(value, rule) for word, check in CHECKS.items() if word in rule.constraint.fields)


def _values_keep_the_rules(case: Case) -> Iterator[Diagnostic]:
    def judged(spec: Node) -> Iterator[Diagnostic]:
        findings = broken_rules(case.rules, (spec,), case.symbols, spec, case.library)
        # What is required may still come from the run.
        return (finding for finding in findings if finding.code != "rule/required")

    yield from _doomed(case, judged, "lint/breaks-rule")


def _values_are_below_ceilings(case: Case) -> Iterator[Diagnostic]:
    def judged(spec: Node) -> Iterator[Diagnostic]:
        yield from resources_above_ceilings(spec, case.platform)
        yield from claims_above_ceiling(spec, case.platform)

    yield from _doomed(case, judged, "lint/above-ceiling")


def _doomed(case: Case, judge: Callable[[Node], Iterator[Diagnostic]], code: str) -> Iterator[Diagnostic]:
    """What is found at values that no run can change, and then at defaults that hold beside them."""
    fixed = tuple(judge(case.fixed))
    told = {finding.span for finding in fixed}
    both = judge(merge_layers([case.defaults, case.fixed], case.library))
    found_by = ((finding, "and no run can change it") for finding in fixed)
    more = ((finding, "so no run can leave it to the default") for finding in both if finding.span not in told)
    for finding, consequence in (*found_by, *more):
        yield finding._replace(
            code=code,
            severity=Severity.WARNING,
            message=f"{finding.message}, {consequence}",
            help="change the value or the bound",
        )


def _rules_agree(case: Case) -> Iterator[Diagnostic]:
    by_path: dict[KeyPath, list[Rule]] = {}
    for rule in case.rules:
        for path in concrete(rule.path, case.symbols):
            by_path.setdefault(path, []).append(rule)
    for path, rules in by_path.items():
        for (place, one), (before, other) in product(enumerate(rules), repeat=2):
            # Two lists of options have the same dispute with each other; the later one tells it.
            words = CHECKS.keys() - ({"options"} if place <= before else set())
            for word in sorted(words & other.constraint.fields.keys()):
                if dispute := _dispute(one.constraint, word, other):
                    yield _clash(path, *dispute, other.constraint.fields[word])


def _dispute(one: Node, word: str, other: Rule) -> tuple[str, Node] | None:
    """What of a rule leaves nothing to choose beside a word of the other, which may be the same rule."""
    least, options, bound = one.fields.get("min"), one.fields.get("options"), other.constraint.fields[word]
    if least and word == "max" and not _passes(word, least, other):
        return f"the minimum {quote(least.value)} is above the maximum {quote(bound.value)}", least
    if options and not any(_passes(word, item, other) for item in options.items):
        return _NO_CHOICE[word].format(quote(bound.value)), options
    return None


_NO_CHOICE = {
    "min": "all options are below the minimum {}",
    "max": "all options are above the maximum {}",
    "options": "the options have none in common with those of another rule",
    "pattern": "no option matches {}",
}


def _passes(word: str, item: Node, rule: Rule) -> bool:
    try:
        return CHECKS[word](item, rule)
    except QuantityError:
        return False


def _clash(path: KeyPath, fault: str, one: Node, other: Node) -> Diagnostic:
    return _warning(
        "lint/clashing-rules",
        f"`{format_path(called_by_admins(path))}`: {fault}, so no value keeps both rules",
        one,
        "change one of the two",
        Note("the other bound stands here", other.span),
    )


# Values.


def _values_count(case: Case) -> Iterator[Diagnostic]:
    """What is said and cannot come out: under the platform's `enforce`, or a default of what is fixed beside it."""
    for path, node in case.fixed.walk():
        for overridden in node.overridden:
            if node.span.source.layer is Layer.PLATFORM and overridden.span.source.layer is Layer.PROFILE:
                yield _idle_value(path, overridden, node, "the platform enforces another value", "take it out")
    defaults = {id(node) for _, node in case.defaults.walk()}
    for path, node in merge_layers([case.defaults, case.fixed], case.library).walk():
        for overridden in node.overridden:
            # A child may well fix what its parent leaves open; said beside each other it is an oversight.
            beside = overridden.span.source == node.span.source and not _is_inherited(path, case)
            if id(overridden) in defaults and beside:
                yield _idle_value(path, overridden, node, "it is fixed beside", "keep the default or the fixed value")


def _is_inherited(path: KeyPath, case: Case) -> bool:
    return any(layer.at(path) for parent in case.parents for layer in (parent.fields, parent.defaults))


def _idle_value(path: KeyPath, overridden: Node, overriding: Node, why: str, help_text: str) -> Diagnostic:
    return _warning(
        "lint/no-effect",
        f"`{format_path(path)}`: {quote(overridden.plain())} never holds, since {why}",
        overridden,
        help_text,
        Note("this holds instead", overriding.span),
    )


def _gpus_can_be_asked_for(case: Case) -> Iterator[Diagnostic]:
    """A `gpu_key` gives `gpu` a meaning, which counts for nothing where nobody may say `gpu`."""
    profile = case.profile
    if profile is None or profile.gpu_key is None:
        return
    bans = [ban for ban in (*case.platform.bans, *profile.bans) if _bans_gpus(ban.path)]
    amounts = [layer.at(("resources", "requests")) for layer in (case.fixed, case.defaults)]
    if bans and not any(is_device(name) for node in amounts if node for name in node.fields):
        yield _warning(
            "lint/no-effect",
            "`gpu_key` has no effect: the profile has no GPU, and runs may not ask for one",
            profile.gpu_key,
            "take it out, or give the profile a `resources.gpu`",
            Note("this forbids it", bans[0].written.span),
        )


def _bans_gpus(path: KeyPath) -> bool:
    return path in (("resources",), ("resources", "requests", "gpu"))


# Placement and base documents.


def _tolerations_pin(case: Case) -> Iterator[Diagnostic]:
    profile = case.profile
    assert profile is not None
    known = target_of(profile, case.library).pods
    pods = [pod for base in profile.bases.values() if (pod := pod_of(base, known))]
    selecting = [case.fixed.fields.get("node_selector"), *(pod.fields.get("nodeSelector") for pod in pods)]
    choosing = [case.fixed.fields.get("affinity"), *(pod.fields.get("affinity") for pod in pods)]
    if any(node and node.fields for node in selecting) or any(node and node.at(_REQUIRED_NODES) for node in choosing):
        return
    for holder in (case.fixed, *pods):
        tolerations = holder.fields.get("tolerations")
        for item in tolerations.items if tolerations else ():
            key = item.fields.get("key")
            if key is None or not str(key.value).startswith(_CONDITIONS):
                yield _pins_nothing(profile, item)
                return


def _pins_nothing(profile: Profile, toleration: Node) -> Diagnostic:
    return _warning(
        "lint/pins-nothing",
        f"profile {quote(profile.id.value)} tolerates a taint, and nothing keeps its pods on the tainted nodes",
        toleration,
        "add a `node_selector`, or a required node affinity, for these nodes",
        Note("a toleration only allows: pods may run on every other node as well"),
    )


def _base_volumes_are_mounted(case: Case) -> Iterator[Diagnostic]:
    """Runs cannot mount a volume of the base, so only its own containers, or the profile, can."""
    profile = case.profile
    assert profile is not None
    said = profile.fields.fields.get("volumes")
    ours = {item.fields["name"].value for item in said.items} if said else set()
    pods = target_of(profile, case.library).pods
    for kind, base in profile.bases.items():
        used = ours | set(_mounted(pod_of(base, pods)))
        for name, node in volumes_of(base, pods).items():
            if name not in used:
                yield _warning(
                    "lint/unmounted-volume",
                    f"no container mounts volume {quote(name)} of the base {kind}",
                    node,
                    "mount it in a container of the base, or take it out",
                )


def _mounted(pod: Node | None) -> Iterator[object]:
    for section in ("containers", "initContainers"):
        for container in containers_of(pod, section):
            for key in ("volumeMounts", "volumeDevices"):
                mounts = container.fields.get(key)
                yield from (
                    item.fields["name"].value for item in (mounts.items if mounts else ()) if "name" in item.fields
                )


def _unknown_profiles(setting: Setting) -> Iterator[Diagnostic]:
    allowed = setting.platform.settings.fields.get("project_profiles")
    for project, listed in allowed.fields.items() if allowed else ():
        for item in listed.items:
            if item.value not in setting.profiles:
                meant = near(str(item.value), setting.profiles)
                yield _warning(
                    "lint/unknown-profile",
                    f"project {quote(project)} may use profile {quote(item.value)}, which is not there",
                    item,
                    f"did you mean `{meant}`?" if meant else "take it out, or give its file with --profiles",
                )


LINTS: tuple[Lint, ...] = (
    _rules_can_fire,
    _values_keep_the_rules,
    _rules_agree,
    _values_count,
    _gpus_can_be_asked_for,
    _values_are_below_ceilings,
)
LINTS_OF_A_WHOLE: tuple[Lint, ...] = (_tolerations_pin, _base_volumes_are_mounted)
"""These look at profiles that no other one extends."""
