"""Any input compiles or produces findings, without a traceback, a hang, or excessive memory or output."""

from __future__ import annotations

import copy
import datetime as dt
import decimal
import io
import json
import math
import os
import re
import resource
import string
import subprocess
import sys
from collections import ChainMap, OrderedDict
from collections.abc import Callable
from enum import Enum, IntEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

import pytest
from helpers.plain_data import paths
from hypothesis import example, given
from hypothesis import strategies as st

from speccompile import Compiled, CompileError, compile_many, compile_run
from speccompile.cli.main import main
from speccompile.files.load import load, load_stream
from speccompile.files.read import MAX_FILE_BYTES
from speccompile.model.finding_text import findings_as_text
from speccompile.model.source import Layer
from speccompile.schema.bundled import bundled_codes
from speccompile.yaml_text.parsed import MAX_DEPTH, MAX_EXPANDED

MEMORY = 1024**3
PATIENCE = 60
"""Seconds after which a call counts as hung; a call that works takes less than one."""
LONGEST_ANSWER = 10_000

RUN = "name: train\naction: job\nimage: python:3.12\n"
FIELDS = MappingProxyType({"name": "train", "action": "job", "image": "python:3.12"})


class Answer(NamedTuple):
    """The result of one call of the command."""

    code: int
    stdout: bytes
    stderr: str


def call(*arguments: str | Path, stdin: bytes = b"", memory: int = MEMORY) -> Answer:
    done = subprocess.run(
        [sys.executable, "-m", "speccompile", *map(str, arguments)],
        check=False,
        input=stdin,
        capture_output=True,
        timeout=PATIENCE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory)),
    )
    return Answer(done.returncode, done.stdout, done.stderr.decode("utf-8"))


def assert_refused(answer: Answer, code: str) -> None:
    """The answer is a short report with that code, and nothing else."""
    assert code in bundled_codes()
    assert "Traceback" not in answer.stderr
    assert f"[{code}]: " in answer.stderr
    assert answer.code == 1
    assert answer.stdout == b""
    assert len(answer.stderr) < LONGEST_ANSWER
    assert_clean(answer.stderr)


def assert_clean(text: str) -> None:
    """The text contains no control or bidirectional characters."""
    assert [char for char in text if not char.isprintable() and char != "\n"] == []


def bomb(levels: int, line: Callable[[int, list[str]], str]) -> str:
    """Lines that each name the one before ten times."""
    lines = [line(level, [f"*a{level - 1}"] * 10 if level else ["x"] * 10) for level in range(levels)]
    return f"{RUN}parameters:\n" + "".join(f"  a{level}: &a{level} {text}\n" for level, text in enumerate(lines))


LIST_BOMB = bomb(10, lambda _, items: f"[{','.join(items)}]")
MAP_BOMB = bomb(10, lambda _, items: "{" + ",".join(f"k{index}: {item}" for index, item in enumerate(items)) + "}")
MERGE_BOMB = bomb(10, lambda level, items: "{<<: [" + ",".join(items) + "]}" if level else "{k: v}")
MILLION = 10**6

