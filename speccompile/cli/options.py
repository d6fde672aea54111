"""The table of commands, and the options that commands share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

from speccompile.model.light_namedtuple import NamedTuple
from speccompile.report.formats import FORMATS

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001
"""The object that `add_subparsers` returns; argparse has no public name for its type."""


class CommandInfo(NamedTuple):
    """A row of `COMMANDS`: the group a command is listed under, and what it does, in one line.

    The command `x` is set up by the function `add_x` of `cli/commands/x.py`.
    """

    group: str
    summary: str


_EVERYDAY, _SETUP, _FURTHER, _TOOLS = "everyday", "setup", "further checks", "for other tools"
COMMANDS: Mapping[str, CommandInfo] = {
    "render": CommandInfo(_EVERYDAY, "print manifests, or write them to files"),
    "validate": CommandInfo(_EVERYDAY, "report what is wrong with runs, profiles and platform file"),
    "check": CommandInfo(_EVERYDAY, "report manifest files that are missing or out of date"),
    "explain": CommandInfo(_EVERYDAY, "show which file and line set each value; explain a code"),
    "init": CommandInfo(_SETUP, "create a small working project"),
    "profiles": CommandInfo(_SETUP, "list, show, lint and compare profiles"),
    "schema": CommandInfo(_SETUP, "print the JSON Schema of a kind of file, for editors"),
    "verify": CommandInfo(_FURTHER, "validate manifests against Kubernetes API schemas, offline"),
    "lint": CommandInfo(_FURTHER, "report likely mistakes in where pods would run"),
    "place": CommandInfo(_FURTHER, "report which nodes pods fit, and why not the others"),
    "krm": CommandInfo(_TOOLS, "KRM function for Kustomize and kpt"),
    "helm": CommandInfo(_TOOLS, "post-renderer for Helm"),
    "argocd": CommandInfo(_TOOLS, "config management plugin for Argo CD"),
    "completion": CommandInfo(_TOOLS, "print a shell completion script"),
}
"""All commands in the order of `--help`, which does not import their modules."""

# argparse looks for translations of each of its texts; there are none, and it takes a thirtieth of a call.
argparse._ = str  # type: ignore[attr-defined]

_MOST_JOBS = 256
_RUNS = "file, directory, or - for stdin (default: the project)"


class Help(argparse.RawDescriptionHelpFormatter):
    """Help formatter that measures the terminal without `shutil`, which is slow to import.

    argparse makes a formatter for each option that is added.
    """

    def __init__(self, prog: str, **settings: Any) -> None:
        super().__init__(prog, **{"width": _columns() - 2, **settings})


def _columns() -> int:
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size().columns or _COLUMNS
    except OSError:
        return _COLUMNS


_COLUMNS = 80


class Command(argparse.ArgumentParser):
    """A parser that accepts paths before, between and after options, and suggests names for misspelt ones.

    All words after `--` are paths. Options cannot be abbreviated, because a new option could make them ambiguous.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"allow_abbrev": False, "formatter_class": Help, **settings})
        self.set_defaults(refuse=self.error, refuse_unknown=self.refuse_unknown)
        self._is_intermixed = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        paths = next((action for action in self._get_positional_actions() if action.nargs == "*"), None)
        # Up to Python 3.11, `parse_known_intermixed_args` calls this method.
        if paths is None or self._is_intermixed:
            return super().parse_known_args(args, namespace)
        words = list(args or ())
        end = words.index("--") if "--" in words else len(words)
        self._is_intermixed = True
        try:
            arguments, unknown = self.parse_known_intermixed_args(words[:end], namespace)
            # Passed on, they would be taken for options.
            rest = [self._get_value(paths, word) for word in words[end + 1 :]]
        finally:
            self._is_intermixed = False
        setattr(arguments, paths.dest, [*getattr(arguments, paths.dest), *rest])
        return arguments, unknown

    def error(self, message: str) -> NoReturn:
        """Exit with an error; argparse's list of required arguments is replaced with what each of them is."""
        start, _, names = message.partition("arguments are required: ")
        if names and start == "the following ":
            from speccompile.cli.suggest import explain_missing

            message = explain_missing(names.split(", "), self._actions)
        super().error(message)

    def refuse_unknown(self, unknown: Sequence[str], words: Sequence[str]) -> NoReturn:
        """Exit with an error that names the unknown words of a call, and what was probably meant."""
        from speccompile.cli.suggest import explain_unknown_words

        self.error(explain_unknown_words(unknown, words, tuple(self._option_string_actions)))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a value that is not among the choices, with a suggestion."""
        if action.choices is None or value in action.choices:
            return
        from speccompile.cli.suggest import explain_unknown_choice, explain_unknown_command

        if action.dest == "command":
            raise argparse.ArgumentError(None, explain_unknown_command(value, tuple(action.choices)))
        raise argparse.ArgumentError(action, explain_unknown_choice(value, tuple(action.choices)))


def add_command(commands: Commands, name: str, summary: str, examples: str) -> argparse.ArgumentParser:
    """Add a command with its summary and examples."""
    return commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".", epilog=examples)


def add_paths(parser: argparse.ArgumentParser, what: str = _RUNS) -> None:
    """Add the paths of a call."""
    # The list of options follows: naming each in the usage would fill half a screen.
    parser.usage = "%(prog)s [OPTION ...] [PATH ...]"
    parser.add_argument("paths", nargs="*", metavar="PATH", type=path, help=what)


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the admin's files."""
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
        help="platform file, or the name of a bundled preset",
    )
    parser.add_argument(
        "--functions",
        action="append",
        default=[],
        metavar="PATH",
        type=path,
        help="exported functions and tasks (repeatable)",
    )
    parser.add_argument(
        "--templates",
        metavar="DIR",
        type=path,
        help="custom templates, such as DIR/kubernetes/_env.j2",
    )
    parser.add_argument(
        "--project",
        metavar="FILE",
        type=path,
        help="project file (default: the nearest speccompile.yaml)",
    )


