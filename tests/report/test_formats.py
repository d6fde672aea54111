"""Findings in four formats: the same ones in each, valid by its schema, and nothing in them can break out of it."""

from __future__ import annotations

import json
import re
import runpy
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pytest
from helpers.golden_cases import CASES, outcome
from helpers.paths import ROOT
from helpers.programs import sarif_schema
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for

from speccompile import CompileError, Diagnostic, Severity, compile_run
from speccompile.cli.findings import GroupedFindings
from speccompile.compiler.bundled_library import bundled_library
from speccompile.model.diagnostic import Note
from speccompile.model.diagnostic_codes import Code
from speccompile.model.finding_text import MAX_SHOWN, findings_as_text, summary
from speccompile.model.source import BUILT_IN, Layer, Source, Span
from speccompile.report.findings_github import as_github
from speccompile.report.findings_json import as_json, finding_data, place_data
from speccompile.report.findings_sarif import as_sarif
from speccompile.report.formats import FORMATS, as_format
from speccompile.terminal.style import coloured

SCHEMA = ROOT / "schemas" / "reports" / "findings.schema.json"
RUN = Source("runs/a b.yaml", "name: x\nmem: 8GB\nargs:\n- 1\n", Layer.RUN)
PLACE = Span(RUN, 2, 6, 2, 9)
FOUND = Diagnostic(
    code="schema/quantity",
    message="it is wrong",
    span=PLACE,
    path=("resources", "mem"),
    notes=(
        Note("set here", Span(Source("profiles/x.yaml", "id: x", Layer.PROFILE), 1, 5, 1, 6)),
        Note("by the way"),
        Note("made", BUILT_IN),
    ),
    help="write `8Gi`",
)
CODES = {
    "schema/quantity": Code(
        "schema/quantity", Severity.WARNING, "It is no quantity. Write one.", "mem: 8GB\n", "mem: '```'\n"
    ),
    "schema/unknown-key": Code("schema/unknown-key", Severity.ERROR, "Nobody knows it.", "", ""),
}


# The same findings in every format.


class Told(NamedTuple):
    """What every format tells of a finding."""

    code: str
    severity: str
    file: str | None = None
    line: int | None = None
    column: int | None = None


def place_of(words: str) -> tuple[str, int | None, int | None]:
    """A place as people read it: `file:line:column`, `file`, or `<run>: path`."""
    if match := re.fullmatch(r"(.*):(\d+):(\d+)", words):
        return match[1], int(match[2]), int(match[3])
    return words.partition(": ")[0], None, None


def told_by_text(text: str) -> Iterable[Told]:
    for block in re.split(r"\n\n(?=(?:error|warning|notice)\[)", text):
        match = re.match(r"(\w+)\[([^\]]*)\]: .*(?:\n  --> (.*))?", block)
        assert match, block
        yield Told(match[2], match[1], *(place_of(match[3]) if match[3] else ()))


def told_by_json(text: str) -> Iterable[Told]:
    for finding in json.loads(text)["findings"]:
        place = finding["place"] or {}
        yield Told(finding["code"], finding["severity"], place.get("file"), place.get("line"), place.get("column"))


def told_by_sarif(text: str) -> Iterable[Told]:
    (run,) = json.loads(text)["runs"]
    severities = {"error": "error", "warning": "warning", "note": "notice"}
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        yield Told(result["ruleId"], severities[result["level"]], *_sarif_place(result))


def _sarif_place(result: Any) -> tuple[Any, ...]:
    if "locations" not in result:
        return ()
    (location,) = result["locations"]
    if "logicalLocations" in location:
        return place_of(location["logicalLocations"][0]["fullyQualifiedName"])
    physical = location["physicalLocation"]
    region = physical.get("region", {})
    file = unquote(physical["artifactLocation"]["uri"]).removeprefix("file://")
    return file, region.get("startLine"), region.get("startColumn")


