"""Check Kubernetes objects against the APIs of Kubernetes versions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from speccompile.compiler.bundled_library import bundled_library
from speccompile.compiler.compiled import Compiled
from speccompile.model.diagnostic import Diagnostic, Note, Severity, quote
from speccompile.model.findings import in_order
from speccompile.model.key_path import KeyPath, format_path
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.source import Span
from speccompile.schema.library import Schema
from speccompile.schema.suggestions import near
from speccompile.schema.validate import translated
from speccompile.verify.fast_check import Accepts, fast_check
from speccompile.verify.go_regex import CompiledPattern, compile_pattern
from speccompile.verify.kubernetes_api import OBJECT_META, Kind, definition, join_names, kinds, known_version, versions
from speccompile.verify.server_checks import KEYWORDS, UNLESS_NULL, Violation

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

VIOLATION = "api/violation"
UNKNOWN_KIND = "api/unknown-kind"
NOT_CHECKED = "api/not-judged"
_MANY = 100
"""Faults of one object that are worded; nobody reads more."""
_EFFORT = 2_000_000
"""Looks at a value that there is time for, in an object of a custom kind."""
_UNNAMED = ("Review", "List", "Binding", "Eviction", "Scale", "TokenRequest", "Status")
"""How kinds end whose objects need no name, as no server keeps them."""


class LocatedObject(NamedTuple):
    """A Kubernetes object to be verified, be it of a run or as somebody wrote it."""

    tree: Node
    place: Span
    """What is shown of values that no line is behind."""

    @property
    def kind(self) -> Kind:
        """Its `apiVersion` and `kind`; empty texts for what is none."""
        told = [self.tree.fields.get(key) for key in ("apiVersion", "kind")]
        api_version, kind = (node.value if node and isinstance(node.value, str) else "" for node in told)
        return api_version, kind

    @property
    def name(self) -> str:
        """Its name, or how the name begins that the server will give it; empty if there is neither."""
        named = self.tree.at(("metadata", "name")) or self.tree.at(("metadata", "generateName"))
        return named.value if named and isinstance(named.value, str) else ""


class VerifyResult(NamedTuple):
    """What the APIs have against an object, by version; nothing where it is fine."""

    subject: LocatedObject
    faults: Mapping[str, tuple[Diagnostic, ...]]


class _Identity(NamedTuple):
    """What makes faults of several versions one; a cure or a note may be a matter of the version."""

    code: str
    message: str
    span: Span | None
    path: KeyPath


@dataclass(frozen=True, eq=False)
class _Check:
    schema: Schema
    accepts: Accepts | None = None
    """Says soon that all is well, where there is a way; the validator says what is not."""

    @cached_property
    def validator(self) -> Validator:
        # Most objects are valid, and jsonschema is slow to import: only a fault needs it.
        from speccompile.verify.api_validator import ApiValidator

        made: Validator = ApiValidator(self.schema)
        return made

    def has_time(self, data: Any) -> bool:
        """Whether there is: a definition may ask a thousand things of each of a thousand values."""
        return self.accepts is not None or _left(self.schema, data, _EFFORT) >= 0


@dataclass(frozen=True, eq=False)
class Api:
    """The API of a version of Kubernetes, with the custom kinds that it was given."""

    version: str
    customs: Mapping[Kind, Schema] = field(default_factory=dict)
    _checks: dict[Kind, _Check | None] = field(default_factory=dict, init=False, repr=False)

    def check(self, kind: Kind) -> _Check | None:
        if kind not in self._checks:
            self._checks[kind] = self._made(kind)
        return self._checks[kind]

    def _made(self, kind: Kind) -> _Check | None:
        name = kinds(self.version).get(kind)
        if name is not None:
            schema = definition(self.version, name)
            return _Check(schema, fast_check(schema))
        custom = self.customs.get(kind)
        metadata = {"$defs": {"metadata": definition(self.version, OBJECT_META)}}
        return _Check({**custom, **metadata}) if custom is not None else None


def violations(compiled: Compiled, version: str) -> tuple[Diagnostic, ...]:
    """What a cluster of the version (`1.33`) would refuse, at the line of the run, profile or template behind it.

    Unknown fields count. The schemas are those of the package `kubernetes-validate`; raises LookupError for a
    version that it does not have, and ModuleNotFoundError if it is not installed.
    """
    known = known_version(version)
    if known is None:
        raise LookupError(f"there are no API schemas of Kubernetes {version}, only of {join_names(versions())}")
    return in_order(
        found for subject in run_objects(compiled) for found in findings(verify_object(subject, [_api(known)]))
    )


def run_objects(compiled: Compiled) -> tuple[LocatedObject, ...]:
    """The manifests of a run."""
    return tuple(LocatedObject(manifest.tree, compiled.run.name.span) for manifest in compiled.manifests)


def verify_object(subject: LocatedObject, apis: Iterable[Api]) -> VerifyResult:
    """What each of the APIs has against the object; nothing raises, whatever the object."""
    data = subject.tree.plain()
    return VerifyResult(subject, {api.version: _faults(subject, data, api) for api in apis})


def findings(told: VerifyResult) -> Iterator[Diagnostic]:
    """The faults of all versions, each once, with a note of the versions that have it; the last one words them."""
    having: dict[_Identity, list[str]] = {}
    worded: dict[_Identity, Diagnostic] = {}
    for version, faults in told.faults.items():
        for fault in faults:
            same = _Identity(fault.code, fault.message, fault.span, fault.path)
            having.setdefault(same, []).append(version)
            worded[same] = fault
    (_, kind), name = told.subject.kind, told.subject.name
    where = f"in {quote(kind)[1:-1]}{f' {quote(name)}' if name else ''}" if kind else ""
    for same, fault in worded.items():
        place = f"`{format_path(fault.path)}` {where}".strip() if fault.path else where
        note = Note(f"{place}, by the API of Kubernetes {join_names(having[same])}".removeprefix(", "))
        yield fault._replace(notes=(*fault.notes, note))


def _faults(subject: LocatedObject, data: Any, api: Api) -> tuple[Diagnostic, ...]:
    check = api.check(subject.kind)
    if check is None:
        return (_unknown_kind(subject, api),)
    unnamed = tuple(_unnamed(subject))
    if check.accepts is not None and check.accepts(data):
        return unnamed
    if not check.has_time(data):
        return (*unnamed, _not_judged(subject))
    errors = [*islice(check.validator.iter_errors(data), _MANY)]
    told = (found for error in _without_echoes(errors) for found in _told(error, subject))
    return tuple(dict.fromkeys((*unnamed, *islice(told, _MANY))))


def _without_echoes(errors: Sequence[ValidationError]) -> Iterator[ValidationError]:
    """The errors, one a fault: of what is of the wrong type that it is none of the options, of null that it is null."""
    mistyped = {tuple(error.absolute_path) for error in errors if error.validator == "type"}
    missing = {
        (*error.absolute_path, name) for error in errors if error.validator == "x-required" for name in _names(error)
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
    """No server keeps an object without a name; that metadata, or a name, is of the wrong type is another fault."""
    metadata = subject.tree.fields.get("metadata")
    said = [metadata.fields.get(name) for name in ("name", "generateName")] if metadata else []
    is_said = any(node is not None and node.value not in (None, "") for node in said)
    is_other = metadata is not None and metadata.value is not None and not isinstance(metadata.value, Mapping)
    if not is_said and not is_other and not subject.kind[1].endswith(_UNNAMED):
        place = metadata.place if metadata and metadata.span.line else subject.place
        message, cure = "this object has no name", "add `name`, or `generateName`, to its `metadata`"
        yield Diagnostic(code=VIOLATION, message=message, span=place, path=("metadata",), help=cure)


def _not_judged(subject: LocatedObject) -> Diagnostic:
    return Diagnostic(
        code=NOT_CHECKED,
        message="this object is not judged: its definition asks too many things of too many values",
        span=subject.place,
        severity=Severity.WARNING,
        help="take lists or `allOf` in the definition apart, or ask a server: `kubectl apply --dry-run=server`",
    )


def _left(schema: Any, data: Any, left: int) -> int:
    """How much time is left after a schema has looked at data; less than nothing as soon as there is none."""
    if left < 0 or not isinstance(schema, Mapping):
        return left - 1
    left -= 1 + len(schema.get("enum", ())) + len(schema.get("x-required", ())) + len(schema.get("required", ()))
    around = [one for name in ("allOf", "anyOf", "oneOf") for one in schema.get(name, ())]
    around += [schema[name] for name in ("not", UNLESS_NULL) if name in schema]
    pairs = [(one, data) for one in around]
    if isinstance(data, str) and "pattern" in schema:
        expression = compile_pattern(schema["pattern"])
        left -= expression.cost(data) if isinstance(expression, CompiledPattern) else 0
    elif isinstance(data, list):
        pairs += ((schema.get("items"), one) for one in data)
    elif isinstance(data, dict):
        fields, others = schema.get("properties", {}), schema.get("additionalProperties")
        left -= len(fields)
        pairs += ((fields.get(key, others), one) for key, one in data.items())
    for one, value in pairs:
        if left < 0:
            break
        left = _left(one, value, left)
    return left


def _told(error: ValidationError, subject: LocatedObject) -> Iterator[Diagnostic]:
    for found in _worded(error, subject.tree):
        yield found._replace(code=VIOLATION, span=_placed(found, subject))


def _worded(error: ValidationError, tree: Node) -> Iterator[Diagnostic]:
    keyword = str(error.validator)
    if keyword in KEYWORDS:
        objections = KEYWORDS[keyword](error.validator_value, error.instance)
    elif keyword in _WORDS and not _is_of_type(error):
        objections = iter([Violation(_WORDS[keyword](error))])
    else:
        yield from translated(error, tree, bundled_library())
        return
    for objection in objections:
        path: KeyPath = (*error.absolute_path, *objection.path)
        node = tree.at(path)
        yield Diagnostic(
            code=VIOLATION, message=objection.message, help=objection.help, path=path, span=node.place if node else None
        )


def _is_of_type(error: ValidationError) -> bool:
    """Whether it comes to the types of the alternatives, and to nothing else."""
    return bool(error.context) and all(inner.validator == "type" for inner in error.context)


def _no_alternative(error: ValidationError) -> str:
    which = "none" if error.context else "more than one"
    return f"this fits {which} of the alternatives that the definition of its kind has"


_WORDS: Mapping[str, Callable[[Any], str]] = {
    "anyOf": _no_alternative,
    "oneOf": _no_alternative,
    "not": lambda _: "the definition of its kind excludes this value",
    "exclusiveMinimum": lambda error: f"expected more than {error.validator_value}, found {quote(error.instance)}",
    "exclusiveMaximum": lambda error: f"expected less than {error.validator_value}, found {quote(error.instance)}",
    "multipleOf": lambda error: f"expected a multiple of {error.validator_value}, found {quote(error.instance)}",
    "maxProperties": lambda error: f"expected at most {error.validator_value} keys, found {len(error.instance)}",
}
"""What only custom kinds say."""


def _placed(found: Diagnostic, subject: LocatedObject) -> Span:
    """A line that somebody can change: where no line is behind the value, that of the nearest value around it."""
    around = (subject.tree.at(found.path[:length]) for length in range(len(found.path), 0, -1))
    spans = (found.span, *(node.place for node in around if node))
    return next((span for span in spans if span and span.line), subject.place)


def _unknown_kind(subject: LocatedObject, api: Api) -> Diagnostic:
    api_version, kind = subject.kind
    node = subject.tree.fields.get("kind")
    place = node.place if node and node.span.line else subject.place
    if not api_version or not kind:
        return Diagnostic(
            code=UNKNOWN_KIND,
            message="this is no Kubernetes object: it needs an `apiVersion` and a `kind`, which are strings",
            span=place,
            help="add them, or leave the document out",
        )
    elsewhere = [version for version in versions() if (api_version, kind) in kinds(version)]
    have = "has" if len(elsewhere) == 1 else "have"
    return Diagnostic(
        code=UNKNOWN_KIND,
        message=f"there is no kind {quote(kind)} in {quote(api_version)}",
        span=place,
        notes=(Note(f"Kubernetes {join_names(elsewhere)} {have} it"),) if elsewhere else (),
        help=_meant(api_version, kind, api) or (_ELSEWHERE if elsewhere else _CUSTOM),
    )


_ELSEWHERE = "leave it out for this version, or verify against one that has it"
_CUSTOM = "give its CustomResourceDefinition with --crd, if it is a custom kind"


def _meant(api_version: str, kind: str, api: Api) -> str | None:
    known = (*kinds(api.version), *api.customs)
    group = api_version.rpartition("/")[0]
    others = sorted(
        (version for version, name in known if name == kind), key=lambda one: one.rpartition("/")[0] != group
    )
    same = [name for version, name in known if version == api_version]
    if others:
        return f"write `apiVersion: {others[0]}`"
    meant = near(kind, same)
    return f"did you mean `{meant}`?" if meant else None


@cache
def _api(version: str) -> Api:
    return Api(version)