BOMBS: dict[str, tuple[str | bytes, str]] = {
    "alias bomb of lists": (LIST_BOMB, "yaml/expansion"),
    "alias bomb of maps": (MAP_BOMB, "yaml/expansion"),
    "merge-key bomb": (MERGE_BOMB, "yaml/expansion"),
    "many aliases of one value": (
        f"{RUN}parameters: {{a: &a [{'x,' * 100}x], b: [{'*a,' * 1000}x]}}\n",
        "yaml/expansion",
    ),
    "flow lists, open": (f"{RUN}parameters: {'[' * 5000}", "yaml/too-deep"),
    "flow lists, closed": (f"{RUN}parameters: {'[' * 5000}{']' * 5000}\n", "yaml/too-deep"),
    "flow lists alone": ("[" * 10**5, "yaml/too-deep"),
    "flow maps": (f"{RUN}parameters: {'{a: ' * 5000}{'}' * 5000}\n", "yaml/too-deep"),
    "block maps": (
        f"{RUN}parameters:\n" + "".join(" " * depth + "a:\n" for depth in range(1, 1400)),
        "yaml/too-deep",
    ),
    "block lists": (f"{RUN}parameters:\n  {'- ' * 5000}x\n", "yaml/too-deep"),
    "explicit keys": ("? " * 5000 + "x\n", "yaml/too-deep"),
    "deep JSON with tabs": ('{\t"a":' * 5000 + "1" + "}" * 5000, "yaml/too-deep"),
    "a million tabs": (RUN + "\t" * MILLION, "yaml/syntax"),
    "enormous exponent as a quantity": (f"{RUN}resources: {{mem: 1e999999999}}\n", "schema/quantity"),
    "enormous exponent in quotes": (f'{RUN}resources: {{mem: "1e-999999999"}}\n', "schema/quantity"),
    "enormous exponent as a number": (f"{RUN}parameters: {{a: 1.0e+999999999}}\n", "yaml/number"),
    "quantity of a million digits": (f'{RUN}resources: {{mem: "{"9" * MILLION}Gi"}}\n', "schema/quantity"),
    "integer of a million digits": (f"{RUN}backoff_limit: {'9' * MILLION}\n", "yaml/number"),
    "user id of a million digits": (f'{RUN}run_as_user: "{"9" * MILLION}"\n', "schema/user-id"),
    "version of a million digits": (f"%YAML {'9' * MILLION}.1\n---\n{RUN}", "yaml/syntax"),
    "long key": (f"? {'k' * 10**5}\n: 1\n", "schema/unknown-key"),
    "long name": (RUN.replace("train", "n" * 10**5), "schema/wrong-length"),
    "cron line of many fields": (f'{RUN}schedule: "{"* " * 10**5}"\n', "schema/cron"),
    "image of many parts": (RUN.replace("python:3.12", "a/" * 10**5 + "!"), "schema/image"),
    "mount path of many parts": (
        f"{RUN}volumes: [{{volume_type: empty_dir, name: a, mount_path: '{'/..' * 10**5}'}}]\n",
        "schema/mount-path",
    ),
    "a program": (b"\x7fELF\x02\x01\x01" + bytes(100), "yaml/control-character"),
}
"""Inputs that could cost time or memory; each runs in a separate process with limits for both."""
TEXTS: dict[str, tuple[str | bytes, str]] = {
    "alias of itself": (f"{RUN}parameters: &a [*a]\n", "yaml/recursive-alias"),
    "merge key of itself": (f"{RUN}parameters: &a {{<<: *a}}\n", "yaml/recursive-alias"),
    "alias of nothing": (f"{RUN}parameters: *a\n", "yaml/unknown-alias"),
    "raw NUL": (f'{RUN}args: ["a\0b"]\n', "yaml/control-character"),
    "raw escape": (f'{RUN}args: ["\x1b[2J"]\n', "yaml/control-character"),
    "raw delete": (f'{RUN}args: ["\x7f"]\n', "yaml/control-character"),
    "raw next line": (f'{RUN}args: ["a\x85b"]\n', "yaml/control-character"),
    "raw line separator": (f'{RUN}args: ["a\u2028b"]\n', "yaml/control-character"),
    "raw non-character": (f'{RUN}args: ["\uffff"]\n', "yaml/control-character"),
    "nothing but NUL": ("\0" * 1000, "yaml/control-character"),
    "escaped NUL": (f'{RUN}args: ["a\\0b"]\n', "yaml/control-character"),
    "escaped escape": (f'{RUN}args: ["\\e[2J"]\n', "yaml/control-character"),
    "escaped next line": (f'{RUN}args: ["a\\Nb"]\n', "yaml/control-character"),
    "escaped in a key": (f'{RUN}labels: {{"a\\x1b": b}}\n', "yaml/control-character"),
    "lone surrogate": (f'{RUN}args: ["\\ud800"]\n', "yaml/control-character"),
    "lone low surrogate": (f'{RUN}args: ["\\udc00x"]\n', "yaml/control-character"),
    "surrogates the wrong way round": (f'{RUN}args: ["\\udc00\\ud800"]\n', "yaml/control-character"),
    "escape beyond Unicode": (f'{RUN}args: ["\\U00110000"]\n', "yaml/syntax"),
    "byte that is no UTF-8": (RUN.encode() + b"args: ['\xff']\n", "input/encoding"),
    "overlong UTF-8": (RUN.encode() + b"args: ['\xc0\x80']\n", "input/encoding"),
    "surrogate in UTF-8": (RUN.encode() + b"args: ['\xed\xa0\x80']\n", "input/encoding"),
    "half a character": (RUN.encode() + "é".encode()[:1], "input/encoding"),
    "byte order mark": (b"\xef\xbb\xbf" + RUN.encode(), "yaml/control-character"),
    "UTF-16": (RUN.encode("utf-16"), "input/encoding"),
    "UTF-16 without a mark": (RUN.encode("utf-16-le"), "yaml/control-character"),
    "UTF-32": (RUN.encode("utf-32"), "input/encoding"),
    "tabs": (f"{RUN}resources:\n\tmem: 8Gi\n", "yaml/syntax"),
    "number as a key": (f"{RUN}labels: {{1: a}}\n", "yaml/non-string-key"),
    "null as a key": (f"{RUN}labels: {{~: a}}\n", "yaml/non-string-key"),
    "list as a key": (f"{RUN}labels: {{[a]: b}}\n", "yaml/non-string-key"),
    "map as a key": (f"{RUN}? {{a: b}}\n: c\n", "yaml/non-string-key"),
    "no number": (f"{RUN}parameters: {{a: .nan}}\n", "yaml/number"),
    "infinity": (f"{RUN}resources: {{mem: -.inf}}\n", "yaml/number"),
    "date": (f"{RUN}labels: {{day: 2024-05-01}}\n", "yaml/ambiguous-scalar"),
    "time": (f"{RUN}labels: {{time: 2024-05-01T10:00:00Z}}\n", "yaml/ambiguous-scalar"),
    "binary tag": (f"{RUN}args: [!!binary aGVsbG8=]\n", "yaml/tag"),
    "set tag": (f"{RUN}parameters: !!set {{a, b}}\n", "yaml/tag"),
    "Python object tag": (f"{RUN}parameters: !!python/object/apply:os.system [touch]\n", "yaml/tag"),
    "Python name tag": (f"{RUN}args: [!!python/name:os.system x]\n", "yaml/tag"),
    "tag of a handle that nobody defined": (f"{RUN}args: [!e!x y]\n", "yaml/syntax"),
    "no bytes": ("", "yaml/empty"),
    "only white space": (" \n\n  \n", "yaml/empty"),
    "only comments": ("# one\n# two\n", "yaml/empty"),
    "only markers": ("---\n---\n...\n", "yaml/empty"),
    "only null": ("null\n", "yaml/empty"),
    "a scalar": ("hello\n", "run/unknown-form"),
    "a list": ("[]\n", "run/unknown-form"),
    "an open quote": (f'{RUN}args: ["', "yaml/syntax"),
    "JSON that ends early": ('{"name": "train", "action": ', "yaml/syntax"),
}


