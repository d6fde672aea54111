"""Takes a merged spec, gives what it may not be: the RULES table."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TypeAlias

from speccompile.diagnostics import Diagnostic, Note, Severity, shown
from speccompile.model import Layer, Merged, Node
from speccompile.names import object_name
from speccompile.quantity import parse_quantity

Rule: TypeAlias = Callable[[Merged], Iterator[Diagnostic]]
LayerRule: TypeAlias = Callable[[Node], Iterator[Diagnostic]]

OWN_LABELS = ("app.kubernetes.io/name", "app.kubernetes.io/part-of", "app.kubernetes.io/managed-by")
OWN_PREFIX = "speccompile.dev/"
MAX_ANNOTATIONS = 256 * 1024
"""Bytes that all annotations of an object may take together."""
CONFINING = (
    "container.apparmor.security.beta.kubernetes.io/",
    "seccomp.security.alpha.kubernetes.io/",
    "container.seccomp.security.alpha.kubernetes.io/",
)
"""Annotations by which older clusters took AppArmor and seccomp profiles."""


def store_name(merged: Merged) -> str:
    """The Secret in which the run's project keeps its secrets."""
    pattern = str(merged.platform.settings.fields["secrets"].fields["store"].value)
    return pattern.replace("{project}", object_name(str(merged.run.project.value)))


def _image_is_given(merged: Merged) -> Iterator[Diagnostic]:
    if "image" not in merged.spec.fields:
        yield Diagnostic(
            code="policy/no-image",
            message="neither the run nor its profile names an image",
            span=merged.run.name.span,
            path=("image",),
            help="add `image: <registry>/<name>:<tag>`",
        )


def _ports_are_given(merged: Merged) -> Iterator[Diagnostic]:
    if merged.run.action.value == "serve" and "service_ports" not in merged.spec.fields:
        yield Diagnostic(
            code="policy/no-ports",
            message="action `serve` needs `service_ports`, and neither the run nor its profile has them",
            span=merged.run.action.span,
            path=("service_ports",),
            help="add `service_ports: [{port: 80, target_port: 8080}]`, or use action `deploy`",
        )


def _requests_fit_limits(spec: Node) -> Iterator[Diagnostic]:
    resources = spec.fields.get("resources")
    if resources is None or not {"requests", "limits"} <= resources.fields.keys():
        return
    limits = resources.fields["limits"].fields
    for name, request in resources.fields["requests"].fields.items():
        limit = limits.get(name)
        if limit and parse_quantity(str(request.value)) > parse_quantity(str(limit.value)):
            ours, theirs = (request, limit) if request.span.source.layer is Layer.RUN else (limit, request)
            yield Diagnostic(
                code="policy/request-above-limit",
                message=f"`{name}`: the request {shown(request.value)} is above the limit {shown(limit.value)}",
                span=ours.span,
                path=("resources", "requests", name),
                notes=(Note(f"the {'limit' if ours is request else 'request'} stands here", theirs.span),),
                help=f"lower the request or raise the limit of `{name}`",
            )


def _claims_have_one_pod(merged: Merged) -> Iterator[Diagnostic]:
    many = next(
        (
            merged.spec.fields[name]
            for name in ("replicas", "parallelism")
            if name in merged.spec.fields and int(str(merged.spec.fields[name].value)) > 1
        ),
        None,
    )
    if many is None:
        return
    for volume in _volumes(merged.spec):
        mode = volume.fields["spec"].fields.get("access_mode")
        claimed = volume.fields["volume_type"].value == "persistent_volume_claim"
        if claimed and mode and mode.value in ("ReadWriteOnce", "ReadWriteOncePod"):
            name = shown(volume.fields["name"].value)
            yield Diagnostic(
                code="policy/shared-claim",
                message=f"volume {name} is {mode.value}, and {many.value} pods would share it",
                span=volume.fields["name"].span,
                path=("volumes",),
                notes=(Note("the number of pods stands here", many.span),),
                help="use `access_mode: ReadWriteMany`, a volume of type `ephemeral` (one for each pod), or one pod",
            )


def _volumes_differ(spec: Node) -> Iterator[Diagnostic]:
    for key, what in (("mount_path", "are mounted at"), ("name", "have the name")):
        ordered = sorted(_volumes(spec), key=lambda volume: _path(volume.fields[key]))
        for one, other in pairwise(ordered):
            if _path(one.fields[key]) == _path(other.fields[key]):
                ours, theirs = (one, other) if one.span.source.layer is Layer.RUN else (other, one)
                yield Diagnostic(
                    code="policy/volume-clash",
                    message=f"two volumes {what} {shown(ours.fields[key].value)}",
                    span=ours.fields[key].span,
                    path=("volumes",),
                    notes=(Note("the other one stands here", theirs.fields[key].span),),
                    help="change one of the two",
                )