def add_findings(parser: argparse.ArgumentParser, strict: str = "treat overridden values of runs as errors") -> None:
    """Add the options that set severities and how much is printed."""
    parser.add_argument("--strict", action="store_true", help=strict)
    for severity in ("error", "warning", "notice", "ignore"):
        article = "an" if severity == "error" else "a"
        parser.add_argument(
            f"--{severity}",
            dest="severities",
            action="append",
            default=[],
            metavar="CODE",
            type=_severity_option(severity),
            help="do not report this code" if severity == "ignore" else f"report this code as {article} {severity}",
        )
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--quiet", action="store_true", help="print errors only")
    amount.add_argument("--verbose", action="store_true", help="print repeated findings in full")


def add_shape(parser: argparse.ArgumentParser, output: str) -> None:
    """Add the options for the folder and the format of manifests."""
    parser.add_argument("-o", "--output", metavar="DIR", type=path, help=output)
    shapes = parser.add_mutually_exclusive_group()
    shapes.add_argument("--json", dest="shape", action="store_const", const="json", help="JSON instead of YAML")
    shapes.add_argument(
        "--helm", dest="shape", action="store_const", const="helm", help="Helm chart templates that produce the YAML"
    )
    shapes.add_argument("--kustomization", action="store_true", help="add a kustomization.yaml that lists the files")
    parser.set_defaults(shape="yaml")


def add_effort(parser: argparse.ArgumentParser) -> None:
    """Add the options that control processes and caches."""
    parser.add_argument("--no-cache", action="store_true", help="compile every run, even if nothing changed")
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
    """Add the option for hooks."""
    parser.add_argument("--changed", action="store_true", help="each PATH is a changed file: only runs it affects")


def add_format(
    parser: argparse.ArgumentParser, formats: Iterable[str] = FORMATS, what: str = "how to print findings"
) -> None:
    """Add `--format`; the first format is the default."""
    names = tuple(formats)
    parser.add_argument("--format", choices=names, default=names[0], help=f"{what} (default: {names[0]})")


# argparse prefixes what these functions raise with the name of the option.


def path(text: str) -> str:
    """Check that the text can be a path."""
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError("the path contains a null character" if text else "the path is empty")
    return text


def known_code(code: str) -> str:
    """Check that the text is a diagnostic code."""
    from speccompile.cli.suggest import check_code

    return check_code(code)


def _jobs(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > len(str(_MOST_JOBS)) or int(text) > _MOST_JOBS:
        from speccompile.model.diagnostic import quote

        raise argparse.ArgumentTypeError(f"expected a number from 0 (automatic) to {_MOST_JOBS}, found {quote(text)}")
    return int(text)


def _address(text: str) -> str:
    host, _, port = text.rpartition("://")[2].rpartition(":")
    is_known = "://" not in text or text.startswith(("tcp://", "tls://", "ucx://", "ws://", "wss://", "inproc://"))
    if not is_known or (not text.startswith("inproc://") and not (host and port.isdecimal())):
        from speccompile.model.diagnostic import quote

        raise argparse.ArgumentTypeError(
            f"{quote(text)} is not the address of a scheduler; write it like tcp://host:8786"
        )
    return text


def _severity_option(severity: str) -> Callable[[str], tuple[str, str]]:
    def pair(code: str) -> tuple[str, str]:
        return known_code(code), severity

    return pair
