"""Shell completion scripts, generated from the parser."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum

from speccompile.model.light_namedtuple import NamedTuple


class Paths(Enum):
    """The kind of paths that an argument takes."""

    NONE = ""
    FILES = "files"
    FOLDERS = "folders"


class Completions(NamedTuple):
    """What completes an argument: words, paths, or both; neither if only the user knows."""

    words: tuple[str, ...] = ()
    paths: Paths = Paths.NONE


class Option(NamedTuple):
    """An option with all its names, and the completions of its value, if it takes one."""

    names: tuple[str, ...]
    about: str
    value: Completions | None
    metavar: str
    repeats: bool


class Positional(NamedTuple):
    """A positional argument; one that repeats is the last of its level."""

    number: int
    value: Completions
    metavar: str
    repeats: bool


class Level(NamedTuple):
    """The arguments of the command at a path such as `/profiles/show`; `/` is the program itself."""

    path: str
    options: tuple[Option, ...]
    places: tuple[Positional, ...]
    commands: Mapping[str, str]
    """Its subcommands, with their summaries."""


_PATHS = {"PATH": Paths.FILES, "FILE": Paths.FILES, "PATH_OR_REVISION": Paths.FILES, "DIR": Paths.FOLDERS}
"""Metavars of arguments that are paths."""


def levels_of(parser: argparse.ArgumentParser, words: Mapping[str, Sequence[str]], path: str = "/") -> Iterator[Level]:
    """Yield the level of a parser, then those of its subcommands.

    An argument is completed with its choices, and with the `words` for its option or metavar.
    """
    # argparse has no public way to list arguments; these private names are as old as the module.
    actions = [action for action in parser._actions if action.help != argparse.SUPPRESS]  # noqa: SLF001
    below = [action for action in actions if isinstance(action, argparse._SubParsersAction)]  # noqa: SLF001
    options = [action for action in actions if action.option_strings]
    places = [action for action in actions if not action.option_strings and action not in below]
    about = parser._get_formatter()._expand_help  # noqa: SLF001
    yield Level(
        path,
        tuple(
            Option(
                tuple(one.option_strings),
                about(one) if one.help else "",
                None if one.nargs == 0 else _value(one, words),
                _metavar(one),
                isinstance(one, argparse._AppendAction),  # noqa: SLF001
            )
            for one in options
        ),
        tuple(
            Positional(number, _value(one, words), _metavar(one), one.nargs in ("*", "+"))
            for number, one in enumerate(places, 1)
        ),
        {one.dest: one.help or "" for action in below for one in action._choices_actions},  # noqa: SLF001
    )
    for action in below:
        for name, command in action.choices.items():
            yield from levels_of(command, words, _below(path, name))


def _value(action: argparse.Action, words: Mapping[str, Sequence[str]]) -> Completions:
    extra = (word for key in (*action.option_strings, _metavar(action)) for word in words.get(key, ()))
    return Completions((*(action.choices or ()), *extra), _PATHS.get(_metavar(action), Paths.NONE))


def _metavar(action: argparse.Action) -> str:
    return action.metavar if isinstance(action.metavar, str) else action.dest


def _below(path: str, name: str) -> str:
    return f"{path.rstrip('/')}/{name}"


def script(shell: str, levels: Sequence[Level]) -> str:
    """The completion script for a shell."""
    return _SCRIPTS[shell](levels)


_BASH = r"""# Completion for bash; `speccompile completion --help` shows how to install it.

_speccompile_level() {
  case $1 in
@LEVELS@
  *) options='' commands='' ;;
  esac
}

_speccompile_value() {
  case $1 in
@VALUES@
  *) return 1 ;;
  esac
}

