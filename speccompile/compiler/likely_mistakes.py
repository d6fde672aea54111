"""Warnings about values that are valid and likely a mistake: 32 bytes of memory, a token in a variable.

They look at one layer at a time, so that a run's values are reported with the run and an admin's once, in their file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from speccompile.compiler.container_resources import DISK, SCRATCH_DISK
from speccompile.model.credentials import credential_kind, credentials_in
from speccompile.model.diagnostic import Diagnostic, Note, Severity, quote
from speccompile.model.documents import Platform
from speccompile.model.key_path import KeyPath
from speccompile.model.node import Node
from speccompile.model.quantity import NANOS, parse_quantity
from speccompile.model.source import USER_LAYERS
from speccompile.schema.field_path import SIDES
from speccompile.schema.library import Library
from speccompile.schema.volume_types import CLAIM

_LEAST_BYTES = 1024**2
_MOST_CORES = 1000
_MANY_BYTES = 1024
"""A plain number from here on was meant in `Mi`; one below may have been meant in `Gi`."""
_BYTES = {"memory": "of memory", DISK: "of disk", SCRATCH_DISK: "of disk"}


def likely_mistakes(fields: Node, platform: Platform, library: Library) -> Iterator[Diagnostic]:
    """The warnings about the normalized fields of one layer."""
    for name, check in _CHECKS.items():
        if name in fields.fields:
            yield from check(fields.fields[name], platform)
    for name, node in fields.fields.items():
        if "x-targets" in library.fields.get(name, {}):
            yield from _credentials(name, node)


def _amounts(resources: Node, _: Platform) -> Iterator[Diagnostic]:
    requests = resources.fields["requests"].fields if "requests" in resources.fields else {}
    for side in SIDES:
        for name, node in resources.fields[side].fields.items() if side in resources.fields else ():
            # `disk` is one value on both sides.
            if (name in _BYTES or name == "cpu") and (side == "requests" or requests.get(name) is not node):
                fault = _unlikely(name, str(node.value))
                if fault:
                    yield _unlikely_amount(node, ("resources", side, name), *fault)


def _unlikely_amount(node: Node, path: KeyPath, message: str, advice: str) -> Diagnostic:
    return Diagnostic(
        code="policy/unlikely-amount",
        message=message,
        span=node.span,
        path=path,
        severity=Severity.WARNING,
        help=advice,
    )


def is_unlikely_amount(resource: str, text: str) -> bool:
    """Whether an amount of CPU, memory, disk or storage is reported."""
    return _unlikely(resource, text) is not None


@lru_cache(maxsize=1024)
def _unlikely(resource: str, text: str) -> tuple[str, str] | None:
    """Message and help for an amount that is likely a mistake; zero is not."""
    quantity = parse_quantity(text)
    number = text.removesuffix(quantity.unit)
    if resource == "cpu":
        if quantity.nano <= _MOST_CORES * NANOS:
            return None
        cores = quantity.nano // NANOS
        message = f"{quote(text)} is {cores:,} CPU cores"
        if parse_quantity(number).nano < quantity.nano:
            return message, f"write `{number}`, without `{quantity.unit}`"
        if not quantity.unit and cores <= 1000 * _MOST_CORES:
            return message, f"write `{cores}m`, which is {cores / 1000:g} cores"
        return message, "write `4` for four cores, or `500m` for half a core"
    if not 0 < quantity.nano < _LEAST_BYTES * NANOS:
        return None
    size = quantity.nano / NANOS
    written = f"{size:,.0f}" if size.is_integer() else f"{size:.3g}"
    unit = "byte" if written == "1" else "bytes"
    message = f"{quote(text)} is only {written} {unit} {_BYTES.get(resource, 'of storage')}"
    if not number.replace(".", "", 1).isdigit():
        return message, "write a unit, such as `Mi` or `Gi`"
    if quantity.unit or float(number) >= _MANY_BYTES:
        return message, f"write `{number}Mi`{'; `m` means thousandths' if quantity.unit == 'm' else ''}"
    return message, f"write `{number}Gi` or `{number}Mi`"


def _volumes(volumes: Node, platform: Platform) -> Iterator[Diagnostic]:
    for volume in volumes.items:
        spec = volume.fields["spec"].fields
        for key in ("size", "size_limit"):
            fault = _unlikely(key, str(spec[key].value)) if key in spec else None
            if fault:
                yield _unlikely_amount(spec[key], ("volumes", str(volume.fields["name"].value), "spec", key), *fault)
        kind, settings = volume.fields["volume_type"], platform.settings.fields["pvc"].fields
        # The next pod's ephemeral volume can have another size.
        is_kept = kind.value == CLAIM == settings["as"].value
        if is_kept and "size" not in spec and kind.span.source.layer in USER_LAYERS:
            yield _default_size(volume, settings["size"])


def _default_size(volume: Node, size: Node) -> Diagnostic:
    name = volume.fields["name"]
    set_here = (Note("default set here", size.span),) if size.span.line else ()
    return Diagnostic(
        code="policy/default-size",
        message=f"volume {quote(name.value)} sets no size and gets the default, {quote(size.value)}",
        span=name.span,
        path=("volumes", str(name.value)),
        severity=Severity.WARNING,
        notes=set_here,
        help=f"add `spec: {{size: {size.value}}}`, with the size you need",
    )


def _secrets(secrets: Node, _: Platform) -> Iterator[Diagnostic]:
    for secret in secrets.items:
        if not str(secret.value).isidentifier():
            yield Diagnostic(
                code="policy/secret-name",
                message="this secret becomes a variable that shells cannot read: its name has a `-` or a `.`",
                span=secret.span,
                path=("secrets",),
                severity=Severity.WARNING,
                help="store it under a name of letters, digits and `_`, such as `HF_TOKEN`",
            )


def _envs(envs: Node, _: Platform) -> Iterator[Diagnostic]:
    for item in envs.items:
        value = item.fields["value"]
        kind = credential_kind(str(value.value))
        if kind:
            yield Diagnostic(
                code="policy/credential",
                # The name of the variable may be on the hidden line.
                message=f"the value of this variable looks like {kind}",
                span=value.span,
                path=("envs", str(item.fields["name"].value)),
                severity=Severity.WARNING,
                help="store it in the project's secret store and list its name under `secrets`",
            )


def _credentials(name: str, field: Node) -> Iterator[Diagnostic]:
    """Tokens and passwords in the values of a target's field, such as the URL of a source."""
    for path, node in field.walk():
        if isinstance(node.value, str) and any(map(_is_secret, credentials_in(node.value))):
            yield Diagnostic(
                code="policy/credential",
                message="this value contains a token, a private key or a password",
                span=node.span,
                path=(name, *path),
                severity=Severity.WARNING,
                help="remove it, and list a secret of the project under `secrets`, which becomes a variable",
            )


def _is_secret(text: str) -> bool:
    """Whether a part of a URL or text is secret by itself; `git@` and a reference to a variable are not."""
    return "$" not in text and (":" in text or "PRIVATE KEY" in text or credential_kind(text) is not None)


_CHECKS: Mapping[str, Callable[[Node, Platform], Iterator[Diagnostic]]] = {
    "envs": _envs,
    "resources": _amounts,
    "secrets": _secrets,
    "volumes": _volumes,
}
