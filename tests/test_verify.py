"""What the API of real Kubernetes versions has against a manifest is told at the line that caused it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from speccompile import Compiled, Diagnostic, compile_run
from speccompile.api import read_setting
from speccompile.library import Library
from speccompile.model import Layer, Source
from speccompile.parse import parse
from speccompile.pipeline import compile_document
from speccompile.resources import bundled_library
from speccompile.verify import violations

VERSION = "1.33.0"
RUN = "name: train\naction: job\nimage: python:3.12\n"


def with_template(name: str, old: str, new: str) -> Compiled:
    """A run under templates of which one has a slip of the pen."""
    known = bundled_library()
    assert old in known.templates[name]
    library = Library(known.schemas, {**known.templates, name: known.templates[name].replace(old, new)}, known.presets)
    (document,) = parse(Source("run.yaml", RUN, Layer.RUN)).documents
    return compile_document(document, replace(read_setting((), None), library=library))


def told(found: Diagnostic) -> tuple[str, str, int]:
    assert found.span
    return found.message, found.span.source.name, found.span.line


def test_a_good_manifest_has_none() -> None:
    assert violations(compile_run(RUN), VERSION) == ()


def test_a_base_document_is_told_at_the_profiles_line(tmp_path: Path) -> None:
    profile = tmp_path / "p.yaml"
    profile.write_text("id: default\n---\napiVersion: batch/v1\nkind: Job\nspec:\n  backofLimit: 3\n")
    (found,) = violations(compile_run(RUN, profiles=[profile]), VERSION)
    assert told(found) == ("unknown key `backofLimit`", str(profile), 6)
    assert (found.code, found.path, found.help) == (
        "api/violation",
        ("spec", "backofLimit"),
        "did you mean `backoffLimit`?",
    )
    assert "in Job `train`, by the API of Kubernetes 1.33.0" in found.notes[-1].message


def test_a_template_is_told_at_its_own_line() -> None:
    compiled = with_template("kubernetes/_pod.j2", "restartPolicy: Never", "restartPolicy: [Never]")
    (found,) = violations(compiled, VERSION)
    line = bundled_library().templates["kubernetes/_pod.j2"].splitlines().index("  restartPolicy: Never") + 1
    assert told(found) == (
        "expected a string or null, found a list",
        "templates/kubernetes/_pod.j2",
        line,
    )


def test_a_value_of_the_run_in_the_wrong_place_is_told_at_the_runs_line() -> None:
    compiled = with_template(
        "kubernetes/_job.j2",
        "ttlSecondsAfterFinished: {{ spec.ttl_seconds }}",
        "ttlSecondsAfterFinished: {{ spec.image }}",
    )
    (found,) = violations(compiled, VERSION)
    assert told(found) == ("expected a whole number or null, found the string `python:3.12`", "run.yaml", 3)


def test_where_no_line_is_behind_a_value_the_nearest_around_it_is_told() -> None:
    """A setting of the built-in platform has no line, and somebody has to be shown one."""
    compiled = with_template(
        "kubernetes/job.yaml.j2", "suspend: {{", "suspended: {{ platform.service_type }}\n  suspend: {{"
    )
    (found,) = violations(compiled, VERSION)
    assert found.span
    assert found.span.line > 0


def test_an_unknown_version_is_said() -> None:
    with pytest.raises(FileNotFoundError):
        violations(compile_run(RUN), "0.9.0")