class Command(NamedTuple):
    """A workflow command, read as GitHub's runner reads it."""

    level: str
    properties: dict[str, str]
    message: str


def commands_of(text: str) -> list[Command]:
    return [_command(line) for line in text.splitlines()]


def _command(line: str) -> Command:
    match = re.fullmatch(r"::(error|warning|notice) ([^:]*)::(.*)", line)
    assert match, line
    properties = dict(pair.split("=", 1) for pair in match[2].split(","))
    return Command(match[1], {name: _unescaped(value) for name, value in properties.items()}, _unescaped(match[3]))


def _unescaped(text: str) -> str:
    for escape, char in {"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ",", "%25": "%"}.items():
        text = text.replace(escape, char)
    return text


def told_by_github(text: str) -> Iterable[Told]:
    for level, properties, message in commands_of(text):
        if "file" in properties:
            numbers = (int(properties[name]) if name in properties else None for name in ("line", "col"))
            yield Told(properties["title"], level, properties["file"], *numbers)
        else:
            match = re.search(r"^--> (.*)$", message, re.MULTILINE)
            yield Told(properties["title"], level, *(place_of(match[1]) if match else ()))


def told_to_github(finding: Diagnostic) -> Told:
    """GitHub takes columns for places on one line only."""
    (told,) = told_by_json(as_json([finding]))
    span = finding.span
    whole = span is None or span.line == span.end_line or span.source.name.startswith("<")
    return told if whole else told._replace(column=None)


@cache
def findings_of(case: Path) -> tuple[Diagnostic, ...]:
    """All that the command reports of a golden case."""
    reported: list[Diagnostic] = []

    add = GroupedFindings._add

    def grouped(tally: GroupedFindings, findings: Iterable[Diagnostic], run: str) -> None:
        reported.extend(findings)
        add(tally, findings, run)

    def formatted(_: str, findings: Iterable[Diagnostic], *__: Any) -> str:
        reported.extend(findings)
        return ""

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(case)
        if (case / "run.py").exists():
            try:
                return tuple(runpy.run_path("run.py")["compiled"].diagnostics)
            except CompileError as error:
                return error.diagnostics
        patch.setattr("speccompile.cli.findings.GroupedFindings._add", grouped)
        patch.setattr("speccompile.cli.findings.as_format", formatted)
        outcome(case, patch)
    # Runs repeat the findings of the admin's files.
    return tuple(dict.fromkeys(reported))


TELLING = [case for case in CASES if (told := case / "diagnostics.txt").exists() and "]: " in told.read_text()]
each_case = pytest.mark.parametrize("case", TELLING, ids=lambda path: f"{path.parent.name}/{path.name}")


@each_case
def test_every_format_tells_the_same_findings(case: Path) -> None:
    found = findings_of(case)
    assert 0 < len(found) <= MAX_SHOWN
    expected = Counter(told_by_json(as_format("json", found)))
    assert expected.total() == len(found)
    assert Counter(told_by_text(as_format("text", found))) == expected
    assert Counter(told_by_sarif(as_format("sarif", found))) == expected
    assert Counter(told_by_github(as_format("github", found))) == Counter(map(told_to_github, found))


def test_the_cases_have_places_of_every_sort() -> None:
    spans = [finding.span for case in TELLING for finding in findings_of(case)]
    assert any(span and span.line and span.end_line > span.line for span in spans)
    assert any(span and not span.line and span.source.name.startswith("<") for span in spans)
    assert any(span and not span.line and span.source.name.endswith(".yaml") for span in spans)
    assert any(span and span.line and span.source.name.startswith("<") for span in spans)


def test_text_alone_is_cut() -> None:
    found = [FOUND._replace(message=f"number {number}") for number in range(MAX_SHOWN + 5)]
    assert len(list(told_by_text(findings_as_text(found)))) == MAX_SHOWN
    assert len(json.loads(as_json(found))["findings"]) == len(found)
    assert len(list(told_by_sarif(as_sarif(found, CODES, "1.0.0")))) == len(found)
    assert len(list(told_by_github(as_github(found)))) == len(found)


def test_a_format_is_chosen_by_name() -> None:
    assert next(iter(FORMATS)) == "text"
    assert as_format("text", [FOUND]) == f"{findings_as_text([FOUND])}speccompile: {summary([FOUND])}\n"
    assert as_format("text", [FOUND], coloured) == f"{findings_as_text([FOUND], coloured)}speccompile: 1 error\n"
    assert as_format("json", iter([FOUND])) == as_json([FOUND])
    assert as_format("github", [FOUND], coloured) == as_github([FOUND])
    (run,) = json.loads(as_format("sarif", [FOUND]))["runs"]
    assert run["tool"]["driver"]["rules"][0]["shortDescription"]["text"]


def test_no_finding_is_an_empty_document_or_no_text() -> None:
    assert as_format("text", []) == as_format("github", []) == ""
    assert json.loads(as_format("json", [])) == {
        "version": 1,
        "summary": {"error": 0, "warning": 0, "notice": 0},
        "findings": [],
    }
    (run,) = json.loads(as_format("sarif", []))["runs"]
    assert run["results"] == run["tool"]["driver"]["rules"] == []


SECRET = "hf_abcdefghijklmnop"  # noqa: S105  the point of the test


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "line",
    [
        f"secrets: [{{name: A, value: {SECRET}}}]",
        f"secrets:\n  A: {SECRET}",
        f"secrets: {SECRET}",
        f"secrets:\n  - name: A\n    value: {SECRET}: x",
    ],
)
def test_a_secret_is_in_no_format(name: str, line: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_run(f"name: train\naction: job\nimage: python:3.12\n{line}\n")
    assert SECRET not in as_format(name, caught.value.diagnostics)


# JSON.


@pytest.fixture(scope="module")
def findings_schema() -> Validator:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def faults(validator: Validator, text: str) -> list[str]:
    return [f"{fault.json_path}: {fault.message}" for fault in validator.iter_errors(json.loads(text))]


def test_a_finding_as_json() -> None:
    text = as_json([FOUND, Diagnostic(code="a/b", message="é 漢", severity=Severity.NOTICE)])
    assert json.loads(text) == {
        "version": 1,
        "summary": {"error": 1, "warning": 0, "notice": 1},
        "findings": [
            {
                "code": "schema/quantity",
                "severity": "error",
                "message": "it is wrong",
                "path": "resources.mem",
                "place": {
                    "layer": "run",
                    "file": "runs/a b.yaml",
                    "line": 2,
                    "column": 6,
                    "end_line": 2,
                    "end_column": 9,
                },
                "notes": [
                    {
                        "message": "set here",
                        "place": {
                            "layer": "profile",
                            "file": "profiles/x.yaml",
                            "line": 1,
                            "column": 5,
                            "end_line": 1,
                            "end_column": 6,
                        },
                    },
                    {"message": "by the way", "place": None},
                    {
                        "message": "made",
                        "place": {
                            "layer": "platform",
                            "file": "built-in platform",
                            "line": None,
                            "column": None,
                            "end_line": None,
                            "end_column": None,
                        },
                    },
                ],
                "help": "write `8Gi`",
            },
            {
                "code": "a/b",
                "severity": "notice",
                "message": "é 漢",
                "path": "",
                "place": None,
                "notes": [],
                "help": None,
            },
        ],
    }
    assert text.startswith('{\n  "version": 1,\n  "summary": {\n    "error": 1,')
    assert '"message": "é 漢"' in text
    assert text.endswith("}\n")


def test_a_finding_and_a_place_are_data_by_themselves() -> None:
    assert finding_data(FOUND) == json.loads(as_json([FOUND]))["findings"][0]
    assert place_data(PLACE) == finding_data(FOUND)["place"]
    assert place_data(None) is None


@each_case
def test_json_is_valid_by_its_schema(case: Path, findings_schema: Validator) -> None:
    assert faults(findings_schema, as_json(findings_of(case))) == []


@pytest.mark.parametrize(
    "change",
    [
        {"more": 1},
        {"version": 2},
        {"findings": [{}]},
        {"summary": {"error": 1}},
        {"findings": [{**finding_data(FOUND), "severity": "fatal"}]},
        {"findings": [{**finding_data(FOUND), "place": {**finding_data(FOUND)["place"], "line": None}}]},
        {"findings": [{**finding_data(FOUND), "place": {**finding_data(FOUND)["place"], "end_line": None}}]},
    ],
    ids=str,
)
def test_the_schema_is_strict(change: Any, findings_schema: Validator) -> None:
    assert faults(findings_schema, json.dumps(json.loads(as_json([FOUND])) | change)) != []


def test_the_schema_describes_every_property() -> None:
    def bare(schema: Any, name: str) -> Iterable[str]:
        if "description" not in schema:
            yield name
        for kind in ("properties", "$defs"):
            for key, child in schema.get(kind, {}).items():
                yield from bare(child, f"{name}.{key}")

    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    assert list(bare(schema, "$")) == []
    assert schema["$id"] == f"https://speccompile.dev/schemas/reports/{SCHEMA.name}"


# SARIF.


@pytest.fixture(scope="module")
def sarif() -> Validator:
    schema = sarif_schema()
    return validator_for(schema)(schema)


def result_of(finding: Diagnostic) -> Any:
    (run,) = json.loads(as_sarif([finding], CODES, "1.0.0"))["runs"]
    (result,) = run["results"]
    return result


def location_of(name: str, line: int = 0, layer: Layer = Layer.RUN) -> Any:
    # Only a bundled template is no file of the user's.
    text = bundled_library().templates.get(name.removeprefix("templates/"), "")
    (location,) = result_of(FOUND._replace(span=Span(Source(name, text, layer), line, line, line, line)))["locations"]
    return location


def test_a_finding_as_sarif(sarif: Validator) -> None:
    text = as_sarif([FOUND, FOUND._replace(code="x/new_one", severity=Severity.NOTICE)], CODES, "1.2.3")
    assert faults(sarif, text) == []
    log = json.loads(text)
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert run["columnKind"] == "unicodeCodePoints"
    assert run["tool"] == {
        "driver": {
            "name": "speccompile",
            "version": "1.2.3",
            "semanticVersion": "1.2.3",
            "rules": [
                {
                    "id": "schema/quantity",
                    "name": "SchemaQuantity",
                    "shortDescription": {"text": "It is no quantity."},
                    "fullDescription": {"text": "It is no quantity. Write one."},
                    "help": {
                        "text": "It is no quantity. Write one.\n\nBad:\n\nmem: 8GB\n\nGood:\n\nmem: '```'",
                        "markdown": (
                            "It is no quantity. Write one.\n\n"
                            "**Bad:**\n\n```yaml\nmem: 8GB\n```\n\n"
                            "**Good:**\n\n````yaml\nmem: '```'\n````"
                        ),
                    },
                    "defaultConfiguration": {"level": "warning"},
                },
                {"id": "x/new_one", "name": "XNewOne"},
            ],
        }
    }
    first, second = run["results"]
    fingerprint = first.pop("partialFingerprints")
    assert first == {
        "ruleId": "schema/quantity",
        "ruleIndex": 0,
        "level": "error",
        "message": {"text": "it is wrong\nnote: by the way\nhelp: write `8Gi`"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": "runs/a%20b.yaml", "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": 2, "startColumn": 6, "endLine": 2, "endColumn": 9},
                }
            }
        ],
        "relatedLocations": [
            {
                "id": 1,
                "physicalLocation": {
                    "artifactLocation": {"uri": "profiles/x.yaml", "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": 1, "startColumn": 5, "endLine": 1, "endColumn": 6},
                },
                "message": {"text": "set here"},
            },
            {
                "id": 2,
                "logicalLocations": [{"name": "built-in platform", "fullyQualifiedName": "built-in platform"}],
                "message": {"text": "made"},
            },
        ],
        "properties": {"path": "resources.mem"},
    }
    assert (second["ruleIndex"], second["level"]) == (1, "note")
    assert second["partialFingerprints"] != fingerprint


