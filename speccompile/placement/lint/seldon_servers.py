"""Lint rules about Seldon Servers and ServerConfigs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from speccompile.model.diagnostic import Diagnostic, quote
from speccompile.model.key_path import KeyPath, format_path
from speccompile.model.source import Layer
from speccompile.placement.lint.pod_questions import is_gpu
from speccompile.placement.lint.scene import Rule, Scene, Told, finding_at, shown_scalar, stands
from speccompile.placement.lint.seldon_scene import at, error, is_at_hand, notice, own, own_hosts, scarcity, warning
from speccompile.placement.object_identity import name_of
from speccompile.placement.seldon.objects import (
    AGENT,
    CAPABILITIES,
    MEMORY_REQUEST,
    POD,
    RCLONE,
    containers,
    listed,
    mapping,
    named,
    number,
    of_kind,
    said,
    text,
    texts,
    variable,
)
from speccompile.placement.seldon.operator_merge import Effect, Remark
from speccompile.placement.seldon.server_pods import STOCK, is_stock
from speccompile.schema.suggestions import near

_CONFIG: KeyPath = ("spec", "serverConfig")
_NAMING = ("mountPath", "devicePath", "topologyKey", "name")
"""The keys by which items of a list are known, those first that are more than a name."""
_OWN_LABEL = "seldon-server-name"
_POD_LABELS = {"app.kubernetes.io/name": "seldon-server"}
"""What every Server's pods are labelled with, beside its name."""


# The merge over the ServerConfig


def _merge_is_meant(scene: Scene) -> Iterator[Diagnostic]:
    for host in own_hosts(scene):
        for remark in host.effective.remarks:
            told = _REMARKS[remark.effect](remark)
            # The same words on both sides are alternatives to themselves.
            if told is not None:
                where = stands("the ServerConfig's", None if is_stock(remark.base) else remark.base)
                yield finding_at(scene, told, host.server, remark.override, *where)


def _lost(remark: Remark) -> Told:
    place, value, kept = format_path(remark.path), shown_scalar(remark.override), shown_scalar(remark.base)
    told = f"`{place}`: {value} of the Server does not displace {kept} of its ServerConfig"
    cure = "change it in the ServerConfig, or use one of your own; or take it out: it has no effect"
    return (notice if is_stock(remark.base) else warning)("seldon/lost-override", told, cure)


def _widened(remark: Remark) -> Told | None:
    if remark.base.is_like(remark.override):
        return None
    return error(
        "seldon/widened-nodes",
        "the required node terms of the Server and of its ServerConfig become alternatives: pods may run where either "
        "lets them",
        "say it in `nodeSelector`, which holds beside the terms of the ServerConfig; or use a ServerConfig whose terms "
        "say all of it",
    )


def _doubled(remark: Remark) -> Told:
    place, names = format_path(remark.path), (text(remark.override, (key,)) for key in _NAMING)
    item = quote(next((name for name in names if name), ""))
    told = f"`{place}`: the ServerConfig has {item} already, and both would stand in the pod, which is refused"
    return error("seldon/merged-twice", told, "choose another name or path, or change it in the ServerConfig")


def _two_handlers(remark: Remark) -> Told:
    told = f"`{format_path(remark.path)}`: it would have two handlers, the ServerConfig's as well, which is refused"
    return error("seldon/merged-twice", told, "use the kind of handler that the ServerConfig has, or change it there")


def _variable_twice(remark: Remark) -> Told | None:
    told_by = remark.override.fields.get("name")
    # What a template itself adds is meant so.
    if remark.base.is_like(remark.override) or (told_by and told_by.span.source.layer is Layer.TEMPLATE):
        return None
    name = text(remark.override, ("name",))
    told = f"variable {quote(name)} would stand twice in the container; the Server's counts, being the last"
    return notice("seldon/variable-twice", told, "nothing need be done; to have it once, set it in the ServerConfig")


def _appended(remark: Remark) -> Told:
    told = f"`{format_path(remark.path)}` is appended to that of the ServerConfig, and does not replace it"
    return warning("seldon/appended-command", told, "write only what is to follow, or use a ServerConfig of your own")