def test_the_bombs_are_small_and_would_be_large() -> None:
    for text in (LIST_BOMB, MAP_BOMB, MERGE_BOMB):
        assert len(text) < 1000
        assert 10 ** text.count("&a") > 10**9


def written(text: str | bytes, path: Path) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("name", BOMBS)
def test_hostile_bombs_are_refused(name: str, tmp_path: Path) -> None:
    text, code = BOMBS[name]
    assert_refused(call("render", written(text, tmp_path / "run.yaml")), code)


@pytest.mark.parametrize("name", TEXTS)
def test_hostile_texts_are_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, code = TEXTS[name]
    exit_code = main(["render", str(written(text, tmp_path / "run.yaml"))])
    stdout, stderr = capsys.readouterr()
    assert_refused(Answer(exit_code, stdout.encode(), stderr), code)


def test_hostile_texts_are_refused_together(tmp_path: Path) -> None:
    """In one call of the real command, errors in one file do not hide those in another."""
    for number, (text, _) in enumerate(TEXTS.values()):
        written(text, tmp_path / f"{number}.yaml")
    answer = call("render", tmp_path)
    assert (answer.code, answer.stdout) == (1, b"")
    assert "Traceback" not in answer.stderr
    assert_clean(answer.stderr)
    for number, (_, code) in enumerate(TEXTS.values()):
        assert re.search(rf"\[{code}\]: .*\n  --> {re.escape(str(tmp_path))}/{number}\.yaml\b", answer.stderr), number


LONG = "x" * 10**5


