"""Lint rules about the components of a SeldonRuntime and about Kafka."""

from __future__ import annotations

from collections.abc import Iterator

from speccompile.model.diagnostic import Diagnostic, quote
from speccompile.model.key_path import KeyPath
from speccompile.model.node import Node
from speccompile.placement.lint.context import LintRule, PlacementContext, finding_at, location_note
from speccompile.placement.lint.seldon_context import error, linted_of_kind, seldon_state, warning
from speccompile.placement.object_identity import group_of, kind_of, name_of
from speccompile.placement.seldon.objects import int_at, items_at, mapping_at, non_null_at, of_kind, string_at
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
"""The components of a runtime, unless a SeldonConfig lists others."""
_SHARDS: KeyPath = ("spec", "config", "scalingConfig", "pipelines")
_KAFKA_POD: KeyPath = ("spec", "template", "pod")


def _check_overrides(context: PlacementContext) -> Iterator[Diagnostic]:
    for runtime in linted_of_kind(context, "SeldonRuntime"):
        components = _components(context, runtime)
        first_by_name: dict[str, Node] = {}
        for override in items_at(runtime, ("spec", "overrides")):
            name = non_null_at(override, ("name",))
            if name is None or not isinstance(name.value, str):
                continue
            if name.value not in components:
                suggestion = near(name.value, components)
                message = f"unknown component {quote(name.value)}: the override is ignored"
                fix = f"did you mean {quote(suggestion)}?" if suggestion else f"use one of {', '.join(components)}"
                yield finding_at(context, error("seldon/unknown-component", message, fix), runtime, name)
            elif name.value in first_by_name:
                message = f"{quote(name.value)} is overridden twice, and only the last override applies"
                notes = location_note("the first one", first_by_name[name.value])
                wording = error("seldon/component-twice", message, "merge the two overrides")
                yield finding_at(context, wording, runtime, name, *notes)
            first_by_name.setdefault(name.value, name)


def _components(context: PlacementContext, runtime: Node) -> tuple[str, ...]:
    """The components of the runtime's SeldonConfig if it is among the objects, else the standard ones."""
    name = string_at(runtime, ("spec", "seldonConfig"))
    configs = (config for config in of_kind(context.objects, "SeldonConfig") if name_of(config) == name)
    names = [string_at(one, ("name",)) for config in configs for one in items_at(config, ("spec", "components"))]
    return tuple(component for component in names if component) or COMPONENTS


def _check_scheduler_replicas(context: PlacementContext) -> Iterator[Diagnostic]:
    for runtime in linted_of_kind(context, "SeldonRuntime"):
        for override in items_at(runtime, ("spec", "overrides")):
            count = int_at(override, ("replicas",))
            if string_at(override, ("name",)) == _SCHEDULER and count is not None and count != 1:
                message = f"Seldon's scheduler has {count} replicas, but supports only one"
                node = non_null_at(override, ("replicas",)) or override
                yield finding_at(
                    context, error("seldon/scheduler-replicas", message, "remove `replicas`"), runtime, node
                )


def _check_shard_count(context: PlacementContext) -> Iterator[Diagnostic]:
    for runtime in linted_of_kind(context, "SeldonRuntime"):
        node = mapping_at(runtime, _SHARDS)
        if node is not None and not int_at(node, ("maxShardCountMultiplier",)):
            message = (
                "`pipelines` without `maxShardCountMultiplier` counts as 0, which leaves gateways without replicas"
            )
            fix = "add `maxShardCountMultiplier: 1`, or remove `pipelines`"
            yield finding_at(context, error("seldon/no-shards", message, fix), runtime, node)


def _check_component_nodes(context: PlacementContext) -> Iterator[Diagnostic]:
    """Model servers should not compete with the control plane of Seldon."""
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
                name = string_at(override, ("name",))
                message = (
                    f"component {quote(name)} is pinned to the nodes of Server {quote(server)} and competes with it"
                )
                fix = "pin it to other nodes"
                yield finding_at(context, warning("seldon/control-on-inference", message, fix), runtime, selector)


def _labels(selector: Node) -> str:
    return repr(sorted(selector.plain().items()))


def _check_kafka_selector(context: PlacementContext) -> Iterator[Diagnostic]:
    """Strimzi's pod template supports affinity and tolerations only."""
    for tree in context.linted_objects:
        selector = non_null_at(tree, (*_KAFKA_POD, "nodeSelector"))
        if _is_kafka(tree) and selector is not None:
            message = "Strimzi ignores `nodeSelector`, so the brokers are not pinned"
            fix = "use a required node affinity"
            yield finding_at(context, error("seldon/kafka-selector", message, fix), tree, selector)


def _is_kafka(tree: Node) -> bool:
    return group_of(tree) == "kafka.strimzi.io" and kind_of(tree) == "KafkaNodePool"


SELDON_RUNTIME_RULES: tuple[LintRule, ...] = (
    _check_overrides,
    _check_scheduler_replicas,
    _check_shard_count,
    _check_component_nodes,
    _check_kafka_selector,
)