_REMARKS: Mapping[Effect, Callable[[Remark], Told | None]] = {
    Effect.ZERO_LOST: _lost,
    Effect.PORT_KEPT: _lost,
    Effect.TERMS_ADDED: _widened,
    Effect.TWICE: _doubled,
    Effect.VARIABLE_TWICE: _variable_twice,
    Effect.APPENDED: _appended,
    Effect.HANDLERS: _two_handlers,
}


# ServerConfigs


def _configs_are_there(scene: Scene) -> Iterator[Diagnostic]:
    known = {*STOCK, *(name_of(config) for config in of_kind(scene.objects, "ServerConfig"))}
    for host in own_hosts(scene):
        name = text(host.server, _CONFIG)
        if host.config is None and name:
            meant = near(name, known)
            cure = f"did you mean {quote(meant)}?" if meant else "give it with --objects, so that all can be judged"
            told = f"ServerConfig {quote(name)} is neither at hand nor one of a stock install"
            yield at(scene, notice("seldon/unknown-config", told, cure), host.server, _CONFIG)


def _configs_are_whole(scene: Scene) -> Iterator[Diagnostic]:
    """A ServerConfig is a whole pod template: `kubectl apply` replaces lists, and nobody fills in what is left out."""
    for config in own(scene, "ServerConfig"):
        pod = mapping(config, POD)
        known = [text(one, ("name",)) for one in containers(pod)]
        serving = [name for name in known if name not in (AGENT, RCLONE)]
        missing = [f"`{name}`" for name in (RCLONE, AGENT) if name not in known]
        missing += [] if serving else ["the one that serves models"]
        if missing:
            told = f"the ServerConfig is a part of one: it lacks the container {' and '.join(missing)}"
            cure = "write all containers: those of a stock ServerConfig are not added"
            paths: tuple[KeyPath, ...] = ((*POD, "containers"), POD)
            yield at(scene, error("seldon/config-fragment", told, cure), config, *paths)
        for one in containers(pod):
            if not text(one, ("image",)):
                told = f"container {quote(text(one, ('name',)))} of the ServerConfig has no image"
                told_all = error("seldon/config-fragment", told, "give it an `image`")
                yield finding_at(scene, told_all, config, said(one, ("name",)) or one)


def _containers_are_known(scene: Scene) -> Iterator[Diagnostic]:
    """A container of another name is one more container, which needs an image."""
    for host in own_hosts(scene):
        known = [text(one, ("name",)) for one in containers(mapping(host.config, POD))]
        if host.config is None:
            continue
        for one in containers(mapping(host.server, POD)):
            name = said(one, ("name",))
            if name is None or name.value in known or said(one, ("image",)) is not None:
                continue
            meant = near(text(one, ("name",)), known)
            cure = f"did you mean {quote(meant)}?" if meant else "give it an `image`, if it is meant to be one more"
            told = f"the ServerConfig has no container {quote(name.value)}, so this would be one more, without an image"
            wording = error if is_at_hand(host) else warning
            yield finding_at(scene, wording("seldon/unknown-container", told, cure), host.server, name)


def _capacity_is_told(scene: Scene) -> Iterator[Diagnostic]:
    """The agent advertises the memory that the container which serves asks for."""
    for host in own_hosts(scene):
        reference = said(variable(host.pod, MEMORY_REQUEST), ("valueFrom", "resourceFieldRef"))
        name = text(reference, ("containerName",))
        if not is_at_hand(host) or reference is None or not name:
            continue
        cure = f"give container {quote(name)} a `requests.memory`"
        if named(containers(host.pod), name) is None:
            told = f"the agent is to offer the memory of container {quote(name)}, which the pod does not have"
            cure = f"change `containerName` of `{MEMORY_REQUEST}` in the ServerConfig, or the container's name"
        elif host.memory is not None and not host.memory.amount:
            told = f"container {quote(name)} asks for no memory, so the Server offers none, and no model fits"
        else:
            continue
        told_all = error("seldon/no-capacity", told, cure)
        yield at(scene, told_all, host.server, _CONFIG, notes=tuple(stands("the agent's variable", reference)))


# Capabilities