@pytest.mark.parametrize(
    "anchored",
    [
        LONG,
        pytest.param(f"[{LONG}]"),
        pytest.param(f"{{? {LONG} : 1}}"),
    ],
    ids=["text", "list", "key"],
)
def test_aliases_of_one_long_text_are_a_bomb_too(anchored: str, tmp_path: Path) -> None:
    """A file of 120 kB that expands to more than half a GB."""
    text = f"{RUN}parameters: {{a: &a {anchored}, b: [{'*a,' * 6000} x]}}\n"
    assert_refused(call("render", written(text, tmp_path / "run.yaml")), "yaml/expansion")


@pytest.mark.parametrize("option", ["--profiles", "--platform"])
@pytest.mark.parametrize("name", ["alias bomb of maps", "flow maps", "UTF-16"])
def test_hostile_text_of_the_admin_is_refused(name: str, option: str, tmp_path: Path) -> None:
    text, code = {**BOMBS, **TEXTS}[name]
    run, path = written(RUN, tmp_path / "run.yaml"), written(text, tmp_path / "admin.yaml")
    assert_refused(call("render", run, option, path), code)


def test_hostile_text_on_standard_input_is_refused() -> None:
    assert_refused(call("render", "-", stdin=LIST_BOMB.encode()), "yaml/expansion")
    assert_refused(call("render", "-", stdin=b"\xff\xfe"), "input/encoding")
    assert_refused(call("render", "-", stdin=b" " * (MAX_FILE_BYTES + 1)), "input/too-large")
    assert_refused(call("render", "-"), "yaml/empty")


@pytest.mark.parametrize("option", [None, "--profiles", "--platform"])
def test_a_file_of_300_mb_is_refused_without_reading_it(option: str | None, tmp_path: Path) -> None:
    run, huge = tmp_path / "run.yaml", tmp_path / "huge.yaml"
    run.write_text(RUN)
    with huge.open("wb") as stream:
        stream.truncate(300 * 1024**2)
    arguments = [run, option, huge] if option else [huge]
    assert_refused(call("render", *arguments, memory=256 * 1024**2), "input/too-large")


