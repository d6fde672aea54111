"""Lint rules about Seldon Models and their scheduling."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from speccompile.model.diagnostic import Diagnostic, Note, quote
from speccompile.model.key_path import KeyPath
from speccompile.model.node import Node
from speccompile.placement.lint.context import (
    LintRule,
    LintWording,
    PlacementContext,
    finding_at,
    location_note,
    object_title,
)
from speccompile.placement.lint.seldon_context import (
    error,
    finding_at_path,
    linted_matches,
    linted_of_kind,
    notice,
    scarcity,
    seldon_state,
    warning,
)
from speccompile.placement.object_identity import group_of, kind_of, name_of, namespace_of
from speccompile.placement.pod_requirements import amount_text
from speccompile.placement.seldon.model_match import Candidate, Cause, Fit, ModelMatch, check_host, server_loads
from speccompile.placement.seldon.objects import (
    GROUP,
    items_at,
    model_bytes,
    non_null_at,
    of_kind,
    quantity_of,
    string_at,
)
from speccompile.placement.seldon.server_pods import STOCK, ServerHost
from speccompile.schema.suggestions import near

_REQUIREMENTS: KeyPath = ("spec", "requirements")
_MEMORY: KeyPath = ("spec", "memory")
_SERVER: KeyPath = ("spec", "server")
_NAME: KeyPath = ("metadata", "name")
_MAX_NAMED = 3
"""Servers that one finding names at most."""
_OTHER_RULES = frozenset({Cause.MEMORY, Cause.REPLICAS})
"""Causes with separate rules, for Servers that match otherwise."""


# Matching Servers


def _check_pinned_server(context: PlacementContext) -> Iterator[Diagnostic]:
    for match in linted_matches(context):
        pin = match.need.pin
        if not pin or pin in match.names or pin in STOCK:
            continue
        elsewhere = next((host.server for host in seldon_state(context).hosts if host.name == pin), None)
        message = f"the Model is pinned to Server {quote(pin)}, which is not in its namespace"
        suggestion = near(pin, (*sorted(match.names), *STOCK))
        fix = (
            f"did you mean {quote(suggestion)}?" if suggestion else "use an existing Server, or pass it with --objects"
        )
        if elsewhere is not None:
            fix = f"use one namespace for both: the Server is in {quote(namespace_of(elsewhere))}"
        make_wording = error if match.hosts else notice
        yield finding_at_path(context, make_wording("seldon/unknown-server", message, fix), match.model, _SERVER)


def _check_matches(context: PlacementContext) -> Iterator[Diagnostic]:
    """A Model is not loaded if no Server has its capabilities; other causes have separate rules."""
    for match in linted_matches(context):
        if match.possible or any(one.fit is not Fit.NO for one in match.stock):
            continue
        candidates = [one for one in (*match.candidates, *match.stock) if not _has(one, Cause.PIN)]
        if not candidates or any(_OTHER_RULES.issuperset(_causes(one)) for one in candidates):
            continue
        closest = min(candidates, key=lambda one: (len(one.reasons), one.host.is_stock))
        message = f"no Server can load the Model; the closest one is {quote(closest.server)}"
        # The cluster may have other Servers, and stock ones may have been changed.
        make_wording = notice if all(one.host.is_stock for one in candidates) else error
        fix = "require capabilities that a Server offers, or pass the Servers of the cluster with --objects"
        suggestion = next((reason.nearest_capability for reason in closest.reasons if reason.nearest_capability), None)
        fix = f"did you mean {quote(suggestion)}?" if suggestion else fix
        requested = next(
            (reason.model_node for reason in closest.reasons if reason.model_node is not None), match.model
        )
        notes = (Note(f"Server {quote(closest.server)}: {reason.text}") for reason in closest.reasons)
        yield finding_at(context, make_wording("seldon/no-server", message, fix), match.model, requested, *notes)


def _has(one: Candidate, *causes: Cause) -> bool:
    return any(reason.cause in causes for reason in one.reasons)


def _causes(one: Candidate) -> set[Cause]:
    return {reason.cause for reason in one.reasons}


def _check_several_matches(context: PlacementContext) -> Iterator[Diagnostic]:
    """If several Servers match, the scheduler chooses any, so their nodes should not differ."""
    # Models with the same needs share one tuple of Servers.
    wordings: dict[int, LintWording | None] = {}
    for match in linted_matches(context):
        if not match.need.capabilities or len(match.possible) == 1:
            continue
        if id(match.possible) not in wordings:
            wordings[id(match.possible)] = _several_servers_wording(context, [one.host for one in match.fits])
        wording = wordings[id(match.possible)]
        if wording is not None:
            yield finding_at_path(context, wording, match.model, _REQUIREMENTS, _NAME)


def _several_servers_wording(context: PlacementContext, fits: Sequence[ServerHost]) -> LintWording | None:
    if len({_placement(host) for host in fits}) <= 1:
        return None
    message = f"{_servers(fits)} match the Model but run on different nodes, and the scheduler may choose any of them"
    fix = "require a capability that only one of them has"
    scarce = next((host for host in fits if scarcity(context, host)), None)
    if scarce is None:
        return notice("seldon/several-servers", message, fix)
    return warning("seldon/several-servers", f"{message}; {quote(scarce.name)} {scarcity(context, scarce)}", fix)


def _placement(host: ServerHost) -> str:
    """The fields that decide on nodes; Servers with equal values run on the same nodes."""
    parts = ("nodeSelector", "affinity", "tolerations", "nodeName")
    nodes = [non_null_at(host.pod, (part,)) for part in parts]
    return repr([node.plain() if node is not None else None for node in nodes])


def _servers(several: Sequence[ServerHost]) -> str:
    names = [quote(host.name) for host in several[:_MAX_NAMED]]
    rest = len(several) - len(names)
    words = [*names[:-1], f"{rest + 1} more"] if rest else names
    return f"Servers {', '.join(words[:-1])} and {words[-1]}"


def _check_failover(context: PlacementContext) -> Iterator[Diagnostic]:
    for match in linted_matches(context):
        if match.need.pin not in match.names:
            continue
        unpinned, needed = match.need._replace(pin=""), match.need.capabilities.keys()
        others = (host for host in match.hosts if host.name != match.need.pin and needed <= host.capabilities.keys())
        other = next((host for host in others if check_host(unpinned, host).fit is Fit.YES), None)
        if other is not None and needed:
            message = f"the Model is pinned, so Server {quote(other.name)}, which could load it, cannot take over"
            fix = "remove `server`, and require a capability that the Servers share"
            yield finding_at_path(context, warning("seldon/no-failover", message, fix), match.model, _SERVER)


def _check_requirements_set(context: PlacementContext) -> Iterator[Diagnostic]:
    for match in linted_matches(context):
        if not match.need.capabilities and not match.need.pin:
            message = "the Model requires no capability, so any Server may be chosen, even one that cannot run it"
            fix = "add the framework to `requirements`, such as `sklearn`"
            yield finding_at_path(context, warning("seldon/matches-everything", message, fix), match.model, _NAME)


# Memory and replicas


def _otherwise_matching(match: ModelMatch) -> tuple[Candidate, ...]:
    """The Servers that match except for memory or replicas."""
    return tuple(one for one in match.candidates if _OTHER_RULES.issuperset(_causes(one)))


def _check_memory_set(context: PlacementContext) -> Iterator[Diagnostic]:
    for model in linted_of_kind(context, "Model"):
        requested = non_null_at(model, _MEMORY)
        if requested is None:
            message = "the Model sets no `memory`, so it counts as 0 and Servers may run out of memory"
            yield finding_at_path(
                context, warning("seldon/no-memory", message, "set the memory that it uses when loaded"), model, _NAME
            )
            continue
        amount = quantity_of(requested)
        size = model_bytes(amount) if amount is not None else None
        if size is None or size <= 0:
            message = f"Seldon cannot read {quote(requested.plain())} as bytes"
            fix = "use a positive whole number with a unit, such as `512Mi` or `1536Mi`"
            yield finding_at(context, error("seldon/memory-amount", message, fix), model, requested)


def _check_memory_fits(context: PlacementContext) -> Iterator[Diagnostic]:
    """At least one of the otherwise matching Servers needs enough memory."""
    for match in linted_matches(context):
        candidates = () if match.has_any else _otherwise_matching(match)
        if candidates and all(_has(one, Cause.MEMORY) for one in candidates):
            reasons = [reason for one in candidates for reason in one.reasons if reason.cause is Cause.MEMORY]
            largest = max(reasons, key=lambda reason: reason.host.memory.amount if reason.host.memory else 0)
            message = f"Server {quote(largest.host.name)} has too little memory: {largest.text}"
            make_wording = error if largest.is_sure else warning
            fix = "raise `requests.memory` of the serving container, which is the memory of a replica"
            notes = location_note("the memory of the Server", largest.server_node if largest.is_sure else None)
            yield finding_at_path(
                context,
                make_wording("seldon/memory-beyond-capacity", message, fix),
                match.model,
                _MEMORY,
                notes=tuple(notes),
            )


def _check_server_load(context: PlacementContext) -> Iterator[Diagnostic]:
    for load in server_loads(seldon_state(context).matches):
        several = len(load.models) > 1
        if load.needed > load.offered and several and id(load.host.server) in context.linted:
            needed, offered = amount_text("memory", load.needed, up=True), amount_text("memory", load.offered)
            message = f"the {len(load.models)} Models that fit only this Server need {needed}, but it offers {offered}"
            fix = "raise `requests.memory`, `replicas`, `maxReplicas` or the overcommit"
            memory = load.host.memory
            node = memory.request if memory is not None else None
            wording = warning("seldon/overfull", message, fix)
            yield finding_at(context, wording, load.host.server, node or load.host.server)


def _check_replicas(context: PlacementContext) -> Iterator[Diagnostic]:
    """Each replica of a Model needs its own replica of the Server."""
    for match in linted_matches(context):
        candidates = () if match.has_any else _otherwise_matching(match)
        too_small = [one for one in candidates if one.fit is Fit.NO and _has(one, Cause.REPLICAS)]
        if not too_small or len(too_small) < len(candidates):
            continue
        largest = max((one.host for one in too_small), key=lambda host: host.most)
        count = match.need.replicas
        prefix = f"the Model needs {count} replicas of a Server, but {quote(largest.name)}"
        paths: tuple[KeyPath, ...] = (("spec", "replicas"), ("spec", "minReplicas"), _NAME)
        notes = tuple(
            location_note("the number of replicas of the Server", non_null_at(largest.server, ("spec", "replicas")))
        )
        if count > largest.most:
            wording = error(
                "seldon/too-many-replicas", f"{prefix} has at most {largest.most}", "raise the replicas of the Server"
            )
        else:
            wording = warning(
                "seldon/waits-for-replicas",
                f"{prefix} starts with {largest.replicas} and scales up only for Models that it has loaded",
                "add `minReplicas`, so that the Model starts with fewer, or raise `replicas` of the Server",
            )
        yield finding_at_path(context, wording, match.model, *paths, notes=notes)


# Autoscalers


def _check_autoscalers(context: PlacementContext) -> Iterator[Diagnostic]:
    models = {(namespace_of(model), name_of(model)): model for model in of_kind(context.objects, "Model")}
    for autoscaler in context.linted_objects:
        if kind_of(autoscaler) != "HorizontalPodAutoscaler" or group_of(autoscaler) != "autoscaling":
            continue
        target = ("spec", "scaleTargetRef")
        if string_at(autoscaler, (*target, "kind")) != "Model" or not string_at(
            autoscaler, (*target, "apiVersion")
        ).startswith(GROUP):
            continue
        model = models.get((namespace_of(autoscaler), string_at(autoscaler, (*target, "name"))))
        yield from _autoscaler_findings(context, autoscaler, model)


def _autoscaler_findings(context: PlacementContext, autoscaler: Node, model: Node | None) -> Iterator[Diagnostic]:
    target: KeyPath = ("spec", "scaleTargetRef", "name")
    if model is not None:
        for key in ("minReplicas", "maxReplicas"):
            if bound := non_null_at(model, ("spec", key)):
                message = f"an autoscaler scales {object_title(model)}, which Seldon also scales because of `{key}`"
                fix = f"remove `{key}` from the Model: the autoscaler sets the bounds"
                yield finding_at_path(
                    context,
                    _autoscaler_wording(message, fix),
                    autoscaler,
                    target,
                    notes=tuple(location_note(f"`{key}`", bound)),
                )
        if non_null_at(model, ("spec", "replicas")) is None:
            message = f"an autoscaler scales {object_title(model)}, which does not set `replicas`"
            yield finding_at_path(
                context, _autoscaler_wording(message, "add `replicas` to the Model"), autoscaler, target
            )
    for metric in items_at(autoscaler, ("spec", "metrics")):
        kind = non_null_at(metric, ("object", "target", "type"))
        if string_at(metric, ("type",)) == "Object" and kind is not None and kind.value != "AverageValue":
            message = f"a target of type {quote(kind.value)} ignores the number of replicas"
            yield finding_at(context, _autoscaler_wording(message, "use `AverageValue`"), autoscaler, kind)


def _autoscaler_wording(message: str, fix: str) -> LintWording:
    return warning("seldon/autoscaler", message, fix)


# Model fields


def _check_artifact(context: PlacementContext) -> Iterator[Diagnostic]:
    for model in linted_of_kind(context, "Model"):
        if not string_at(model, ("spec", "storageUri")):
            message = "the Model has no `storageUri`, so there is nothing to load"
            fix = "set it to the location of the artifact, such as `gs://bucket/model`"
            yield finding_at_path(
                context, error("seldon/no-artifact", message, fix), model, ("spec", "storageUri"), _NAME
            )
        explainer, llm = (non_null_at(model, ("spec", key)) for key in ("explainer", "llm"))
        if explainer is not None and llm is not None:
            message = "the operator rejects a Model with both `explainer` and `llm`"
            yield finding_at(context, error("seldon/two-natures", message, "remove one of the two"), model, llm)


SELDON_MODEL_RULES: tuple[LintRule, ...] = (
    _check_pinned_server,
    _check_matches,
    _check_several_matches,
    _check_failover,
    _check_requirements_set,
    _check_memory_set,
    _check_memory_fits,
    _check_server_load,
    _check_replicas,
    _check_autoscalers,
    _check_artifact,
)
