"""Read `kubectl get` output, skipping lines that placement does not use.

500 nodes and 10,000 pods take a hundred megabytes, most of it status. In a list as kubectl prints it, unused lines are
blanked before parsing, so that the others keep their line numbers. Any other text is parsed as it is, up to the size
limit of manifests. Values from JSON have no line.
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
from speccompile.yaml_text.parse_lines import parse_fast
from speccompile.yaml_text.parsed import MAX_DEPTH, Parsed

_LIST = "apiVersion: v1\nitems:\n"
_UNREAD = (
    *("managedFields", "annotations", "ownerReferences", "finalizers", "env", "envFrom", "volumes", "volumeMounts"),
    *("volumeDevices", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "securityContext", "args"),
    *("command", "conditions", "containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses", "images"),
    *("nodeInfo", "daemonEndpoints", "addresses", "hostIPs", "podIPs", "podCIDRs", "imagePullSecrets", "dnsConfig"),
    *("volumesAttached", "volumesInUse", "topologySpreadConstraints", "hostAliases", "ephemeralContainers"),
)
"""Keys whose mappings and lists do not affect placement; a label of such a name is a string, so it is not dropped."""
_OF_PODS = (*_UNREAD, "labels", "tolerations", "affinity", "nodeSelector")
"""Of running pods, only their resources are used."""
_DROPPED = {"Node": frozenset(_UNREAD), "Pod": frozenset(_OF_PODS)}
_WANTED = "name|namespace|nodeName|hostNetwork|phase"
# Of metadata, spec and status, and then of containers.
_LEAVES = re.compile(
    rf"^    (?!(?:{_WANTED}):)[A-Za-z]+: [^\n]+$"
    r"|^      (?:image|imagePullPolicy|terminationMessage(?:Path|Policy)): [^\n]+$",
    re.MULTILINE,
)
# In a status; labels are indented deeper.
_MESSAGE = re.compile(r"^    (?:message|reason):[^\n]*\n(?:     [^\n]*\n|\n)*", re.MULTILINE)


_PLAIN = r"[A-Za-z0-9./+_][A-Za-z0-9./+_,@~=-]*(?::+[A-Za-z0-9./+_,@~=-]+)*"
_VALUE = rf"""(?:{_PLAIN}|"[^"\\\n]*"|'[^'\n]*'|\{{\}}|\[\])"""
_UNUSUAL_LINE = re.compile(
    rf"^(?! *(?:(?:- )*(?:-|[A-Za-z0-9][A-Za-z0-9._/-]*:(?: {_VALUE})?)|(?:- )+{_VALUE})$)[^\n]+$", re.MULTILINE
)
"""A line that is not exactly a key, an item, or both; multi-line values need such lines."""


def read_snapshot(source: Source, kind: str, most: int) -> Parsed:
    """Read the documents of a node or pod file.

    `most` limits the characters of a text that is not in kubectl's own format.
    """
    parsed = _from_json(source, kind) if source.text[:1] == "{" else _from_list(source, kind)
    if parsed is not None:
        return parsed
    if len(source.text) <= most:
        return as_kubernetes_reads(parse(source))
    return Parsed((), (_too_large(source, most),))


def _from_json(source: Source, kind: str) -> Parsed | None:
    """The used parts of a JSON file; None if it is not JSON, or nested too deeply."""
    dropped = _DROPPED[kind]

    def read(fields: dict[str, Any]) -> dict[str, Any]:
        """Drop unused keys while parsing, to save memory."""
        return {key: value for key, value in fields.items() if key not in dropped or not isinstance(value, dict | list)}

    try:
        root = _node(json.loads(source.text, object_hook=read, parse_constant=int), Span(source))
    except (ValueError, RecursionError):
        return None
    return Parsed((Document(source, root),), ())


def _node(data: Any, span: Span, depth: int = 0) -> Node:
    """Raise ValueError for data that is nested too deeply."""
    if depth > MAX_DEPTH:
        raise ValueError(depth)
    if isinstance(data, dict):
        return Node({key: _node(child, span, depth + 1) for key, child in data.items()}, span)
    return Node(tuple([_node(child, span, depth + 1) for child in data]) if isinstance(data, list) else data, span)


def _from_list(source: Source, kind: str) -> Parsed | None:
    """The used parts of a list printed by kubectl; None for any other text."""
    text = trimmed(source.text, kind)
    return None if text is None else parse_fast(source._replace(text=text))


def trimmed(text: str, kind: str) -> str | None:
    """The list with unused lines blanked; None if that could change the meaning of the rest."""
    if not text.startswith(_LIST):
        return None
    without = _MESSAGE.sub(_emptied, _parts(kind).sub(_emptied, text))
    if kind == "Pod":
        without = _LEAVES.sub("", without)
    return None if _UNUSUAL_LINE.search(without) else without


@cache
def _parts(kind: str) -> re.Pattern[str]:
    keys = "|".join(_DROPPED[kind])
    # Children are indented deeper than their key, except for list items, which may start at the same column.
    return re.compile(
        rf"^(?P<indent> *)(?:(?:{keys}):\n(?:(?P=indent)(?: |-)[^\n]*\n|\n)*"
        rf"|(?P<dash>- )(?:{keys}):\n(?:(?P=indent)  (?: |-)[^\n]*\n|\n)*)",
        re.MULTILINE,
    )


def _emptied(part: re.Match[str]) -> str:
    """As many empty lines; the dash of a list item stays."""
    found = part.groupdict()
    return (f"{found['indent']}-" if found.get("dash") else "") + "\n" * part[0].count("\n")


def _too_large(source: Source, most: int) -> Diagnostic:
    return Diagnostic(
        code="input/too-large",
        message=f"the file is larger than {most // 1024 // 1024} MiB, and is not in the format that kubectl prints",
        span=Span(source._replace(text="")),
        help="save it with kubectl -o yaml or -o json, without editing it, or split it into several files",
    )
