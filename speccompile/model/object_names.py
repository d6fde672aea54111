"""Valid Kubernetes names, stable and unique for each run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from speccompile.model.node import Node

LABEL = 63
PLACEHOLDER = re.compile(r"\{([a-z_]+)\}", re.ASCII)
PLACEHOLDERS = (
    "name",
    "id",
    "project",
    "application",
    "namespace",
    "runtime",
    "action",
    "task",
    "function",
    "user",
    "profile",
    "named_profile",
)
"""The facts of a run that patterns of names, labels and variables can use."""
_VALID = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_INVALID = r"[^a-z0-9]+"
_BETWEEN = r"\}([^{}]*)(?=\{)"
_PAIR = 2
_HASHED = re.compile(r".*-x[0-9a-f]{10}", re.ASCII)


@lru_cache(maxsize=256)
def placeholders(pattern: str) -> tuple[str, ...]:
    """The placeholders of the pattern, in order."""
    return tuple(PLACEHOLDER.findall(pattern))


def fill_pattern(pattern: str, values: Mapping[str, str]) -> str:
    """Replace each placeholder of the pattern by its value."""
    return "".join([values[part] if is_name else part for is_name, part in _parts(pattern)])


@lru_cache(maxsize=256)
def _parts(pattern: str) -> tuple[tuple[bool, str], ...]:
    """Split the pattern into text and names of placeholders."""
    return tuple((bool(number % 2), part) for number, part in enumerate(PLACEHOLDER.split(pattern)))


@lru_cache(maxsize=256)
def _has_dashes_between(pattern: str) -> bool:
    return all(between == "-" for between in re.findall(_BETWEEN, pattern))


def build_name(pattern: str, values: Mapping[str, str], longest: int = LABEL, *, letter: bool = False) -> str:
    """The filled pattern if it is a valid DNS-1123 label that no other values produce, else a hashed name.

    The dash between two values is doubled if the first contains a dash, so that `a` with `b-c` and `a-b` with `c`
    differ. With more than two values, only the last may contain dashes.
    A name that looks hashed is hashed too, so that no run can take the name of another.
    With `letter`, the name starts with a letter, as required for Services (DNS-1035).
    """
    return _named(pattern, tuple([values[name] for name in placeholders(pattern)]), longest, letter)


# Cached, because names repeat within a run and between runs of a project.
@lru_cache(maxsize=1024)
def _named(pattern: str, used: tuple[str, ...], longest: int, letter: bool) -> str:
    separated = pattern.replace("}-{", "}--{", 1) if len(used) == _PAIR and "-" in used[0] else pattern
    text = fill_pattern(separated, dict(zip(placeholders(pattern), used, strict=True)))
    fits = len(text) <= longest and _VALID.fullmatch(text) and not _HASHED.fullmatch(text)
    name = text if fits and _is_unambiguous(pattern, used) else _hashed(text, used, longest)
    return _hashed(f"s-{text}", ("service", *used), longest) if letter and not name[0].isalpha() else name


def _is_unambiguous(pattern: str, used: tuple[str, ...]) -> bool:
    """Whether no other values produce the same text."""
    others = used[:-1]
    if not others:
        return True
    if not _has_dashes_between(pattern):
        return False
    if len(used) > _PAIR and any("-" in value for value in others):
        return False
    return all(object_name(value) == value for value in others) and not any("--" in value for value in used)


def port_name(number: Node, pattern: Node) -> Node:
    """The default name of a Service's port, which a base document may override."""
    text = fill_pattern(str(pattern.value), {"port": str(number.value)})
    return number.but(value=text, derived="named after the port", derived_from=(pattern,), overridden=(), weak=True)


def is_hashed(name: str) -> bool:
    """Whether a result of `build_name` is hashed."""
    return _HASHED.fullmatch(name) is not None


def object_name(name: str, longest: int = LABEL) -> str:
    """The name itself if it is a valid DNS-1123 label, else a cleaned and hashed one."""
    return build_name("{name}", {"name": name}, longest)


def _hashed(text: str, identity: tuple[str, ...], longest: int) -> str:
    from hashlib import sha256  # few names need it

    # The lengths distinguish ("a", "bc") from ("ab", "c").
    key = "".join(f"{len(part)}:{part}" for part in identity)
    digest = sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    stem = re.sub(_INVALID, "-", text.lower()).strip("-")[: longest - len(digest) - 2].strip("-")
    return f"{stem or 'run'}-x{digest}"
