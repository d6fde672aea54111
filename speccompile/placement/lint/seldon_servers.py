"""Lint rules about Seldon Servers and ServerConfigs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from speccompile.model.diagnostic import Diagnostic, quote
from speccompile.model.key_path import KeyPath, format_path
from speccompile.model.source import Layer
from speccompile.placement.lint.context import (
    LintContext,
    LintRule,
    LintWording,
    finding_at,
    location_note,
    scalar_text,
)
from speccompile.placement.lint.pod_facts import is_gpu
from speccompile.placement.lint.seldon_context import (
    at,
    error,
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
    node_at,
    of_kind,
    strings_at,
    text_at,
)
from speccompile.placement.seldon.operator_merge import Effect, MergeRemark
from speccompile.placement.seldon.server_pods import STOCK, is_stock
from speccompile.schema.suggestions import near

_CONFIG: KeyPath = ("spec", "serverConfig")
_NAMING = ("mountPath", "devicePath", "topologyKey", "name")
"""The keys by which items of a list are known, those first that are more than a name."""
_OWN_LABEL = "seldon-server-name"
_POD_LABELS = {"app.kubernetes.io/name": "seldon-server"}
"""What every Server's pods are labelled with, beside its name."""


# The merge over the ServerConfig


def _merge_is_meant(context: LintContext) -> Iterator[Diagnostic]:
    for host in linted_hosts(context):
        for remark in host.effective.remarks:
            told = _REMARKS[remark.effect](remark)
            # The same words on both sides are alternatives to themselves.
            if told is not None:
                where = location_note("the ServerConfig's", None if is_stock(remark.base) else remark.base)
                yield finding_at(context, told, host.server, remark.override, *where)


def _lost(remark: MergeRemark) -> LintWording:
    place, value, kept = format_path(remark.path), scalar_text(remark.override), scalar_text(remark.base)
    told = f"`{place}`: {value} of the Server does not displace {kept} of its ServerConfig"
    fix = "change it in the ServerConfig, or use one of your own; or take it out: it has no effect"
    return (notice if is_stock(remark.base) else warning)("seldon/lost-override", told, fix)


def _widened(remark: MergeRemark) -> LintWording | None:
    if remark.base.is_like(remark.override):
        return None
    return error(
        "seldon/widened-nodes",
        "the required node terms of the Server and of its ServerConfig become alternatives: pods may run where either "
        "lets them",
        "say it in `nodeSelector`, which holds beside the terms of the ServerConfig; or use a ServerConfig whose terms "
        "say all of it",
    )


def _doubled(remark: MergeRemark) -> LintWording:
    place, names = format_path(remark.path), (text_at(remark.override, (key,)) for key in _NAMING)
    item = quote(next((name for name in names if name), ""))
    told = f"`{place}`: the ServerConfig has {item} already, and both would stand in the pod, which is refused"
    return error("seldon/merged-twice", told, "choose another name or path, or change it in the ServerConfig")


def _two_handlers(remark: MergeRemark) -> LintWording:
    told = f"`{format_path(remark.path)}`: it would have two handlers, the ServerConfig's as well, which is refused"
    return error("seldon/merged-twice", told, "use the kind of handler that the ServerConfig has, or change it there")


def _variable_twice(remark: MergeRemark) -> LintWording | None:
    told_by = remark.override.fields.get("name")
    # What a template itself adds is meant so.
    if remark.base.is_like(remark.override) or (told_by and told_by.span.source.layer is Layer.TEMPLATE):
        return None
    name = text_at(remark.override, ("name",))
    told = f"variable {quote(name)} would stand twice in the container; the Server's counts, being the last"
    return notice("seldon/variable-twice", told, "nothing need be done; to have it once, set it in the ServerConfig")


def _appended(remark: MergeRemark) -> LintWording:
    told = f"`{format_path(remark.path)}` is appended to that of the ServerConfig, and does not replace it"
    return warning("seldon/appended-command", told, "write only what is to follow, or use a ServerConfig of your own")


_REMARKS: Mapping[Effect, Callable[[MergeRemark], LintWording | None]] = {
    Effect.ZERO_IGNORED: _lost,
    Effect.NUMBER_IGNORED: _lost,
    Effect.TERMS_ADDED: _widened,
    Effect.TWICE: _doubled,
    Effect.VARIABLE_TWICE: _variable_twice,
    Effect.APPENDED: _appended,
    Effect.HANDLERS: _two_handlers,
}


# ServerConfigs


