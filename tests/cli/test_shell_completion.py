"""The shells themselves are asked what they would complete."""

from __future__ import annotations

import argparse
import os
import pty
import re
import select
import shlex
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from helpers.programs import program

from speccompile.cli.commands.completion import _words
from speccompile.cli.main import main, parser
from speccompile.cli.shell_completion import levels_of
from speccompile.cli.shell_completion import script as made
from speccompile.report import formats
from speccompile.schema.bundled import bundled_codes
from speccompile.verify.kubernetes_api import versions

SHELLS = ("bash", "zsh", "fish")
FORMATS = set(formats.FORMATS)
CODES = set(bundled_codes())
OPEN = {"ADDRESS", "ID", "N"}
"""The metavars whose values only the user knows."""
PATIENCE = 30

Ask = Callable[[Sequence[str]], list[set[str]]]


def typed(command: Sequence[str], keys: Sequence[str], cwd: Path, **variables: str) -> list[str]:
    """What the shell has written to the file after each of the keys, typed at its prompt in a terminal of its own."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(ours, (50, 500))
    out = Path(variables["OUT"])
    out.unlink(missing_ok=True)
    environment = {"PATH": os.environ["PATH"], "HOME": str(cwd), "TERM": "xterm", "LC_ALL": "C.UTF-8", **variables}
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=cwd, env=environment, start_new_session=True
    ) as shell:
        os.close(theirs)
        screen = b""
        until = time.monotonic() + PATIENCE
        # The shell writes one line once it is ready, and one for each of the keys.
        for count, key in enumerate(["", *keys], 1):
            os.write(ours, key.encode())
            while not out.is_file() or out.read_text().count("\n") < count:
                if select.select([ours], [], [], 0.02)[0]:
                    screen += os.read(ours, 65536)
                if time.monotonic() > until:
                    shell.kill()
                    pytest.fail(f"{command[0]} does not answer: {screen.decode(errors='replace')}")
        shell.kill()
    os.close(ours)
    return out.read_text().splitlines()[1:]


BASH = r"""
source %s
bind 'set enable-bracketed-paste off'
bind '"\C-b": insert-completions'
show() { printf '%%s\n' "$READLINE_LINE" >> "$OUT"; READLINE_LINE='' READLINE_POINT=0; }
bind -x '"\C-g": show'
PROMPT_COMMAND='echo ready >> "$OUT"'
"""


def ask_bash(script: Path, cwd: Path, lines: Sequence[str]) -> list[set[str]]:
    settings = script.with_name("bashrc")
    settings.write_text(BASH % shlex.quote(str(script)), encoding="utf-8")
    command = [program("bash"), "--noprofile", "--rcfile", str(settings), "-i"]
    texts = typed(command, [f"{line}\x02\x07" for line in lines], cwd, OUT=str(script.with_name("out")))
    # All completions stand in the line now, in place of the word that was completed.
    known = [len(shlex.split(line.replace("=", " "))) - (not line.endswith((" ", "="))) for line in lines]
    split = [shlex.split(text.replace("=", " ")) for text in texts]
    return [
        set(words[count:]) if text.rstrip() != line.rstrip() else set()
        for line, text, words, count in zip(lines, texts, split, known, strict=True)
    ]


ZSH = r"""
setopt extended_glob
autoload -Uz compinit
compinit -u -d "$OUT.dump"
source %s
setopt no_beep no_auto_list no_auto_menu
typeset -ga hits
compadd() {
  local at
  for ((at = 1; at < $#; at++)); do
    if [[ ${@[at]} == -*d ]]; then print -rl -- "${(P@)@[at + 1]}" >> $OUT.told; fi
  done
  if [[ " ${@[1,(i)(-|--)]} " == *' -'[a-zA-Z0-9]#[OAD]' '* ]]; then builtin compadd "$@"; return; fi
  local -a found
  builtin compadd -A found "$@"
  hits+=("${found[@]}")
  builtin compadd "$@"
}
show() { print -r -- "${(pj:\t:)hits}" >> $OUT; hits=(); BUFFER='' }
zle -N show
bindkey '^G' show
bindkey '^I' complete-word
precmd() { print ready >> $OUT }
"""


def ask_zsh(script: Path, cwd: Path, lines: Sequence[str]) -> list[set[str]]:
    folder = script.with_name("zdotdir")
    folder.mkdir(exist_ok=True)
    (folder / ".zshrc").write_text(ZSH % shlex.quote(str(script)), encoding="utf-8")
    variables = {"OUT": str(script.with_name("out")), "ZDOTDIR": str(folder)}
    texts = typed([program("zsh"), "-d", "-i"], [f"{line}\t\x07" for line in lines], cwd, **variables)
    found = [{name for hit in text.split("\t") for name in shlex.split(hit)} for text in texts]
    # Where nothing else fits, this shell reminds of the options.
    return [
        {name for name in names if not name.startswith("-") or line.rpartition(" ")[2].startswith("-")}
        for line, names in zip(lines, found, strict=True)
    ]


def ask_fish(script: Path, cwd: Path, lines: Sequence[str]) -> list[set[str]]:
    asked = "; ".join(f"complete -C {shlex.quote(line)}; echo @" for line in lines)
    done = subprocess.run(
        [program("fish"), "--no-config", "-c", f"source {shlex.quote(str(script))}; {asked}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "HOME": str(cwd), "LC_ALL": "C.UTF-8"},
    )
    assert not done.stderr
    answers = done.stdout.split("@\n")[:-1]
    return [{one.partition("\t")[0].rpartition("=")[2] for one in answer.splitlines()} for answer in answers]


ASK = {"bash": ask_bash, "zsh": ask_zsh, "fish": ask_fish}


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def script(shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["completion", shell]) == 0
    captured = capsys.readouterr()
    assert not captured.err
    return written(captured.out, tmp_path)


def written(text: str, folder: Path) -> Path:
    path = folder / "the script" / "_speccompile"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    """A folder with some files."""
    cwd = tmp_path / "cwd"
    (cwd / "folder with runs").mkdir(parents=True)
    for name in ("folio.yaml", "my run.yaml", "it's$(one)*.yaml", "digits of pi.yaml", "render"):
        (cwd / name).write_text("", encoding="utf-8")
    return cwd


@pytest.fixture
def ask(shell: str, script: Path, cwd: Path) -> Ask:
    """What the shell offers for each of the lines."""
    return lambda lines: ASK[shell](script, cwd, [f"speccompile {line}" for line in lines])


WORDS = {
    "re": {"render"},
    "--vers": {"--version"},
    "profiles ": {"list", "show", "lint", "impact"},
    "profiles li": {"list", "lint"},
    "render --plat": {"--platform"},
    "render a.yaml --quiet b.yaml --outp": {"--output"},
    "render --format ": FORMATS,
    "render --format=s": {"sarif"},
    "render --format=": FORMATS,
    "explain --format ": {"text", "json"},
    "explain --code merge/": {code for code in CODES if code.startswith("merge/")},
    "validate --strict --ignore ": CODES,
    "profiles lint --error schema/cr": {"schema/cron"},
    "validate --error schema/cron --er": {"--error"},
    "verify --kubernetes 1.33 --kubernetes 1.3": {version for version in versions() if version.startswith("1.3")},
    "schema p": {"profile", "platform", "project"},
    "completion ": set(SHELLS),
    "completion bash ": set(),
    "completion d": set(),
    "profiles show ": set(),
    "profiles show f": set(),
    "profiles show a100 --js": {"--json"},
    "nonsense ": set(),
    "nonsense --": set(),
}
PATHS = {
    "render my": {"my run.yaml"},
    "render a.yaml fol": {"folio.yaml", "folder with runs"},
    "render it": {"it's$(one)*.yaml"},
    "render --profiles fol": {"folio.yaml", "folder with runs"},
    "render -o fol": {"folder with runs"},
    "render --output=fol": {"folder with runs"},
    "render --platform dig": {"digitalhub", "digits of pi.yaml"},
    "render --platform fo": {"folio.yaml", "folder with runs"},
    "profiles impact --old fo": {"folio.yaml", "folder with runs"},
}


def test_a_shell_offers_commands_options_choices_and_codes_where_they_belong(ask: Ask) -> None:
    assert dict(zip(WORDS, ask(list(WORDS)), strict=True)) == WORDS


def test_a_shell_offers_paths_of_any_name_where_paths_belong(ask: Ask) -> None:
    offered = ask(list(PATHS))
    assert {line: {one.rstrip("/") for one in found} for line, found in zip(PATHS, offered, strict=True)} == PATHS


def commands_of(parser: argparse.ArgumentParser, path: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    yield path, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                yield from commands_of(command, f"{path}{name} ")


def test_every_command_and_option_is_offered_where_it_belongs_and_no_other(ask: Ask) -> None:
    commands = dict(commands_of(parser()))
    options = ask([f"{path}--" for path in commands])
    for (path, command), found in zip(commands.items(), options, strict=True):
        assert found == {name for name in command._option_string_actions if name.startswith("--")}, path
    below = {path: {other.split()[-1] for other in commands if is_child(other, path)} for path in commands}
    parents = [path for path in commands if below[path]]
    for path, found in zip(parents, ask(parents), strict=True):
        assert found == below[path], path


def is_child(path: str, parent: str) -> bool:
    return path.startswith(parent) and len(path.split()) == len(parent.split()) + 1


def test_a_script_is_good_to_its_shell_and_says_nothing_when_it_is_read(shell: str, script: Path, cwd: Path) -> None:
    first = "autoload -Uz compinit; compinit -u -D; " if shell == "zsh" else ""
    for arguments in (["-n", str(script)], ["-c", f"{first}source {shlex.quote(str(script))}"]):
        done = subprocess.run([program(shell), *arguments], capture_output=True, check=True, cwd=cwd)
        assert (done.stdout, done.stderr) == (b"", b"")


def test_zsh_takes_the_script_as_a_file_of_its_search_path(
    tmp_path: Path, cwd: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["completion", "zsh"])
    script = written(capsys.readouterr().out, tmp_path)
    search = written(f"fpath=({shlex.quote(str(script.parent))} $fpath)\ncompinit -u -D\n", tmp_path / "cwd")
    # Twice, as the first call loads the function.
    assert ask_zsh(search, cwd, ["speccompile re", "speccompile re"]) == [{"render"}, {"render"}]


ODD = 'it\'s [a] (b) {c}: \\ "d" $(touch made) `touch made` $HOME; @LEVELS@ <e> *'


def odd_script(shell: str, folder: Path) -> Path:
    parser = argparse.ArgumentParser(prog="speccompile")
    parser.add_argument("--first", metavar="PATH", help=ODD)
    commands = parser.add_subparsers()
    second = commands.add_parser("second", help=ODD)
    second.add_argument("--third", choices=["one", "two"], default="one", help=f"{ODD} %(default)s %%")
    return written(made(shell, tuple(levels_of(parser, {}))), folder)


def test_texts_of_any_kind_stay_texts(shell: str, tmp_path: Path, cwd: Path) -> None:
    lines = ["--fi", "--first fol", "--first x se", "se", "second --th", "second --third "]
    offered = ASK[shell](odd_script(shell, tmp_path), cwd, [f"speccompile {line}" for line in lines])
    assert [{name.rstrip("/") for name in names} for names in offered] == [
        {"--first"},
        {"folio.yaml", "folder with runs"},
        {"second"},
        {"second"},
        {"--third"},
        {"one", "two"},
    ]
    assert not (cwd / "made").exists()


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_what_options_and_commands_do_is_shown_beside_them(shell: str, tmp_path: Path, cwd: Path) -> None:
    script = odd_script(shell, tmp_path)
    lines = ["speccompile --fi", "speccompile se", "speccompile second --th"]
    if shell == "zsh":
        ask_zsh(script, cwd, lines)
        told = re.findall(r"^(\S+) +-- (.*)", script.with_name("out.told").read_text(), re.MULTILINE)
    else:
        asked = "; ".join(f"complete -C '{line}'" for line in lines)
        answer = subprocess.check_output([program("fish"), "-Nc", f"source '{script}'; {asked}"], text=True)
        told = [tuple(line.split("\t")) for line in answer.splitlines()]
    assert told == [("--first", ODD), ("second", ODD), ("--third", f"{ODD} one %")]


def test_what_every_argument_takes_is_known_or_known_to_be_open() -> None:
    levels = tuple(levels_of(parser(), _words()))
    options = [(option.metavar, option.value) for level in levels for option in level.options if option.value]
    places = [(place.metavar, place.value) for level in levels for place in level.places]
    assert {metavar for metavar, value in (*options, *places) if not value.words and not value.paths.value} == OPEN


INSTALLED = {
    "bash": "complete -p speccompile",
    "zsh": "print $_comps[speccompile]",
    "fish": "complete -C 'speccompile rend'",
}


def test_what_help_tells_to_do_installs_it(
    shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["completion", "--help"])
    (line,) = [line for line in capsys.readouterr().out.splitlines() if f"completion {shell}" in line]
    (tmp_path / ".config" / "fish" / "completions").mkdir(parents=True)
    (tmp_path / ".zshrc").write_text("autoload -Uz compinit; compinit -u -D\n", encoding="utf-8")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("ZDOTDIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    # What stands apart at the end of the line is a remark.
    subprocess.run([program("sh"), "-c", re.split(r"\s{4,}", line.strip())[0]], check=True, cwd=tmp_path)
    done = subprocess.run([program(shell), "-ic", INSTALLED[shell]], capture_output=True, text=True, check=True)
    assert re.search(r"_speccompile|render", done.stdout)
