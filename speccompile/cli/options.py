"""Options that commands share, and the table of commands."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from speccompile.model.light_namedtuple import NamedTuple
from speccompile.report.formats import FORMATS

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001
"""What commands are added to; argparse has no public name for it."""


class About(NamedTuple):
    """A command: the module `cli_…` whose function `add_…` sets it up, and what it does, in one line."""

    module: str
    what: str


COMMANDS: Mapping[str, About] = {
    "init": About("init", "write a small project that works"),
    "render": About("render", "print the manifests of runs, or write a file for each run"),
    "validate": About("validate", "print what is wrong with runs, profiles and platform, and nothing else"),
    "check": About("check", "find files of manifests that are not what the specs give"),
    "explain": About(
        "explain", "show who set each value of the manifests, where, and what lost; or what a diagnostic code means"
    ),
    "verify": About(
        "verify", "hold manifests, or those of runs, against the API schemas of Kubernetes versions, offline"
    ),
    "lint": About("lint", "find what is odd about where the pods of runs or manifests would run"),
    "place": About("place", "tell which nodes of a cluster runs or manifests fit, and why not the others"),
    "profiles": About("profiles", "list, show and check profiles, and tell what a change of them does"),
    "schema": About("schema", "print the JSON Schema of a kind of file, for editors"),
    "completion": About("completion", "print the script by which a shell completes commands, options, codes and files"),
    "krm": About(
        "krm",
        "a function for Kustomize and kpt: replace the runs of the ResourceList on standard input by their manifests",
    ),
    "helm": About(
        "helm",
        "post-render for Helm: replace the runs on standard input by their manifests, and keep all else as it is",
    ),
    "argocd": About("argocd", "a config management plugin for Argo CD: see contrib/argocd"),
}
"""All commands, in the order of `--help`, which has no need of their modules."""

_MOST_JOBS = 256
_SEVERITIES = ("error", "warning", "notice", "ignore")
_RUNS = "a file, a directory, or - for standard input; without it, the runs of the project"


class Help(argparse.RawDescriptionHelpFormatter):
    """argparse makes one for each option that is added, and would import half a dozen modules to measure the screen."""

    def __init__(self, prog: str, **told: Any) -> None:
        super().__init__(prog, **{"width": _columns() - 2, **told})


def _columns() -> int:
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and int(told):
        return int(told)
    try:
        return os.get_terminal_size().columns or _COLUMNS
    except OSError:
        return _COLUMNS


_COLUMNS = 80


class Command(argparse.ArgumentParser):
    """A command whose paths may stand before, between and after its options; after `--`, all are paths."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        paths = next((action for action in self._get_positional_actions() if action.nargs == "*"), None)
        if paths is None or vars(self).get("is_asked"):
            return super().parse_known_args(args, namespace)
        words = list(args or ())
        end = words.index("--") if "--" in words else len(words)
        # Up to Python 3.11, the other method asks this one again.
        self.is_asked = True
        try:
            told, unknown = self.parse_known_intermixed_args(words[:end], namespace)
            # Which would take what follows `--` for options again.
            rest = [self._get_value(paths, word) for word in words[end + 1 :]]
        finally:
            self.is_asked = False
        setattr(told, paths.dest, [*getattr(told, paths.dest), *rest])
        return told, unknown


def add_command(commands: Commands, name: str, what: str, examples: str) -> argparse.ArgumentParser:
    """The parser of a new command, which can refuse a call with a reason."""
    parser = commands.add_parser(
        name,
        help=what,
        description=what[0].upper() + what[1:] + ".",
        epilog=examples,
        formatter_class=Help,
    )
    parser.set_defaults(refuse=parser.error)
    return parser


