"""Warn about runs of several projects in one namespace, where the names of objects do not contain the project."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from speccompile.compiler.compiled import Compiled
from speccompile.model.diagnostic import Diagnostic, Note, Severity, quote
from speccompile.model.documents import Platform
from speccompile.model.object_names import placeholders
from speccompile.model.source import Span

_PATTERNS: Mapping[str, str] = {
    "Job": "job",
    "CronJob": "cron_job",
    "Service": "service",
    "ConfigMap": "volume",
    "PersistentVolumeClaim": "volume",
}
"""The pattern in `names` by kind of object; other kinds have that of a Deployment."""


class SharedNamespaces:
    """The first project in each namespace of a call, and the namespaces that were reported."""

    def __init__(self, platform: Callable[[], Platform]) -> None:
        self._platform = platform
        self._first: dict[str, tuple[str, Span]] = {}
        self._reported: set[str] = set()

    def warnings(self, compiled: Compiled) -> Iterator[Diagnostic]:
        """The warning about the first run of another project in a namespace.

        Objects without one can still be applied to a namespace for each project.
        """
        for namespace in dict.fromkeys(created.namespace for created in compiled.objects if created.namespace):
            project, place = self._first.setdefault(namespace, (compiled.project, compiled.place))
            if project != compiled.project and namespace not in self._reported:
                pattern = self._ambiguous_pattern(compiled)
                if pattern is not None:
                    self._reported.add(namespace)
                    yield _warning(compiled, namespace, project, place, pattern)

    def _ambiguous_pattern(self, compiled: Compiled) -> str | None:
        """A pattern of the run's names that two projects can fill alike; ids are unique."""
        names = self._platform().settings.fields["names"].fields
        kinds = [created.kind for created in compiled.objects]
        used = [_PATTERNS.get(kind, "deployment") for kind in kinds] + ["alias"] * (kinds.count("Service") > 1)
        return next((name for name in used if not {"project", "id"} & {*placeholders(str(names[name].value))}), None)


def _warning(compiled: Compiled, namespace: str, other: str, place: Span, pattern: str) -> Diagnostic:
    return Diagnostic(
        code="run/shared-namespace",
        message=f"projects {quote(other)} and {quote(compiled.project)} share namespace {quote(namespace)}, "
        "where a run of one can replace objects of the other",
        span=compiled.place,
        path=("project",),
        severity=Severity.WARNING,
        notes=(Note(f"run of project {quote(other)}", place),),
        help=f"use a namespace for each project, or add `{{project}}` to `names.{pattern}` of the platform",
    )