def _configs_are_there(context: LintContext) -> Iterator[Diagnostic]:
    known = {*STOCK, *(name_of(config) for config in of_kind(context.objects, "ServerConfig"))}
    for host in linted_hosts(context):
        name = text_at(host.server, _CONFIG)
        if host.config is None and name:
            suggestion = near(name, known)
            fix = (
                f"did you mean {quote(suggestion)}?"
                if suggestion
                else "give it with --objects, so that all can be judged"
            )
            told = f"ServerConfig {quote(name)} is neither at hand nor one of a stock install"
            yield at(context, notice("seldon/unknown-config", told, fix), host.server, _CONFIG)


def _configs_are_whole(context: LintContext) -> Iterator[Diagnostic]:
    """A ServerConfig is a whole pod template: `kubectl apply` replaces lists, and nobody fills in what is left out."""
    for config in linted_of_kind(context, "ServerConfig"):
        pod = mapping_at(config, POD_SPEC)
        known = [text_at(one, ("name",)) for one in app_containers(pod)]
        serving = [name for name in known if name not in (AGENT, RCLONE)]
        missing = [f"`{name}`" for name in (RCLONE, AGENT) if name not in known]
        missing += [] if serving else ["the one that serves models"]
        if missing:
            told = f"the ServerConfig is a part of one: it lacks the container {' and '.join(missing)}"
            fix = "write all containers: those of a stock ServerConfig are not added"
            paths: tuple[KeyPath, ...] = ((*POD_SPEC, "containers"), POD_SPEC)
            yield at(context, error("seldon/config-fragment", told, fix), config, *paths)
        for one in app_containers(pod):
            if not text_at(one, ("image",)):
                told = f"container {quote(text_at(one, ('name',)))} of the ServerConfig has no image"
                told_all = error("seldon/config-fragment", told, "give it an `image`")
                yield finding_at(context, told_all, config, node_at(one, ("name",)) or one)


def _containers_are_known(context: LintContext) -> Iterator[Diagnostic]:
    """A container of another name is one more container, which needs an image."""
    for host in linted_hosts(context):
        known = [text_at(one, ("name",)) for one in app_containers(mapping_at(host.config, POD_SPEC))]
        if host.config is None:
            continue
        for one in app_containers(mapping_at(host.server, POD_SPEC)):
            name = node_at(one, ("name",))
            if name is None or name.value in known or node_at(one, ("image",)) is not None:
                continue
            suggestion = near(text_at(one, ("name",)), known)
            fix = (
                f"did you mean {quote(suggestion)}?"
                if suggestion
                else "give it an `image`, if it is meant to be one more"
            )
            told = f"the ServerConfig has no container {quote(name.value)}, so this would be one more, without an image"
            wording = error if has_known_config(host) else warning
            yield finding_at(context, wording("seldon/unknown-container", told, fix), host.server, name)


def _capacity_is_told(context: LintContext) -> Iterator[Diagnostic]:
    """The agent advertises the memory that the container which serves asks for."""
    for host in linted_hosts(context):
        reference = node_at(env_variable(host.pod, MEMORY_REQUEST), ("valueFrom", "resourceFieldRef"))
        name = text_at(reference, ("containerName",))
        if not has_known_config(host) or reference is None or not name:
            continue
        fix = f"give container {quote(name)} a `requests.memory`"
        if find_named(app_containers(host.pod), name) is None:
            told = f"the agent is to offer the memory of container {quote(name)}, which the pod does not have"
            fix = f"change `containerName` of `{MEMORY_REQUEST}` in the ServerConfig, or the container's name"
        elif host.memory is not None and not host.memory.amount:
            told = f"container {quote(name)} asks for no memory, so the Server offers none, and no model fits"
        else:
            continue
        told_all = error("seldon/no-capacity", told, fix)
        yield at(context, told_all, host.server, _CONFIG, notes=tuple(location_note("the agent's variable", reference)))


# Capabilities


def _capabilities_reach_the_agent(context: LintContext) -> Iterator[Diagnostic]:
    for host in linted_hosts(context):
        if has_known_config(host) and env_variable(host.pod, CAPABILITIES) is None:
            for key in ("capabilities", "extraCapabilities"):
                if strings_at(host.server, ("spec", key)):
                    told = f"`{key}` has no effect: no container has the variable `{CAPABILITIES}` to put it in"
                    fix = f"give the agent of the ServerConfig a variable `{CAPABILITIES}`"
                    yield at(context, error("seldon/idle-capabilities", told, fix), host.server, ("spec", key))