def test_a_file_of_the_largest_size_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of exactly the maximum size is read."""
    monkeypatch.setattr("speccompile.files.load.MAX_FILE_BYTES", 100)
    filled = RUN.encode().ljust(100, b"\n")
    assert load_stream(io.BytesIO(filled), "run.yaml", Layer.RUN).findings == ()
    (finding,) = load_stream(io.BytesIO(filled + b"\n"), "run.yaml", Layer.RUN).findings
    assert finding.code == "input/too-large"


@pytest.mark.parametrize("option", [None, "--profiles", "--platform"])
def test_links_that_lead_nowhere_are_refused(option: str | None, tmp_path: Path) -> None:
    run, broken, loop = tmp_path / "run.yaml", tmp_path / "broken.yaml", tmp_path / "loop.yaml"
    run.write_text(RUN)
    broken.symlink_to(tmp_path / "nowhere")
    loop.symlink_to(loop)
    for path, code in ((broken, "input/missing-file"), (loop, "input/unreadable")):
        assert_refused(call("render", *([run, option, path] if option else [path])), code)


def test_a_broken_link_in_a_folder_is_refused_and_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "good.yaml").write_text(RUN)
    (tmp_path / "runs" / "broken.yaml").symlink_to("nowhere")
    assert_refused(call("render", tmp_path / "runs"), "input/missing-file")


def test_a_folder_that_links_to_itself_ends(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(RUN)
    (tmp_path / "again").symlink_to(tmp_path, target_is_directory=True)
    answer = call("render", tmp_path)
    assert (answer.code, answer.stderr) == (0, "")
    assert answer.stdout.count(b"kind: Job") == 1


def test_a_directory_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    run, folder = tmp_path / "run.yaml", tmp_path / "platform.yaml"
    run.write_text(RUN)
    folder.mkdir()
    assert_refused(call("render", run, "--platform", folder), "input/not-a-file")
    answer = call("render", folder)
    assert (answer.code, answer.stdout) == (1, b"")
    assert "Traceback" not in answer.stderr


def test_a_path_through_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(RUN)
    assert_refused(call("render", tmp_path / "run.yaml" / "inside.yaml"), "input/unreadable")


def test_a_name_that_is_too_long_is_refused(tmp_path: Path) -> None:
    assert_refused(call("render", tmp_path / ("n" * 300)), "input/unreadable")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file; the next test covers the same path")
def test_a_file_without_permission_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(RUN)
    path.chmod(0)
    assert_refused(call("render", path), "input/unreadable")


@pytest.mark.parametrize(
    "error", [PermissionError(13, "Permission denied"), OSError(5, "Input/output error"), OSError()]
)
def test_errors_of_the_operating_system_are_findings(error: OSError, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> NoReturn:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        parsed = load(Path("run.yaml"), Layer.RUN)
    assert parsed.documents == ()
    assert [finding.code for finding in parsed.findings] == ["input/unreadable"]
    assert_clean(findings_as_text(parsed.findings))


def test_an_error_in_the_midst_of_reading_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> NoReturn:
        raise OSError(5, "Input/output error")

    path = tmp_path / "run.yaml"
    path.write_text(RUN)
    with monkeypatch.context() as patch:
        patch.setattr(os, "read", refuse)
        parsed = load(path, Layer.RUN)
    assert [finding.code for finding in parsed.findings] == ["input/unreadable"]


# The same in process, with generated inputs


def assert_answered(run: Any, **setting: Any) -> Compiled | CompileError:
    """The run compiles, or raises CompileError with printable findings."""
    try:
        answer: Compiled | CompileError = compile_run(run, **setting)
    except CompileError as error:
        answer = error
    assert {finding.code for finding in answer.diagnostics} <= bundled_codes().keys()
    assert_clean(findings_as_text(answer.diagnostics))
    assert answer.to_yaml() if isinstance(answer, Compiled) else answer.diagnostics
    return answer


CHARACTERS = st.characters(codec=None, exclude_categories=())
TOKENS = st.sampled_from(
    [
        *("name", "action", "image", "job", "serve", "resources", "mem", "8Gi", "secrets", "volumes", "labels", "null"),
        *(": ", ":", "- ", "-", "? ", "[", "]", "{", "}", ", ", ",", "&a ", "*a", "<<: ", "!!str ", "!e!x ", "|", ">"),
        *("'", '"', "\\", "\\x00", "\\ud83d", "\\ude00", "\\U00110000", "%YAML 1.1\n", "%TAG ! x\n", "---", "...", "#"),
        *(
            "\n",
            "\n  ",
            "\n    ",
            "\n- ",
            " ",
            "\t",
            "\r",
            "\r\n",
            "\x00",
            "\x1b",
            "\x85",
            "\u2028",
            "\ufeff",
            "\u202e",
        ),
        *("no", "012", "1e3", ".nan", "1:30", "2024-05-01", "0x1f", "1_000", "9" * 30, "=", "~", "@", "`", "é", "漢"),
    ]
)
TOKEN_TEXT = st.lists(TOKENS, max_size=40).map("".join)


@given(st.text(CHARACTERS))
@example("\ud800")
@example("!\u202e")
@example("%\u202e")
@example("%YAML \u202e")
def test_hostile_any_text_is_answered(text: str) -> None:
    assert_answered(text)


@pytest.mark.parametrize("text", ["*\u202e", "a: &\u202e x\nb: *\u2066"], ids=ascii)
def test_an_alias_that_turns_the_direction_of_reading_is_answered(text: str) -> None:
    assert_answered(text)


@given(TOKEN_TEXT)
def test_hostile_any_tokens_are_answered(text: str) -> None:
    assert_answered(text)


@given(TOKEN_TEXT)
def test_hostile_any_tokens_after_a_run_are_answered(text: str) -> None:
    assert_answered(RUN + text)


@given(st.binary() | TOKEN_TEXT.map(lambda text: text.encode("utf-16", "surrogatepass")))
def test_hostile_any_bytes_are_answered(data: bytes) -> None:
    parsed = load_stream(io.BytesIO(data), "run.yaml", Layer.RUN)
    assert parsed.documents or parsed.findings
    assert {finding.code for finding in parsed.findings} <= bundled_codes().keys()
    assert_clean(findings_as_text(parsed.findings))


@given(st.data())
def test_hostile_bytes_of_a_run_may_change_anywhere(data: st.DataObject) -> None:
    made = bytearray(json.dumps(data.draw(st.sampled_from(RUNS))).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(made) - 1))
        made[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    parsed = load_stream(io.BytesIO(bytes(made)), "run.yaml", Layer.RUN)
    assert_clean(findings_as_text(parsed.findings))
    if not parsed.findings:
        assert_answered(made.decode())


@given(st.text(CHARACTERS))
def test_hostile_any_name_of_a_file_is_answered(name: str) -> None:
    if "\0" not in name:
        parsed = load(Path("/nonexistent") / name.encode("utf-8", "replace").decode(), Layer.RUN)
        assert parsed.findings
        assert_clean(findings_as_text(parsed.findings))


class Word(str, Enum):  # noqa: UP042  as libraries before Python 3.11 wrote it
    JOB = "job"


class Number(IntEnum):
    ONE = 1


ODD = st.sampled_from(
    [
        *(math.nan, math.inf, -math.inf, 1e308, -0.0, 5e-324, 2**63, -(2**63), 2**64, 10**400, -(10**4000)),
        *(b"bytes", bytearray(b"x"), {1, 2}, frozenset(), object(), object, len, ..., NotImplemented, 1j, range(3)),
        *(decimal.Decimal("NaN"), decimal.Decimal(1), dt.date(2024, 5, 1), Path("x"), Number.ONE, Word.JOB),
        *("\0", "\ud800", "\x1b[2J", "\u202e", "\ufeff", "", " ", "\n", "x" * 1000, "{{ 7 * 7 }}", "\ue0000\ue001"),
    ]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(CHARACTERS, max_size=10) | ODD
WORDS = st.sampled_from(
    [
        *("name", "action", "image", "resources", "mem", "requests", "limits", "volumes", "spec", "kind", "apiVersion"),
        *("metadata", "key", "value", "operator", "values", "affinity", "nodeAffinity", "secrets", "envs", "job"),
    ]
)
KEYS = WORDS | st.text(CHARACTERS, max_size=5) | st.integers() | st.booleans() | st.none() | st.tuples(st.integers())
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=20,
)


@given(ANYTHING)
def test_hostile_any_python_data_is_answered(data: Any) -> None:
    if not isinstance(data, (str, Path)):
        assert_answered(data)


@given(st.dictionaries(WORDS, ANYTHING, max_size=6))
def test_hostile_any_value_of_known_keys_is_answered(data: dict[str, Any]) -> None:
    assert_answered({**FIELDS, **data})


@given(st.dictionaries(WORDS | st.just("id"), ANYTHING, max_size=4))
def test_hostile_any_profile_and_platform_are_answered(data: dict[str, Any]) -> None:
    assert_answered(FIELDS, profiles=[data])
    assert_answered(FIELDS, platform=data)


def deep(levels: int, wrap: Callable[[Any], Any]) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = wrap(value)
    return value


def codes_of(run: Any, **setting: Any) -> set[str]:
    answer = assert_answered(run, **setting)
    assert isinstance(answer, CompileError)
    return {finding.code for finding in answer.diagnostics}


@pytest.mark.parametrize("wrap", [lambda inner: [inner], lambda inner: (inner,), lambda inner: {"a": inner}])
def test_deep_python_data_is_refused(wrap: Callable[[Any], Any]) -> None:
    """Even beyond Python's recursion limit."""
    for levels in (MAX_DEPTH + 1, 50 * sys.getrecursionlimit()):
        assert codes_of({**FIELDS, "parameters": {"a": deep(levels, wrap)}}) == {"yaml/too-deep"}


