"""`speccompile completion`: print a shell completion script."""

from __future__ import annotations

import argparse
from typing import TextIO

from speccompile.cli.main import parser
from speccompile.cli.options import COMMANDS, Commands, add_command
from speccompile.cli.shell_completion import levels_of, script
from speccompile.schema.bundled import bundled_codes, preset_names
from speccompile.verify.kubernetes_api import versions

DONE = 0
_SHELLS = ("bash", "zsh", "fish")
_EXAMPLES = """\
to install it:
  echo 'eval "$(speccompile completion bash)"' >> ~/.bashrc
  echo 'eval "$(speccompile completion zsh)"' >> ~/.zshrc          after the line that calls compinit
  echo 'speccompile completion fish | source' > ~/.config/fish/completions/speccompile.fish

The script is generated each time, so it always matches the installed version.
"""


def add_completion(commands: Commands) -> None:
    """Add the command `completion`."""
    parser = add_command(commands, "completion", COMMANDS["completion"].summary, _EXAMPLES)
    parser.set_defaults(run=run_completion)
    parser.add_argument("shell", choices=_SHELLS, help="the shell")


def run_completion(arguments: argparse.Namespace, stdout: TextIO, _: TextIO) -> int:
    """Print the script and return the exit code."""
    stdout.write(script(arguments.shell, tuple(levels_of(parser(), _words()))))
    return DONE


def _words() -> dict[str, tuple[str, ...]]:
    """Values that the parser does not list as choices, by option or metavar."""
    return {"CODE": tuple(bundled_codes()), "--platform": preset_names(), "VERSION": _versions()}


def _versions() -> tuple[str, ...]:
    try:
        return versions()
    except ModuleNotFoundError:
        return ()  # the extra `verify` is not installed
