"""Takes the schemas and the table of codes, gives docs/reference.md: every field, setting and code, written once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from speccompile.codes import CODES
from speccompile.library import Library, Schema
from speccompile.resources import bundled_library
from speccompile.spelling import camel_case

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference.md"
_MERGE_WORDS = {
    "replace": "the profile's value replaces the run's",
    "map": "by key, the profile's value wins",
    "keyed": "by `{key}`, the profile's whole item wins",
    "union": "run and profile add up, equal items once",
    "affinity": "both hold",
}
_TYPE_WORDS = {"array": "list", "object": "map", "boolean": "true or false", "integer": "whole number"}


def page() -> str:
    """The text of the page, from the bundled schemas alone."""
    library = bundled_library()
    return "\n".join(
        [
            "<!-- Made by scripts/make_reference.py from schemas/ and speccompile/codes.py: `make reference`. -->",
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
            "## Diagnostic codes",
            "",
            "| code | meaning |",
            "|---|---|",
            *(f"| `{code}` | {meaning} |" for code, meaning in CODES.items()),
            "",
        ]
    )


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


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.name}")