def _capabilities_are_said_once(context: LintContext) -> Iterator[Diagnostic]:
    for server in linted_of_kind(context, "Server"):
        whole, extra = (node_at(server, ("spec", key)) for key in ("capabilities", "extraCapabilities"))
        if whole is not None and extra is not None and whole.items and extra.items:
            told = "`extraCapabilities` is ignored beside `capabilities`"
            fix = "put all of them into `capabilities`"
            where = location_note("`capabilities`", whole)
            yield finding_at(context, warning("seldon/both-capabilities", told, fix), server, extra, *where)


def _pools_are_tight(context: LintContext) -> Iterator[Diagnostic]:
    """Only `capabilities` displaces the frameworks of the ServerConfig, which any Model may ask for."""
    for host in linted_hosts(context):
        appended = {str(item.value).strip() for item in strings_at(host.server, ("spec", "extraCapabilities"))}
        others = [name for name in host.capabilities if name not in appended]
        if not others or strings_at(host.server, ("spec", "capabilities")):
            continue
        if what := scarcity(context, host):
            told = f"a Model that asks for {quote(others[0])} alone may be loaded on this Server as well, which {what}"
            fix = "list all capabilities in `capabilities`, which replaces those of the ServerConfig"
            paths: tuple[KeyPath, ...] = (("spec", "extraCapabilities"), _CONFIG)
            yield at(context, warning("seldon/leaky-pool", told, fix), host.server, *paths)


# Pods


def _gpus_serve(context: LintContext) -> Iterator[Diagnostic]:
    """Neither the agent nor what fetches models computes anything."""
    for host in linted_hosts(context):
        for one in app_containers(mapping_at(host.server, POD_SPEC)):
            name = text_at(one, ("name",))
            asked = [
                node
                for side in ("limits", "requests")
                if (amounts := mapping_at(one, ("resources", side)))
                for resource, node in amounts.fields.items()
                if is_gpu(resource)
            ]
            if name in (AGENT, RCLONE) and asked:
                told = f"container {quote(name)} asks for a GPU, and serves no model"
                fix = "ask for it in the container that serves models"
                yield finding_at(context, warning("seldon/idle-gpu", told, fix), host.server, asked[0])


def _spreads_select_own_pods(context: LintContext) -> Iterator[Diagnostic]:
    for host in linted_hosts(context):
        labels = {**_POD_LABELS, _OWN_LABEL: host.name}
        for constraint in items_at(host.server, (*POD_SPEC, "topologySpreadConstraints")):
            selector = node_at(constraint, ("labelSelector",))
            told = ""
            if selector is None:
                told = "the constraint has no `labelSelector`, so it counts no pods and spreads nothing"
            else:
                asked = mapping_at(selector, ("matchLabels",))
                ours = {key: node for key, node in (asked.fields if asked else {}).items() if key in labels}
                wrong = next((key for key, node in ours.items() if node.value != labels[key]), None)
                told = f"the constraint selects pods by another {quote(wrong)} than those of the Server have" * bool(
                    wrong
                )
            if told:
                fix = f"select by `{_OWN_LABEL}: {host.name}`, which the operator gives to the Server's pods"
                where = selector or constraint
                yield finding_at(context, warning("seldon/spread-of-others", told, fix), host.server, where)


def _bounds_are_both_told(context: LintContext) -> Iterator[Diagnostic]:
    """Versions of Seldon differ in what a bound that is left out means."""
    for server in linted_of_kind(context, "Server"):
        least, most = (int_at(server, ("spec", key)) or 0 for key in ("minReplicas", "maxReplicas"))
        if (least > 0) != (most > 0):
            one, other = ("minReplicas", "maxReplicas") if least > 0 else ("maxReplicas", "minReplicas")
            told = f"`{one}` without `{other}`: whether the Server is scaled, and how far, hangs on Seldon's version"
            fix = f"add `{other}`, or leave out both"
            yield at(context, warning("seldon/half-bounds", told, fix), server, ("spec", one))


SELDON_SERVER_RULES: tuple[LintRule, ...] = (
    _merge_is_meant,
    _configs_are_there,
    _configs_are_whole,
    _containers_are_known,
    _capacity_is_told,
    _capabilities_reach_the_agent,
    _capabilities_are_said_once,
    _pools_are_tight,
    _gpus_serve,
    _spreads_select_own_pods,
    _bounds_are_both_told,
)
