"""Lint rules about Seldon Servers and ServerConfigs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from speccompile.model.diagnostic import Diagnostic, quote
from speccompile.model.key_path import KeyPath, format_path
from speccompile.model.source import Layer
from speccompile.placement.lint.context import (
    LintRule,
    LintWording,
    PlacementContext,
    finding_at,
    location_note,
    scalar_text,
)
from speccompile.placement.lint.pod_facts import is_gpu
from speccompile.placement.lint.seldon_context import (
    error,
    finding_at_path,
    has_known_config,
    linted_hosts,
    linted_of_kind,
    notice,
    scarcity,
    warning,
)
from speccompile.placement.object_identity import name_of
from speccompile.placement.seldon.objects import (
    AGENT,
    CAPABILITIES,
    MEMORY_REQUEST,
    POD_SPEC,
    RCLONE,
    app_containers,
    env_variable,
    find_named,
    int_at,
    items_at,
    mapping_at,
    non_null_at,
    of_kind,
    string_at,
    strings_at,
)
from speccompile.placement.seldon.operator_merge import Effect, MergeRemark
from speccompile.placement.seldon.server_pods import STOCK, is_stock
from speccompile.schema.suggestions import near

_CONFIG: KeyPath = ("spec", "serverConfig")
_ITEM_KEYS = ("mountPath", "devicePath", "topologyKey", "name")
"""Keys that identify list items, the most specific first."""
_NAME_LABEL = "seldon-server-name"
_POD_LABELS = {"app.kubernetes.io/name": "seldon-server"}
"""Labels of the pods of every Server, besides its name."""


# Merge with the ServerConfig


def _check_merge(context: PlacementContext) -> Iterator[Diagnostic]:
    for host in linted_hosts(context):
        for remark in host.effective.remarks:
            wording = _REMARK_WORDINGS[remark.effect](remark)
            # Equal values on both sides have no effect.
            if wording is not None:
                notes = location_note("the value of the ServerConfig", None if is_stock(remark.base) else remark.base)
                yield finding_at(context, wording, host.server, remark.override, *notes)


def _ignored_override(remark: MergeRemark) -> LintWording:
    place, value, base_value = format_path(remark.path), scalar_text(remark.override), scalar_text(remark.base)
    message = f"`{place}`: {value} of the Server does not override {base_value} of its ServerConfig"
    fix = "remove it, since it has no effect, or change it in the ServerConfig"
    return (notice if is_stock(remark.base) else warning)("seldon/lost-override", message, fix)


def _alternative_terms(remark: MergeRemark) -> LintWording | None:
    if remark.base.is_like(remark.override):
        return None
    return error(
        "seldon/widened-nodes",
        "the required node terms of the Server are added as alternatives to those of its ServerConfig, so pods may run"
        " on nodes that match either",
        "use `nodeSelector`, which applies in addition to the terms, or change the terms in the ServerConfig",
    )


def _duplicate_item(remark: MergeRemark) -> LintWording:
    place, names = format_path(remark.path), (string_at(remark.override, (key,)) for key in _ITEM_KEYS)
    item = quote(next((name for name in names if name), ""))
    message = f"`{place}`: the ServerConfig already has {item}, and Kubernetes rejects a pod with both"
    return error("seldon/merged-twice", message, "use another name or path, or change it in the ServerConfig")


def _two_handlers(remark: MergeRemark) -> LintWording:
    message = f"`{format_path(remark.path)}`: the ServerConfig has another handler, and Kubernetes rejects two"
    return error("seldon/merged-twice", message, "use the handler type of the ServerConfig, or change it there")


def _duplicate_variable(remark: MergeRemark) -> LintWording | None:
    name_node = remark.override.fields.get("name")
    # A template adds variables on purpose.
    if remark.base.is_like(remark.override) or (name_node and name_node.span.source.layer is Layer.TEMPLATE):
        return None
    name = string_at(remark.override, ("name",))
    message = f"variable {quote(name)} is set twice in the container; the value of the Server applies"
    return notice("seldon/variable-twice", message, "set it in the ServerConfig only, to avoid the duplicate")


def _appended_command(remark: MergeRemark) -> LintWording:
    message = f"`{format_path(remark.path)}` is appended to that of the ServerConfig, and does not replace it"
    return warning("seldon/appended-command", message, "set only the words to append, or use another ServerConfig")


_REMARK_WORDINGS: Mapping[Effect, Callable[[MergeRemark], LintWording | None]] = {
    Effect.ZERO_IGNORED: _ignored_override,
    Effect.NUMBER_IGNORED: _ignored_override,
    Effect.TERMS_ADDED: _alternative_terms,
    Effect.TWICE: _duplicate_item,
    Effect.VARIABLE_TWICE: _duplicate_variable,
    Effect.APPENDED: _appended_command,
    Effect.HANDLERS: _two_handlers,
}


# ServerConfigs


def _check_config_known(context: PlacementContext) -> Iterator[Diagnostic]:
    names = {*STOCK, *(name_of(config) for config in of_kind(context.objects, "ServerConfig"))}
    for host in linted_hosts(context):
        name = string_at(host.server, _CONFIG)
        if host.config is None and name:
            suggestion = near(name, names)
            fix = (
                f"did you mean {quote(suggestion)}?"
                if suggestion
                else "pass it with --objects, so that it can be checked"
            )
            message = f"ServerConfig {quote(name)} is neither among the objects nor part of a stock installation"
            yield finding_at_path(context, notice("seldon/unknown-config", message, fix), host.server, _CONFIG)


def _check_config_complete(context: PlacementContext) -> Iterator[Diagnostic]:
    """A ServerConfig is a complete pod template; missing containers are not filled in."""
    for config in linted_of_kind(context, "ServerConfig"):
        pod = mapping_at(config, POD_SPEC)
        names = [string_at(one, ("name",)) for one in app_containers(pod)]
        serving = [name for name in names if name not in (AGENT, RCLONE)]
        missing = [f"`{name}`" for name in (RCLONE, AGENT) if name not in names]
        missing += [] if serving else ["one that serves models"]
        if missing:
            message = f"the ServerConfig is incomplete: missing containers: {', '.join(missing)}"
            fix = "list all containers: those of a stock ServerConfig are not added"
            paths: tuple[KeyPath, ...] = ((*POD_SPEC, "containers"), POD_SPEC)
            yield finding_at_path(context, error("seldon/config-fragment", message, fix), config, *paths)
        for one in app_containers(pod):
            if not string_at(one, ("image",)):
                message = f"container {quote(string_at(one, ('name',)))} of the ServerConfig has no image"
                wording = error("seldon/config-fragment", message, "add an `image`")
                yield finding_at(context, wording, config, non_null_at(one, ("name",)) or one)


def _check_container_names(context: PlacementContext) -> Iterator[Diagnostic]:
    """A container with a new name is added to the pod, so it needs an image."""
    for host in linted_hosts(context):
        names = [string_at(one, ("name",)) for one in app_containers(mapping_at(host.config, POD_SPEC))]
        if host.config is None:
            continue
        for one in app_containers(mapping_at(host.server, POD_SPEC)):
            name = non_null_at(one, ("name",))
            if name is None or name.value in names or non_null_at(one, ("image",)) is not None:
                continue
            suggestion = near(string_at(one, ("name",)), names)
            fix = (
                f"did you mean {quote(suggestion)}?"
                if suggestion
                else "add an `image`, if it is an additional container"
            )
            message = f"the ServerConfig has no container {quote(name.value)}, so this adds one without an image"
            make_wording = error if has_known_config(host) else warning
            yield finding_at(context, make_wording("seldon/unknown-container", message, fix), host.server, name)


def _check_capacity(context: PlacementContext) -> Iterator[Diagnostic]:
    """The agent offers the memory that the serving container requests."""
    for host in linted_hosts(context):
        reference = non_null_at(env_variable(host.pod, MEMORY_REQUEST), ("valueFrom", "resourceFieldRef"))
        name = string_at(reference, ("containerName",))
        if not has_known_config(host) or reference is None or not name:
            continue
        fix = f"set `requests.memory` of container {quote(name)}"
        if find_named(app_containers(host.pod), name) is None:
            message = f"the agent offers the memory of container {quote(name)}, which the pod does not have"
            fix = f"change `containerName` of `{MEMORY_REQUEST}` in the ServerConfig, or rename the container"
        elif host.memory is not None and not host.memory.amount:
            message = f"container {quote(name)} requests no memory, so the Server offers none and no model fits"
        else:
            continue
        wording = error("seldon/no-capacity", message, fix)
        yield finding_at_path(
            context, wording, host.server, _CONFIG, notes=tuple(location_note("the agent's variable", reference))
        )


# Capabilities


def _check_capability_variable(context: PlacementContext) -> Iterator[Diagnostic]:
    for host in linted_hosts(context):
        if has_known_config(host) and env_variable(host.pod, CAPABILITIES) is None:
            for key in ("capabilities", "extraCapabilities"):
                if strings_at(host.server, ("spec", key)):
                    message = f"`{key}` has no effect: no container has the variable `{CAPABILITIES}`"
                    fix = f"add the variable `{CAPABILITIES}` to the agent in the ServerConfig"
                    yield finding_at_path(
                        context, error("seldon/idle-capabilities", message, fix), host.server, ("spec", key)
                    )


def _check_both_capabilities(context: PlacementContext) -> Iterator[Diagnostic]:
    for server in linted_of_kind(context, "Server"):
        replaced, extra = (non_null_at(server, ("spec", key)) for key in ("capabilities", "extraCapabilities"))
        if replaced is not None and extra is not None and replaced.items and extra.items:
            message = "`extraCapabilities` is ignored beside `capabilities`"
            fix = "move all of them to `capabilities`"
            where = location_note("`capabilities`", replaced)
            yield finding_at(context, warning("seldon/both-capabilities", message, fix), server, extra, *where)


def _check_scarce_servers(context: PlacementContext) -> Iterator[Diagnostic]:
    """Only `capabilities` replaces those of the ServerConfig, which any Model may require."""
    for host in linted_hosts(context):
        appended = {str(item.value).strip() for item in strings_at(host.server, ("spec", "extraCapabilities"))}
        others = [name for name in host.capabilities if name not in appended]
        if not others or strings_at(host.server, ("spec", "capabilities")):
            continue
        if what := scarcity(context, host):
            message = f"a Model that requires only {quote(others[0])} may be loaded on this Server, which {what}"
            fix = "list all capabilities in `capabilities`, which replaces those of the ServerConfig"
            paths: tuple[KeyPath, ...] = (("spec", "extraCapabilities"), _CONFIG)
            yield finding_at_path(context, warning("seldon/leaky-pool", message, fix), host.server, *paths)


# Pods


def _check_gpu_containers(context: PlacementContext) -> Iterator[Diagnostic]:
    """Only the serving container uses a GPU."""
    for host in linted_hosts(context):
        for one in app_containers(mapping_at(host.server, POD_SPEC)):
            name = string_at(one, ("name",))
            requests = [
                node
                for side in ("limits", "requests")
                if (amounts := mapping_at(one, ("resources", side)))
                for resource, node in amounts.fields.items()
                if is_gpu(resource)
            ]
            if name in (AGENT, RCLONE) and requests:
                message = f"container {quote(name)} requests a GPU, but serves no models"
                fix = "request it in the container that serves models"
                yield finding_at(context, warning("seldon/idle-gpu", message, fix), host.server, requests[0])


def _check_spread_selectors(context: PlacementContext) -> Iterator[Diagnostic]:
    for host in linted_hosts(context):
        labels = {**_POD_LABELS, _NAME_LABEL: host.name}
        for constraint in items_at(host.server, (*POD_SPEC, "topologySpreadConstraints")):
            selector = non_null_at(constraint, ("labelSelector",))
            message = ""
            if selector is None:
                message = "the constraint has no `labelSelector`, so it has no effect"
            else:
                requests = mapping_at(selector, ("matchLabels",))
                server_labels = {
                    key: node for key, node in (requests.fields if requests else {}).items() if key in labels
                }
                wrong = next((key for key, node in server_labels.items() if node.value != labels[key]), None)
                message = (
                    f"the constraint selects another value of label {quote(wrong)} than the pods of the Server have"
                    * bool(wrong)
                )
            if message:
                fix = f"select `{_NAME_LABEL}: {host.name}`, which the operator sets on the pods of the Server"
                where = selector or constraint
                yield finding_at(context, warning("seldon/spread-of-others", message, fix), host.server, where)


def _check_bounds(context: PlacementContext) -> Iterator[Diagnostic]:
    """Seldon versions differ in the meaning of an unset bound."""
    for server in linted_of_kind(context, "Server"):
        minimum, maximum = (int_at(server, ("spec", key)) or 0 for key in ("minReplicas", "maxReplicas"))
        if (minimum > 0) != (maximum > 0):
            one, other = ("minReplicas", "maxReplicas") if minimum > 0 else ("maxReplicas", "minReplicas")
            message = (
                f"`{one}` without `{other}`: whether and how far the Server is scaled depends on the Seldon version"
            )
            fix = f"add `{other}`, or remove both"
            yield finding_at_path(context, warning("seldon/half-bounds", message, fix), server, ("spec", one))


SELDON_SERVER_RULES: tuple[LintRule, ...] = (
    _check_merge,
    _check_config_known,
    _check_config_complete,
    _check_container_names,
    _check_capacity,
    _check_capability_variable,
    _check_both_capabilities,
    _check_scarce_servers,
    _check_gpu_containers,
    _check_spread_selectors,
    _check_bounds,
)
