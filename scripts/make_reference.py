"""Takes the schemas and the table of codes, gives docs/reference.md and docs/codes.md: everything, written once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from speccompile.library import Library, Schema
from speccompile.resources import bundled_codes, bundled_library
from speccompile.spelling import camel_case

DOCS = Path(__file__).resolve().parent.parent / "docs"
_MERGE_WORDS = {
    "replace": "the profile's value replaces the run's",
    "map": "by key, the profile's value wins",
    "keyed": "by `{key}`, the profile's whole item wins",
    "union": "run and profile add up, equal items once",
    "affinity": "both hold",
}
_TYPE_WORDS = {"array": "list", "object": "map", "boolean": "true or false", "integer": "whole number"}


def reference() -> str:
    """The fields and settings, from the bundled schemas alone."""
    library = bundled_library()
    return "\n".join(
        [
            "<!-- Made by scripts/make_reference.py from schemas/: `make reference`. -->",
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
            *_sections(library),
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
            "<!-- Made by scripts/make_reference.py from speccompile/codes.toml: `make reference`. -->",
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


def _anchor(name: str) -> str:
    return name.replace("/", "")


def _code(name: str) -> Iterator[str]:
    code = bundled_codes()[name]
    yield from (f"## {name}", "", f"*{code.severity}*: {code.means}", "")
    for title, example in (("Bad", code.bad), ("Good", code.good)):
        yield from (f"{title}:", "", "```yaml", example.rstrip("\n"), "```", "")


def _sections(library: Library) -> Iterator[str]:
    for name, schema in library.fields.items():
        other = camel_case(name)
        yield f"### `{name}`" + (f" (`{other}`)" if other != name else "")
        yield ""
        yield schema["description"]
        yield ""
        merge = _MERGE_WORDS[schema.get("x-merge", "replace")].format(key=schema.get("x-key"))
        facts = [f"Type: {_type(library, schema)}.", f"Under a profile: {merge}."]
        if actions := schema.get("x-actions"):
            facts.append(f"Actions: {', '.join(f'`{action}`' for action in actions)}.")
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


PAGES: Mapping[str, Callable[[], str]] = {"reference.md": reference, "codes.md": codes}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
        print(f"wrote {name}")
