"""JSON Schema as editors read it, and runs in each of their forms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jsonschema import FormatChecker

from speccompile.schema.formats.by_name import FORMAT_CHECKS
from speccompile.testing.plain_data import Data

CHECKER = FormatChecker(formats=())
for _name, _check in FORMAT_CHECKS.items():
    CHECKER.checks(_name)(lambda value, check=_check: check(value) is None)
UNSEEN = {
    "schema/duplicate-item": "items of a list are identified by a key",
    "schema/duplicate-spelling": "a field is written in two spellings or in two places",
}
"""Codes of findings that an editor cannot report, and why."""


def written(run: Data, form: str) -> Data:
    """The run in one of its forms."""
    fields = dict(run)
    if form == "flat":
        return fields
    if form == "entity":
        head: Data = {key: fields.pop(key) for key in ("name", "project") if key in fields}
        return {"kind": f"container+{fields.pop('action')}:run", **head, "spec": fields}
    metadata = {"name": fields.pop("name")}
    metadata |= {key: fields.pop(key) for key in ("labels", "annotations") if isinstance(fields.get(key), dict)}
    return {"apiVersion": "speccompile.dev/v1alpha1", "kind": "Run", "metadata": metadata, "spec": fields}


def schemas_in(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from schemas_in(child)


def pointed(schema: Data, reference: str) -> Any:
    """The target of a reference in the schema."""
    place: Any = schema
    for step in reference.split("/")[1:]:
        place = place[int(step) if isinstance(place, list) else step]
    return place