@each_case
def test_sarif_is_valid_by_its_schema(case: Path, sarif: Validator) -> None:
    assert faults(sarif, as_format("sarif", findings_of(case))) == []


def test_a_rule_is_there_for_each_code_that_occurs_and_no_other() -> None:
    found = [FOUND._replace(code=code) for code in ("schema/unknown-key", "a/b", "schema/unknown-key")]
    (run,) = json.loads(as_sarif(found, CODES, "1.0.0"))["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["name"] for rule in rules] == ["AB", "SchemaUnknownKey"]
    assert [result["ruleIndex"] for result in run["results"]] == [1, 0, 1]
    assert rules[1]["help"] == {"text": "Nobody knows it.", "markdown": "Nobody knows it."}


def test_notes_that_say_the_same_stay_apart(sarif: Validator) -> None:
    assert faults(sarif, as_sarif([FOUND._replace(notes=(Note("here", PLACE),) * 2)], CODES, "1.0.0")) == []


@pytest.mark.parametrize(
    ("version", "semantic"), [("1.2.3", "1.2.3"), ("1.2.3-rc.1", "1.2.3-rc.1"), ("1.2.3.dev4", None), ("1.2", None)]
)
def test_a_version_is_semantic_or_not_said_to_be(version: str, semantic: str | None) -> None:
    driver = json.loads(as_sarif([], CODES, version))["runs"][0]["tool"]["driver"]
    assert (driver["version"], driver.get("semanticVersion")) == (version, semantic)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a/b.yaml", {"uri": "a/b.yaml", "uriBaseId": "%SRCROOT%"}),
        ("a\\b.yaml", {"uri": "a/b.yaml", "uriBaseId": "%SRCROOT%"}),
        ("ü #?%:.yaml", {"uri": "%C3%BC%20%23%3F%25%3A.yaml", "uriBaseId": "%SRCROOT%"}),
        ("http://x/y", {"uri": "http%3A//x/y", "uriBaseId": "%SRCROOT%"}),
        ("a\udcff\ud800.yaml", {"uri": "a%FF%EF%BF%BD.yaml", "uriBaseId": "%SRCROOT%"}),
        ("/etc/a b.yaml", {"uri": "file:///etc/a%20b.yaml"}),
        ("C:\\a b\\c.yaml", {"uri": "file:///C:/a%20b/c.yaml"}),
        ("\\\\host\\a\\b.yaml", {"uri": "file://host/a/b.yaml"}),
    ],
    ids=ascii,
)
def test_a_file_is_a_uri(name: str, expected: Any) -> None:
    assert location_of(name, 3)["physicalLocation"] == {
        "artifactLocation": expected,
        "region": {"startLine": 3, "startColumn": 3, "endLine": 3, "endColumn": 3},
    }


