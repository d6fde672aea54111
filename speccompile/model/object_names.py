"""Names that Kubernetes accepts: stable, and distinct for each run."""

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
"""The facts of a run that names, labels and variables can mention."""
_VALID = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_UNFIT = re.compile(r"[^a-z0-9]+", re.ASCII)
_BETWEEN = re.compile(r"\}([^{}]*)(?=\{)", re.ASCII)
_PAIR = 2
_HASHED = re.compile(r".*-x[0-9a-f]{10}", re.ASCII)


@lru_cache(maxsize=256)
def placeholders(pattern: str) -> tuple[str, ...]:
    """What the pattern mentions, in order."""
    return tuple(PLACEHOLDER.findall(pattern))


def filled(pattern: str, values: Mapping[str, str]) -> str:
    """The pattern with each placeholder replaced by its value, as it stands."""
    return "".join([values[part] if is_name else part for is_name, part in _parts(pattern)])


@lru_cache(maxsize=256)
def _parts(pattern: str) -> tuple[tuple[bool, str], ...]:
    """The pattern in pieces: text, and names of placeholders."""
    return tuple((bool(number % 2), part) for number, part in enumerate(PLACEHOLDER.split(pattern)))


@lru_cache(maxsize=256)
def _has_dashes_between(pattern: str) -> bool:
    return all(between == "-" for between in _BETWEEN.findall(pattern))


def named(pattern: str, values: Mapping[str, str], longest: int = LABEL, *, letter: bool = False) -> str:
    """The filled pattern where it is a DNS-1123 label of that length that nothing else gives, else a hashed one.

    Two values stand apart at the dash between them: it is doubled where the first has a dash itself, so that
    `a` with `b-c` and `a-b` with `c` differ. More values than that may have no dash at all, save the last.
    A name that looks hashed is hashed as well, so that nobody can name a run into another's name.
    With `letter` the name begins with one, as Services must (DNS-1035).
    """
    return _named(pattern, tuple([values[name] for name in placeholders(pattern)]), longest, letter)


# A run has one name in several places, and a project in all its runs.
@lru_cache(maxsize=1024)
def _named(pattern: str, used: tuple[str, ...], longest: int, letter: bool) -> str:
    wide = pattern.replace("}-{", "}--{", 1) if _is_parted(used) else pattern
    text = filled(wide, dict(zip(placeholders(pattern), used, strict=True)))
    fits = len(text) <= longest and _VALID.fullmatch(text) and not _HASHED.fullmatch(text)
    name = text if fits and _is_unambiguous(pattern, used) else _hashed(text, used, longest)
    return _hashed(f"s-{text}", ("service", *used), longest) if letter and not name[0].isalpha() else name


def _is_parted(used: tuple[str, ...]) -> bool:
    return len(used) == _PAIR and "-" in used[0]


def _is_unambiguous(pattern: str, used: tuple[str, ...]) -> bool:
    """Whether the values can be told from the filled pattern, so that no other values fill it to the same."""
    others = used[:-1]
    if not others:
        return True
    if not _has_dashes_between(pattern):
        return False
    if len(used) > _PAIR and any("-" in value for value in others):
        return False
    return all(object_name(value) == value for value in others) and not any("--" in value for value in used)


def port_name(number: Node, pattern: Node) -> Node:
    """The name of a Service's port where nobody gives one; a base document may."""
    text = filled(str(pattern.value), {"port": str(number.value)})
    return number.but(value=text, derived="named after the port", derived_from=(pattern,), overridden=(), weak=True)


def is_hashed(name: str) -> bool:
    """Whether a name that `named` gave has a hash in it: whatever looks so has one."""
    return _HASHED.fullmatch(name) is not None


def object_name(name: str, longest: int = LABEL) -> str:
    """The name itself where it is a DNS-1123 label of that length, else a cleaned and hashed one."""
    return named("{name}", {"name": name}, longest)


def _hashed(text: str, identity: tuple[str, ...], longest: int) -> str:
    from hashlib import sha256  # few names need it

    # The lengths keep ("a", "bc") and ("ab", "c") apart.
    told = "".join(f"{len(part)}:{part}" for part in identity)
    digest = sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    stem = _UNFIT.sub("-", text.lower()).strip("-")[: longest - len(digest) - 2].strip("-")
    return f"{stem or 'run'}-x{digest}"