_speccompile() {
  local IFS=$' \t\n' level=/ place=1 wants='' at=1 options commands words paths word
  local current=${COMP_WORDS[COMP_CWORD]}
  _speccompile_level /
  while [ "$at" -lt "$COMP_CWORD" ]; do
    word=${COMP_WORDS[at]}
    at=$((at + 1))
    # In `--option=value`, bash splits at `=`.
    if [ "$word" = = ]; then
      continue
    elif [ -n "$wants" ]; then
      wants=''
    elif [ "${word:0:1}" = - ]; then
      if _speccompile_value "$level $word"; then wants=$word; fi
    elif [ -n "$commands" ]; then
      level=${level%/}/$word
      _speccompile_level "$level"
    else
      place=$((place + 1))
    fi
  done
  if [ "$current" = = ]; then current=''; fi
  words='' paths=''
  if [ -n "$wants" ]; then
    _speccompile_value "$level $wants"
  elif [ "${current:0:1}" = - ]; then
    words=$options
  elif [ -n "$commands" ]; then
    words=$commands
  else
    _speccompile_value "$level $place" || _speccompile_value "$level +"
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  # Without words, bash completes files itself, and quotes them. Bash 3 has no compopt to prevent it.
  case $paths in
  files)
    if [ "${#COMPREPLY[@]}" -gt 0 ]; then
      compopt -o filenames
      while IFS='' read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$current")
    fi
    ;;
  folders) compopt +o default -o dirnames ;;
  *) compopt +o default ;;
  esac 2>/dev/null
  return 0
}

complete -o default -F _speccompile speccompile
"""


def _bash(levels: Sequence[Level]) -> str:
    cases = []
    for level in levels:
        options = " ".join(name for option in level.options for name in option.names)
        cases.append(f"  {level.path}) options='{options}' commands='{' '.join(level.commands)}' ;;")
    keys: dict[Completions, list[str]] = {}
    for level in levels:
        for option in level.options:
            if option.value is not None:
                keys.setdefault(option.value, []).extend(f"'{level.path} {name}'" for name in option.names)
        for place in level.places:
            keys.setdefault(place.value, []).append(f"'{level.path} {'+' if place.repeats else place.number}'")
    values = [
        f"  {' | '.join(places)}) words='{' '.join(value.words)}' paths={value.paths.value} ;;"
        for value, places in keys.items()
    ]
    return _filled(_BASH, LEVELS=cases, VALUES=values)


_ZSH = """#compdef speccompile
# Completion for zsh; `speccompile completion --help` shows how to install it.

@VALUES@

@LEVELS@

# In a folder of $fpath, the whole file is the function.
if [[ $funcstack[1] == _speccompile ]]; then
  _speccompile "$@"
else
  compdef _speccompile speccompile
fi
"""
_ZSH_LEVEL = """@NAME@() {
  local context state state_descr line
  local -A opt_args
  local -a commands=(
@COMMANDS@
  )
  _arguments -C@SPECS@ && return 0
  case $state in
  command) _describe -t commands command commands ;;
  rest)
    case $line[1] in
@CALLS@
    *) return 1 ;;
    esac
    ;;
  *) return 1 ;;
  esac
}
"""
_ZSH_LEAF = """@NAME@() {
  _arguments@SPECS@
}
"""
_ZSH_WORDS = 'compadd "$@" -- @WORDS@'
_ZSH_BOTH = "_alternative 'words:word:(@WORDS@)' 'paths:path:@PATHS@'"
_ZSH_PATHS = {Paths.NONE: "", Paths.FILES: "_files", Paths.FOLDERS: "_files -/"}


def _zsh(levels: Sequence[Level]) -> str:
    named = _named(levels, "_speccompile_value")
    functions = []
    for value, name in named.items():
        template = _ZSH_BOTH if value.paths.value else _ZSH_WORDS
        body = _filled(template, WORDS=[" ".join(value.words)], PATHS=[_ZSH_PATHS[value.paths]])
        functions.append(f"{name}() {{ {body} }}")
    return _filled(_ZSH, VALUES=functions, LEVELS=[_zsh_level(level, named) for level in levels])


def _zsh_level(level: Level, named: Mapping[Completions, str]) -> str:
    specs = [spec for option in level.options for spec in _zsh_option(option, named)]
    specs += [f"{'*' if place.repeats else place.number}{_zsh_place(place, named)}" for place in level.places]
    specs += ["1: :->command", "*:: :->rest"] if level.commands else []
    return _filled(
        _ZSH_LEVEL if level.commands else _ZSH_LEAF,
        NAME=[_zsh_name(level.path)],
        SPECS=["".join(f" \\\n    {_zsh_quoted(spec)}" for spec in specs)],
        COMMANDS=[f"    {_zsh_quoted(f'{name}:{_escaped(about)}')}" for name, about in level.commands.items()],
        CALLS=[f"    {name}) {_zsh_name(_below(level.path, name))} ;;" for name in level.commands],
    )


def _zsh_option(option: Option, named: Mapping[Completions, str]) -> Iterator[str]:
    others = "*" if option.repeats else f"({' '.join(option.names)})"
    about = _escaped(option.about).replace("]", "\\]")
    for name in option.names:
        if option.value is None:
            yield f"{others}{name}[{about}]"
        else:
            # With `=` or `+`, the value may follow directly.
            yield f"{others}{name}{'=' if name.startswith('--') else '+'}[{about}]{_zsh_place(option, named)}"


def _zsh_place(place: Option | Positional, named: Mapping[Completions, str]) -> str:
    value = place.value or Completions()
    return f":{place.metavar}:{named.get(value) or _ZSH_PATHS[value.paths] or ' '}"


def _zsh_name(path: str) -> str:
    return "_speccompile" + path.rstrip("/").replace("/", "_")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\")


def _zsh_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


_FISH = """# Completion for fish; `speccompile completion --help` shows how to install it.

