"""Lint rules about Seldon's own workloads and Kafka."""

from __future__ import annotations

from collections.abc import Iterator

from speccompile.model.diagnostic import Diagnostic, quote
from speccompile.model.key_path import KeyPath
from speccompile.model.node import Node
from speccompile.placement.lint.context import LintContext, LintRule, finding_at, location_note
from speccompile.placement.lint.seldon_context import error, linted_of_kind, seldon_state, warning
from speccompile.placement.object_identity import group_of, kind_of, name_of
from speccompile.placement.seldon.objects import int_at, items_at, mapping_at, node_at, of_kind, text_at
from speccompile.schema.suggestions import near

_SCHEDULER = "seldon-scheduler"
COMPONENTS = (
    "hodometer",
    "seldon-dataflow-engine",
    "seldon-envoy",
    "seldon-modelgateway",
    "seldon-pipelinegateway",
    _SCHEDULER,
)
"""The workloads of a runtime, unless a SeldonConfig lists others."""
_SHARDS: KeyPath = ("spec", "config", "scalingConfig", "pipelines")
_KAFKA_POD: KeyPath = ("spec", "template", "pod")


def _overrides_are_of_components(context: LintContext) -> Iterator[Diagnostic]:
    for runtime in linted_of_kind(context, "SeldonRuntime"):
        known = _components(context, runtime)
        before: dict[str, Node] = {}
        for override in items_at(runtime, ("spec", "overrides")):
            name = node_at(override, ("name",))
            if name is None or not isinstance(name.value, str):
                continue
            if name.value not in known:
                suggestion = near(name.value, known)
                told = f"{quote(name.value)} is no component of the runtime, so the override is ignored"
                fix = f"did you mean {quote(suggestion)}?" if suggestion else f"components are {', '.join(known)}"
                yield finding_at(context, error("seldon/unknown-component", told, fix), runtime, name)
            elif name.value in before:
                told = f"{quote(name.value)} is overridden twice, and only the last one counts"
                where = location_note("the first", before[name.value])
                told_all = error("seldon/component-twice", told, "write one override with all of it")
                yield finding_at(context, told_all, runtime, name, *where)
            before.setdefault(name.value, name)


def _components(context: LintContext, runtime: Node) -> tuple[str, ...]:
    """The components of the runtime's SeldonConfig if that is at hand, else those that every install has."""
    name = text_at(runtime, ("spec", "seldonConfig"))
    configs = (config for config in of_kind(context.objects, "SeldonConfig") if name_of(config) == name)
    listed_there = [text_at(one, ("name",)) for config in configs for one in items_at(config, ("spec", "components"))]
    return tuple(component for component in listed_there if component) or COMPONENTS


def _one_schedules(context: LintContext) -> Iterator[Diagnostic]:
    for runtime in linted_of_kind(context, "SeldonRuntime"):
        for override in items_at(runtime, ("spec", "overrides")):
            count = int_at(override, ("replicas",))
            if text_at(override, ("name",)) == _SCHEDULER and count is not None and count != 1:
                told = f"the scheduler of Seldon has {count} replicas: it is made to have one"
                node = node_at(override, ("replicas",)) or override
                yield finding_at(
                    context, error("seldon/scheduler-replicas", told, "leave `replicas` out"), runtime, node
                )


def _shards_are_told(context: LintContext) -> Iterator[Diagnostic]:
    for runtime in linted_of_kind(context, "SeldonRuntime"):
        node = mapping_at(runtime, _SHARDS)
        if node is not None and not int_at(node, ("maxShardCountMultiplier",)):
            told = "`pipelines` without `maxShardCountMultiplier` counts as zero, which leaves gateways no replicas"
            fix = "add `maxShardCountMultiplier: 1`, or leave `pipelines` out"
            yield finding_at(context, error("seldon/no-shards", told, fix), runtime, node)


def _control_runs_elsewhere(context: LintContext) -> Iterator[Diagnostic]:
    """What serves models should not starve what steers it."""
    pools: dict[str, str] = {}
    for host in seldon_state(context).hosts:
        selector = mapping_at(host.pod, ("nodeSelector",))
        if selector is not None and selector.fields:
            pools.setdefault(_labels(selector), host.name)
    for runtime in linted_of_kind(context, "SeldonRuntime"):
        for override in items_at(runtime, ("spec", "overrides")):
            selector = mapping_at(override, ("podSpec", "nodeSelector"))
            server = pools.get(_labels(selector)) if selector is not None else None
            if selector is not None and server is not None:
                name = text_at(override, ("name",))
                told = f"component {quote(name)} is pinned to the nodes of Server {quote(server)}, and competes with it"
                fix = "pin it to nodes of its own, or to those that are for everything else"
                yield finding_at(context, warning("seldon/control-on-inference", told, fix), runtime, selector)


def _labels(selector: Node) -> str:
    return repr(sorted(selector.plain().items()))


def _kafka_is_pinned_by_affinity(context: LintContext) -> Iterator[Diagnostic]:
    """Strimzi's template of a pod has affinity and tolerations, and nothing else that pins."""
    for tree in context.linted_objects:
        selector = node_at(tree, (*_KAFKA_POD, "nodeSelector"))
        if _is_kafka(tree) and selector is not None:
            told = "Strimzi knows no `nodeSelector`, and drops it: the brokers are pinned to nothing"
            fix = "write a required node affinity"
            yield finding_at(context, error("seldon/kafka-selector", told, fix), tree, selector)


def _is_kafka(tree: Node) -> bool:
    return group_of(tree) == "kafka.strimzi.io" and kind_of(tree) == "KafkaNodePool"


SELDON_RUNTIME_RULES: tuple[LintRule, ...] = (
    _overrides_are_of_components,
    _one_schedules,
    _shards_are_told,
    _control_runs_elsewhere,
    _kafka_is_pinned_by_affinity,
)
