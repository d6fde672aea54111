"""Takes the schemas, the table of codes and the parser of the command line, gives the pages made from them alone."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from speccompile.cli.main import parser
from speccompile.compiler.bundled_library import bundled_library
from speccompile.compiler.merge import STRATEGIES
from speccompile.model.key_spelling import camel_case
from speccompile.schema.bundled import bundled_codes
from speccompile.schema.library import Library, Schema

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
_EXIT_CODES = {
    0: "Done.",
    1: "The input has errors.",
    2: "The call itself is wrong.",
    3: "A bug of ours.",
    4: "Done, and something differs: committed manifests from their specs, or runs under changed profiles.",
}
_TYPE_WORDS = {"array": "list", "object": "map", "boolean": "true or false", "integer": "whole number"}


def reference() -> str:
    """The fields and settings, from the bundled schemas alone."""
    library = bundled_library()
    return "\n".join(
        [
            "<!-- Made by scripts/make_reference.py from schemas/ and templates/: `make reference`. -->",
            "# Reference",
            "",
            'snake_case is canonical; the camelCase spelling of a key is the same key. `null` means "not said".',
            "",
            "## A run",
            "",
            library.schemas["run"]["description"],
            "",
            *_table(library, library.schemas["run"]["properties"]),
            "",
            "## Fields of runs and profiles",
            "",
            "A field that names actions belongs to runs with those actions; from a profile it is left out elsewhere.",
            "",
            *_sections(library, lambda schema: "x-targets" not in schema),
            "## Fields of one target",
            "",
            "They apply under profiles that say `target:` and its name.",
            "",
            *_sections(library, lambda schema: "x-targets" in schema),
            "## A profile",
            "",
            library.schemas["profile"]["description"],
            "",
            *_table(library, library.schemas["profile"]["properties"]),
            "",
            "Beside these, every field of the section above. Base documents stand in the same file, after `---`.",
            "A Kubernetes ConfigMap whose `data` holds such files is read as those files.",
            "",
            "### Rules",
            "",
            library.schemas["rules"]["description"],
            "",
            *_table(library, library.schemas["rules"]["$defs"]["constraint"]["properties"]),
            "",
            "### Base documents",
            "",
            library.schemas["base"]["description"],
            "",
            "Kinds: " + ", ".join(f"`{kind}`" for kind in library.schemas["base"]["properties"]["kind"]["enum"]) + ".",
            "",
            "| list | its items are told apart by | an item of both sides |",
            "|---|---|---|",
            *_lists(library, library.schemas["base"], ()),
            "",
            "## The platform",
            "",
            library.schemas["platform"]["description"],
            "",
            *_table(library, library.schemas["platform"]["properties"]),
            "",
            "## The project file",
            "",
            library.schemas["project"]["description"],
            "",
            *_table(library, library.schemas["project"]["properties"]),
            "",
            "## A target",
            "",
            library.schemas["target"]["description"] + " See [A target of your own](howto/targets.md).",
            "",
            *_table(library, library.schemas["target"]["properties"]),
            "",
            "### A row of a target",
            "",
            "Rows of `workloads`, `manifests` and `refuse` have conditions, all of which must hold.",
            "",
            *_table(library, library.schemas["target"]["$defs"]["condition"]["properties"]),
            "",
            *(
                line
                for name in ("workloads", "manifests", "refuse")
                for line in _row_of(library, name, library.schemas["target"]["properties"][name]["items"])
            ),
            "### Fields of a target",
            "",
            library.schemas["targetfields"]["description"],
            "",
            *_table(library, library.schemas["targetfields"]["$defs"]["field"]["properties"]),
            *_rows(library, library.schemas["targetfields"]["$defs"]["schema"]["properties"], ""),
            "",
            "## Tolerations and affinity",
            "",
            library.schemas["placement"]["description"],
            "",
            *_placement(library),
            "What can be wrong with all this: [codes.md](codes.md).",
            "",
        ]
    )


def codes() -> str:
    """The diagnostic codes with their examples, from their table alone."""
    table = bundled_codes()
    return "\n".join(
        [
            "<!-- Made by scripts/make_reference.py from diagnostic_codes.toml: `make reference`. -->",
            "# Diagnostic codes",
            "",
            "`speccompile explain --code CODE` prints the same. How severe a code is can be changed in the project",
            "file (`severity`) and by `--error`, `--warning`, `--notice` and `--ignore`; a run that has errors has no",
            "manifests, however severe they are called. An example without file names is a `run.yaml`.",
            "",
            "| code | severity | meaning |",
            "|---|---|---|",
            *(f"| [`{name}`](#{_anchor(name)}) | {code.severity} | {code.means} |" for name, code in table.items()),
            "",
            *(line for name in table for line in _code(name)),
        ]
    )


def command_line() -> str:
    """The commands with their arguments and examples, from the parser alone."""
    return "\n".join(
        [
            "<!-- Made by scripts/make_reference.py from the parser of the command line: `make reference`. -->",
            "# Command line",
            "",
            "`speccompile COMMAND --help` tells the same on one screen. Results go to stdout and everything else to",
            "stderr; colour and progress are for terminals only.",
            "",
            "| exit code | meaning |",
            "|---|---|",
            *(f"| {code} | {meaning} |" for code, meaning in _EXIT_CODES.items()),
            "",
            *_commands(parser()),
        ]
    )


def _commands(parser: argparse.ArgumentParser) -> Iterator[str]:
    """A section for each command below the parser; one that only has others below it is just their prefix."""
    for action in parser._actions:  # noqa: SLF001  argparse has no public way to ask for these
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for command in action.choices.values():
                yield from _command(command)
                yield from _commands(command)


def _command(parser: argparse.ArgumentParser) -> Iterator[str]:
    yield from (f"## `{parser.prog}`", "", parser.description or "", "")
    formatter = parser._get_formatter()  # noqa: SLF001
    rows = [
        f"| {_spelled(action)} | {_cell(formatter._expand_help(action))} |"  # noqa: SLF001
        for action in parser._actions  # noqa: SLF001
        if action.help and action.help != argparse.SUPPRESS and action.dest != "help"
    ]
    if rows:
        yield from ("| argument | meaning |", "|---|---|", *rows, "")
    if parser.epilog:
        yield from ("```text", parser.epilog.rstrip("\n"), "```", "")


def _spelled(action: argparse.Action) -> str:
    """An argument as it is typed: `PATH…`, `-o DIR`, `--format {text,json}`."""
    choices = "{" + ",".join(map(str, action.choices or ())) + "}"
    value = str(action.metavar or (choices if action.choices else action.dest.upper()))
    if not action.option_strings:
        return f"`{value}{'…' if action.nargs in ('*', '+') else ''}`"
    said = "" if action.nargs == 0 else f" {value}"
    return ", ".join(f"`{option}{said}`" for option in action.option_strings)


def reports() -> str:
    """The shapes of the JSON that commands print, from their schemas alone."""
    files = sorted((ROOT / "schemas" / "reports").glob("*.json"))
    return "\n".join(
        [
            "<!-- Made by scripts/make_reference.py from schemas/reports/: `make reference`. -->",
            "# JSON reports",
            "",
            "What the formats for programs hold. The schemas are in `schemas/reports/` of the repository.",
            "",
            *(line for file in files for line in _report(file)),
        ]
    )


def _report(file: Path) -> Iterator[str]:
    schema = json.loads(file.read_text(encoding="utf-8"))
    yield from (f"## {schema['title']}", "", schema["description"], "", f"Schema: `{file.name}`.", "")
    yield from _shape(schema)
    for name, part in schema.get("$defs", {}).items():
        if "properties" in part:
            yield from (f"### {schema['title']}: {name}", "", part.get("description", ""), "")
            yield from _shape(part)


def _shape(schema: Schema) -> Iterator[str]:
    yield from ("| key | type | meaning |", "|---|---|---|", *_keys(schema, ""), "")


def _keys(schema: Schema, prefix: str) -> Iterator[str]:
    for key, part in schema["properties"].items():
        yield f"| `{prefix}{key}` | {_kind(part)} | {_cell(part.get('description', ''))} |"
        for inner in (part, *part.get("anyOf", ())):
            if "properties" in inner:
                yield from _keys(inner, f"{prefix}{key}.")


def _kind(schema: Schema) -> str:
    """The type of a value in a report, in a few words; a shape that has a table of its own is called by its name."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "const" in schema or "enum" in schema:
        return ", ".join(f"`{json.dumps(value)}`" for value in schema.get("enum", (schema.get("const"),)))
    if several := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(_kind(one) for one in several)
    types = schema.get("type", "anything")
    words = [_TYPE_WORDS.get(word, word) for word in ([types] if isinstance(types, str) else types)]
    items = schema.get("items")
    return " or ".join(f"list of {_kind(items)}" if word == "list" and items else word for word in words)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _anchor(name: str) -> str:
    return name.replace("/", "")