def test_a_file_as_a_whole_has_no_region() -> None:
    assert location_of("missing.yaml") == {
        "physicalLocation": {"artifactLocation": {"uri": "missing.yaml", "uriBaseId": "%SRCROOT%"}}
    }


@pytest.mark.parametrize(
    ("name", "line", "layer", "full"),
    [
        ("<stdin>", 3, Layer.RUN, "<stdin>:3:3"),
        ("<run>", 0, Layer.RUN, "<run>: resources.mem"),
        ("built-in platform", 0, Layer.PLATFORM, "built-in platform: resources.mem"),
        ("templates/kubernetes/job.yaml.j2", 3, Layer.TEMPLATE, "templates/kubernetes/job.yaml.j2:3:3"),
    ],
)
def test_what_is_no_file_is_a_logical_location(name: str, line: int, layer: Layer, full: str) -> None:
    assert location_of(name, line, layer) == {"logicalLocations": [{"name": name, "fullyQualifiedName": full}]}


def test_a_fingerprint_outlives_new_lines_above() -> None:
    def fingerprint(**change: Any) -> Any:
        return result_of(FOUND._replace(**change))["partialFingerprints"]

    assert fingerprint() == fingerprint(span=Span(RUN, 9, 1, 9, 2), message="other words")
    others = [fingerprint(path=("x",)), fingerprint(code="a/b"), fingerprint(span=Span(RUN._replace(name="b")))]
    assert fingerprint() not in others