def _capabilities_reach_the_agent(scene: Scene) -> Iterator[Diagnostic]:
    for host in own_hosts(scene):
        if is_at_hand(host) and variable(host.pod, CAPABILITIES) is None:
            for key in ("capabilities", "extraCapabilities"):
                if texts(host.server, ("spec", key)):
                    told = f"`{key}` has no effect: no container has the variable `{CAPABILITIES}` to put it in"
                    cure = f"give the agent of the ServerConfig a variable `{CAPABILITIES}`"
                    yield at(scene, error("seldon/idle-capabilities", told, cure), host.server, ("spec", key))


def _capabilities_are_said_once(scene: Scene) -> Iterator[Diagnostic]:
    for server in own(scene, "Server"):
        whole, extra = (said(server, ("spec", key)) for key in ("capabilities", "extraCapabilities"))
        if whole is not None and extra is not None and whole.items and extra.items:
            told = "`extraCapabilities` is ignored beside `capabilities`"
            cure = "put all of them into `capabilities`"
            where = stands("`capabilities`", whole)
            yield finding_at(scene, warning("seldon/both-capabilities", told, cure), server, extra, *where)


def _pools_are_tight(scene: Scene) -> Iterator[Diagnostic]:
    """Only `capabilities` displaces the frameworks of the ServerConfig, which any Model may ask for."""
    for host in own_hosts(scene):
        appended = {str(item.value).strip() for item in texts(host.server, ("spec", "extraCapabilities"))}
        others = [name for name in host.capabilities if name not in appended]
        if not others or texts(host.server, ("spec", "capabilities")):
            continue
        if what := scarcity(scene, host):
            told = f"a Model that asks for {quote(others[0])} alone may be loaded on this Server as well, which {what}"
            cure = "list all capabilities in `capabilities`, which replaces those of the ServerConfig"
            paths: tuple[KeyPath, ...] = (("spec", "extraCapabilities"), _CONFIG)
            yield at(scene, warning("seldon/leaky-pool", told, cure), host.server, *paths)


# Pods


def _gpus_serve(scene: Scene) -> Iterator[Diagnostic]:
    """Neither the agent nor what fetches models computes anything."""
    for host in own_hosts(scene):
        for one in containers(mapping(host.server, POD)):
            name = text(one, ("name",))
            asked = [
                node
                for side in ("limits", "requests")
                if (amounts := mapping(one, ("resources", side)))
                for resource, node in amounts.fields.items()
                if is_gpu(resource)
            ]
            if name in (AGENT, RCLONE) and asked:
                told = f"container {quote(name)} asks for a GPU, and serves no model"
                cure = "ask for it in the container that serves models"
                yield finding_at(scene, warning("seldon/idle-gpu", told, cure), host.server, asked[0])


def _spreads_select_own_pods(scene: Scene) -> Iterator[Diagnostic]:
    for host in own_hosts(scene):
        labels = {**_POD_LABELS, _OWN_LABEL: host.name}
        for constraint in listed(host.server, (*POD, "topologySpreadConstraints")):
            selector = said(constraint, ("labelSelector",))
            told = ""
            if selector is None:
                told = "the constraint has no `labelSelector`, so it counts no pods and spreads nothing"
            else:
                asked = mapping(selector, ("matchLabels",))
                ours = {key: node for key, node in (asked.fields if asked else {}).items() if key in labels}
                wrong = next((key for key, node in ours.items() if node.value != labels[key]), None)
                told = f"the constraint selects pods by another {quote(wrong)} than those of the Server have" * bool(
                    wrong
                )
            if told:
                cure = f"select by `{_OWN_LABEL}: {host.name}`, which the operator gives to the Server's pods"
                where = selector or constraint
                yield finding_at(scene, warning("seldon/spread-of-others", told, cure), host.server, where)


def _bounds_are_both_told(scene: Scene) -> Iterator[Diagnostic]:
    """Versions of Seldon differ in what a bound that is left out means."""
    for server in own(scene, "Server"):
        least, most = (number(server, ("spec", key)) or 0 for key in ("minReplicas", "maxReplicas"))
        if (least > 0) != (most > 0):
            one, other = ("minReplicas", "maxReplicas") if least > 0 else ("maxReplicas", "minReplicas")
            told = f"`{one}` without `{other}`: whether the Server is scaled, and how far, hangs on Seldon's version"
            cure = f"add `{other}`, or leave out both"
            yield at(scene, warning("seldon/half-bounds", told, cure), server, ("spec", one))


SERVERS: tuple[Rule, ...] = (
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