def add_paths(parser: argparse.ArgumentParser, what: str = _RUNS) -> None:
    # Beside the list of options, naming each in the usage would fill half a screen.
    parser.usage = "%(prog)s [OPTION ...] [PATH ...]"
    parser.add_argument("paths", nargs="*", metavar="PATH", type=path, help=what)


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """The options that say what the admin says."""
    parser.add_argument(
        "--profiles",
        action="append",
        default=[],
        metavar="PATH",
        type=path,
        help="a profile file or a directory of them (repeatable)",
    )
    parser.add_argument(
        "--platform",
        metavar="FILE",
        type=path,
        help="the platform file, or the name of a bundled preset; without it, the built-in platform",
    )
    parser.add_argument(
        "--templates",
        metavar="DIR",
        type=path,
        help="own templates, such as DIR/kubernetes/_env.j2",
    )
    parser.add_argument(
        "--project",
        metavar="FILE",
        type=path,
        help="the project file; else speccompile.yaml above the runs",
    )


def add_findings(parser: argparse.ArgumentParser, strict: str) -> None:
    """The options that say what findings count as."""
    parser.add_argument("--strict", action="store_true", help=strict)
    for severity in _SEVERITIES:
        parser.add_argument(
            f"--{severity}",
            dest="severities",
            action="append",
            default=[],
            metavar="CODE",
            type=_severity_option(severity),
            help=f"count findings of this code as {severity}s"
            if severity != "ignore"
            else "leave out findings of this code",
        )
    parser.add_argument("--quiet", action="store_true", help="print errors only")


def add_shape(parser: argparse.ArgumentParser, output: str) -> None:
    """The options that say where manifests are and how they are written there."""
    parser.add_argument("-o", "--output", metavar="DIR", type=path, help=output)
    shapes = parser.add_mutually_exclusive_group()
    shapes.add_argument("--json", dest="shape", action="store_const", const="json", help="JSON instead of YAML")
    shapes.add_argument(
        "--helm", dest="shape", action="store_const", const="helm", help="templates of a Helm chart that give the YAML"
    )
    shapes.add_argument("--kustomization", action="store_true", help="with a kustomization.yaml that lists the files")
    parser.set_defaults(shape="yaml")


def add_effort(parser: argparse.ArgumentParser) -> None:
    """Add the options that control processes and caches."""
    parser.add_argument("--no-cache", action="store_true", help="compile every run, also those that have not changed")
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--jobs", metavar="N", type=_jobs, help="number of processes (default: chosen automatically)")
    ways.add_argument(
        "--dask", metavar="ADDRESS", type=_address, help="compile on a Dask cluster, such as tcp://host:8786"
    )
    ways.add_argument(
        "--plain",
        action="store_true",
        help="take the full path through Jinja and jsonschema, without caches; same bytes",
    )


def add_changed(parser: argparse.ArgumentParser) -> None:
    """The option that hooks are called with."""
    parser.add_argument(
        "--changed",
        action="store_true",
        help="each PATH is a changed file: look at runs it concerns",
    )


def add_format(
    parser: argparse.ArgumentParser, formats: Iterable[str] = FORMATS, what: str = "how to print findings"
) -> None:
    names = tuple(formats)
    parser.add_argument("--format", choices=names, default=names[0], help=f"{what} (default: {names[0]})")


def path(text: str) -> str:
    """The text, if it can be a path; argparse words what is raised."""
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError("the path is empty" if not text else "a path holds no null character")
    return text


def known_code(code: str) -> str:
    """The code, if it is one; argparse words what is raised."""
    from speccompile.cli.code_names import known

    return known(code)


def _jobs(text: str) -> int:
    """The number, if so many processes can be; argparse words what is raised."""
    if not text.isascii() or not text.isdigit() or len(text) > len(str(_MOST_JOBS)) or int(text) > _MOST_JOBS:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 (as many as are worth it) to {_MOST_JOBS}")
    return int(text)


def _address(text: str) -> str:
    """The text, if it can be the address of a scheduler; argparse words what is raised."""
    place = text.rpartition("://")[2]
    host, _, port = place.rpartition(":")
    is_known = "://" not in text or text.startswith(("tcp://", "tls://", "ucx://", "ws://", "wss://", "inproc://"))
    if not is_known or (not text.startswith("inproc://") and not (host and port.isdecimal())):
        raise argparse.ArgumentTypeError(f"{text!r} is no address of a scheduler; write it like tcp://host:8786")
    return text


def _severity_option(severity: str) -> Callable[[str], tuple[str, str]]:
    def pair(code: str) -> tuple[str, str]:
        return known_code(code), severity

    return pair