def test_a_message_is_neither_placeholder_nor_link_to_sarif() -> None:
    text = result_of(FOUND._replace(message="`{0}` `{name}` `[a](b)` `args[1]`", notes=(), help=None))["message"][
        "text"
    ]
    assert text == "`{{0}}` `{name}` `[a\\](b)` `args[1]`"


# GitHub.


def test_a_finding_as_a_workflow_command() -> None:
    assert as_github([FOUND]) == (
        "::error file=runs/a b.yaml,line=2,endLine=2,col=6,endColumn=9,title=schema/quantity::it is wrong"
        "%0Anote: set here (profiles/x.yaml:1:5)%0Anote: by the way%0Anote: made (built-in platform)"
        "%0Ahelp: write `8Gi`\n"
    )


@pytest.mark.parametrize("severity", Severity)
def test_each_severity_has_its_command(severity: Severity) -> None:
    finding = Diagnostic(code="a/b", message="m", severity=severity)
    assert as_github([finding, finding]) == f"::{severity} title=a/b::m\n" * 2


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        (Span(RUN, 2, 6, 4, 3), "file=runs/a b.yaml,line=2,endLine=4,title=a/b::m"),
        (Span(Source("missing.yaml", "", Layer.RUN)), "file=missing.yaml,title=a/b::m"),
        (Span(Source("<stdin>", "", Layer.RUN), 2, 6, 2, 9), "title=a/b::m%0A--> <stdin>:2:6"),
        (Span(Source("<run>", "", Layer.RUN)), "title=a/b::m%0A--> <run>: x[0]"),
        (BUILT_IN, "title=a/b::m%0A--> built-in platform: x[0]"),
    ],
)
def test_a_command_has_the_place_that_github_understands(span: Span, expected: str) -> None:
    finding = Diagnostic(code="a/b", message="m", span=span, path=("x", 0))
    assert as_github([finding]) == f"::error {expected}\n"


