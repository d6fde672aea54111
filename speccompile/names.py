"""Takes what people call things, gives names Kubernetes accepts: stable, and distinct for distinct inputs."""

from __future__ import annotations

import re
from hashlib import sha256

LABEL = 63
CRON_JOB = 52
"""Kubernetes appends eleven characters to a CronJob's name for each Job."""
_VALID = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_UNFIT = re.compile(r"[^a-z0-9]+", re.ASCII)
_HASHED = re.compile(r".*-x[0-9a-f]{10}", re.ASCII)


def object_name(name: str, longest: int = LABEL) -> str:
    """The name itself where it is a DNS-1123 label of that length, else a cleaned and hashed one.

    A valid name that looks hashed is hashed as well, so that nobody can name a run into another's name.
    """
    if len(name) <= longest and _VALID.fullmatch(name) and not _HASHED.fullmatch(name):
        return name
    return _hashed(name, (name,), longest)


def service_name(name: str) -> str:
    """As `object_name`, and beginning with a letter, as Services must (DNS-1035)."""
    plain = object_name(name)
    return plain if plain[0].isalpha() else _hashed(f"s-{name}", ("service", name), LABEL)


def part_name(run: str, part: str) -> str:
    """`<run>-<part>`, or `<run>--<part>` for a run with a dash in its name; so no two pairs give one name.

    A single dash then always ends the run's name, and a double one always stands between the two.
    Names that would break this are hashed.
    """
    joined = f"{run}--{part}" if "-" in run else f"{run}-{part}"
    if "--" not in run and "--" not in part and object_name(run) == run and object_name(joined) == joined:
        return joined
    return _hashed(joined, (run, part), LABEL)


def _hashed(text: str, identity: tuple[str, ...], longest: int) -> str:
    # The lengths keep ("a", "bc") and ("ab", "c") apart.
    told = "".join(f"{len(part)}:{part}" for part in identity)
    digest = sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    stem = _UNFIT.sub("-", text.lower()).strip("-")[: longest - len(digest) - 2].strip("-")
    return f"{stem or 'run'}-x{digest}"
