"""Find likely mistakes in profiles and the platform file (`LINTS`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import TypeAlias

from speccompile.compiler.admin_rules import CONSTRAINTS, ResourceNames, broken_rules
from speccompile.compiler.ceilings import claims_above_ceiling, deadline_above_limit, resources_above_ceilings
from speccompile.compiler.choose_manifests import target_of
from speccompile.compiler.container_resources import disk_name, gpu_names, is_device, resolve_gpu
from speccompile.compiler.documents.admin_config import Setting
from speccompile.compiler.merge import merge_layers
from speccompile.compiler.pod_structure import containers_of, pod_of, volumes_of
from speccompile.compiler.policy import volumes_in
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

_CONDITION_PREFIX = "node.kubernetes.io/"
"""Prefix of taints that Kubernetes sets itself, for the condition of a node."""
_REQUIRED_NODES: KeyPath = ("nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")


class LintContext(NamedTuple):
    """Everything that applies to runs with one profile, or without a profile."""

    library: Library
    platform: Platform
    profile: Profile | None
    parents: tuple[Profile, ...]
    own_rules: tuple[Rule, ...]
    """The rules that are not inherited."""
    rules: tuple[Rule, ...]
    """All rules that apply."""
    fixed: Node
    """The values that no run can change."""
    defaults: Node
    """The values that apply unless the run or a fixed value overrides them."""
    symbols: ResourceNames


Lint: TypeAlias = Callable[[LintContext], Iterator[Diagnostic]]


def lint_profiles(setting: Setting) -> tuple[Diagnostic, ...]:
    """Report likely mistakes in source order, each once."""
    parents = {str(parent.value) for profile in setting.profiles.values() for parent in profile.parents}
    contexts = [_context(setting, None), *(_context(setting, profile) for profile in setting.profiles.values())]
    leaves = [context for context in contexts if context.profile and context.profile.id.value not in parents]
    return in_order(
        (
            *(finding for check in LINTS for context in contexts for finding in check(context)),
            # A profile that others extend may be incomplete on purpose.
            *(finding for check in LEAF_LINTS for context in leaves for finding in check(context)),
            *_unknown_profiles(setting),
        )
    )


def _context(setting: Setting, profile: Profile | None) -> LintContext:
    platform, library = setting.platform, setting.library
    parents = tuple(setting.profiles[str(parent.value)] for parent in (profile.parents if profile else ()))
    inherited = {id(rule.constraint) for parent in parents for rule in parent.rules}
    rules = profile.rules if profile else platform.rules
    return LintContext(
        library=library,
        platform=platform,
        profile=profile,
        parents=parents,
        own_rules=tuple(rule for rule in rules if id(rule.constraint) not in inherited),
        rules=(*platform.rules, *(profile.rules if profile else ())),
        fixed=_layered(profile.fields if profile else None, resolve_gpu(platform.enforced, platform, profile), library),
        defaults=_layered(
            resolve_gpu(platform.defaults, platform, profile), profile.defaults if profile else None, library
        ),
        symbols={"gpu": gpu_names(platform, profile), "disk": (disk_name(platform),)},
    )


def _layered(weaker: Node | None, stronger: Node | None, library: Library) -> Node:
    return merge_layers([layer for layer in (weaker, stronger) if layer is not None], library)


def _warning(code: str, message: str, node: Node, help_text: str, *notes: Note) -> Diagnostic:
    return Diagnostic(
        code=code,
        message=message,
        span=node.place,
        severity=Severity.WARNING,
        notes=notes,
        help=help_text,
    )


# Rules


def _rules_have_effect(context: LintContext) -> Iterator[Diagnostic]:
    for rule in context.own_rules:
        checks = rule.constraint.fields
        required = "required" in checks and bool(checks["required"].value)
        field = f"`{format_path(called_by_admins(rule.path))}`"
        if not required and not CONSTRAINTS.keys() & checks.keys():
            yield _warning(
                "lint/idle-rule",
                f"the rule for {field} allows every value",
                rule.constraint,
                "add `min`, `max`, `options`, `pattern` or `required: true`, or remove the rule",
            )
            continue
        values = [node_at(context.fixed, path, context.library) for path in concrete(rule.path, context.symbols)]
        has_all_actions = "x-actions" not in context.library.fields[str(rule.path[0])]
        if all(value and value.is_scalar and _fits(value, rule) for value in values) and (
            has_all_actions or not required
        ):
            value = values[0]
            assert value is not None
            yield _warning(
                "lint/idle-rule",
                f"the rule for {field} has no effect: no run can change {quote(value.value)}",
                rule.constraint,
                "remove the rule, or move the value to `defaults`",
                Note("value fixed here", value.span),
            )


def _fits(value: Node, rule: Rule) -> bool:
    return all(check(value, rule) for name, check in CONSTRAINTS.items() if name in rule.constraint.fields)


def _values_satisfy_rules(context: LintContext) -> Iterator[Diagnostic]:
    def violations(spec: Node) -> Iterator[Diagnostic]:
        findings = broken_rules(context.rules, (spec,), context.symbols, spec, context.library)
        # A required value may still come from the run.
        return (finding for finding in findings if finding.code != "rule/required")

    yield from _report_values(context, violations, "lint/breaks-rule")


def _values_are_below_ceilings(context: LintContext) -> Iterator[Diagnostic]:
    def violations(spec: Node) -> Iterator[Diagnostic]:
        yield from resources_above_ceilings(spec.fields.get("resources"), volumes_in(spec), context.platform)
        yield from claims_above_ceiling(spec, context.platform)
        yield from deadline_above_limit(spec.fields.get("deadline_seconds"), context.platform)

    yield from _report_values(context, violations, "lint/above-ceiling")


def _report_values(
    context: LintContext, check: Callable[[Node], Iterator[Diagnostic]], code: str
) -> Iterator[Diagnostic]:
    """Report violations by fixed values, and then by defaults."""
    of_fixed = tuple(check(context.fixed))
    reported = {finding.span for finding in of_fixed}
    of_both = check(merge_layers([context.defaults, context.fixed], context.library))
    fixed = ((finding, "and no run can change it") for finding in of_fixed)
    default = ((finding, "so no run can use the default") for finding in of_both if finding.span not in reported)
    for finding, consequence in (*fixed, *default):
        yield finding._replace(
            code=code,
            severity=Severity.WARNING,
            message=f"{finding.message}, {consequence}",
            help="change the value or the limit",
        )


def _rules_agree(context: LintContext) -> Iterator[Diagnostic]:
    by_path: dict[KeyPath, list[Rule]] = {}
    for rule in context.rules:
        for path in concrete(rule.path, context.symbols):
            by_path.setdefault(path, []).append(rule)
    for path, rules in by_path.items():
        for (index, one), (other_index, other) in product(enumerate(rules), repeat=2):
            # A conflict between two lists of options is symmetric; report it once.
            checks = CONSTRAINTS.keys() - ({"options"} if index <= other_index else set())
            for check in sorted(checks & other.constraint.fields.keys()):
                if conflict := _conflict(one.constraint, check, other):
                    yield _clash(path, *conflict, other.constraint.fields[check])


def _conflict(one: Node, check: str, other: Rule) -> tuple[str, Node] | None:
    """Why no value satisfies a rule and one check of another (or the same) rule, and the node at fault."""
    minimum, options, bound = one.fields.get("min"), one.fields.get("options"), other.constraint.fields[check]
    if minimum and check == "max" and not _passes(check, minimum, other):
        return f"the minimum {quote(minimum.value)} is above the maximum {quote(bound.value)}", minimum
    if options and not any(_passes(check, item, other) for item in options.items):
        return _NO_OPTION[check].format(quote(bound.value)), options
    return None


_NO_OPTION = {
    "min": "all options are below the minimum {}",
    "max": "all options are above the maximum {}",
    "options": "two rules have no option in common",
    "pattern": "no option matches {}",
}


def _passes(check: str, item: Node, rule: Rule) -> bool:
    try:
        return CONSTRAINTS[check](item, rule)
    except QuantityError:
        return False


def _clash(path: KeyPath, reason: str, one: Node, other: Node) -> Diagnostic:
    return _warning(
        "lint/clashing-rules",
        f"`{format_path(called_by_admins(path))}`: {reason}, so no value is allowed",
        one,
        "change one of the two",
        Note("conflicts with this", other.span),
    )


# Values


def _values_have_effect(context: LintContext) -> Iterator[Diagnostic]:
    """Report values that `enforce` always overrides, and defaults of fields that the same file fixes."""
    for path, node in context.fixed.walk():
        for overridden in node.overridden:
            if node.span.source.layer is Layer.PLATFORM and overridden.span.source.layer is Layer.PROFILE:
                yield _idle_value(path, overridden, node, "the platform enforces another value", "remove it")
    defaults = {id(node) for _, node in context.defaults.walk()}
    for path, node in merge_layers([context.defaults, context.fixed], context.library).walk():
        for overridden in node.overridden:
            # A child may fix a field that its parent gives a default; both in one file are likely a mistake.
            in_same_file = overridden.span.source == node.span.source and not _is_inherited(path, context)
            if id(overridden) in defaults and in_same_file:
                reason = "the profile also fixes this field" if context.profile else "the platform enforces this field"
                yield _idle_value(path, overridden, node, reason, "remove the default or the fixed value")


def _is_inherited(path: KeyPath, context: LintContext) -> bool:
    return any(layer.at(path) for parent in context.parents for layer in (parent.fields, parent.defaults))


def _idle_value(path: KeyPath, overridden: Node, overriding: Node, reason: str, help_text: str) -> Diagnostic:
    return _warning(
        "lint/no-effect",
        f"`{format_path(path)}`: {quote(overridden.plain())} has no effect: {reason}",
        overridden,
        help_text,
        Note("this value applies instead", overriding.span),
    )


def _gpu_key_has_effect(context: LintContext) -> Iterator[Diagnostic]:
    """Report a `gpu_key` without effect, because the profile has no GPU and runs may not set one."""
    profile = context.profile
    if profile is None or profile.gpu_key is None:
        return
    gpu_paths = (("resources",), ("resources", "requests", "gpu"))
    bans = [ban for ban in (*context.platform.bans, *profile.bans) if ban.path in gpu_paths]
    amounts = [layer.at(("resources", "requests")) for layer in (context.fixed, context.defaults)]
    if bans and not any(is_device(name) for node in amounts if node for name in node.fields):
        yield _warning(
            "lint/no-effect",
            "`gpu_key` has no effect: the profile sets no GPU, and runs may not request one",
            profile.gpu_key,
            "remove it, or set `resources.gpu` in the profile",
            Note("forbidden here", bans[0].written.span),
        )


# Placement and base documents


def _tolerations_come_with_a_selector(context: LintContext) -> Iterator[Diagnostic]:
    profile = context.profile
    assert profile is not None
    pod_paths = target_of(profile, context.library).pods
    pods = [pod for base in profile.bases.values() if (pod := pod_of(base, pod_paths))]
    selectors = [context.fixed.fields.get("node_selector"), *(pod.fields.get("nodeSelector") for pod in pods)]
    affinities = [context.fixed.fields.get("affinity"), *(pod.fields.get("affinity") for pod in pods)]
    if any(node and node.fields for node in selectors) or any(node and node.at(_REQUIRED_NODES) for node in affinities):
        return
    for holder in (context.fixed, *pods):
        tolerations = holder.fields.get("tolerations")
        for item in tolerations.items if tolerations else ():
            key = item.fields.get("key")
            if key is None or not str(key.value).startswith(_CONDITION_PREFIX):
                yield _warning(
                    "lint/pins-nothing",
                    f"profile {quote(profile.id.value)} tolerates a taint but does not select the tainted nodes",
                    item,
                    "add a `node_selector` or a required node affinity for these nodes",
                    Note("a toleration only permits these nodes: pods may also run on any other node"),
                )
                return


def _base_volumes_are_mounted(context: LintContext) -> Iterator[Diagnostic]:
    """Report volumes of base documents that neither the profile nor a container of the base mounts."""
    profile = context.profile
    assert profile is not None
    volumes = profile.fields.fields.get("volumes")
    in_profile = {item.fields["name"].value for item in volumes.items} if volumes else set()
    pods = target_of(profile, context.library).pods
    for kind, base in profile.bases.items():
        used = in_profile | set(_mounted(pod_of(base, pods)))
        for name, node in volumes_of(base, pods).items():
            if name not in used:
                yield _warning(
                    "lint/unmounted-volume",
                    f"no container mounts volume {quote(name)} of the base document {kind}",
                    node,
                    "mount it in a container of the base document, or remove it",
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
                suggestion = near(str(item.value), setting.profiles)
                yield _warning(
                    "lint/unknown-profile",
                    f"unknown profile {quote(item.value)} for project {quote(project)}",
                    item,
                    f"did you mean `{suggestion}`?" if suggestion else "remove it, or pass its file with --profiles",
                )


LINTS: tuple[Lint, ...] = (
    _rules_have_effect,
    _values_satisfy_rules,
    _rules_agree,
    _values_have_effect,
    _gpu_key_has_effect,
    _values_are_below_ceilings,
)
LEAF_LINTS: tuple[Lint, ...] = (_tolerations_come_with_a_selector, _base_volumes_are_mounted)
"""Checks for profiles that no other profile extends."""
