"""A second interpreter to measure with: that of the distribution, which is often built with more optimisation."""

from __future__ import annotations

import platform
import subprocess
import sys
import sysconfig
from pathlib import Path

DISTRIBUTION = Path("/usr/bin/python3")
_SCRIPT = "speccompile"
_QUERY = (
    "import sys, sysconfig; "
    "print(sys.version_info >= (3, 11) and sysconfig.get_config_var('SOABI'), sys.base_prefix, sep='\\n')"
)


class UnavailableError(Exception):
    """An interpreter that cannot run the benchmark; the message has the reason."""


def describe() -> str:
    """Version and build of the running interpreter."""
    return f"Python {platform.python_version()}, {_build()}"


def is_running(python: Path) -> bool:
    """Whether the benchmark runs with the same installation of Python already."""
    return _query(python)[1] == sys.base_prefix


def create_environment(python: Path, folder: Path) -> Path:
    """Create a virtual environment of another interpreter with the packages of this one; return its Python.

    Packages are shared, not installed again, so the interpreter must have the same binary interface.
    """
    interface, _ = _query(python)
    required = sysconfig.get_config_var("SOABI")
    if interface != required:
        raise UnavailableError(f"{python} cannot import the installed packages, which are for {required}")
    created = subprocess.run(
        [str(python), "-m", "venv", "--without-pip", str(folder)], capture_output=True, text=True, check=False
    )
    if created.returncode:
        raise UnavailableError(f"{python} cannot create a virtual environment: {created.stderr.strip()[-300:]}")
    packages = folder / "lib" / "python{}.{}".format(*sys.version_info[:2]) / "site-packages"
    packages.rmdir()
    packages.symlink_to(sysconfig.get_path("purelib"))
    interpreter = folder / "bin" / "python"
    script = Path(sys.executable).parent / _SCRIPT
    if script.is_file():
        _, _, program = script.read_text(encoding="utf-8").partition("\n")
        copy = folder / "bin" / _SCRIPT
        copy.write_text(f"#!{interpreter}\n{program}", encoding="utf-8")
        copy.chmod(0o700)
    return interpreter


def _query(python: Path) -> tuple[str, str]:
    """Return the binary interface and the installation prefix of an interpreter."""
    try:
        result = subprocess.run([str(python), "-I", "-c", _QUERY], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise UnavailableError(f"{python} is not present or does not start") from error
    interface, prefix = result.stdout.splitlines()
    return interface, prefix


def _build() -> str:
    if "--enable-optimizations" in str(sysconfig.get_config_var("CONFIG_ARGS")):
        return "an optimised build"
    if sys.base_prefix == "/usr" and _is_debian():
        # Debian optimises with profiles too, but by make's targets instead of an option of configure.
        return "Debian's optimised build"
    return "not built with --enable-optimizations"


def _is_debian() -> bool:
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return False
    return "debian" in (release.get("ID"), *release.get("ID_LIKE", "").split())