def _code(name: str) -> Iterator[str]:
    code = bundled_codes()[name]
    yield from (f"## {name}", "", f"*{code.severity}*: {code.means}", "")
    for title, example in (("Bad", code.bad), ("Good", code.good)):
        yield from (f"{title}:", "", "```yaml", example.rstrip("\n"), "```", "")


def _row_of(library: Library, name: str, schema: Schema) -> Iterator[str]:
    yield from (f"### Beside conditions, in `{name}`", "")
    yield from _table(library, schema["properties"])
    yield ""


def _sections(library: Library, wanted: Callable[[Schema], bool]) -> Iterator[str]:
    for name, schema in library.fields.items():
        if not wanted(schema):
            continue
        other = camel_case(name)
        yield f"### `{name}`" + (f" (`{other}`)" if other != name else "")
        yield ""
        yield schema["description"]
        yield ""
        merge = STRATEGIES[schema.get("x-merge", "replace")].means.format(key=schema.get("x-key"))
        facts = [f"Type: {_type(library, schema)}.", f"Under a profile: {merge}."]
        if actions := schema.get("x-actions"):
            facts.append(f"Actions: {', '.join(f'`{action}`' for action in actions)}.")
        if targets := schema.get("x-targets"):
            facts.append(f"Target: {', '.join(f'`{target}`' for target in targets)}.")
        yield " ".join(facts)
        for example in schema.get("examples", ()):
            yield ""
            yield f"    {name}: {json.dumps(example, ensure_ascii=False)}"
        yield ""
        inner = schema.get("properties") or library.resolve(schema.get("items", {})).get("properties")
        if inner and name != "affinity":
            yield from _table(library, inner)
            yield ""


