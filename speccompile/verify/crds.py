"""CustomResourceDefinitions as JSON schemas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from speccompile.model.diagnostic import Diagnostic, Severity, quote
from speccompile.model.findings import has_errors
from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.schema.library import Schema
from speccompile.schema.suggestions import unknown_key
from speccompile.schema.validate import described
from speccompile.verify.go_regex import MISSING, Patterns
from speccompile.verify.kubernetes_api import Kind
from speccompile.verify.server_checks import UNLESS_NULL
from speccompile.verify.verify import NOT_CHECKED, Api, LocatedObject, VerifyResult, findings, verify_object

BAD_DEFINITION = "api/bad-definition"
_KIND = "CustomResourceDefinition"
_METADATA: Schema = {"$ref": "#/$defs/metadata"}
"""Answered by the API that uses the schema, as the metadata of objects is a matter of its version."""
_TYPES = ("object", "array", "string", "integer", "number", "boolean")
_INT_OR_STRING, _PRESERVE, _EMBEDDED = (
    f"x-kubernetes-{name}" for name in ("int-or-string", "preserve-unknown-fields", "embedded-resource")
)
_TYPED = {
    "minimum": (int, float),
    "maximum": (int, float),
    "multipleOf": (int, float),
    "minLength": (int,),
    "maxLength": (int,),
    "minItems": (int,),
    "maxItems": (int,),
    "minProperties": (int,),
    "maxProperties": (int,),
    "pattern": (str,),
}
"""Keywords that mean the same to Kubernetes and to JSON Schema, and the types of what stands behind them."""
_FLAGS = ("nullable", "exclusiveMinimum", "exclusiveMaximum", _INT_OR_STRING, _PRESERVE, _EMBEDDED)
_SAID = ("title", "description", "default", "example", "externalDocs", "format", "uniqueItems")
_EXTENSION = "x-kubernetes-"
_ALL_KEYWORDS = (
    *("type", "properties", "additionalProperties", "items", "required", "enum", "allOf", "anyOf", "oneOf", "not"),
    *_TYPED,
    *_FLAGS,
    *_SAID,
)


_SYNTAX = "use the syntax of Go (RE2): no lookaround, no backreferences, at most 1000 repetitions"
_ASK = "ask a server: `kubectl apply --dry-run=server`"
_INSTALL = "install it: `pip install google-re2`"


class Definitions(NamedTuple):
    """The custom kinds of some documents, and everything wrong with these."""

    kinds: Mapping[Kind, Schema]
    findings: tuple[Diagnostic, ...]


def is_definition(tree: Node) -> bool:
    kind = tree.fields.get("kind")
    return kind is not None and kind.value == _KIND


def definitions(trees: Iterable[Node], api: Api) -> Definitions:
    """The kinds that the definitions serve; one that is at fault, as the API or its own schema goes, serves none."""
    known: dict[Kind, Schema] = {}
    found: list[Diagnostic] = []
    for tree in trees:
        faults = [*findings(verify_object(LocatedObject(tree, tree.place), [api]))]
        served = {} if faults else _served(tree, faults)
        found += faults
        if not has_errors(faults):
            known |= served
    return Definitions(known, tuple(found))


def add_schema_faults(told: VerifyResult) -> VerifyResult:
    """The verdict on an object; if that is a definition, with what is wrong with its schemas."""
    if not is_definition(told.subject.tree) or any(told.faults.values()):
        return told
    faults: list[Diagnostic] = []
    _served(told.subject.tree, faults)
    return told._replace(faults=dict.fromkeys(told.faults, tuple(faults)))


def _served(tree: Node, faults: list[Diagnostic]) -> dict[Kind, Schema]:
    group, kind = (_text(tree.at(path)) for path in (("spec", "group"), ("spec", "names", "kind")))
    versions = tree.at(("spec", "versions"))
    served: dict[Kind, Schema] = {}
    reader = _Reader(faults)
    for index, version in enumerate(versions.items if versions else ()):
        path = ("spec", "versions", index, "schema", "openAPIV3Schema")
        written = tree.at(path)
        if written is None:
            faults.append(_fault(version, path[:3], "this version has no `schema.openAPIV3Schema`", "add it"))
            continue
        schema = reader.root(written, path)
        is_served = version.fields.get("served")
        if is_served is not None and is_served.value is True:
            served[f"{group}/{_text(version.fields.get('name'))}", kind] = schema
    return served


def _required(node: Node) -> Schema:
    """The fields that must be there, and those that may not be null either; what has a default always is."""
    required, fields = node.fields.get("required"), node.at(("properties",))
    names = [str(item.value) for item in required.items] if required else []
    said = {name: fields.fields[name] for name in names if name in fields.fields} if fields else {}
    empty = {name for name, one in said.items() if (flag := one.fields.get("nullable")) and flag.value is True}
    known = {name for name, one in said.items() if (default := one.fields.get("default")) and default.value is not None}
    asked = [name for name in names if name not in known]
    # Where a part of a schema does not say what a field is, null may be a value of it.
    strict = [name for name in asked if name in said and name not in empty]
    loose = [name for name in asked if name not in strict]
    return {**({"required": loose} if loose else {}), **({"x-required": strict} if strict else {})}


def _unless_null(schema: Schema) -> Schema:
    """What holds of a value that may be null: of null itself, a server asks its type and the options only."""
    always = {key: told for key, told in schema.items() if key in ("type", "enum")}
    others = {key: told for key, told in schema.items() if key not in always}
    return {**always, UNLESS_NULL: others} if others else always


def _text(node: Node | None) -> str:
    return str(node.value) if node and node.is_scalar else ""


def _fault(node: Node, path: KeyPath, message: str, cure: str | None = None) -> Diagnostic:
    return Diagnostic(code=BAD_DEFINITION, message=message, span=node.place, path=path, help=cure)


class _Reader:
    """Writes what Kubernetes means by a schema of its own kind as JSON Schema; only what is known gets across."""

    def __init__(self, faults: list[Diagnostic]) -> None:
        self.faults = faults
        self.patterns = Patterns()
        self.left_out = 0
        """Patterns that are not judged, and not part of the result."""
        self.is_missing = False

    def root(self, node: Node, path: KeyPath) -> Schema:
        made = dict(self.schema(node, path, closes=True))
        return {**made, "properties": {**made.get("properties", {}), **self._envelope(node, path)}}

    def _envelope(self, node: Node, path: KeyPath) -> Mapping[str, Schema]:
        """What every object has; the definition may say more of its metadata."""
        said = node.at(("properties", "metadata"))
        more = [self.schema(said, (*path, "properties", "metadata"), closes=False)] if said else []
        text = {"type": "string"}
        return {"apiVersion": text, "kind": text, "metadata": {"allOf": [_METADATA, *more]}}

    def schema(self, node: Node, path: KeyPath, *, closes: bool) -> Schema:
        """The schema; one that closes lets no field pass that it does not name."""
        if not isinstance(node.value, Mapping):
            self._refuse(node, path, f"expected a schema, which is a mapping, found {described(node.plain())}")
            return {}
        for key, child in node.fields.items():
            if key not in _ALL_KEYWORDS and not key.startswith(_EXTENSION):
                found = unknown_key(key, child.key or child.span, (*path, key), _ALL_KEYWORDS)
                self.faults.append(_fault(child, found.path, f"Kubernetes allows no {quote(key)} here", found.help))
        flags = {name for name in _FLAGS if self._flag(node, name, path)}
        made: dict[str, Any] = {**self._types(node, path, flags), **self._limits(node, path, flags)}
        made |= {**self._inner(node, path, closes=closes), **_required(node)}
        if closes and "object" in made.get("type", ()) and _PRESERVE not in flags:
            made.setdefault("additionalProperties", False)
        if _EMBEDDED in flags:
            made["properties"] = {**made.get("properties", {}), **self._envelope(node, path)}
            made["x-required"] = [*made.get("x-required", ()), "apiVersion", "kind"]
        return _unless_null(made) if "nullable" in flags else made

    def _refuse(self, node: Node, path: KeyPath, message: str) -> None:
        self.faults.append(_fault(node, path, message))

    def _flag(self, node: Node, name: str, path: KeyPath) -> bool:
        child = node.fields.get(name)
        if child is not None and child.value not in (None, True, False):
            self._refuse(child, (*path, name), f"expected true or false, found {described(child.plain())}")
        return child is not None and child.value is True

    def _types(self, node: Node, path: KeyPath, flags: set[str]) -> Schema:
        child = node.fields.get("type")
        if child is not None and child.value not in _TYPES:
            options = ", ".join(f"`{name}`" for name in _TYPES)
            self._refuse(child, (*path, "type"), f"expected one of {options}, found {described(child.plain())}")
            return {}
        names = ["integer", "string"] if _INT_OR_STRING in flags else [str(child.value)] if child else []
        return {"type": [*names, *(["null"] if "nullable" in flags else [])]} if names else {}

    def _limits(self, node: Node, path: KeyPath, flags: set[str]) -> Schema:
        made: dict[str, Any] = {}
        for key, types in _TYPED.items():
            child = node.fields.get(key)
            if child is None or child.value is None:
                continue
            is_typed = isinstance(child.value, types) and not isinstance(child.value, bool)
            if not is_typed or (key == "multipleOf" and not float(str(child.value)) > 0):
                self._refuse(child, (*path, key), f"{described(child.plain())} cannot be a `{key}`")
                continue
            if key == "pattern" and not self._is_judged(child, (*path, key)):
                self.left_out += 1
                continue
            strict = f"exclusive{key[0].upper()}{key[1:]}"
            made[strict if strict in flags else key] = child.value
        if (options := node.fields.get("enum")) is not None:
            made["enum"] = [item.plain() for item in options.items]
        return made

    def _is_judged(self, node: Node, path: KeyPath) -> bool:
        refusal = self.patterns.refusal(str(node.value))
        if refusal is None:
            return True
        if refusal.is_invalid:
            self.faults.append(_fault(node, path, f"invalid regular expression: {refusal.reason}", _SYNTAX))
        elif refusal is not MISSING or not self.is_missing:
            self.is_missing = refusal is MISSING
            which, cure = ("patterns are", _INSTALL) if refusal is MISSING else ("this pattern is", _ASK)
            fault = _fault(node, path, f"{which} not judged: {refusal.reason}", cure)
            self.faults.append(fault._replace(code=NOT_CHECKED, severity=Severity.WARNING))
        return False

    def _inner(self, node: Node, path: KeyPath, *, closes: bool) -> Schema:
        made: dict[str, Any] = {}
        for key, child in node.fields.items():
            below = (*path, key)
            left_out = self.left_out
            if key == "properties":
                made[key] = {
                    name: self._field(one, (*below, name), closes=closes) for name, one in child.fields.items()
                }
            elif key in ("allOf", "anyOf", "oneOf") and child.items:
                # These look at values only; what fields there are is said beside them.
                made[key] = [self.schema(one, (*below, at), closes=False) for at, one in enumerate(child.items)]
            elif key == "not":
                made[key] = self.schema(child, below, closes=False)
            elif key == "additionalProperties" and isinstance(child.value, bool):
                made[key] = child.value
            elif key == "additionalProperties" and child.value is not None:
                made[key] = self._field(child, below, closes=closes)
            elif key == "items" and child.value is not None:
                made[key] = self.schema(child, below, closes=closes)
            if key in ("not", "oneOf") and self.left_out > left_out:
                # Without one of its patterns, it would refuse what the server accepts.
                made.pop(key, None)
        return made

    def _field(self, node: Node, path: KeyPath, *, closes: bool) -> Schema:
        """The schema of a field: where it may not be null, a server takes null for a field that is not there."""
        made = self.schema(node, path, closes=closes)
        return made if self._flag(node, "nullable", path) else {UNLESS_NULL: made}