def test_what_would_end_a_command_is_escaped() -> None:
    source = Source("a,b:c%\r\n.yaml", "", Layer.RUN)
    assert as_github([Diagnostic(code="a/b", message="100%, a::b\r\n::warning::x", span=Span(source))]) == (
        "::error file=a%2Cb%3Ac%25%0D%0A.yaml,title=a/b::100%25, a::b%0D%0A::warning::x\n"
    )


# Hostile text.

EVIL = (
    *("::", "%0A", "%250A", "\n", "\r", "\r\n::error::x", '"', "'", "\\", "</script>", "<!--", "]]>", "](", "{0}"),
    *("\u202e", "\u2066", "\u200f", "\u2028", "\x85", "\x0b", "\x1b[2J", "\x00", "\x7f", "\x9b", "\ufeff"),
    *("\ud800", "\udcff", "\ud83d\ude00", "😀", "\U000e0001", "\uffff", ",", "=", "/", "../", "<", ">", ": "),
)


def encodable(text: str) -> str:
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


TEXTS = st.lists(st.sampled_from(EVIL) | st.text(st.characters(codec=None, exclude_categories=())), max_size=5).map(
    "".join
)
SPANS = st.builds(
    lambda name, layer, line, column, lines: Span(Source(name, "", layer), line, column, line + lines, column + 1),
    TEXTS,
    st.sampled_from(Layer),
    st.integers(1, 10**6),
    st.integers(1, 10**6),
    st.integers(0, 2),
) | st.builds(lambda name, layer: Span(Source(name, "", layer)), TEXTS, st.sampled_from(Layer))
FINDINGS = st.builds(
    Diagnostic,
    code=st.sampled_from(sorted(CODES)) | TEXTS.map(encodable),
    message=TEXTS,
    span=st.none() | SPANS,
    path=st.lists(TEXTS | st.integers(0, 99), max_size=3).map(tuple),
    severity=st.sampled_from(Severity),
    notes=st.lists(st.builds(Note, TEXTS, st.none() | SPANS), max_size=2).map(tuple),
    help=st.none() | TEXTS,
)
ALL_EVIL = Diagnostic(
    code="".join(EVIL),
    message="".join(EVIL),
    span=Span(Source("".join(EVIL), "", Layer.RUN), 1, 1, 1, 2),
    path=EVIL,
    notes=(Note("".join(EVIL), Span(Source("".join(EVIL), "", Layer.RUN))),),
    help="".join(EVIL),
)


