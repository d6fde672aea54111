"""Messages for misspelt commands, options, choices and diagnostic codes."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from speccompile.model.diagnostic import quote
from speccompile.schema.bundled import bundled_codes
from speccompile.schema.suggestions import near, quote_names

_SUFFIXES = (".yaml", ".yml", ".json")
_MISTAKEN_OPTIONS: Mapping[str, tuple[str, str]] = {
    "--profile": (
        "--profiles",
        "a run names its profile: write `profile: {value}` in the run; `--profiles PATH` names the files of profiles",
    ),
}
"""Options that do not exist: the option that the command must have for the advice to apply, and the advice."""


def explain_unknown_command(word: str, commands: Sequence[str]) -> str:
    """Explain that the first word of a call is no command."""
    if word.endswith(_SUFFIXES) or "/" in word or _exists(word):
        return f"{quote(word)} is not a command; to print its manifests, run {quote(f'speccompile render {word}')}"
    meant = near(word, commands)
    advice = f", did you mean `{meant}`?" if meant else "; run `speccompile --help` for the list"
    return f"unknown command {quote(word)}{advice}"


def _exists(word: str) -> bool:
    try:
        return Path(word).exists()
    except (OSError, ValueError):
        return False


def explain_unknown_choice(value: object, choices: Sequence[object]) -> str:
    """Explain that a value is not among the choices of an option or argument."""
    meant = near(str(value), [str(choice) for choice in choices])
    advice = f", did you mean `{meant}`?" if meant else ""
    return f"invalid choice {quote(value)}{advice} (expected one of {quote_names(choices)})"


def explain_missing(names: Sequence[str], actions: Sequence[argparse.Action]) -> str:
    """Explain which required options and arguments a call lacks, by the names that argparse has for them."""
    return "missing " + ", ".join(
        _describe(action)
        for action in actions
        if {"/".join(action.option_strings), str(action.metavar), action.dest} & {*names}
    )


def _describe(action: argparse.Action) -> str:
    if action.option_strings:
        return f"{action.option_strings[0]} {action.metavar}"
    name = str(action.metavar or action.dest.upper())
    return f"{name} (one of {quote_names(action.choices)})" if action.choices else name


def explain_unknown_words(unknown: Sequence[str], words: Sequence[str], options: Sequence[str]) -> str:
    """Explain the words of a call that the command does not take."""
    # Beside an unknown option, other words are probably its values.
    named = [word for word in unknown if word.startswith("-")]
    if not named:
        return f"unexpected argument {quote_names(unknown)}"
    return " ".join(_explain_unknown_option(word, words, options) for word in named)


def _explain_unknown_option(word: str, words: Sequence[str], options: Sequence[str]) -> str:
    name, is_assigned, value = word.partition("=")
    needed, advice = _MISTAKEN_OPTIONS.get(name, ("", ""))
    if needed in options:
        following = words[words.index(word) + 1 :] if word in words else ()
        named = value if is_assigned else next((one for one in following[:1] if not one.startswith("-")), "")
        return f"unknown option `{name}`; {advice.format(value=quote(named).strip('`') if named else 'ID')}"
    longer = [option for option in options if option.startswith(name)]
    meant = longer[0] if len(longer) == 1 else near(name, options)
    return f"unknown option {quote(name)}" + (f", did you mean `{meant}`?" if meant else "")


def check_code(code: str) -> str:
    """Return the code if it exists; argparse reports what is raised."""
    if code in bundled_codes():
        return code
    meant = near(code, bundled_codes())
    raise argparse.ArgumentTypeError(f"unknown code {quote(code)}" + (f", did you mean `{meant}`?" if meant else ""))
