"""A real Dask cluster: the same results in the same order, even if a worker disappears."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from distributed import Client, LocalCluster
from helpers.command_line import PATIENCE

from speccompile import Compiled, CompileError, compile_many
from speccompile.batch import dispatch, executors
from speccompile.cli.main import main
from speccompile.report.formats import as_format

PROFILE = "id: gpu\nresources:\n  gpu: 1\n"
# Resource and deprecation warnings of Dask.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.xdist_group("dask")]


def run_text(number: int) -> str:
    return f"name: r{number}\naction: job\nimage: x\nprofile: gpu\nresources: {{gpu: 2, mem: {number + 1}Gi}}\n"


def summary_of(result: Compiled | CompileError) -> tuple[str, str]:
    return as_format("text", result.diagnostics), result.to_yaml() if isinstance(result, Compiled) else ""


def test_the_executor_of_a_local_cluster_returns_the_same_results() -> None:
    runs = [run_text(number).replace("Gi", "GB" if number % 50 == 7 else "Gi") for number in range(250)]
    here = [summary_of(result) for result in compile_many(runs, profiles=[{"id": "gpu", "resources": {"gpu": 1}}])]
    with (
        LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=2, threads_per_worker=2, dashboard_address=None
        ) as cluster,
        Client(cluster, set_as_default=False) as client,  # type: ignore[no-untyped-call]
    ):
        executor = client.get_executor(pure=False)
        results = compile_many(runs, profiles=[{"id": "gpu", "resources": {"gpu": 1}}], executor=executor)
        assert [summary_of(result) for result in results] == here


class Cluster(NamedTuple):
    """A scheduler that is running, and its workers."""

    address: str
    file: Path
    workers: list[subprocess.Popen[bytes]]


def _started(stack: ExitStack, *arguments: str) -> subprocess.Popen[bytes]:
    process = stack.enter_context(
        subprocess.Popen(
            [sys.executable, "-m", "dask", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    )
    stack.callback(process.kill)
    return process


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of separate processes, without workers yet."""
    folder = tmp_path_factory.mktemp("dask")
    file = folder / "scheduler.json"
    with ExitStack() as stack:
        host = ("--host", "127.0.0.1", "--port", "0")
        _started(stack, "scheduler", *host, "--no-dashboard", "--no-show", "--scheduler-file", str(file))
        deadline = time.monotonic() + PATIENCE
        while not file.exists() or not file.read_text().strip():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        address: str = json.loads(file.read_text())["address"]
        yield Cluster(address, file, [])


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("profiles").mkdir()
    Path("profiles/gpu.yaml").write_text(PROFILE)
    Path("runs").mkdir()
    for number in range(900):
        Path(f"runs/{number:03}.yaml").write_text(run_text(number))


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["render", "runs", "--profiles", "profiles", "--no-cache", *arguments])
    out = capsys.readouterr()
    return code, out.out, out.err


@pytest.mark.usefixtures("project")
def test_a_cluster_without_workers_is_an_error(
    cluster: Cluster, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executors, "_TIMEOUT", 1)
    code, out, err = answer(capsys, "--dask", cluster.address)
    assert (code, out) == (1, "")
    assert err == (
        f"speccompile: nothing was written: the Dask cluster at {cluster.address} has no workers: "
        "start some with `dask worker`\n"
    )


@pytest.mark.usefixtures("project")
def test_a_cluster_that_loses_a_worker_returns_the_same_results(
    cluster: Cluster, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = answer(capsys, "--jobs", "1")
    with ExitStack() as stack:
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--scheduler-file", str(cluster.file))
        workers = [_started(stack, "worker", *options) for _ in range(2)]
        with Client(cluster.address, set_as_default=False) as client:  # type: ignore[no-untyped-call]
            client.wait_for_workers(2, timeout=PATIENCE)
        awaited, seen = dispatch._await_outcomes, list[int]()

        def watched(*given: Any) -> Any:
            seen.append(len(seen))
            if len(seen) == 2:
                workers[0].send_signal(signal.SIGKILL)
            return awaited(*given)

        monkeypatch.setattr(dispatch, "_await_outcomes", watched)
        there = answer(capsys, "--dask", cluster.address)
        assert workers[0].wait(PATIENCE) == -signal.SIGKILL
    assert there == here
    assert here[1].count("kind: Job\n") == 900
    assert len(seen) == 9


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "127.0.0.1:99999"])
def test_an_address_where_nobody_answers_is_an_error_after_the_timeout(
    address: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    connect, timeouts = executors._client, list[float]()

    def watched(make: Callable[..., Any], address: str) -> Any:
        def noted(*arguments: Any, timeout: float, **options: Any) -> Any:
            timeouts.append(timeout)
            return make(*arguments, timeout=timeout, **options)

        return connect(noted, address)

    monkeypatch.setattr(executors, "_TIMEOUT", 1)
    monkeypatch.setattr(executors, "_client", watched)
    code, out, err = answer(capsys, "--dask", address, "-o", "out")
    assert (code, out, timeouts) == (1, "", [1])
    assert err.startswith(f"speccompile: nothing was written: no Dask scheduler answers at {address}: ")
    assert err.count("\n") == 1
    assert not Path("out").exists()


@pytest.mark.usefixtures("project")
def test_without_dask_the_message_explains_the_installation(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    code, out, err = answer(capsys, "--dask", "tcp://127.0.0.1:8786")
    assert (code, out) == (1, "")
    assert "pip install '.[dask]'" in err
