"""Lint rules about Seldon Models and their scheduling."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from speccompile.model.diagnostic import Diagnostic, Note, quote
from speccompile.model.key_path import KeyPath
from speccompile.model.node import Node
from speccompile.placement.lint.context import (
    LintContext,
    LintRule,
    LintWording,
    finding_at,
    location_note,
    object_title,
)
from speccompile.placement.lint.seldon_context import (
    at,
    error,
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
from speccompile.placement.seldon.objects import GROUP, items_at, model_bytes, node_at, of_kind, quantity_of, text_at
from speccompile.placement.seldon.server_pods import STOCK, ServerHost
from speccompile.schema.suggestions import near

_REQUIREMENTS: KeyPath = ("spec", "requirements")
_MEMORY: KeyPath = ("spec", "memory")
_SERVER: KeyPath = ("spec", "server")
_NAME: KeyPath = ("metadata", "name")
_NAMED = 3
"""Servers that one finding names."""
_LATER = frozenset({Cause.MEMORY, Cause.REPLICAS})
"""What has rules of its own, for Servers that would otherwise do."""


# Which Servers


def _pins_are_there(context: LintContext) -> Iterator[Diagnostic]:
    for match in linted_matches(context):
        pin = match.need.pin
        if not pin or pin in match.names or pin in STOCK:
            continue
        elsewhere = next((host.server for host in seldon_state(context).hosts if host.name == pin), None)
        told = f"the Model is pinned to Server {quote(pin)}, which is not among the objects of its namespace"
        suggestion = near(pin, (*sorted(match.names), *STOCK))
        fix = (
            f"did you mean {quote(suggestion)}?"
            if suggestion
            else "name a Server that is there, or give it with --objects"
        )
        if elsewhere is not None:
            fix = f"that Server is in namespace {quote(namespace_of(elsewhere))}: Models and Servers must share one"
        wording = error if match.hosts else notice
        yield at(context, wording("seldon/unknown-server", told, fix), match.model, _SERVER)


def _models_match(context: LintContext) -> Iterator[Diagnostic]:
    """A Model whose capabilities no Server has is never loaded; what it lacks otherwise has rules of its own."""
    for match in linted_matches(context):
        if match.possible or any(one.fit is not Fit.NO for one in match.stock):
            continue
        candidates = [one for one in (*match.candidates, *match.stock) if not _has(one, Cause.PIN)]
        if not candidates or any(_LATER.issuperset(_causes(one)) for one in candidates):
            continue
        closest = min(candidates, key=lambda one: (len(one.reasons), one.host.is_stock))
        told = f"no Server matches: the nearest, {quote(closest.server)}, cannot have the Model"
        # Servers that nobody showed may well be there, and stock ones may have been changed.
        wording = notice if all(one.host.is_stock for one in candidates) else error
        fix = "ask for what a Server offers, or give Servers that are in the cluster with --objects"
        suggestion = next((reason.nearest_capability for reason in closest.reasons if reason.nearest_capability), None)
        fix = f"did you mean {quote(suggestion)}?" if suggestion else fix
        asked = next((reason.model_node for reason in closest.reasons if reason.model_node is not None), match.model)
        yield finding_at(context, wording("seldon/no-server", told, fix), match.model, asked, *_because(closest))


def _because(closest: Candidate) -> Iterator[Note]:
    for reason in closest.reasons:
        yield Note(f"Server {quote(closest.server)}: {reason.text}")


def _has(one: Candidate, *causes: Cause) -> bool:
    return any(reason.cause in causes for reason in one.reasons)


def _causes(one: Candidate) -> set[Cause]:
    return {reason.cause for reason in one.reasons}


def _models_match_one(context: LintContext) -> Iterator[Diagnostic]:
    """Of several Servers the scheduler takes any, so that where a model runs is chance if they run elsewhere."""
    # Models that need the same have the very same Servers.
    told: dict[int, LintWording | None] = {}
    for match in linted_matches(context):
        if not match.need.capabilities or len(match.possible) == 1:
            continue
        if id(match.possible) not in told:
            told[id(match.possible)] = _by_chance(context, [one.host for one in match.fits])
        words = told[id(match.possible)]
        if words is not None:
            yield at(context, words, match.model, _REQUIREMENTS, _NAME)


def _by_chance(context: LintContext, fits: Sequence[ServerHost]) -> LintWording | None:
    if len({_placement(host) for host in fits}) <= 1:
        return None
    told = f"{_servers(fits)} match the Model, and run on different nodes: which one has it is chance"
    fix = "ask for a capability that one of them alone has"
    scarce = next((host for host in fits if scarcity(context, host)), None)
    if scarce is None:
        return notice("seldon/several-servers", told, fix)
    return warning("seldon/several-servers", f"{told}; {quote(scarce.name)} {scarcity(context, scarce)}", fix)


def _placement(host: ServerHost) -> str:
    """What decides on nodes, so that two Servers with the same run on the same."""
    parts = ("nodeSelector", "affinity", "tolerations", "nodeName")
    nodes = [node_at(host.pod, (part,)) for part in parts]
    return repr([node.plain() if node is not None else None for node in nodes])


def _servers(several: Sequence[ServerHost]) -> str:
    names = [quote(host.name) for host in several[:_NAMED]]
    rest = len(several) - len(names)
    words = [*names[:-1], f"{rest + 1} more"] if rest else names
    return f"Servers {', '.join(words[:-1])} and {words[-1]}"


def _models_can_move(context: LintContext) -> Iterator[Diagnostic]:
    for match in linted_matches(context):
        if match.need.pin not in match.names:
            continue
        free, needed = match.need._replace(pin=""), match.need.capabilities.keys()
        others = (host for host in match.hosts if host.name != match.need.pin and needed <= host.capabilities.keys())
        other = next((host for host in others if check_host(free, host).fit is Fit.YES), None)
        if other is not None and needed:
            told = f"the Model is pinned: Server {quote(other.name)} could have it too, and may not take over"
            fix = "leave `server` out, and ask for a capability that the Servers share"
            yield at(context, warning("seldon/no-failover", told, fix), match.model, _SERVER)


def _models_ask(context: LintContext) -> Iterator[Diagnostic]:
    for match in linted_matches(context):
        if not match.need.capabilities and not match.need.pin:
            told = "the Model asks for nothing, so any Server may have it, whatever it can run"
            fix = "list the framework in `requirements`, such as `sklearn`"
            yield at(context, warning("seldon/matches-everything", told, fix), match.model, _NAME)


# How much


def _considered(match: ModelMatch) -> tuple[Candidate, ...]:
    """The Servers that would do if they were larger."""
    return tuple(one for one in match.candidates if _LATER.issuperset(_causes(one)))


def _memory_is_told(context: LintContext) -> Iterator[Diagnostic]:
    for model in linted_of_kind(context, "Model"):
        asked = node_at(model, _MEMORY)
        if asked is None:
            told = "the Model says no `memory`, so it counts as nothing, and Servers are filled beyond what they have"
            yield at(context, warning("seldon/no-memory", told, "say what it takes when loaded"), model, _NAME)
            continue
        amount = quantity_of(asked)
        size = model_bytes(amount) if amount is not None else None
        if size is None or size <= 0:
            told = f"Seldon cannot count {quote(asked.plain())} as bytes"
            fix = "write a whole number above zero with one unit, such as `512Mi` or `1536Mi`"
            yield finding_at(context, error("seldon/memory-amount", told, fix), model, asked)


def _memory_is_there(context: LintContext) -> Iterator[Diagnostic]:
    """Of the Servers that would otherwise do, one at least must be large enough."""
    for match in linted_matches(context):
        considered = () if match.has_any else _considered(match)
        if considered and all(_has(one, Cause.MEMORY) for one in considered):
            reasons = [reason for one in considered for reason in one.reasons if reason.cause is Cause.MEMORY]
            largest = max(reasons, key=lambda reason: reason.host.memory.amount if reason.host.memory else 0)
            told = f"Server {quote(largest.host.name)} has too little memory: {largest.text}"
            wording = error if largest.is_sure else warning
            fix = "raise `requests.memory` of the container that serves, which is what a replica has"
            where = location_note("that", largest.server_node if largest.is_sure else None)
            yield at(
                context,
                wording("seldon/memory-beyond-capacity", told, fix),
                match.model,
                _MEMORY,
                notes=tuple(where),
            )


def _servers_are_large_enough(context: LintContext) -> Iterator[Diagnostic]:
    for load in server_loads(seldon_state(context).matches):
        several = len(load.models) > 1
        if load.needed > load.offered and several and id(load.host.server) in context.linted:
            needed, offered = amount_text("memory", load.needed, up=True), amount_text("memory", load.offered)
            told = (
                f"the {len(load.models)} Models that can go nowhere else need {needed}, and the Server offers {offered}"
            )
            fix = "raise `requests.memory`, the replicas or their most, or the overcommit"
            memory = load.host.memory
            where = memory.request if memory is not None else None
            told_all = warning("seldon/overfull", told, fix)
            yield finding_at(context, told_all, load.host.server, where or load.host.server)


def _replicas_are_there(context: LintContext) -> Iterator[Diagnostic]:
    """Each replica of a Model needs a replica of the one Server it is on."""
    for match in linted_matches(context):
        considered = () if match.has_any else _considered(match)
        short = [one for one in considered if one.fit is Fit.NO and _has(one, Cause.REPLICAS)]
        if not short or len(short) < len(considered):
            continue
        largest = max((one.host for one in short), key=lambda host: host.most)
        count = match.need.replicas
        wanting = f"the Model wants {count} replicas, each on one of the Server's: {quote(largest.name)}"
        paths: tuple[KeyPath, ...] = (("spec", "replicas"), ("spec", "minReplicas"), _NAME)
        notes = tuple(location_note("the Server's", node_at(largest.server, ("spec", "replicas"))))
        if count > largest.most:
            told = error(
                "seldon/too-many-replicas", f"{wanting} has at most {largest.most}", "raise those of the Server"
            )
        else:
            told = warning(
                "seldon/waits-for-replicas",
                f"{wanting} begins with {largest.replicas}, and is scaled only for Models that it has",
                "add `minReplicas`, so that the Model begins with fewer, or begin with more on the Server",
            )
        yield at(context, told, match.model, *paths, notes=notes)


# Autoscalers


def _autoscalers_are_alone(context: LintContext) -> Iterator[Diagnostic]:
    models = {(namespace_of(model), name_of(model)): model for model in of_kind(context.objects, "Model")}
    for scaler in context.linted_objects:
        if kind_of(scaler) != "HorizontalPodAutoscaler" or group_of(scaler) != "autoscaling":
            continue
        target = ("spec", "scaleTargetRef")
        if text_at(scaler, (*target, "kind")) != "Model" or not text_at(scaler, (*target, "apiVersion")).startswith(
            GROUP
        ):
            continue
        model = models.get((namespace_of(scaler), text_at(scaler, (*target, "name"))))
        yield from _scaled(context, scaler, model)


def _scaled(context: LintContext, scaler: Node, model: Node | None) -> Iterator[Diagnostic]:
    target: KeyPath = ("spec", "scaleTargetRef", "name")
    if model is not None:
        for key in ("minReplicas", "maxReplicas"):
            if bound := node_at(model, ("spec", key)):
                told = f"an autoscaler sets the replicas of {object_title(model)}, which has `{key}` for Seldon to scale it by"
                fix = f"leave `{key}` out of the Model: the autoscaler has bounds of its own"
                yield at(context, _of_scaler(told, fix), scaler, target, notes=tuple(location_note(f"`{key}`", bound)))
        if node_at(model, ("spec", "replicas")) is None:
            told = f"an autoscaler sets the replicas of {object_title(model)}, which has none to set"
            yield at(context, _of_scaler(told, "give the Model `replicas`"), scaler, target)
    for metric in items_at(scaler, ("spec", "metrics")):
        kind = node_at(metric, ("object", "target", "type"))
        if text_at(metric, ("type",)) == "Object" and kind is not None and kind.value != "AverageValue":
            told = f"a target of type {quote(kind.value)} counts the same whatever the number of replicas"
            yield finding_at(context, _of_scaler(told, "use `AverageValue`"), scaler, kind)


def _of_scaler(told: str, fix: str) -> LintWording:
    return warning("seldon/autoscaler", told, fix)


# What a Model is


def _models_have_artifacts(context: LintContext) -> Iterator[Diagnostic]:
    for model in linted_of_kind(context, "Model"):
        if not text_at(model, ("spec", "storageUri")):
            told = "the Model has no `storageUri`, so there is nothing to load"
            fix = "say where the artifact is, such as `gs://bucket/model`"
            yield at(context, error("seldon/no-artifact", told, fix), model, ("spec", "storageUri"), _NAME)
        explainer, llm = (node_at(model, ("spec", key)) for key in ("explainer", "llm"))
        if explainer is not None and llm is not None:
            told = "a Model is an explainer or uses a language model, not both: the operator refuses it"
            yield finding_at(
                context, error("seldon/two-natures", told, "keep one of `explainer` and `llm`"), model, llm
            )


SELDON_MODEL_RULES: tuple[LintRule, ...] = (
    _pins_are_there,
    _models_match,
    _models_match_one,
    _models_can_move,
    _models_ask,
    _memory_is_told,
    _memory_is_there,
    _servers_are_large_enough,
    _replicas_are_there,
    _autoscalers_are_alone,
    _models_have_artifacts,
)
