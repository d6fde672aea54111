"""Many runs: the same results wherever they are compiled, in order, in little memory, all or nothing."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from helpers.command_line import PATIENCE
from helpers.golden_cases import CASES
from hypothesis import given
from hypothesis import strategies as st

from speccompile import Compiled, CompileError, compile_many, compile_run
from speccompile.batch import accelerate, compiler_fingerprint, forked
from speccompile.batch import executors as executors_module
from speccompile.batch.compile_unit import DONE, ChunkTask, Compiler, RecordingProfiles, compile_chunk
from speccompile.batch.disk_spool import Ledger, Spool
from speccompile.batch.dispatch import CHUNK
from speccompile.batch.executor_error import ExecutorError
from speccompile.batch.wire_format import from_portable, sources_by_name, to_portable
from speccompile.batch.work_units import UnitOutcome, WorkUnit
from speccompile.cli.findings import GroupedFindings, assign_severities, print_findings
from speccompile.cli.main import main
from speccompile.compiler import compile_files
from speccompile.compiler.compile_files import compile_file
from speccompile.compiler.compiled import Result
from speccompile.compiler.documents.admin_config import parsed
from speccompile.compiler.duplicate_objects import HashIndex, RunClaim
from speccompile.compiler.pipeline import compile_document
from speccompile.files.load_admin_config import read_setting
from speccompile.files.manifest_text import TEXTS, rendered
from speccompile.model.diagnostic import Diagnostic, Note, Severity, quote
from speccompile.model.input_texts import AdminTexts, Text
from speccompile.model.redaction import redacted
from speccompile.model.source import Layer, Source, Span
from speccompile.report.formats import as_format

PROFILE = "id: gpu\nresources:\n  gpu: 1\nnode_selector:\n  gpu: a100\nreplicas: 2\n"


def run_text(number: int, **more: Any) -> str:
    fields = {"name": f"run-{number}", "action": "job", "image": "python:3.12", "profile": "gpu", **more}
    return "".join(f"{key}: {value}\n" for key, value in fields.items()) + "resources: {gpu: 2, mem: 6Gi}\n"


def summary_of(result: Result) -> tuple[object, ...]:
    """All that can be asked of a result at little cost."""
    findings = as_format("text", result.diagnostics), as_format("json", result.diagnostics)
    if isinstance(result, CompileError):
        return "error", findings, result.diagnostics, result.run, result.overrides
    return result.project, result.name, result.place, result.objects, findings, result.diagnostics, result.to_yaml()


def mixed(number: int) -> list[Any]:
    """Runs of every kind: good ones, faulty ones, text that is none, twins, and Python data."""
    special = {
        3: "name: [\n",
        5: run_text(5).replace("6Gi", "6GB"),
        7: run_text(1),
        8: {"name": "data", "action": "job", "image": "python:3.12"},
        9: {"name": "data", "action": "job", "image": object()},
        11: "run.yaml",
        12: run_text(120) + "---\n" + run_text(121),
        13: Path("missing.yaml"),
        14: run_text(14, profile="gpux"),
    }
    return [special.get(index, run_text(index)) for index in range(number)]


# Portable results.


@pytest.mark.parametrize("case", CASES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_result_is_the_same_after_packing(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(case)
    folder, platform = Path("profiles"), Path("platform.yaml")
    setting = read_setting([folder] if folder.exists() else [], platform if platform.exists() else None)
    for path in filter(Path.is_file, sorted((*Path().glob("run*.yaml"), *Path().glob("runs/*.yaml")))):
        text = Text(str(path), path.read_text(encoding="utf-8", errors="replace"))
        piece = WorkUnit.of(text)
        for result in compile_file(parsed(text, Layer.RUN), setting):
            known = sources_by_name(_sources(result))
            shape = "json" if isinstance(result, Compiled) and len(result.name) % 2 else "yaml"
            (carried,) = rendered([result], shape)
            data = to_portable(carried, piece.source, known)
            back = from_portable(data, shape, piece.source, known, partial(_same, result))
            assert _plain(data)
            assert back.text == (TEXTS[shape](result) if isinstance(result, Compiled) else "")
            assert summary_of(back.result)[:3] == summary_of(result)[:3]
            if isinstance(result, Compiled):
                assert summary_of(back.result) == summary_of(result)
                assert isinstance(back.result, Compiled)
                assert back.result.manifests == result.manifests
            # And without any shared source.
            alone = from_portable(to_portable(carried, piece.source, {}), shape, piece.source, {}, _never)
            assert alone.result.diagnostics == result.diagnostics


def _sources(result: Result) -> Iterator[Source]:
    for finding in result.diagnostics:
        yield from (span.source for span in (finding.span, *(note.span for note in finding.notes)) if span)


def _same(result: Result) -> Result:
    return result


def _never() -> Compiled:
    raise AssertionError


def _plain(data: object) -> bool:
    return type(data) in (str, int, type(None)) or (type(data) is tuple and all(map(_plain, data)))


def test_a_worker_remembers_shapes_between_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[object] = []

    def counted(*arguments: Any) -> Compiled:
        compiled.append(arguments)
        return compile_document(*arguments)

    monkeypatch.setattr(compile_files, "compile_document", counted)
    admin = AdminTexts((Text("gpu.yaml", PROFILE),), None)
    for chunk in range(4):
        runs = tuple(Text(f"{number}.yaml", run_text(number)) for number in range(10 * chunk, 10 * chunk + 10))
        kind, outcomes = compile_chunk(ChunkTask(compiler_fingerprint.text_digest(), admin, "yaml", runs))
        assert (kind, len(outcomes)) == (DONE, len(runs))
    # The first run of the call, and the first of its shape.
    assert len(compiled) == 2


def test_an_unpacked_result_has_everything() -> None:
    with ThreadPoolExecutor(1) as executor:
        (far,) = compile_many([run_text(1)], profiles=[{"id": "gpu", "resources": {"gpu": 1}}], executor=executor)
    near = compile_run(run_text(1), profiles=[{"id": "gpu", "resources": {"gpu": 1}}])
    assert isinstance(far, Compiled)
    assert (far.manifests, far.overrides, far.replaced) == (near.manifests, near.overrides, near.replaced)
    assert far.explain("limits") == near.explain("limits")
    assert far.run == near.run


@given(st.text("`\"'ab secrets:-[]{}\n", max_size=60), st.text('`"ab …', max_size=20))
def test_masking_twice_is_masking_once(text: str, words: str) -> None:
    source = Source("run.yaml", f"secrets:\n  {text}", Layer.RUN)
    finding = redacted(Diagnostic("x", words, Span(source, 2, 1, 2, 2), notes=(Note(words),), help=words))
    assert redacted(finding) == finding


# Executors.


def executors() -> dict[str, Callable[[], Executor]]:
    return {
        "fork": lambda: ProcessPoolExecutor(2, mp_context=get_context("fork")),
        "spawn": lambda: ProcessPoolExecutor(2, mp_context=get_context("spawn")),
        "threads": lambda: ThreadPoolExecutor(4),
    }


@pytest.mark.parametrize(
    ("kind", "number"),
    [("fork", 1), ("fork", 15), ("fork", 3 * CHUNK), ("spawn", 3 * CHUNK), ("threads", 15), ("threads", 3 * CHUNK)],
)
def test_an_executor_returns_the_same_results(kind: str, number: int, tmp_path: Path) -> None:
    profile = tmp_path / "gpu.yaml"
    profile.write_text(PROFILE)
    here = list(compile_many(mixed(number), profiles=[profile]))
    with executors()[kind]() as executor:
        there = list(compile_many(mixed(number), profiles=[profile], executor=executor))
    assert [summary_of(result) for result in there] == [summary_of(result) for result in here]


class Counting(Executor):
    """Does at once what it is given, and counts what is on its way."""

    _max_workers = 2

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.waiting = self.most = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **_: Any) -> Future[Any]:
        order: ChunkTask = args[0]
        self.sizes.append(len(order.runs))
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        future: Future[Any] = Future()
        future.set_result(fn(*args))
        return future


def test_work_is_sent_in_chunks_and_few_are_in_flight() -> None:
    executor = Counting()
    for number, _ in enumerate(compile_many((run_text(index, profile='""') for index in count()), executor=executor)):
        if number % CHUNK == 0:
            executor.waiting -= 1
        if number == 12 * CHUNK:
            break
    assert set(executor.sizes) == {CHUNK}
    assert executor.most <= 8
    few = Counting()
    list(compile_many([run_text(index, profile='""') for index in range(60)], executor=few))
    assert len(few.sizes) == 6
    assert set(few.sizes) == {10}


def _killed(_: object) -> None:
    os._exit(9)


def test_a_failing_executor_raises_executor_error(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [run_text(index, profile='""') for index in range(5)]
    with ThreadPoolExecutor(1) as executor:
        pass
    with pytest.raises(ExecutorError, match="cannot schedule new futures after shutdown"):
        list(compile_many(runs, executor=executor))
    monkeypatch.setattr("speccompile.batch.dispatch.compile_chunk", _killed)
    with (
        ProcessPoolExecutor(1, mp_context=get_context("fork")) as broken,
        pytest.raises(ExecutorError, match="BrokenProcessPool"),
    ):
        list(compile_many(runs, executor=broken))


class Stumbling(Counting):
    """Drops the first answer to every task."""

    def __init__(self) -> None:
        super().__init__()
        self.orders: set[ChunkTask] = set()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **more: Any) -> Future[Any]:
        future = super().submit(fn, *args, **more)
        if args[0] not in self.orders:
            self.orders.add(args[0])
            future = Future()
            future.set_exception(ValueError("dropped"))
        return future


def test_a_lost_answer_is_requested_once_more() -> None:
    runs = [run_text(index, profile='""') for index in range(10)]
    results = compile_many(runs, executor=Stumbling())
    assert [summary_of(result) for result in results] == [summary_of(result) for result in compile_many(runs)]


def test_a_worker_with_another_compiler_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [run_text(1, profile='""')]
    genuine = compile_chunk
    monkeypatch.setattr(
        "speccompile.batch.dispatch.compile_chunk",
        lambda order: genuine(order._replace(compiler="of another version")),
    )
    with ThreadPoolExecutor(1) as executor, pytest.raises(ExecutorError, match="install the same version everywhere"):
        list(compile_many(runs, executor=executor))


def test_an_internal_error_in_a_worker_is_reported_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("speccompile.compiler.pipeline.merge", lambda *_: 1 / 0)
    with ThreadPoolExecutor(1) as executor, pytest.raises(RuntimeError, match="ZeroDivisionError") as raised:
        list(compile_many([run_text(1, profile='""')], executor=executor))
    assert not isinstance(raised.value, ExecutorError)


def test_profiles_record_which_are_used() -> None:
    profiles = RecordingProfiles({"a": 1, "b": 2})
    assert profiles.get("a") == 1
    assert profiles.get("c") is None
    assert (list(profiles.used), profiles.uses_all) == (["a", "c"], False)
    profiles.reset()
    assert sorted(profiles) == ["a", "b"]
    assert profiles.uses_all


# Clashes.


@given(st.lists(st.tuples(st.integers(0, 2**64), st.integers(0, 2**32 - 1)), max_size=300))
def test_a_hash_belongs_to_the_first_number(entries: list[tuple[int, int]]) -> None:
    seen, expected = HashIndex(4), dict[int, int]()
    for key, number in entries:
        key = (key & (2**64 - 1)) or 1  # noqa: PLW2901  as the table has it
        assert seen.settle(key, number) == expected.get(key)
        expected.setdefault(key, number)


def test_equal_hashes_are_distinguished(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("speccompile.compiler.duplicate_objects.hash", lambda salted: salted[0], raising=False)
    runs = [run_text(number, profile='""') for number in (1, 2, 3, 2)]
    results = list(compile_many(runs))
    assert [type(result) for result in results] == [Compiled, Compiled, Compiled, CompileError]
    assert results[3].diagnostics[0].notes[0].span == results[1].place  # type: ignore[union-attr]


def test_a_ledger_returns_what_a_list_does() -> None:
    sources = [Source(f"{number}.yaml", f"name: x{number}\n" * 50, Layer.RUN) for number in range(1000)]
    results = [result for result in compile_many([run_text(1, profile='""')]) if isinstance(result, Compiled)]
    ledger, plain = Ledger(), list[RunClaim]()
    for number in range(2000):
        source = sources[number // 2]
        place = Span(source, 1, 1, 1, number)
        made = tuple(one._replace(place=place) for one in results[0].objects)
        known = RunClaim("default", f"x{number}", place, made)
        ledger.append(known)
        plain.append(known)
    assert [ledger[number] for number in (0, 1, 999, 1998, 1999)] == [
        plain[number] for number in (0, 1, 999, 1998, 1999)
    ]
    # Findings keep the source; a copy of a large file for each of them would fill the memory.
    assert ledger[0].place.source is ledger[1].place.source
    ledger.close()


def test_a_spool_returns_its_data_from_memory_and_disk() -> None:
    spool = Spool()
    texts = [str(number) * 1000 for number in range(1000)]
    for text in texts:
        spool.append((text,))
    assert [text for (text,) in spool] == texts
    assert spool[7] == (texts[7],)
    spool.close()


# Findings.

FINDING = st.builds(
    lambda code, words, line, severity, file: Diagnostic(
        code,
        # No two findings are of one group, of which a dropped one loses the first.
        f"{words} {line} {file}",
        Span(Source(file, "one\ntwo\nthree\nfour\n", Layer.RUN), line, 1, line, 2),
        severity=severity,
    ),
    st.sampled_from(["merge/overridden", "schema/quantity", "yaml/empty"]),
    st.sampled_from(["a", "b"]),
    st.integers(1, 4),
    st.sampled_from(Severity),
    st.sampled_from(["x.yaml", "y.yaml"]),
)


@given(
    st.lists(FINDING, max_size=40),
    st.lists(FINDING, max_size=3),
    st.dictionaries(st.sampled_from(["merge/overridden", "schema/quantity"]), st.sampled_from(["error", "ignore"])),
    st.booleans(),
)
def test_a_tally_prints_what_all_findings_would(
    found: list[Diagnostic], stopping: list[Diagnostic], severities: dict[str, str], quiet: bool
) -> None:
    import io

    with pytest.MonkeyPatch.context() as patch:
        # Without paths, no two errors are of one group.
        patch.setattr("speccompile.cli.findings.MAX_SHOWN", 4)
        whole, counted = io.StringIO(), io.StringIO()
        findings = assign_severities(found, severities, stopping=stopping)
        print_findings(findings, whole, quiet=quiet)
        tally = GroupedFindings(severities, stopping, quiet=quiet)
        for finding in found:
            tally.add([finding])
        tally.print(counted)
    assert counted.getvalue() == whole.getvalue()
    assert tally.has_errors == any(finding.severity is Severity.ERROR for finding in findings)


# The command line.


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("profiles").mkdir()
    Path("profiles/gpu.yaml").write_text(PROFILE)
    Path("runs").mkdir()
    for number in range(130):
        Path(f"runs/{number:03}.yaml").write_text(run_text(number, project=("default", "vision")[number % 2]))
    return tmp_path


Answer = tuple[int, str, str]


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> Answer:
    try:
        code = main([*arguments])
    except SystemExit as stop:
        code = int(stop.code or 0)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("shape", [(), ("--json",), ("--helm",)])
@pytest.mark.parametrize("faulty", [False, True])
@pytest.mark.parametrize("is_forked", [False, True])
def test_processes_print_what_one_does(
    shape: tuple[str, ...],
    faulty: bool,
    is_forked: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(forked, "can_fork", lambda: is_forked)
    if faulty:
        Path("runs/050.yaml").write_text(run_text(1))
        Path("runs/051.yaml").write_text("image: [\n")
        Path("runs/052.yaml").write_bytes(b"\xff")
    call = ("render", "runs", "--profiles", "profiles", "--no-cache", *shape)
    alone = answer(capsys, *call, "--jobs", "1")
    assert alone[0] == int(faulty)
    assert ("run-129" in alone[1]) is not faulty
    assert answer(capsys, *call, "--jobs", "2") == alone


@pytest.mark.usefixtures("project")
def test_processes_write_what_one_does(capsys: pytest.CaptureFixture[str]) -> None:
    call = ("render", "runs", "--profiles", "profiles", "--no-cache", "--kustomization")
    assert answer(capsys, *call, "-o", "one", "--jobs", "1")[0] == 0
    assert answer(capsys, *call, "-o", "two", "--jobs", "2")[0] == 0
    one, two = (
        {path.relative_to(top): path.read_bytes() for path in top.rglob("*.yaml")} for top in map(Path, ("one", "two"))
    )
    assert len(one) == 131
    assert one == two


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("is_forked", [True, False])
def test_the_automatic_choice_starts_processes_only_for_many(
    is_forked: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started: list[object] = []
    module, name = (forked, "compile_forked") if is_forked else (executors_module, "processes")
    start = getattr(module, name)

    def count_and_start(*arguments: Any) -> Any:
        started.append(arguments[-1])
        return start(*arguments)

    monkeypatch.setattr(module, name, count_and_start)
    monkeypatch.setattr(forked, "can_fork", lambda: is_forked)
    monkeypatch.setattr(accelerate, "cores", lambda: 2)
    call = ("render", "runs", "--profiles", "profiles", "--no-cache")
    alone = answer(capsys, *call, "--jobs", "1")
    least = "_WORTH_FORKING" if is_forked else "_WORTH_STARTING"
    for limit, expected in ((131, []), (130, [2])):
        monkeypatch.setattr(accelerate, least, limit)
        assert answer(capsys, *call) == alone
        assert started == expected


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("is_forked", "place", "message"),
    [
        (True, "speccompile.batch.forked._compile", "a process ended early"),
        (False, "speccompile.batch.dispatch.compile_chunk", "the executor failed: BrokenProcessPool"),
    ],
)
def test_a_worker_that_dies_leaves_nothing_half_written(
    is_forked: bool, place: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(forked, "can_fork", lambda: is_forked)
    monkeypatch.setattr(place, _killed)
    code, out, err = answer(
        capsys, "render", "runs", "--profiles", "profiles", "--no-cache", "--jobs", "2", "-o", "out"
    )
    assert (code, out) == (1, "")
    assert err.startswith(f"speccompile: nothing was written: {message}")
    assert not Path("out").exists()


@pytest.mark.usefixtures("project")
def test_an_internal_error_in_a_forked_process_is_reported_as_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    compile_unit, parent = Compiler.compile, os.getpid()

    def compile_or_fail(compiler: Compiler, unit: WorkUnit) -> UnitOutcome:
        if os.getpid() != parent:
            raise ValueError
        return compile_unit(compiler, unit)

    monkeypatch.setattr(forked, "can_fork", lambda: True)
    monkeypatch.setattr(Compiler, "compile", compile_or_fail)
    code, out, err = answer(capsys, "render", "runs", "--profiles", "profiles", "--no-cache", "--jobs", "2")
    assert (code, out) == (3, "")
    assert "a worker failed" in err


@given(st.lists(st.integers(1, 6), max_size=80), st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2)), max_size=60))
def test_each_task_is_taken_by_one_process(lines: list[int], calls: list[tuple[int, int]]) -> None:
    tasks = [
        forked._Task(number, WorkUnit.of(Text(f"{number}.yaml", "a: b\n" * count)))
        for number, count in enumerate(lines)
    ]
    waiting = deque(tasks)
    schedule = forked._Schedule([0, 1, 2])
    workers: dict[int, Any] = {pid: SimpleNamespace(pid=pid, room=400, sent=deque()) for pid in (1, 2)}
    taken: list[forked._Task | None] = []
    for added, process in calls:
        schedule.add([waiting.popleft() for _ in range(min(added, len(waiting)))])
        if process in workers:
            batch = schedule.take_batch(workers[process])
            workers[process].sent.append(batch)
            taken.extend(batch)
        else:
            taken.append(schedule.take_first(0))
    schedule.add(waiting)
    while (task := schedule.take_first(0)) is not None:
        taken.append(task)
    found = [task.number for task in taken if task is not None]
    assert sorted(found) == [task.number for task in tasks]


def test_runs_of_a_rare_form_are_compiled_by_one_process() -> None:
    schedule = forked._Schedule([0, 1])
    texts = ["a: b\n" * (1 + number % 10) for number in range(40)]
    schedule.add([forked._Task(number, WorkUnit.of(Text("a", text))) for number, text in enumerate(texts)])
    worker: Any = SimpleNamespace(pid=1, room=10_000, sent=deque())
    mine = schedule.take_batch(worker)
    # What waits for others is left to them, while the process is not idle.
    worker.sent.append(mine)
    while batch := schedule.take_batch(worker):
        mine += batch
    assert len(mine) == 20
    worker.sent.clear()
    others = schedule.take_batch(worker)
    assert others
    assert {task.form for task in mine}.isdisjoint(task.form for task in others)


@pytest.mark.parametrize(
    ("requested", "runs", "left", "expected"), [(64, 3, 0, 3), (2, 1, 0, 1), (2, 1, 9, 2), (8, 0, 9, 1)]
)
def test_there_are_no_more_processes_than_runs(requested: int, runs: int, left: int, expected: int) -> None:
    window = [WorkUnit.of(Text("a", "a: b")) for _ in range(runs)]
    assert accelerate._jobs(requested, window, left) == expected


@pytest.mark.parametrize(("jobs", "runs"), [(2, 8), (3, 36), (8, 7), (8, 40), (64, 56)])
def test_few_runs_are_shared_by_all_processes(jobs: int, runs: int) -> None:
    schedule = forked._Schedule(range(jobs))
    schedule.add([forked._Task(number, WorkUnit.of(Text("a", "a: b"))) for number in range(runs)])
    workers: list[Any] = [SimpleNamespace(pid=pid, room=10_000, sent=deque()) for pid in range(1, jobs)]
    batches = [schedule.take_batch(worker) for worker in workers]
    assert sum(1 for batch in batches if batch) == min(runs, jobs - 1)
    assert max(map(len, batches)) <= max(1, runs // jobs)


def test_only_a_few_files_with_many_runs_are_read_ahead() -> None:
    read: list[int] = []

    def units() -> Iterator[WorkUnit]:
        for number in range(100):
            read.append(number)
            yield WorkUnit.of(Text(f"{number}.yaml", "name: a\n---\n" * 1000))

    compiler: Any = SimpleNamespace(compile=lambda _: ((), ()))
    with closing(forked.compile_forked(units(), compiler, 2)) as compiled:
        for number, _ in enumerate(compiled):
            assert len(read) - number < 10


def test_outcomes_that_arrive_together_are_all_noticed() -> None:
    parent = os.getpid()

    def compile_quickly(unit: WorkUnit) -> UnitOutcome:
        if os.getpid() == parent:
            # Until the forked process has compiled what it was sent.
            time.sleep(0.01)
        return (), (unit.text.name,)

    def hang(*_: object) -> NoReturn:
        raise TimeoutError

    units = [WorkUnit.of(Text(f"{number}.yaml", "name: a")) for number in range(200)]
    compiler: Any = SimpleNamespace(compile=compile_quickly)
    previous = signal.signal(signal.SIGALRM, hang)
    signal.alarm(PATIENCE)
    try:
        with closing(forked.compile_forked(units, compiler, 2)) as compiled:
            found = [(unit.text.name, outcome) for unit, outcome in compiled]
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
    assert [name for name, _ in found] == [unit.text.name for unit in units]
    assert any(outcome for _, outcome in found)


@pytest.mark.usefixtures("project")
def test_a_process_that_cannot_be_started_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fork() -> NoReturn:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(forked, "can_fork", lambda: True)
    monkeypatch.setattr(os, "fork", fork)
    code, out, err = answer(capsys, "render", "runs", "--profiles", "profiles", "--no-cache", "--jobs", "2")
    assert (code, out) == (1, "")
    assert err.startswith("speccompile: nothing was written: a process cannot be started: Resource temporarily")


@pytest.mark.usefixtures("project")
def test_forked_processes_leave_cached_runs_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(forked, "can_fork", lambda: True)
    call = ("render", "runs", "--profiles", "profiles", "--jobs", "2")
    first = answer(capsys, *call)
    for number in range(0, 130, 3):
        Path(f"runs/{number:03}.yaml").write_text(run_text(number, image="python:3.13"))
    sent: list[str] = []
    take = forked._Schedule.take_batch

    def take_and_record(*arguments: Any) -> list[Any]:
        tasks = take(*arguments)
        sent.extend(task.unit.text.name for task in tasks)
        return tasks

    monkeypatch.setattr(forked._Schedule, "take_batch", take_and_record)
    again = answer(capsys, *call)
    # This process compiles the others.
    assert sent
    assert {*sent} < {str(Path(f"runs/{number:03}.yaml")) for number in range(0, 130, 3)}
    assert again == answer(capsys, *call[:-2], "--no-cache", "--jobs", "1")
    assert again != first


@pytest.mark.usefixtures("project")
def test_ctrl_c_leaves_no_files_processes_or_messages() -> None:
    for number in range(130, 1500):
        Path(f"runs/{number:04}.yaml").write_text(run_text(number))
    call = [sys.executable, "-m", "speccompile", "render", "runs", "--profiles", "profiles", "--no-cache"]
    with subprocess.Popen(
        [*call, "--jobs", "3", "-o", "out"], stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        deadline = time.monotonic() + PATIENCE
        while len(_children(process.pid)) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        workers = _children(process.pid)
        assert len(workers) == 2
        # As a terminal does: to everybody at once.
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (130, "")
    assert not Path("out").exists()
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)


@pytest.mark.usefixtures("project")
def test_workers_end_with_a_parent_that_is_killed() -> None:
    for number in range(130, 1500):
        Path(f"runs/{number:04}.yaml").write_text(run_text(number))
    call = [
        sys.executable,
        "-m",
        "speccompile",
        "render",
        "runs",
        "--profiles",
        "profiles",
        "--no-cache",
        "--jobs",
        "3",
    ]
    with subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + PATIENCE
        while len(_children(process.pid)) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        workers = _children(process.pid)
        process.kill()
    assert len(workers) == 2
    deadline = time.monotonic() + PATIENCE
    while any(map(_is_running, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(_is_running, workers))


def _children(pid: int) -> list[int]:
    try:
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.usefixtures("project")
def test_a_full_disk_is_reported_and_nothing_is_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full() -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("speccompile.batch.disk_spool._IN_MEMORY", 1000)
    monkeypatch.setattr("tempfile.TemporaryFile", full)
    outcome = answer(capsys, "render", "runs", "--profiles", "profiles", "-o", "out")
    assert outcome == (1, "", "speccompile: nothing was written: temporary files: No space left on device\n")
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--jobs", "2", "--dask", "tcp://x:1"), "not allowed with argument"),
        *(
            (
                (f"--dask={address}",),
                f"{quote(address)} is not the address of a scheduler; write it like tcp://host:8786",
            )
            for address in ("", "x", "tcp://", "nonsense://x:1", "host:abc", "http://127.0.0.1:80", ":1")
        ),
        (("--dask", "tcp://x:1", "--report", "r.json"), "--report cannot be combined with --dask or --jobs"),
        (("--jobs", "2", "--report", "r.json"), "--report cannot be combined with --dask or --jobs"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    options: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = answer(capsys, "render", "run.yaml", *options)
    assert (code, out) == (2, "")
    assert words in err


@pytest.mark.parametrize("jobs", ["-1", "x", "257", "1.5", "٣", ""])
def test_an_invalid_number_of_jobs_is_refused(jobs: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = answer(capsys, "render", "run.yaml", f"--jobs={jobs}")
    assert (code, out) == (2, "")
    assert "expected a number from 0 (automatic) to 256" in err


# Memory and time.


@pytest.mark.usefixtures("project")
def test_memory_barely_grows_with_the_number_of_runs(tmp_path: Path) -> None:
    def peak(folder: str) -> float:
        script = (
            "import os, sys\n"
            "from speccompile.cli.main import main\n"
            "code = main(sys.argv[1:])\n"
            "status = open('/proc/self/status').read()\n"
            "sys.stderr.write('VmHWM ' + status.partition('VmHWM:')[2].split()[0])\n"
            "os._exit(code)\n"
        )
        call = [
            sys.executable,
            "-c",
            script,
            "render",
            folder,
            "--profiles",
            "profiles",
            "--jobs",
            "1",
            "-o",
            f"{folder}-out",
        ]
        done = subprocess.run(call, capture_output=True, text=True, check=True)
        return int(done.stderr.rpartition("VmHWM ")[2]) / 1024

    few, many = tmp_path / "few", tmp_path / "many"
    for folder, number in ((few, 100), (many, 2500)):
        folder.mkdir()
        for index in range(number):
            (folder / f"{index:05}.yaml").write_text(run_text(index))
    # A result that is held takes some 20 kB: 48 MB more for these.
    assert peak("many") - peak("few") < 8


def test_a_link_of_an_editor_among_the_modules_changes_nothing(tmp_path: Path) -> None:
    """Emacs makes one for every file that is not saved, and it leads nowhere."""
    (tmp_path / "a.py").write_text("")
    before = list(compiler_fingerprint._below(str(tmp_path), "x"))
    (tmp_path / ".#a.py").symlink_to("me@host.1")
    assert list(compiler_fingerprint._below(str(tmp_path), "x")) == before
