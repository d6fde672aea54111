"""Takes a workload, gives where our time goes: what each stage of the line costs a run, once warm."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import process_time

from benchmarks.timing import Watch
from benchmarks.warm import compiled, setting_of, sources
from benchmarks.workload import Workload
from speccompile.compiler.approve import approve
from speccompile.compiler.documents.admin_config import Setting
from speccompile.compiler.documents.run import read_run
from speccompile.compiler.documents.run_forms import flatten
from speccompile.compiler.merge import merge
from speccompile.compiler.name_placeholders import facts_used
from speccompile.compiler.normalize import normalize
from speccompile.compiler.plan import plan
from speccompile.compiler.render import sketches
from speccompile.compiler.rendering.text_writer import text_of
from speccompile.model.findings import in_order
from speccompile.model.source import Source
from speccompile.schema.validate import validate
from speccompile.yaml_text.parse import parse

WHOLE = "whole"


def measured(folder: Path, rounds: int, runs: int, watch: Watch) -> Mapping[str, float]:
    """Seconds of CPU a run by stage, the best of the rounds; `whole` is the line as it is called, text to text.

    The profile of the workload has no base documents, so that stage is not there.
    """
    best: dict[str, float] = {}
    for number in range(rounds + 1):
        watch(f"stages, round {number} of {rounds}")
        gc.collect()
        for name, seconds in _round(folder, runs).items():
            best[name] = min(seconds, best.get(name, seconds)) if number else seconds
    return best


def _round(folder: Path, runs: int) -> Mapping[str, float]:
    """Run by run and not stage by stage, so that each stage finds the processor as it does in real life."""
    setting = setting_of(folder)
    texts = sources(Workload(runs))
    spent: dict[str, float] = {}
    for text in texts:
        for name, seconds in _apart(text, setting):
            spent[name] = spent.get(name, 0) + seconds
    start = process_time()
    for made in compiled(texts, setting):
        made.to_yaml()
    spent[WHOLE] = process_time() - start
    return {name: seconds / runs for name, seconds in spent.items()}


def _apart(text: Source, setting: Setting) -> Iterator[tuple[str, float]]:
    """The line, a stage at a time; see `compiler/pipeline.py` and `compiler/documents/run.py`."""
    library, platform = setting.library, setting.platform
    at = process_time()
    document = parse(text).documents[0]
    yield "parse", process_time() - at
    at = process_time()
    fields = flatten(document, facts_used(platform), library).fields
    yield "forms", process_time() - at
    assert fields is not None
    at = process_time()
    tree, _ = validate(fields, "run", library)
    yield "validate", process_time() - at
    at = process_time()
    normalize(tree, platform, library, None)
    yield "normalize", process_time() - at
    # These three, and a run made of what they give.
    run, profile, target, told, _ = read_run(document, setting)
    at = process_time()
    merged, lost = merge(run, profile, target, platform, library)
    yield "merge", process_time() - at
    at = process_time()
    approved, warnings = approve(merged, library)
    yield "approve", process_time() - at
    at = process_time()
    planned = plan(approved, library)
    yield "plan", process_time() - at
    at = process_time()
    drawn = sketches(planned, library)
    yield "render", process_time() - at
    at = process_time()
    text_of(drawn)
    yield "serialize", process_time() - at
    at = process_time()
    in_order((*told, *lost, *warnings))
    yield "order of findings", process_time() - at
