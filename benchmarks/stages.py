"""Time per run of each stage of the compiler, in a warmed-up process."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import process_time

from benchmarks.timing import Progress
from benchmarks.warm import compile_all, load_profile, sources
from benchmarks.workload import Workload
from speccompile.compiler.approve import approve
from speccompile.compiler.documents.admin_config import Setting
from speccompile.compiler.documents.run import read_run
from speccompile.compiler.documents.run_forms import flatten
from speccompile.compiler.merge import merge
from speccompile.compiler.normalize import normalize
from speccompile.compiler.plan import plan
from speccompile.compiler.render import sketch_plan
from speccompile.compiler.rendering.text_writer import manifest_text
from speccompile.model.findings import in_order
from speccompile.model.source import Source
from speccompile.schema.validate import validate
from speccompile.yaml_text.parse import parse

WHOLE = "whole"


def measure(folder: Path, rounds: int, runs: int, progress: Progress) -> Mapping[str, float]:
    """Measure CPU seconds per run by stage, best of all rounds; `whole` is a full compilation, text to text.

    The workload's profile has no base documents, so that stage is missing.
    """
    best: dict[str, float] = {}
    for number in range(rounds + 1):
        progress(f"stages, round {number} of {rounds}")
        gc.collect()
        for name, seconds in _round(folder, runs).items():
            best[name] = min(seconds, best.get(name, seconds)) if number else seconds
    return best


def _round(folder: Path, runs: int) -> Mapping[str, float]:
    """Measure run by run, not stage by stage, so that CPU caches are in a realistic state."""
    setting = load_profile(folder)
    texts = sources(Workload(runs))
    totals: dict[str, float] = {}
    for text in texts:
        for name, seconds in _time_stages(text, setting):
            totals[name] = totals.get(name, 0) + seconds
    start = process_time()
    for result in compile_all(texts, setting):
        result.to_yaml()
    totals[WHOLE] = process_time() - start
    return {name: seconds / runs for name, seconds in totals.items()}


def _time_stages(text: Source, setting: Setting) -> Iterator[tuple[str, float]]:
    """Time one stage after another; see `compiler/pipeline.py` and `compiler/documents/run.py`."""
    library, platform = setting.library, setting.platform
    start = process_time()
    document = parse(text).documents[0]
    yield "parse", process_time() - start
    start = process_time()
    fields = flatten(document, setting.entities, platform, library).fields
    yield "forms", process_time() - start
    assert fields is not None
    start = process_time()
    tree, _ = validate(fields, "run", library)
    yield "validate", process_time() - start
    start = process_time()
    normalize(tree, platform, library, None)
    yield "normalize", process_time() - start
    # Runs the stages above again and builds the run.
    run, profile, target, findings, _ = read_run(document, setting)
    start = process_time()
    merged, overrides = merge(run, profile, target, platform, library)
    yield "merge", process_time() - start
    start = process_time()
    approved, warnings = approve(merged, library)
    yield "approve", process_time() - start
    start = process_time()
    planned = plan(approved, library)
    yield "plan", process_time() - start
    start = process_time()
    sketched = sketch_plan(planned, library)
    yield "render", process_time() - start
    start = process_time()
    manifest_text(sketched)
    yield "serialize", process_time() - start
    start = process_time()
    in_order((*findings, *overrides, *warnings))
    yield "sort findings", process_time() - start
