"""Built-in checks of merged specs: the tables SPEC_CHECKS and LAYER_CHECKS."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import TypeAlias

from speccompile.compiler.choose_manifests import bases_of, kinds_of, workload_of
from speccompile.compiler.container_resources import HUGE_PAGES, amount
from speccompile.compiler.isolation_keys import isolation_keys
from speccompile.compiler.kubernetes_rules import job_labels, lone_huge_pages, refused_in_layer
from speccompile.compiler.pod_structure import POD_PATHS, main_of, pod_of
from speccompile.model.diagnostic import Diagnostic, Note, Severity, quote
from speccompile.model.documents import Platform
from speccompile.model.identity_cache import by_identity
from speccompile.model.key_path import KeyPath, format_path
from speccompile.model.node import Node
from speccompile.model.object_names import LABEL, object_name
from speccompile.model.source import USER_LAYERS
from speccompile.model.spec import Merged
from speccompile.schema.formats.image import is_below

SpecCheck: TypeAlias = Callable[[Merged], Iterator[Diagnostic]]
LayerCheck: TypeAlias = Callable[[Node, Platform], Iterator[Diagnostic]]

DEFAULT_PROFILE = "default"
"""The profile of runs that name none."""


def store_name(merged: Merged) -> str:
    """The Secret that contains the secrets of the run's project."""
    pattern = str(merged.platform.settings.fields["secrets"].fields["store"].value)
    return pattern.replace("{project}", object_name(str(merged.run.project.value)))


def reserved_prefix(platform: Platform) -> str:
    """The prefix of labels and annotations that only the compiler sets."""
    return f"{platform.settings.fields['label_prefix'].value}/"


@by_identity(8)
def platform_labels(platform: Platform) -> Mapping[str, Node]:
    """The patterns of the labels that the platform sets, by key, in order."""
    prefix = str(platform.settings.fields["label_prefix"].value)
    patterns = platform.settings.fields["own_labels"].fields
    return dict(sorted((key.replace("{label_prefix}", prefix), node) for key, node in patterns.items()))


def missing_workload(merged: Merged) -> Iterator[Diagnostic]:
    """A finding if the target has no workload for the run; no other check applies then."""
    if merged.workload is None:
        yield Diagnostic(
            code="run/foreign-action",
            message=f"target `{merged.target.name}` has no workload for this run",
            span=merged.run.action.span,
            path=("action",),
            help="check the conditions of `workloads` in the target's `target.yaml`",
        )


def _required_fields_are_set(merged: Merged) -> Iterator[Diagnostic]:
    """The fields that the workload needs are set, by the spec or by a base document."""
    for path in workload_of(merged).required:
        if merged.spec.at(path) is None:
            yield from _NEEDS.get(path, _missing_field)(merged, path)


def _missing_field(merged: Merged, path: KeyPath) -> Iterator[Diagnostic]:
    # Exported runs have the keys of this field themselves.
    name = format_path(path[1:] if path[0] == merged.target.entity_field else path)
    function = "the function, " if "function" in merged.run.facts else ""
    yield Diagnostic(
        code="target/missing-field",
        message=f"target `{merged.target.name}` needs `{name}`, and neither {function}the run nor its profile sets it",
        span=merged.run.name.span,
        path=path,
        help=f"add `{name}` to {function}the run or its profile",
    )


def _missing_image(merged: Merged, _: KeyPath) -> Iterator[Diagnostic]:
    pods = (pod_of(base, merged.target.pods) for base in bases_of(merged).values())
    if not any(main and "image" in main.fields for main in map(main_of, pods)):
        function = merged.run.facts.get("function")
        yield Diagnostic(
            code="policy/no-image",
            message=f"function {quote(function.value)} has no `image`, and neither the run nor its profile sets one"
            if function
            else "neither the run nor its profile sets an image",
            span=function.span if function else merged.run.name.span,
            path=("image",),
            help="set `image` on the function; if DigitalHub would build the image, build it in CI first"
            if function
            else "add `image: <registry>/<name>:<tag>`",
        )


def _missing_ports(merged: Merged, _: KeyPath) -> Iterator[Diagnostic]:
    in_base = any(ports.items for base in bases_of(merged).values() if (ports := base.at(("spec", "ports"))))
    if not in_base:
        yield Diagnostic(
            code="policy/no-ports",
            message=f"action `{merged.run.action.value}` needs `service_ports`, "
            "and neither the run nor its profile sets them",
            span=merged.run.action.span,
            path=("service_ports",),
            help="add `service_ports: [{port: 80, target_port: 8080}]`, or use action `deploy`",
        )


_NEEDS: Mapping[KeyPath, Callable[[Merged, KeyPath], Iterator[Diagnostic]]] = {
    ("image",): _missing_image,
    ("service_ports",): _missing_ports,
}
"""Fields that base documents can set too."""


