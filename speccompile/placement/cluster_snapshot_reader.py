"""Read `kubectl get` output, skipping lines that nothing uses.

A cluster of 500 nodes and 10,000 pods comes to a hundred megabytes, most of which says how pods do. In a list as
kubectl writes it, lines of such parts are emptied before a parser reads it, so that all others keep their numbers; what
is written in any other way goes to the parser as it is, and may be as long as manifests may. Of JSON, no value knows
its line.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from speccompile.model.diagnostic import Diagnostic
from speccompile.model.documents import Document
from speccompile.model.node import Node
from speccompile.model.source import Source, Span
from speccompile.verify.kubectl_scalars import as_kubernetes_reads
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.parse_libyaml import parse_fast
from speccompile.yaml_text.parsed import MAX_DEPTH, Parsed

_LIST = "apiVersion: v1\nitems:\n"
_UNREAD = (
    *("managedFields", "annotations", "ownerReferences", "finalizers", "env", "envFrom", "volumes", "volumeMounts"),
    *("volumeDevices", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "securityContext", "args"),
    *("command", "conditions", "containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses", "images"),
    *("nodeInfo", "daemonEndpoints", "addresses", "hostIPs", "podIPs", "podCIDRs", "imagePullSecrets", "dnsConfig"),
    *("volumesAttached", "volumesInUse", "topologySpreadConstraints", "hostAliases", "ephemeralContainers"),
)
"""Keys whose mappings and lists say nothing of where a pod can run; the value of a label is neither."""
_OF_PODS = (*_UNREAD, "labels", "tolerations", "affinity", "nodeSelector")
"""Of pods that run somewhere, only what they take is asked."""
_DROPPED = {"Node": frozenset(_UNREAD), "Pod": frozenset(_OF_PODS)}
_WANTED = "name|namespace|nodeName|hostNetwork|phase"
# Of metadata, spec and status, and then of containers.
_LEAVES = re.compile(
    rf"^    (?!(?:{_WANTED}):)[A-Za-z]+: [^\n]+$"
    r"|^      (?:image|imagePullPolicy|terminationMessage(?:Path|Policy)): [^\n]+$",
    re.MULTILINE,
)
# Of a status; labels stand deeper.
_MESSAGE = re.compile(r"^    (?:message|reason):[^\n]*\n(?:     [^\n]*\n|\n)*", re.MULTILINE)


_PLAIN = r"[A-Za-z0-9./+_][A-Za-z0-9./+_,@~=-]*(?::+[A-Za-z0-9./+_,@~=-]+)*"
_VALUE = rf"""(?:{_PLAIN}|"[^"\\\n]*"|'[^'\n]*'|\{{\}}|\[\])"""
_ODD = re.compile(
    rf"^(?! *(?:(?:- )*(?:-|[A-Za-z0-9][A-Za-z0-9._/-]*:(?: {_VALUE})?)|(?:- )+{_VALUE})$)[^\n]+$", re.MULTILINE
)
"""A line that is not all of a key, an item, or both; only with such lines can a value reach over several."""


def read_snapshot(source: Source, kind: str, most: int) -> Parsed:
    """The documents of the source, of nodes or of pods, or what is wrong with it.

    `most` is how many characters a text may have that has to be read as it is.
    """
    quick = _from_json(source, kind) if source.text[:1] == "{" else _from_list(source, kind)
    if quick is not None:
        return quick
    if len(source.text) <= most:
        return as_kubernetes_reads(parse(source))
    return Parsed((), (_too_large(source, most),))


def _from_json(source: Source, kind: str) -> Parsed | None:
    """As much as is looked at; None for what is no JSON, or nested too deep."""
    dropped = _DROPPED[kind]

    def read(fields: dict[str, Any]) -> dict[str, Any]:
        """The mapping without what is not looked at, which goes while the rest is still being read."""
        return {key: value for key, value in fields.items() if key not in dropped or not isinstance(value, dict | list)}

    try:
        root = _node(json.loads(source.text, object_hook=read, parse_constant=int), Span(source))
    except (ValueError, RecursionError):
        return None
    return Parsed((Document(source, root),), ())


def _node(data: Any, span: Span, depth: int = 0) -> Node:
    """Raises ValueError for what is nested too deep."""
    if depth > MAX_DEPTH:
        raise ValueError(depth)
    if isinstance(data, dict):
        return Node({key: _node(child, span, depth + 1) for key, child in data.items()}, span)
    return Node(tuple([_node(child, span, depth + 1) for child in data]) if isinstance(data, list) else data, span)


def _from_list(source: Source, kind: str) -> Parsed | None:
    """As much as is looked at of a list by kubectl; None for anything else, or if any line of it is odd."""
    text = trimmed(source.text, kind)
    return None if text is None else parse_fast(source._replace(text=text))


def trimmed(text: str, kind: str) -> str | None:
    """The list with empty lines for whatever is not looked at; None if it might not be the same without them."""
    if not text.startswith(_LIST):
        return None
    without = _MESSAGE.sub(_emptied, _parts(kind).sub(_emptied, text))
    if kind == "Pod":
        without = _LEAVES.sub("", without)
    return None if _ODD.search(without) else without


@cache
def _parts(kind: str) -> re.Pattern[str]:
    keys = "|".join(_DROPPED[kind])
    # Children stand deeper than their key, but for the dashes of a list, which may stand right below it.
    return re.compile(
        rf"^(?P<indent> *)(?:(?:{keys}):\n(?:(?P=indent)(?: |-)[^\n]*\n|\n)*"
        rf"|(?P<dash>- )(?:{keys}):\n(?:(?P=indent)  (?: |-)[^\n]*\n|\n)*)",
        re.MULTILINE,
    )


def _emptied(part: re.Match[str]) -> str:
    """As many empty lines; the dash of a list's item stays."""
    found = part.groupdict()
    return (f"{found['indent']}-" if found.get("dash") else "") + "\n" * part[0].count("\n")


def _too_large(source: Source, most: int) -> Diagnostic:
    return Diagnostic(
        code="input/too-large",
        message=f"the file is larger than {most // 1024 // 1024} MiB, and not written as kubectl writes it",
        span=Span(source._replace(text="")),
        help="save it as kubectl prints it, with -o yaml or -o json, or split it into several files",
    )
