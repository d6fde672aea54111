"""Validate Kubernetes objects against the APIs of Kubernetes versions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from speccompile.compiler.bundled_library import bundled_library
from speccompile.compiler.compiled import Compiled
from speccompile.compiler.shapes.page import FilledPage
from speccompile.model.diagnostic import Diagnostic, Note, Severity, quote
from speccompile.model.findings import in_order
from speccompile.model.key_path import KeyPath, format_path
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.source import Span
from speccompile.schema.formats.names import dns_subdomain_fault
from speccompile.schema.library import Schema
from speccompile.schema.suggestions import near
from speccompile.schema.validate import translate_error
from speccompile.verify.fast_check import Accepts, compile_predicate
from speccompile.verify.go_regex import CompiledPattern, compile_pattern
from speccompile.verify.kubernetes_api import OBJECT_META, Kind, definition, join_names, kinds, known_version, versions
from speccompile.verify.object_checks import check_names
from speccompile.verify.page_check import PageCheck
from speccompile.verify.server_checks import KEYWORDS, UNLESS_NULL, Violation

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

VIOLATION = "api/violation"
UNKNOWN_KIND = "api/unknown-kind"
NOT_CHECKED = "api/not-judged"
_MAX_FAULTS = 100
"""The maximum number of faults that are reported per object."""
_MAX_CHECKS = 2_000_000
"""The maximum number of checks of an object of a custom kind."""
_NAMELESS_KINDS = ("Review", "List", "Binding", "Eviction", "Scale", "TokenRequest", "Status")
"""Suffixes of kinds whose objects need no name, because servers do not store them."""


class LocatedObject(NamedTuple):
    """A Kubernetes object to verify, from a run or a manifest file."""

    tree: Node
    place: Span
    """The span to report for values without a line."""

    @property
    def kind(self) -> Kind:
        """Its `apiVersion` and `kind`; empty if missing."""
        result = [self.tree.fields.get(key) for key in ("apiVersion", "kind")]
        api_version, kind = (node.value if node and isinstance(node.value, str) else "" for node in result)
        return api_version, kind

    @property
    def name(self) -> str:
        """Its `name` or `generateName`; empty if both are missing."""
        named = self.tree.at(("metadata", "name")) or self.tree.at(("metadata", "generateName"))
        return named.value if named and isinstance(named.value, str) else ""


class VerifyResult(NamedTuple):
    """The faults of an object by version; empty for a version that accepts it."""

    kind: str
    name: str
    place: Span
    faults: Mapping[str, tuple[Diagnostic, ...]]


class _Identity(NamedTuple):
    """The key under which faults of several versions are merged; help and notes may differ."""

    code: str
    message: str
    span: Span | None
    path: KeyPath


@dataclass(frozen=True, eq=False)
class _Check:
    schema: Schema
    accepts: Accepts | None = None
    """A fast check, if available; the validator explains failures."""

    @cached_property
    def validator(self) -> Validator:
        # jsonschema is slow to import, and only invalid objects need it.
        from speccompile.verify.api_validator import ApiValidator

        result: Validator = ApiValidator(self.schema)
        return result

    def is_affordable(self, data: Any) -> bool:
        """Whether the check is affordable: a definition may have thousands of checks for thousands of values."""
        return self.accepts is not None or _remaining_checks(self.schema, data, _MAX_CHECKS) >= 0


@dataclass(frozen=True, eq=False)
class Api:
    """The API of a Kubernetes version, with custom kinds."""

    version: str
    customs: Mapping[Kind, Schema] = field(default_factory=dict)
    _checks: dict[Kind, _Check | None] = field(default_factory=dict, init=False, repr=False)

    def check(self, kind: Kind) -> _Check | None:
        if kind not in self._checks:
            self._checks[kind] = self._build_check(kind)
        return self._checks[kind]

    def _build_check(self, kind: Kind) -> _Check | None:
        name = kinds(self.version).get(kind)
        if name is not None:
            schema = definition(self.version, name)
            return _Check(schema, compile_predicate(schema))
        custom = self.customs.get(kind)
        metadata = {"$defs": {"metadata": definition(self.version, OBJECT_META)}}
        names = {"x-checks": (check_names(dns_subdomain_fault),)}
        return _Check({**custom, **metadata, **names}) if custom is not None else None


def violations(compiled: Compiled, version: str) -> tuple[Diagnostic, ...]:
    """What a cluster of the version (`1.33`) would reject, at the line of the run, profile or template that caused it.

    Unknown fields are violations. The schemas come from the package `kubernetes-validate`; raises LookupError for a
    version without schemas, and ModuleNotFoundError if the package is not installed.
    """
    known_kinds = known_version(version)
    if known_kinds is None:
        raise LookupError(f"no API schemas for Kubernetes {version}; available: {join_names(versions())}")
    api = _api(known_kinds)
    if accepts_filled(compiled, api):
        return ()
    results = (verify_object(subject, [api]) for subject in run_objects(compiled))
    return in_order(finding for result in results for finding in result_findings(result))


def accepts_filled(compiled: Compiled, api: Api) -> bool:
    """Whether the values that fill the page of a run make it valid; False if it needs a closer look, or has no page."""
    filled: FilledPage | None = compiled.filled
    if filled is None:
        return False
    checks = filled.page.checks
    if api not in checks:
        checks[api] = _page_check(filled, api)
    check: PageCheck | None = checks[api]
    return check is not None and check.accepts(filled)


def _page_check(filled: FilledPage, api: Api) -> PageCheck | None:
    """The check of the runs of a page; None if its first run, which fills it here, is not valid."""
    subjects = run_objects(filled.page.marked())
    checked = [(api.check(subject.kind), subject.tree.plain()) for subject in subjects]
    known = [(check.schema, check.accepts, data) for check, data in checked if check and check.accepts]
    page_check = PageCheck((schema, data) for schema, _, data in known)
    is_valid = (
        len(known) == len(subjects)
        and not any(finding for subject in subjects for finding in _unnamed(subject))
        and page_check.accepts(filled)
        and all(accepts(data) for _, accepts, data in known)
    )
    return page_check if is_valid else None


def run_objects(compiled: Compiled) -> tuple[LocatedObject, ...]:
    """The manifests of a run."""
    return tuple(LocatedObject(manifest.tree, compiled.run.name.span) for manifest in compiled.manifests)


def verify_object(subject: LocatedObject, apis: Iterable[Api]) -> VerifyResult:
    """Verify an object against each of the APIs."""
    data = subject.tree.plain()
    (_, kind), name = subject.kind, subject.name
    return VerifyResult(kind, name, subject.place, {api.version: _faults(subject, data, api) for api in apis})


def verify_run(compiled: Compiled, apis: Sequence[Api]) -> list[VerifyResult]:
    """Verify the manifests of a run against each of the APIs."""
    if all(accepts_filled(compiled, api) for api in apis):
        faults: Mapping[str, tuple[Diagnostic, ...]] = {api.version: () for api in apis}
        return [VerifyResult(one.kind, one.name, compiled.place, faults) for one in compiled.objects]
    return [verify_object(subject, apis) for subject in run_objects(compiled)]


def result_findings(result: VerifyResult) -> Iterator[Diagnostic]:
    """The distinct faults of all versions, each with a note that lists its versions."""
    versions_by_fault: dict[_Identity, list[str]] = {}
    fault_by_identity: dict[_Identity, Diagnostic] = {}
    for version, faults in result.faults.items():
        for fault in faults:
            identity = _Identity(fault.code, fault.message, fault.span, fault.path)
            versions_by_fault.setdefault(identity, []).append(version)
            fault_by_identity[identity] = fault
    if not fault_by_identity:
        return
    kind, name = result.kind, result.name
    where = f"in {quote(kind)[1:-1]}{f' {quote(name)}' if name else ''}" if kind else ""
    for identity, fault in fault_by_identity.items():
        place = f"`{format_path(fault.path)}` {where}".strip() if fault.path else where
        note = Note(f"{place}, in the API of Kubernetes {join_names(versions_by_fault[identity])}".removeprefix(", "))
        yield fault._replace(notes=(*fault.notes, note))


def _faults(subject: LocatedObject, data: Any, api: Api) -> tuple[Diagnostic, ...]:
    check = api.check(subject.kind)
    if check is None:
        return (_unknown_kind(subject, api),)
    unnamed = tuple(_unnamed(subject))
    if check.accepts is not None and check.accepts(data):
        return unnamed
    if not check.is_affordable(data):
        return (*unnamed, _not_checked(subject))
    errors = [*islice(check.validator.iter_errors(data), _MAX_FAULTS)]
    result = (finding for error in _without_echoes(errors) for finding in _error_findings(error, subject))
    return tuple(dict.fromkeys((*unnamed, *islice(result, _MAX_FAULTS))))


def _without_echoes(errors: Sequence[ValidationError]) -> Iterator[ValidationError]:
    """Drop errors that repeat another one: an enum error of a wrong type, a type error of a required null."""
    mistyped = {tuple(error.absolute_path) for error in errors if error.validator == "type"}
    missing = {
        (*error.absolute_path, name)
        for error in errors
        if error.validator in ("x-required", "x-filled")
        for name in _names(error)
    }
    for error in errors:
        path = tuple(error.absolute_path)
        is_echo = error.validator == "enum" and path in mistyped
        if not is_echo and not (error.validator == "type" and error.instance is None and path in missing):
            yield error


def _names(error: ValidationError) -> Sequence[str]:
    required: Any = error.validator_value
    return tuple(required)


def _unnamed(subject: LocatedObject) -> Iterator[Diagnostic]:
    """Report a missing name; metadata or a name of a wrong type is a separate fault."""
    metadata = subject.tree.fields.get("metadata")
    name_nodes = [metadata.fields.get(name) for name in ("name", "generateName")] if metadata else []
    is_named = any(node is not None and node.value not in (None, "") for node in name_nodes)
    is_malformed = metadata is not None and metadata.value is not None and not isinstance(metadata.value, Mapping)
    if not is_named and not is_malformed and not subject.kind[1].endswith(_NAMELESS_KINDS):
        place = metadata.place if metadata and metadata.span.line else subject.place
        message, help_text = "this object has no name", "add `name` or `generateName` to its `metadata`"
        yield Diagnostic(code=VIOLATION, message=message, span=place, path=("metadata",), help=help_text)


def _not_checked(subject: LocatedObject) -> Diagnostic:
    return Diagnostic(
        code=NOT_CHECKED,
        message="this object is not checked: its definition needs too many checks for its size",
        span=subject.place,
        severity=Severity.WARNING,
        help="simplify the definition, or check the object with a server: `kubectl apply --dry-run=server`",
    )


def _remaining_checks(schema: Any, data: Any, remaining: int) -> int:
    """Subtract the number of checks from `left`; negative once the limit is exceeded."""
    if remaining < 0 or not isinstance(schema, Mapping):
        return remaining - 1
    remaining -= 1 + len(schema.get("enum", ())) + len(schema.get("x-required", ())) + len(schema.get("required", ()))
    subschemas = [one for name in ("allOf", "anyOf", "oneOf") for one in schema.get(name, ())]
    subschemas += [schema[name] for name in ("not", UNLESS_NULL) if name in schema]
    pairs = [(one, data) for one in subschemas]
    if isinstance(data, str) and "pattern" in schema:
        expression = compile_pattern(schema["pattern"])
        remaining -= expression.cost(data) if isinstance(expression, CompiledPattern) else 0
    elif isinstance(data, list):
        pairs += ((schema.get("items"), one) for one in data)
    elif isinstance(data, dict):
        fields, others = schema.get("properties", {}), schema.get("additionalProperties")
        remaining -= len(fields)
        pairs += ((fields.get(key, others), one) for key, one in data.items())
    for one, value in pairs:
        if remaining < 0:
            break
        remaining = _remaining_checks(one, value, remaining)
    return remaining


def _error_findings(error: ValidationError, subject: LocatedObject) -> Iterator[Diagnostic]:
    for finding in _translate(error, subject.tree):
        yield finding._replace(code=VIOLATION, span=_fault_span(finding, subject))


def _translate(error: ValidationError, tree: Node) -> Iterator[Diagnostic]:
    keyword = str(error.validator)
    if keyword in KEYWORDS:
        broken = KEYWORDS[keyword](error.validator_value, error.instance)
    elif keyword in _MESSAGES and not _is_of_type(error):
        broken = iter([Violation(_MESSAGES[keyword](error))])
    else:
        yield from translate_error(error, tree, bundled_library())
        return
    for violation in broken:
        path: KeyPath = (*error.absolute_path, *violation.path)
        node = tree.at(path)
        yield Diagnostic(
            code=VIOLATION, message=violation.message, help=violation.help, path=path, span=node.place if node else None
        )


def _is_of_type(error: ValidationError) -> bool:
    """Whether every alternative fails because of its type."""
    return bool(error.context) and all(inner.validator == "type" for inner in error.context)


def _no_alternative(error: ValidationError) -> str:
    which = "none" if error.context else "more than one"
    return f"this matches {which} of the alternatives in the definition of its kind"


_MESSAGES: Mapping[str, Callable[[Any], str]] = {
    "anyOf": _no_alternative,
    "oneOf": _no_alternative,
    "not": lambda _: "the definition of its kind excludes this value",
    "exclusiveMinimum": lambda error: f"expected more than {error.validator_value}, found {quote(error.instance)}",
    "exclusiveMaximum": lambda error: f"expected less than {error.validator_value}, found {quote(error.instance)}",
    "multipleOf": lambda error: f"expected a multiple of {error.validator_value}, found {quote(error.instance)}",
    "maxProperties": lambda error: f"expected at most {error.validator_value} keys, found {len(error.instance)}",
}
"""Messages of keywords that only custom kinds use."""


def _fault_span(finding: Diagnostic, subject: LocatedObject) -> Span:
    """The span of a fault: its own line, else that of the nearest parent with a line."""
    subschemas = (subject.tree.at(finding.path[:length]) for length in range(len(finding.path), 0, -1))
    spans = (finding.span, *(node.place for node in subschemas if node))
    return next((span for span in spans if span and span.line), subject.place)


def _unknown_kind(subject: LocatedObject, api: Api) -> Diagnostic:
    api_version, kind = subject.kind
    node = subject.tree.fields.get("kind")
    place = node.place if node and node.span.line else subject.place
    if not api_version or not kind:
        return Diagnostic(
            code=UNKNOWN_KIND,
            message="not a Kubernetes object: `apiVersion` and `kind` must be strings",
            span=place,
            help="add them, or remove the document",
        )
    elsewhere = [version for version in versions() if (api_version, kind) in kinds(version)]
    have = "has" if len(elsewhere) == 1 else "have"
    return Diagnostic(
        code=UNKNOWN_KIND,
        message=f"unknown kind {quote(kind)} in {quote(api_version)}",
        span=place,
        notes=(Note(f"Kubernetes {join_names(elsewhere)} {have} it"),) if elsewhere else (),
        help=_kind_suggestion(api_version, kind, api) or (_ELSEWHERE if elsewhere else _CUSTOM),
    )


_ELSEWHERE = "remove it for this version, or verify against a version that has it"
_CUSTOM = "pass its CustomResourceDefinition with --crd, if it is a custom kind"


def _kind_suggestion(api_version: str, kind: str, api: Api) -> str | None:
    known_kinds = (*kinds(api.version), *api.customs)
    group = api_version.rpartition("/")[0]
    others = sorted(
        (version for version, name in known_kinds if name == kind), key=lambda one: one.rpartition("/")[0] != group
    )
    identity = [name for version, name in known_kinds if version == api_version]
    if others:
        return f"write `apiVersion: {others[0]}`"
    suggestion = near(kind, identity)
    return f"did you mean `{suggestion}`?" if suggestion else None


@cache
def _api(version: str) -> Api:
    return Api(version)