def _target_accepts(merged: Merged) -> Iterator[Diagnostic]:
    """No refusal of the target applies."""
    workload = workload_of(merged).name if merged.target.rejects else ""
    for refusal in merged.target.rejects:
        if refusal.workloads is None or workload in refusal.workloads:
            for node, other in refusal.matches(merged):
                other_value = (Note("other value set here", other.place),) if other else ()
                rule = (Note(f"refused by target `{merged.target.name}`", refusal.span),) if refusal.span else ()
                yield Diagnostic(
                    code="target/refused",
                    message=refusal.message,
                    span=node.place,
                    notes=(*other_value, *rule),
                    help=refusal.help,
                )


def _requests_fit_limits(spec: Node, _: Platform) -> Iterator[Diagnostic]:
    resources = spec.fields.get("resources")
    if resources is not None:
        yield from requests_above_limits(resources)


def requests_above_limits(resources: Node) -> Iterator[Diagnostic]:
    """A finding for each resource with a request above its limit, at the run's value if it set one of the two."""
    if not {"requests", "limits"} <= resources.fields.keys():
        return
    limits = resources.fields["limits"].fields
    for name, request in resources.fields["requests"].fields.items():
        limit = limits.get(name)
        if limit and amount(request) > amount(limit):
            reported, other = (request, limit) if request.span.source.layer in USER_LAYERS else (limit, request)
            yield Diagnostic(
                code="policy/request-above-limit",
                message=f"`{name}`: the request {quote(request.value)} is above the limit {quote(limit.value)}",
                span=reported.span,
                path=("resources", "requests", name),
                notes=(Note(f"{'limit' if reported is request else 'request'} set here", other.span),),
                help=f"lower the request or raise the limit of `{name}`",
            )


def _volumes_differ(spec: Node, _: Platform) -> Iterator[Diagnostic]:
    volumes = volumes_in(spec)
    for key, what in (("mount_path", "are mounted at"), ("name", "have the name")):
        if len({_path(volume.fields[key]) for volume in volumes}) == len(volumes):
            continue
        ordered = sorted(volumes, key=lambda volume: _path(volume.fields[key]))
        for one, other in pairwise(ordered):
            if _path(one.fields[key]) == _path(other.fields[key]):
                reported, first = (one, other) if one.span.source.layer in USER_LAYERS else (other, one)
                yield Diagnostic(
                    code="policy/volume-clash",
                    message=f"two volumes {what} {quote(reported.fields[key].value)}",
                    span=reported.fields[key].span,
                    path=("volumes",),
                    notes=(Note("other volume defined here", first.fields[key].span),),
                    help="change one of the two",
                )


def _path(node: Node) -> str:
    """A mount path without the slash at its end, which does not matter."""
    return str(node.value).rstrip("/")


_DISK = "{disk}"
"""In `reserved_volumes`, the name of the volume that the platform mounts as `disk`."""


def _volumes_of_the_target_are_free(merged: Merged) -> Iterator[Diagnostic]:
    reserved = merged.target.reserved_volumes
    disk = merged.platform.settings.fields["disk"].fields
    for volume in volumes_in(merged.spec) if reserved else ():
        is_disk = _path(volume.fields["mount_path"]) == _path(disk["mount_path"])
        for key, what in (("mount_path", "be mounted at"), ("name", "have the name")):
            is_other_disk = key == "name" and not is_disk and volume.fields[key].value == disk["name"].value
            if _path(volume.fields[key]) in reserved or (is_other_disk and _DISK in reserved):
                yield Diagnostic(
                    code="policy/volume-clash",
                    message=f"no volume may {what} {quote(volume.fields[key].value)}: "
                    f"target `{merged.target.name}` adds one",
                    span=volume.fields[key].span,
                    path=("volumes",),
                    help="choose another one",
                )


def _envs_and_secrets_differ(spec: Node, _: Platform) -> Iterator[Diagnostic]:
    envs = spec.fields.get("envs")
    secrets = spec.fields.get("secrets")
    if envs is None or secrets is None:
        return
    names = {item.fields["name"].value: item.fields["name"] for item in envs.items}
    for secret in secrets.items:
        if env := names.get(secret.value):
            yield Diagnostic(
                code="policy/env-clash",
                message=f"{quote(secret.value)} is both a secret and an environment variable",
                span=secret.span,
                path=("secrets",),
                notes=(Note("variable set here", env.span),),
                help="remove one of the two",
            )


def _labels_are_not_reserved(spec: Node, platform: Platform) -> Iterator[Diagnostic]:
    prefix, reserved = reserved_prefix(platform), platform_labels(platform)
    for field in ("labels", "annotations"):
        node = spec.fields.get(field)
        for key, child in node.fields.items() if node else ():
            if key.startswith(prefix) or (field == "labels" and key in reserved):
                yield Diagnostic(
                    code="policy/reserved-key",
                    message=f"{quote(key)} is set by the compiler",
                    span=child.key or child.span,
                    path=(field, key),
                    help="use another key",
                )


