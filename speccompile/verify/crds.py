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
from speccompile.schema.validate import describe_value
from speccompile.verify.go_regex import MISSING, Patterns
from speccompile.verify.kubernetes_api import Kind
from speccompile.verify.server_checks import UNLESS_NULL
from speccompile.verify.verify import NOT_CHECKED, Api, LocatedObject, VerifyResult, result_findings, verify_object

BAD_DEFINITION = "api/bad-definition"
_KIND = "CustomResourceDefinition"
_METADATA: Schema = {"$ref": "#/$defs/metadata"}
"""Resolved by the API that uses the schema, because metadata depends on the version."""
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
"""Keywords with the same meaning in Kubernetes and JSON Schema, and the types of their arguments."""
_FLAGS = ("nullable", "exclusiveMinimum", "exclusiveMaximum", _INT_OR_STRING, _PRESERVE, _EMBEDDED)
_ANNOTATIONS = ("title", "description", "default", "example", "externalDocs", "format", "uniqueItems")
_EXTENSION = "x-kubernetes-"
_ALL_KEYWORDS = (
    *("type", "properties", "additionalProperties", "items", "required", "enum", "allOf", "anyOf", "oneOf", "not"),
    *_TYPED,
    *_FLAGS,
    *_ANNOTATIONS,
)


_SYNTAX = "use the RE2 syntax of Go: no lookaround, no backreferences, at most 1000 repetitions"
_ASK = "check it with a server: `kubectl apply --dry-run=server`"
_INSTALL = "install it: `pip install google-re2`"


class Definitions(NamedTuple):
    """Custom kinds, and the findings about their definitions."""

    kinds: Mapping[Kind, Schema]
    findings: tuple[Diagnostic, ...]


def is_definition(tree: Node) -> bool:
    kind = tree.fields.get("kind")
    return kind is not None and kind.value == _KIND


def definitions(trees: Iterable[Node], api: Api) -> Definitions:
    """The kinds that valid definitions serve."""
    defaulted: dict[Kind, Schema] = {}
    all_findings: list[Diagnostic] = []
    for tree in trees:
        faults = [*result_findings(verify_object(LocatedObject(tree, tree.place), [api]))]
        served = {} if faults else _served(tree, faults)
        all_findings += faults
        if not has_errors(faults):
            defaulted |= served
    return Definitions(defaulted, tuple(all_findings))


def add_schema_faults(result: VerifyResult, tree: Node) -> VerifyResult:
    """Add the faults in the schemas of a CustomResourceDefinition to its result."""
    if not is_definition(tree) or any(result.faults.values()):
        return result
    faults: list[Diagnostic] = []
    _served(tree, faults)
    return result._replace(faults=dict.fromkeys(result.faults, tuple(faults)))


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
    """Required fields: `x-required` for those that may not be null; a field with a default is not required."""
    required, fields = node.fields.get("required"), node.at(("properties",))
    names = [str(item.value) for item in required.items] if required else []
    declared = {name: fields.fields[name] for name in names if name in fields.fields} if fields else {}
    nullable = {name for name, one in declared.items() if (flag := one.fields.get("nullable")) and flag.value is True}
    defaulted = {
        name for name, one in declared.items() if (default := one.fields.get("default")) and default.value is not None
    }
    required_names = [name for name in names if name not in defaulted]
    # If a partial schema does not describe a field, null may be valid.
    strict = [name for name in required_names if name in declared and name not in nullable]
    loose = [name for name in required_names if name not in strict]
    return {**({"required": loose} if loose else {}), **({"x-required": strict} if strict else {})}


def _unless_null(schema: Schema) -> Schema:
    """The schema of a nullable value; for null itself, a server checks only type and enum."""
    always = {key: result for key, result in schema.items() if key in ("type", "enum")}
    others = {key: result for key, result in schema.items() if key not in always}
    return {**always, UNLESS_NULL: others} if others else always


def _text(node: Node | None) -> str:
    return str(node.value) if node and node.is_scalar else ""


def _fault(node: Node, path: KeyPath, message: str, help_text: str | None = None) -> Diagnostic:
    return Diagnostic(code=BAD_DEFINITION, message=message, span=node.place, path=path, help=help_text)