def assert_harmless(text: str) -> None:
    assert text.encode("utf-8").decode("utf-8") == text
    assert [char for char in text if not char.isprintable() and char != "\n"] == []


@given(st.lists(FINDINGS, max_size=3))
@example([ALL_EVIL])
def test_law_hostile_text_comes_back_from_json(found: Sequence[Diagnostic]) -> None:
    text = as_json(found)
    assert_harmless(text)
    assert faults(Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))), text) == []
    for finding, data in zip(found, json.loads(text)["findings"], strict=True):
        assert data["message"] == encodable(finding.message)
        assert data["code"] == encodable(finding.code)
        assert [note["message"] for note in data["notes"]] == [encodable(note.message) for note in finding.notes]
        assert data["help"] == (finding.help if finding.help is None else encodable(finding.help))
        assert not finding.span or data["place"]["file"] == encodable(finding.span.source.name)


@given(st.lists(FINDINGS, max_size=3))
@example([ALL_EVIL])
def test_law_hostile_text_comes_back_from_sarif(sarif: Validator, found: Sequence[Diagnostic]) -> None:
    text = as_sarif(found, CODES, "1.0.0")
    assert_harmless(text)
    assert faults(sarif, text) == []
    (run,) = json.loads(text)["runs"]
    for finding, result in zip(found, run["results"], strict=True):
        assert result["ruleId"] == encodable(finding.code)
        told = result["message"]["text"].replace("\\](", "](")
        assert re.sub(r"\{\{(\d+)\}\}", r"{\1}", told, flags=re.ASCII).startswith(encodable(finding.message))
        for location in result.get("locations", ()):
            if "physicalLocation" in location:
                uri = location["physicalLocation"]["artifactLocation"]["uri"]
                assert re.fullmatch(r"(file:(///[A-Za-z]:/|//))?([\w.~/-]|%[0-9A-F]{2})*", uri, re.ASCII)


@given(st.lists(FINDINGS, max_size=3))
@example([ALL_EVIL])
def test_law_a_finding_with_hostile_text_is_one_workflow_command(found: Sequence[Diagnostic]) -> None:
    text = as_github(found)
    assert_harmless(text)
    commands = commands_of(text)
    for finding, (level, properties, message) in zip(found, commands, strict=True):
        assert level == finding.severity
        assert set(properties) <= {"file", "line", "endLine", "col", "endColumn", "title"}
        assert properties["title"] == visible(finding.code)
        assert message.startswith(visible(finding.message))
        if finding.span and "file" in properties:
            assert properties["file"] == visible(finding.span.source.name.replace("\\", "/"))


def visible(text: str) -> str:
    return "".join(char if char.isprintable() or char in "\r\n" else " " if char == "\t" else "\ufffd" for char in text)