def _labels_of_jobs_are_free(merged: Merged) -> Iterator[Diagnostic]:
    """No label of a job's pods belongs to the Job controller; labels of other pods may have any key."""
    labels = merged.spec.fields.get("labels")
    if labels is not None and merged.run.action.value == "job":
        yield from job_labels(labels.fields)


def _huge_pages_have_cpu_or_memory(merged: Merged) -> Iterator[Diagnostic]:
    resources = merged.spec.fields.get("resources")
    limits = resources.fields.get("limits") if resources else None
    if resources is None or limits is None or not any(name.startswith(HUGE_PAGES) for name in limits.fields):
        return
    # A base document can add CPU or memory; the merged object is checked then.
    if kinds_of(merged) & POD_PATHS.keys() and not bases_of(merged).keys() & POD_PATHS.keys():
        yield from lone_huge_pages(resources)


def _confinement_stays(merged: Merged) -> Iterator[Diagnostic]:
    for path, node, effect in isolation_keys(merged.spec, merged.platform):
        field, key = map(str, path)
        if node.span.source.layer in merged.user_layers:
            yield Diagnostic(
                code="policy/confinement",
                message=f"{field[:-1]} {quote(key, LABEL)} is for admins only: {effect}",
                span=node.key or node.span,
                path=path,
                help="remove it, or ask the platform's admin to add it to `allowed_keys`",
            )


def _images_come_from_allowed_registries(merged: Merged) -> Iterator[Diagnostic]:
    allowed = merged.platform.settings.fields.get("allowed_registries")
    if allowed is None:
        return
    images = [node for path in merged.target.images if (node := merged.spec.at(path))]
    images += [image for volume in volumes_in(merged.spec) if (image := volume.fields["spec"].fields.get("image"))]
    for image in images:
        if not any(is_below(str(image.value), str(item.value)) for item in allowed.items):
            yield Diagnostic(
                code="policy/registry",
                message=f"image {quote(image.value)} is not from an allowed registry",
                span=image.span,
                path=("image",),
                notes=(Note("the platform allows these", allowed.place),),
                help=f"use an image under {' or '.join(f'`{item.value}`' for item in allowed.items)}",
            )


def _profile_is_allowed(merged: Merged) -> Iterator[Diagnostic]:
    allowed = merged.platform.settings.fields.get("project_profiles")
    profile, named = merged.profile, merged.run.profile
    if allowed is None or profile is None or named is None or profile.id.value == DEFAULT_PROFILE:
        return
    listed = allowed.fields.get(str(merged.run.project.value)) or allowed.fields.get("*")
    names = [str(item.value) for item in listed.items] if listed else []
    if profile.id.value not in names:
        yield Diagnostic(
            code="policy/profile-not-allowed",
            message=f"project {quote(merged.run.project.value)} may not use profile {quote(profile.id.value)}",
            span=named.span,
            path=("profile",),
            notes=(Note("allowed profiles defined here", (listed or allowed).place),),
            help=f"use {' or '.join(f'`{name}`' for name in names)}" if names else "remove `profile`",
        )


def _command_is_no_shell_line(merged: Merged) -> Iterator[Diagnostic]:
    command = merged.spec.fields.get("command")
    for item in command.items if command else ():
        line = str(item.value)
        if item.derived and " " in line:
            from speccompile.schema.shell_words import shell_words

            words = shell_words(line)
            yield Diagnostic(
                code="policy/shell-line",
                message="a command written as a string is one executable, and this one contains a space",
                span=item.span,
                path=("command",),
                severity=Severity.WARNING,
                help=f"write a list: {json.dumps(words, ensure_ascii=False)}" if words else _COMMAND_HELP,
            )


_COMMAND_HELP = 'write a list, such as `["python", "-m", "train"]`'


def volumes_in(spec: Node) -> tuple[Node, ...]:
    """The volumes of a spec."""
    volumes = spec.fields.get("volumes")
    return volumes.items if volumes else ()


SPEC_CHECKS: tuple[SpecCheck, ...] = (
    _required_fields_are_set,
    _target_accepts,
    _volumes_of_the_target_are_free,
    _labels_of_jobs_are_free,
    _huge_pages_have_cpu_or_memory,
    _confinement_stays,
    _images_come_from_allowed_registries,
    _profile_is_allowed,
    _command_is_no_shell_line,
)
LAYER_CHECKS: tuple[LayerCheck, ...] = (
    _requests_fit_limits,
    _volumes_differ,
    _envs_and_secrets_differ,
    _labels_are_not_reserved,
    refused_in_layer,
)
"""Checks that a run or profile can fail alone; the merged spec is checked too."""