def test_python_data_with_cycles_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    wide: dict[str, Any] = {}
    wide |= {f"k{index}": wide for index in range(10)}
    for value in (loop, wide):
        assert codes_of({"name": "train", "parameters": {"a": value}}) <= {"yaml/too-deep", "yaml/expansion"}


def test_a_bomb_of_python_data_is_refused() -> None:
    """Lists that each contain the next one ten times: little memory, many values."""
    for levels in (5, 10, MAX_DEPTH - 2):
        assert codes_of({"parameters": {"a": deep(levels, lambda inner: [inner] * 10)}}) == {"yaml/expansion"}
    assert codes_of({"args": ["x"] * (MAX_EXPANDED + 1)}) == {"yaml/expansion"}


@pytest.mark.parametrize("number", [10**5000, -(10**5000), 2**63, math.nan, math.inf, -math.inf], ids=range(6))
def test_numbers_that_json_cannot_represent_are_refused(number: float) -> None:
    for data in ({"resources": {"mem": number}}, {"backoff_limit": number}, {"parameters": {"a": [number]}}):
        assert codes_of({**FIELDS, **data}) == {"yaml/number"}


def test_a_key_of_many_digits_is_refused() -> None:
    assert codes_of({10**5000: "x"}) == {"yaml/non-string-key"}