function __speccompile_at --argument-names level place onward
    set -l here /
    set -l number 1
    set -l wants
    for token in (commandline -opc)[2..]
        if set -q wants[1]
            set wants
        else if string match -q -- '-*' $token
            contains -- "$here $token" @TAKING@
            and set wants $token
        else if contains -- $here @BRANCHES@
            set here (string trim --right --chars / $here)/$token
        else
            set number (math $number + 1)
        end
    end
    test "$here" = "$level"
    and begin
        test -z "$place"
        or test "$number" = "$place"
        or test -n "$onward" -a "$number" -gt "$place"
    end
end

@VALUES@

complete -c speccompile -e
complete -c speccompile -f
@LINES@
"""
_FISH_PATHS = {Paths.NONE: "", Paths.FILES: " -F", Paths.FOLDERS: " -a '(__fish_complete_directories)'"}


def _fish(levels: Sequence[Level]) -> str:
    named = _named(levels, "__speccompile_value")
    return _filled(
        _FISH,
        TAKING=[
            " ".join(
                f"'{level.path} {name}'"
                for level in levels
                for option in level.options
                if option.value is not None
                for name in option.names
            )
        ],
        BRANCHES=[" ".join(level.path for level in levels if level.commands)],
        VALUES=[f"function {name}\n    printf '%s\\n' {' '.join(value.words)}\nend" for value, name in named.items()],
        LINES=[line for level in levels for line in _fish_level(level, named)],
    )


def _fish_level(level: Level, named: Mapping[Completions, str]) -> Iterator[str]:
    at = f"complete -c speccompile -n '__speccompile_at {level.path}"
    for name, about in level.commands.items():
        yield f"{at} 1' -a {name} -d {_fish_quoted(about)}"
    for option in level.options:
        names = "".join(
            f" -l {name.removeprefix('--')}" if name.startswith("--") else f" -s {name.removeprefix('-')}"
            for name in option.names
        )
        # Both mean that a value is required; -x excludes files.
        takes = "" if option.value is None else " -r" if option.value.paths is Paths.FILES else " -x"
        value = _fish_value(option.value or Completions(), named)
        yield f"{at}'{names} -d {_fish_quoted(option.about)}{takes}{value}"
    for place in level.places:
        yield f"{at} {place.number}{' onward' if place.repeats else ''}'{_fish_value(place.value, named)}"


def _fish_value(value: Completions, named: Mapping[Completions, str]) -> str:
    words = f" -a '({named[value]})'" if value in named else ""
    return words + _FISH_PATHS[value.paths]


def _fish_quoted(text: str) -> str:
    return "'" + _escaped(text).replace("'", "\\'") + "'"


def _named(levels: Sequence[Level], stem: str) -> dict[Completions, str]:
    """A function name for each list of words, so that the script contains it once."""
    options = (option.value for level in levels for option in level.options if option.value is not None)
    places = (place.value for level in levels for place in level.places)
    listed = dict.fromkeys(value for value in (*options, *places) if value.words)
    return {value: f"{stem}_{number}" for number, value in enumerate(listed, 1)}


def _filled(template: str, **parts: Sequence[str]) -> str:
    # In one pass, so that inserted text is not searched for placeholders.
    return re.sub("@([A-Z]+)@", lambda found: "\n".join(parts[found[1]]), template)


_SCRIPTS: Mapping[str, Callable[[Sequence[Level]], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