def _path(node: Node) -> str:
    """A mount path, which is the same with and without a slash at its end."""
    return str(node.value).rstrip("/")


def _envs_and_secrets_differ(spec: Node) -> Iterator[Diagnostic]:
    envs = spec.fields.get("envs")
    secrets = spec.fields.get("secrets")
    if envs is None or secrets is None:
        return
    names = {item.fields["name"].value: item.fields["name"] for item in envs.items}
    for secret in secrets.items:
        if env := names.get(secret.value):
            yield Diagnostic(
                code="policy/env-clash",
                message=f"{shown(secret.value)} is both a secret and an environment variable",
                span=secret.span,
                path=("secrets",),
                notes=(Note("the variable stands here", env.span),),
                help="keep one of the two",
            )


def _labels_are_not_ours(spec: Node) -> Iterator[Diagnostic]:
    for field in ("labels", "annotations"):
        node = spec.fields.get(field)
        for key, child in node.fields.items() if node else ():
            if key.startswith(OWN_PREFIX) or (field == "labels" and key in OWN_LABELS):
                yield Diagnostic(
                    code="policy/reserved-key",
                    message=f"{shown(key)} is set by the compiler itself",
                    span=child.key or child.span,
                    path=(field, key),
                    help="use a key of your own",
                )


def _annotations_fit(merged: Merged) -> Iterator[Diagnostic]:
    """Kubernetes refuses an object whose annotations are larger, and says so late."""
    fields = merged.spec.fields
    told = [fields[name] for name in ("annotations", "inputs", "parameters") if name in fields]
    size = sum(len(json.dumps(node.plain(), ensure_ascii=False).encode()) for node in told)
    if size > MAX_ANNOTATIONS:
        yield Diagnostic(
            code="policy/annotations-too-large",
            message=f"annotations, inputs and parameters take {size} bytes, and Kubernetes holds {MAX_ANNOTATIONS}",
            span=max(told, key=lambda node: len(str(node.plain()))).place,
            path=("annotations",),
            help="pass large inputs by reference, or in a `config_map` volume",
        )


def _confinement_stays(merged: Merged) -> Iterator[Diagnostic]:
    if not merged.platform.settings.fields["security"].fields["disable_root"].value:
        return
    annotations = merged.spec.fields.get("annotations")
    for key, child in annotations.fields.items() if annotations else ():
        if key.startswith(CONFINING) and child.span.source.layer is Layer.RUN:
            yield Diagnostic(
                code="policy/confinement",
                message=f"annotation {shown(key)} changes how the container is confined",
                span=child.key or child.span,
                path=("annotations", key),
                help="leave it to the platform's admin",
            )


def _secrets_are_ours(merged: Merged) -> Iterator[Diagnostic]:
    if merged.platform.settings.fields["secrets"].fields["allow_foreign"].value:
        return
    for volume in _volumes(merged.spec):
        if volume.fields["volume_type"].value != "secret" or volume.span.source.layer is not Layer.RUN:
            continue
        named = volume.fields["spec"].fields.get("name", volume.fields["name"])
        if named.value != store_name(merged):
            yield Diagnostic(
                code="policy/foreign-secret",
                message=f"Secret {shown(named.value)} is not the project's own store",
                span=named.span,
                path=("volumes",),
                help=f"mount `{store_name(merged)}`, or ask the platform's admin to allow foreign secrets",
            )


def _command_is_no_shell_line(merged: Merged) -> Iterator[Diagnostic]:
    command = merged.spec.fields.get("command")
    for item in command.items if command else ():
        if item.derived and " " in str(item.value):
            yield Diagnostic(
                code="policy/shell-line",
                message="a command given as a string is one executable, and this one has a space in it",
                span=item.span,
                path=("command",),
                severity=Severity.WARNING,
                help=f"write a list: {json.dumps(_words(str(item.value)), ensure_ascii=False)}",
            )


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def _volumes(spec: Node) -> tuple[Node, ...]:
    volumes = spec.fields.get("volumes")
    return volumes.items if volumes else ()


RULES: tuple[Rule, ...] = (
    _image_is_given,
    _ports_are_given,
    _claims_have_one_pod,
    _annotations_fit,
    _confinement_stays,
    _secrets_are_ours,
    _command_is_no_shell_line,
)
RULES_OF_A_LAYER: tuple[LayerRule, ...] = (
    _requests_fit_limits,
    _volumes_differ,
    _envs_and_secrets_differ,
    _labels_are_not_ours,
)
"""Rules that a run or a profile can break alone; they hold for the merged spec as well."""