def test_a_path_with_a_null_character_is_refused() -> None:
    assert codes_of(Path("run\0.yaml")) == {"input/unreadable"}
    assert codes_of(dict(FIELDS), profiles=["a\0b"]) == {"input/unreadable"}
    assert codes_of(dict(FIELDS), platform="a\0b") == {"input/unreadable"}


WHOLE = (
    {"action": "job", "backoff_limit": 2.0},
    {"action": "job", "parallelism": 2.0},
    {"action": "serve", "replicas": 2.0, "service_ports": [{"port": 80}]},
    {"action": "serve", "service_ports": [{"port": 80.0}]},
    {"action": "job", "tolerations": [{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1.0}]},
)


@pytest.mark.parametrize("fields", WHOLE)
def test_a_fraction_is_refused_where_kubernetes_wants_a_whole_number(fields: dict[str, Any]) -> None:
    assert codes_of({**FIELDS, **fields}) == {"schema/wrong-type"}
    assert codes_of(json.dumps({**FIELDS, **fields})) == {"schema/wrong-type"}


@pytest.mark.parametrize("data", [None, 3, 1.5, True, b"name: a", [], (), set(), object(), {}])
def test_what_is_no_mapping_is_refused(data: object) -> None:
    assert codes_of(data) <= {"run/unknown-form", "schema/wrong-type", "schema/missing-key"}


def test_any_mapping_is_a_run() -> None:
    expected = compile_run(dict(FIELDS)).to_yaml()
    for data in (OrderedDict(FIELDS), FIELDS, ChainMap({}, dict(FIELDS))):
        assert compile_run(data).to_yaml() == expected


# Valid runs with one change: most findings require a nearly valid document

RUNS: tuple[dict[str, Any], ...] = (
    {
        "name": "train",
        "project": "vision",
        "action": "job",
        "image": "ghcr.io/acme/train:1.0",
        "image_pull_policy": "Always",
        "command": ["python", "-m", "train"],
        "args": ["--epochs", "3"],
        "envs": [{"name": "HF_HOME", "value": "/data"}],
        "secrets": ["HF_TOKEN"],
        "resources": {"cpu": 2, "mem": {"requests": "8Gi", "limits": "16Gi"}, "gpu": "1", "disk": "10Gi"},
        "node_selector": [{"key": "gpu", "value": "a100"}],
        "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]
                }
            },
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "podAffinityTerm": {"topologyKey": "zone", "labelSelector": {"matchLabels": {}}}}
                ]
            },
        },
        "volumes": [
            {"volume_type": "persistent_volume_claim", "name": "data", "mount_path": "/data", "spec": {"size": "1Gi"}},
            {"volume_type": "config_map", "name": "conf", "mount_path": "/conf", "spec": {"data": {"a.txt": "a"}}},
            {"volume_type": "image", "name": "model", "mount_path": "/model", "spec": {"image": "model:1"}},
            {"volume_type": "empty_dir", "name": "tmp", "mount_path": "/tmp", "spec": {"medium": "Memory"}},
        ],
        "fs_group": "8877",
        "run_as_user": 1000,
        "schedule": "5 4 * * *",
        "backoff_limit": 2,
        "parallelism": 1,
        "suspend": True,
        "labels": {"team": "vision"},
        "annotations": {"example.com/owner": "vision"},
        "parameters": {"epochs": 3, "deep": {"er": [None, 1.5]}},
    },
    {
        "apiVersion": "speccompile.dev/v1alpha1",
        "kind": "Run",
        "metadata": {"name": "sentiment", "labels": {"team": "speech"}},
        "spec": {
            "action": "serve",
            "image": "python:3.12",
            "replicas": 2,
            "service_ports": [{"port": 80, "target_port": 8080}],
            "service_name": "model",
            "resources": {"requests": {"nvidia.com/gpu": 1, "memory": "1Gi"}},
            "profile": "gpu",
        },
    },
    {
        "kind": "container+job:run",
        "project": "vision",
        "id": "0f1e",
        "metadata": {"name": "train"},
        "spec": {"image": "python:3.12", "task": None, "envs": {"A": "a"}, "nodeSelector": {"a": "b"}},
        "status": {"state": "DONE"},
    },
)
PROFILE: dict[str, Any] = {
    "id": "gpu",
    "name": "GPU",
    "replicas": 1,
    "resources": {"gpu": 1, "mem": "2Gi"},
    "node_selector": {"gpu": "a100"},
    "tolerations": [{"key": "gpu", "operator": "Exists"}],
    "envs": [{"name": "A", "value": "b"}],
    "volumes": [{"volume_type": "shared_volume", "name": "shared", "mount_path": "/shared"}],
}
PLATFORM: dict[str, Any] = {
    "gpu_key": "nvidia.com/gpu",
    "memory_limit_factor": 1.1,
    "service_type": "NodePort",
    "pvc": {"size": "2Gi", "access_mode": "ReadWriteMany"},
    "disk": {"as": "volume", "mount_path": "/scratch"},
    "secrets": {"store": "{project}-secrets", "allow_foreign": True},
    "security": {"disable_root": True},
}


