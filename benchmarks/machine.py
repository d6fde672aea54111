"""Facts about the machine and the measured versions, without host names or paths."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from pathlib import Path

from benchmarks.tool import Tool, package_versions

_PACKAGES = (
    "speccompile",
    "jinja2",
    "jsonschema",
    "ruamel.yaml",
    "ruamel.yaml.clib",
    "deepmerge",
    "kubernetes-validate",
)


def machine() -> list[tuple[str, str]]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return [
        ("processor", f"{_processor()}, {os.cpu_count()} cores"),
        ("memory", f"{memory:.0f} GB"),
        ("system", f"{_system()}, {platform.system()} {platform.release()}"),
    ]


def versions(tools: Iterable[Tool]) -> list[tuple[str, str]]:
    """Versions of speccompile, its dependencies and the other tools."""
    packages = [(name, package_versions(name) or "not installed") for name in _PACKAGES]
    return packages + [(tool.name, tool.version() or "not installed") for tool in tools]


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.machine()


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()