class _Reader:
    """Translate a structural schema of Kubernetes to JSON Schema; unknown keywords are dropped."""

    def __init__(self, faults: list[Diagnostic]) -> None:
        self.faults = faults
        self.patterns = Patterns()
        self.skipped_patterns = 0
        """Patterns that are not checked, and left out of the result."""
        self.is_missing = False

    def root(self, node: Node, path: KeyPath) -> Schema:
        translated = dict(self.schema(node, path, closes=True))
        return {**translated, "properties": {**translated.get("properties", {}), **self._envelope(node, path)}}

    def _envelope(self, node: Node, path: KeyPath) -> Mapping[str, Schema]:
        """The fields of every object; the definition may restrict its metadata."""
        declared = node.at(("properties", "metadata"))
        more = [self.schema(declared, (*path, "properties", "metadata"), closes=False)] if declared else []
        text = {"type": "string"}
        return {"apiVersion": text, "kind": text, "metadata": {"allOf": [_METADATA, *more]}}

    def schema(self, node: Node, path: KeyPath, *, closes: bool) -> Schema:
        """Translate a schema; with `closes`, unknown fields are rejected."""
        if not isinstance(node.value, Mapping):
            self._refuse(node, path, f"expected a schema, found {describe_value(node.plain())}")
            return {}
        for key, child in node.fields.items():
            if key not in _ALL_KEYWORDS and not key.startswith(_EXTENSION):
                all_findings = unknown_key(key, child.key or child.span, (*path, key), _ALL_KEYWORDS)
                self.faults.append(
                    _fault(child, all_findings.path, f"Kubernetes does not allow {quote(key)} here", all_findings.help)
                )
        flags = {name for name in _FLAGS if self._flag(node, name, path)}
        translated: dict[str, Any] = {**self._types(node, path, flags), **self._limits(node, path, flags)}
        translated |= {**self._inner(node, path, closes=closes), **_required(node)}
        if closes and "object" in translated.get("type", ()) and _PRESERVE not in flags:
            translated.setdefault("additionalProperties", False)
        if _EMBEDDED in flags:
            translated["properties"] = {**translated.get("properties", {}), **self._envelope(node, path)}
            translated["x-required"] = [*translated.get("x-required", ()), "apiVersion", "kind"]
        return _unless_null(translated) if "nullable" in flags else translated

    def _refuse(self, node: Node, path: KeyPath, message: str) -> None:
        self.faults.append(_fault(node, path, message))

    def _flag(self, node: Node, name: str, path: KeyPath) -> bool:
        child = node.fields.get(name)
        if child is not None and child.value not in (None, True, False):
            self._refuse(child, (*path, name), f"expected true or false, found {describe_value(child.plain())}")
        return child is not None and child.value is True

    def _types(self, node: Node, path: KeyPath, flags: set[str]) -> Schema:
        child = node.fields.get("type")
        if child is not None and child.value not in _TYPES:
            options = ", ".join(f"`{name}`" for name in _TYPES)
            self._refuse(child, (*path, "type"), f"expected one of {options}, found {describe_value(child.plain())}")
            return {}
        names = ["integer", "string"] if _INT_OR_STRING in flags else [str(child.value)] if child else []
        return {"type": [*names, *(["null"] if "nullable" in flags else [])]} if names else {}

    def _limits(self, node: Node, path: KeyPath, flags: set[str]) -> Schema:
        translated: dict[str, Any] = {}
        for key, types in _TYPED.items():
            child = node.fields.get(key)
            if child is None or child.value is None:
                continue
            is_typed = isinstance(child.value, types) and not isinstance(child.value, bool)
            if not is_typed or (key == "multipleOf" and not float(str(child.value)) > 0):
                self._refuse(child, (*path, key), f"{describe_value(child.plain())} cannot be a `{key}`")
                continue
            if key == "pattern" and not self._is_checked(child, (*path, key)):
                self.skipped_patterns += 1
                continue
            strict = f"exclusive{key[0].upper()}{key[1:]}"
            translated[strict if strict in flags else key] = child.value
        if (options := node.fields.get("enum")) is not None:
            translated["enum"] = [item.plain() for item in options.items]
        return translated

    def _is_checked(self, node: Node, path: KeyPath) -> bool:
        problem = self.patterns.problem(str(node.value))
        if problem is None:
            return True
        if problem.is_invalid:
            self.faults.append(_fault(node, path, f"invalid regular expression: {problem.reason}", _SYNTAX))
        elif problem is not MISSING or not self.is_missing:
            self.is_missing = problem is MISSING
            which, help_text = ("patterns are", _INSTALL) if problem is MISSING else ("this pattern is", _ASK)
            fault = _fault(node, path, f"{which} not checked: {problem.reason}", help_text)
            self.faults.append(fault._replace(code=NOT_CHECKED, severity=Severity.WARNING))
        return False

    def _inner(self, node: Node, path: KeyPath, *, closes: bool) -> Schema:
        translated: dict[str, Any] = {}
        for key, child in node.fields.items():
            below = (*path, key)
            skipped_patterns = self.skipped_patterns
            if key == "properties":
                translated[key] = {
                    name: self._field(one, (*below, name), closes=closes) for name, one in child.fields.items()
                }
            elif key in ("allOf", "anyOf", "oneOf") and child.items:
                # These restrict values only; the fields are declared beside them.
                translated[key] = [
                    self.schema(one, (*below, index), closes=False) for index, one in enumerate(child.items)
                ]
            elif key == "not":
                translated[key] = self.schema(child, below, closes=False)
            elif key == "additionalProperties" and isinstance(child.value, bool):
                translated[key] = child.value
            elif key == "additionalProperties" and child.value is not None:
                translated[key] = self._field(child, below, closes=closes)
            elif key == "items" and child.value is not None:
                translated[key] = self.schema(child, below, closes=closes)
            if key in ("not", "oneOf") and self.skipped_patterns > skipped_patterns:
                # Without one of its patterns, it would reject what the server accepts.
                translated.pop(key, None)
        return translated

    def _field(self, node: Node, path: KeyPath, *, closes: bool) -> Schema:
        """The schema of a field; a server reads null as unset if the field is not nullable."""
        translated = self.schema(node, path, closes=closes)
        return translated if self._flag(node, "nullable", path) else {UNLESS_NULL: translated}