SPELLINGS = st.text(string.ascii_letters + string.digits + " -_./:{}$\\\"'%#,\n\té", max_size=12)
REPLACEMENTS = (
    ANYTHING
    | SPELLINGS
    | st.sampled_from([-1, 0, 1, 2, 1.0, 2.0, 0.5, 10**9, True, None])
    | st.sampled_from(
        ["", "0", "-1", "1e3", "0.5", "500m", "8GB", "/", "..", "a/b", "A_b", "serve", "deploy", "Exists"]
    )
    | st.sampled_from([[], {}, [[]], [{}], {"": ""}, [None], {"requests": None}, {"key": "a"}, {"name": "a"}]).map(
        copy.deepcopy
    )
)


@st.composite
def changed(draw: st.DrawFn, valid: Any) -> Any:
    """The data with one to three values replaced, left out, doubled or moved under another key."""
    made = copy.deepcopy(valid)
    for _ in range(draw(st.integers(1, 3))):
        places = paths(made)[1:]
        if not places:
            break
        *parents, last = draw(st.sampled_from(places))
        holder: Any = made
        for step in parents:
            holder = holder[step]
        match draw(st.sampled_from(["replace", "replace", "remove", "double", "rename"])):
            case "replace":
                holder[last] = draw(REPLACEMENTS)
            case "remove":
                del holder[last]
            case "double" if isinstance(holder, list) and isinstance(last, int):
                holder.append(copy.deepcopy(holder[last]))
            case _ if isinstance(holder, dict):
                holder[draw(KEYS | st.just(f"{last}s"))] = holder.pop(last)
    return made


def test_the_valid_runs_are_valid() -> None:
    for run in RUNS:
        assert_compiles(run, profiles=[PROFILE], platform=PLATFORM)
        assert_compiles(json.dumps(run), profiles=[PROFILE], platform=PLATFORM)


def assert_compiles(run: Any, **setting: Any) -> None:
    assert isinstance(assert_answered(run, **setting), Compiled)


@given(st.sampled_from(RUNS).flatmap(changed))
def test_hostile_changed_runs_are_answered(run: Any) -> None:
    assert_answered(run, profiles=[PROFILE])


@given(st.sampled_from(RUNS).flatmap(changed))
def test_hostile_changed_runs_as_text_are_answered(run: Any) -> None:
    try:
        text = json.dumps(run)
    except (TypeError, ValueError):
        return
    assert_answered(text, profiles=[PROFILE], platform=PLATFORM)


@given(st.sampled_from(RUNS), changed(PROFILE), changed(PLATFORM))
def test_hostile_changed_profiles_and_platforms_are_answered(run: Any, profile: Any, platform: Any) -> None:
    assert_answered(run, profiles=[profile])
    assert_answered(run, profiles=[PROFILE], platform=platform)


@given(st.lists(st.sampled_from(RUNS).flatmap(changed), max_size=3))
def test_hostile_one_run_never_hides_another(runs: list[Any]) -> None:
    """Every run has a result, in order, and the valid one compiles."""
    good = {"name": "good-run-of-all", "project": "of-its-own", "action": "job", "image": "python:3.12"}
    results = list(compile_many([*runs, good], profiles=[PROFILE]))
    assert len(results) == len(runs) + 1
    assert isinstance(results[-1], Compiled)
