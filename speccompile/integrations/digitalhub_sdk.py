"""Calls and objects of DigitalHub's Python SDK, which is never imported."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Protocol, TypeAlias

from speccompile.model.diagnostic import Diagnostic, Severity
from speccompile.model.source import Layer, Source, Span
from speccompile.schema.suggestions import near
from speccompile.yaml_text.parsed import MAX_DEPTH, MAX_EXPANDED

# Parameters of `Function.run` and of the run builder in digitalhub 0.15.11 that are not part of the run's spec.
_CONTROL_KEYWORDS = frozenset({"extensions", "local_execution", "log_info", "uuid", "wait"})
# Fields of the pydantic models in `entities/{function,run,task,workflow}/*/spec.py` of the runtime packages container
# 0.15.3, dbt 0.15.2, flower 0.15.1, hera 0.15.1, modelserve 0.15.0 and python 0.15.2, without the fields of a run.
_RUNTIME_KEYWORDS = frozenset(
    (
        *("adapters", "auth_public_keys", "backend", "base_image", "build", "cache_profile", "disable_log_requests"),
        *("disable_lower_case", "disable_special_tokens", "dtype", "enable_telemetry", "engine", "env", "fab_source"),
        *("features", "federation", "files", "function", "huggingface_task", "init_parameters", "insecure"),
        *("instructions", "isolation", "max_length", "max_log_len", "model_name", "node_config", "outputs", "path"),
        *("private_key_secret", "processing_mode", "processors", "public_key_secret", "python_version"),
        *("requirements", "return_probabilities", "return_token_type_ids", "root_certificates", "scaling", "source"),
        *("storage_space", "superlink", "tag", "task", "tensor_input_names", "tokenizer_revision"),
        *("trust_remote_code", "url", "use_cpu_image", "workflow"),
    )
)


class SdkObject(Protocol):
    """A run, function or task of the SDK."""

    def to_dict(self) -> dict[str, Any]: ...


EntityInput: TypeAlias = Mapping[str, Any] | SdkObject
"""A run, function or task: exported, or an object of the SDK."""


def as_data(entity: EntityInput) -> Mapping[str, Any]:
    """The entity as exported."""
    is_object = not isinstance(entity, Mapping) and hasattr(entity, "to_dict")
    data: Any = entity.to_dict() if is_object else entity  # type: ignore[union-attr]
    # Anything else is left for the compiler to refuse.
    if not isinstance(data, Mapping) or not {"kind", "spec"} <= data.keys() or _TIMED.isdisjoint(data):
        return data  # type: ignore[no-any-return]
    return {key: _with_times_as_text(value) if key in _TIMED else value for key, value in data.items()}


_TIMED = frozenset({"metadata", "status"})
"""Keys of an entity that contain times, which PyYAML reads as `datetime`."""


def _with_times_as_text(value: object, depth: int = 0) -> object:
    if isinstance(value, Mapping) and depth < MAX_DEPTH:
        return {key: _with_times_as_text(child, depth + 1) for key, child in value.items()}
    if isinstance(value, (list, tuple)) and depth < MAX_DEPTH:
        return [_with_times_as_text(item, depth + 1) for item in value]
    # Not isinstance: only the edges import `datetime`, which has a clock.
    text = value.isoformat() if hasattr(value, "isoformat") else None
    return text if isinstance(text, str) else value


def entities_of(function: EntityInput) -> tuple[Mapping[str, Any], ...]:
    """A function as exported, followed by the tasks that the object of the SDK has loaded."""
    tasks: Any = getattr(function, "_tasks", None)
    loaded = tasks.values() if isinstance(tasks, Mapping) else tasks if isinstance(tasks, (list, tuple)) else ()
    return as_data(function), *map(as_data, loaded)


def without_unused(fields: Mapping[str, Any], known: Collection[str]) -> tuple[dict[str, Any], tuple[Diagnostic, ...]]:
    """The keywords of a call without those that only the SDK uses, and a warning for each that a user may miss.

    Misspelt keywords are left for the compiler to refuse.
    """
    unused = (_RUNTIME_KEYWORDS & fields.keys()) - {*known}
    used = {name: value for name, value in fields.items() if name not in unused | _CONTROL_KEYWORDS}
    return used, tuple(_unused(name, known) for name in sorted(unused) if not _is_empty(fields[name]))


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, (dict, list, str)) and not value)


def _unused(name: str, known: Collection[str]) -> Diagnostic:
    similar = near(name, known, most=1)
    return Diagnostic(
        code="run/unused-keyword",
        message=f"keyword `{name}` has no effect: manifests do not depend on it",
        span=Span(Source("<run>", "", Layer.RUN)),
        path=(name,),
        severity=Severity.WARNING,
        help=f"did you mean `{similar}`?" if similar else "remove it, unless the call is also made on the platform",
    )


def objects_as_keys(value: object) -> object:
    """The value with the key, or else the text, of each object in it that is not JSON data and has one."""
    return _as_plain(value, iter(range(MAX_EXPANDED)), 0)


def _as_plain(value: object, budget: Iterator[int], depth: int) -> object:
    # Data that is too deep or too large is left for the compiler to refuse.
    if value is None or isinstance(value, (str, int, float)) or depth > MAX_DEPTH or next(budget, None) is None:
        return value
    if isinstance(value, Mapping):
        return {key: _as_plain(child, budget, depth + 1) for key, child in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_plain(item, budget, depth + 1) for item in value]
    key = getattr(value, "key", None)
    if isinstance(key, str):
        return key
    text = None if isinstance(value, _WITHOUT_TEXT) else str(value)
    # A memory address would differ between processes. The compiler refuses the object.
    return value if text is None or re.search(r" at 0x[0-9A-Fa-f]+", text) else text


_WITHOUT_TEXT = (bytes, bytearray, memoryview, set, frozenset)
"""Types whose text is not their content, or has no order."""