_MEETING_WORDS = {"deep": "is merged", "whole": "is the stronger side's"}


def _lists(library: Library, given: Schema, path: tuple[str, ...]) -> Iterator[str]:
    """A row for each list of a base document that does not simply replace another; pods are told of once."""
    schema = library.resolve(given)
    if keys := schema.get("x-keys"):
        told = " and ".join(f"`{key}`" for key in keys)
        yield f"| `{'.'.join(path[-2:])}` | {told} | {_MEETING_WORDS[schema['x-list']]} |"
    for key, child in schema.get("properties", {}).items():
        if key not in ("jobTemplate", "initContainers", "ephemeralContainers"):
            yield from _lists(library, child, (*path, key))
    yield from _lists(library, schema["items"], path) if "items" in schema else ()


def _placement(library: Library) -> Iterator[str]:
    for name, schema in library.schemas["placement"]["$defs"].items():
        if properties := schema.get("properties"):
            yield f"### {name}"
            yield ""
            yield from _table(library, properties)
            yield ""


def _table(library: Library, properties: Schema) -> Iterator[str]:
    yield "| key | type | meaning | default |"
    yield "|---|---|---|---|"
    yield from _rows(library, properties, "")


def _rows(library: Library, properties: Schema, prefix: str) -> Iterator[str]:
    for key, given in properties.items():
        schema = library.resolve(given)
        default = f"`{json.dumps(schema['default'])}`" if "default" in schema else ""
        yield f"| `{prefix}{key}` | {_type(library, schema)} | {schema.get('description', '')} | {default} |"
        if schema.get("properties") and "$ref" not in given:
            yield from _rows(library, schema["properties"], f"{prefix}{key}.")


def _type(library: Library, schema: Schema) -> str:
    if "enum" in schema:
        return ", ".join(f"`{value}`" if value else '`""`' for value in schema["enum"])
    if schema.get("format") in ("quantity", "positive-quantity", "whole-number"):
        pair = " or `{requests, limits}`" if "object" in schema.get("type", ()) else ""
        return ("whole " if schema["format"] == "whole-number" else "") + "quantity" + pair
    types: Any = schema.get("type", "any")
    words = [types] if isinstance(types, str) else types
    named = " or ".join(_TYPE_WORDS.get(word, word) for word in words)
    items = library.resolve(schema.get("items", {}))
    if "array" in words and items.get("type") == "string":
        named = named.replace("list", "list of strings")
    bounds = [f"{word} {schema[key]}" for key, word in (("minimum", "from"), ("maximum", "to")) if key in schema]
    return " ".join([named, *bounds])


PAGES: Mapping[str, Callable[[], str]] = {
    "reference.md": reference,
    "cli.md": command_line,
    "codes.md": codes,
    "json.md": reports,
}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
        print(f"wrote {name}")
