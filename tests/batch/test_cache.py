"""The incremental cache: only changed runs are compiled again, with the same results."""

from __future__ import annotations

import io
import os
import random
import shutil
import sqlite3
import stat
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from helpers.work import at_most_cpu_seconds
from hypothesis import given
from hypothesis import strategies as st

from speccompile import Compiled
from speccompile.batch import cache_store
from speccompile.batch.cache_store import NO_CACHE, CacheStore, cache_key, open_cache
from speccompile.batch.compiler_fingerprint import local_fingerprint, text_digest
from speccompile.batch.incremental import digests
from speccompile.batch.private_files import user_folder
from speccompile.cli.main import main
from speccompile.compiler.documents.admin_config import Setting
from speccompile.compiler.pipeline import compile_document
from speccompile.model.documents import Document

RUNS = {"a": "", "b": "profile: small\n", "c": "profile: child\n", "d": "profile: large\nreplicas: null\n"}
PROFILES = {
    "small": "id: small\nresources: {mem: 1Gi}\n",
    "large": "id: large\nresources: {mem: 64Gi}\n",
    "child": "id: child\nextends: [small]\npriority_class: low\n",
}


class Answer(NamedTuple):
    """What one call of the command gave, and which runs were compiled for it."""

    code: int
    stdout: str
    stderr: str
    compiled: frozenset[str]


Call = Callable[..., Answer]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """`render` in a small project."""
    monkeypatch.chdir(tmp_path)
    for folder, texts in (("runs", RUNS), ("profiles", PROFILES)):
        Path(folder).mkdir()
        for name, text in texts.items():
            head = f"name: {name}\naction: job\nimage: x\nresources: {{mem: 2Gi}}\n" if folder == "runs" else ""
            Path(folder, f"{name}.yaml").write_text(head + text)
    compiled: set[str] = set()
    genuine = compile_document

    def watched(document: Document, setting: Setting) -> Compiled:
        compiled.add(Path(document.source.name).stem)
        return genuine(document, setting)

    monkeypatch.setattr("speccompile.compiler.compile_files.compile_document", watched)

    def answer(*arguments: str) -> Answer:
        compiled.clear()
        code = main(["render", "runs", "--profiles", "profiles", *arguments])
        return Answer(code, *capsys.readouterr(), frozenset(compiled))

    return answer


def test_only_what_changed_is_compiled_again(call: Call) -> None:
    first = call()
    assert first.code == 0
    assert first.compiled == {"a", "b", "c", "d"}
    assert "notice[merge/overridden]" in first.stderr
    assert call() == first._replace(compiled=frozenset())
    Path("runs/b.yaml").write_text(Path("runs/b.yaml").read_text() + "args: [x]\n")
    second = call()
    assert second.compiled == {"b"}
    assert call("--no-cache") == second._replace(compiled=frozenset("abcd"))


@pytest.mark.parametrize(
    ("file", "text", "touched"),
    [
        ("profiles/small.yaml", "id: small\nresources: {mem: 3Gi}\n", "bc"),
        ("profiles/child.yaml", "id: child\nextends: [large]\n", "c"),
        ("profiles/large.yaml", "id: large\nresources: {mem: 64Gi}\n# the same in other words\n", "d"),
        ("profiles/default.yaml", "id: default\npriority_class: usual\n", "a"),
        ("profiles/unused.yaml", "id: unused\npriority_class: usual\n", ""),
        ("runs/e.yaml", "name: e\naction: job\nimage: x\n", "e"),
    ],
)
def test_a_run_is_compiled_again_if_a_used_profile_changed(call: Call, file: str, text: str, touched: str) -> None:
    call()
    Path(file).write_text(text)
    again = call()
    assert again.compiled == set(touched)
    assert again._replace(compiled=frozenset()) == call("--no-cache")._replace(compiled=frozenset())
    assert again.code == 0
    if "default" in file:
        Path(file).unlink()
        assert call().compiled == {"a"}


def test_a_base_document_is_part_of_its_profile(call: Call) -> None:
    call()
    base = "---\napiVersion: batch/v1\nkind: Job\nspec: {template: {spec: {dnsPolicy: Default}}}\n"
    Path("profiles/small.yaml").write_text(PROFILES["small"] + base)
    again = call()
    assert again.compiled == {"b", "c"}
    assert again.stdout.count("dnsPolicy") == 2


def test_platform_and_shape_affect_all_runs(call: Call) -> None:
    first = call()
    Path("platform.yaml").write_text("namespace: one\n")
    assert call("--platform", "platform.yaml").compiled == set("abcd")
    assert call("--platform", "platform.yaml").compiled == set()
    Path("platform.yaml").write_text("namespace: two\n")
    other = call("--platform", "platform.yaml")
    assert other.compiled == set("abcd")
    assert "namespace: two" in other.stdout
    assert call("--platform", "digitalhub").compiled == set("abcd")
    assert call("--json").compiled == set("abcd")
    assert call("--helm").compiled == set("abcd")
    assert call() == first._replace(compiled=frozenset())


def test_another_compiler_compiles_again(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    call()
    monkeypatch.setattr("speccompile.batch.open_caches.local_fingerprint", lambda: b"another")
    assert call().compiled == set("abcd")
    monkeypatch.setattr("speccompile.batch.open_caches.local_fingerprint", lambda: None)
    assert call().compiled == set("abcd")
    assert call().compiled == set("abcd")


def test_the_fingerprint_covers_every_file_of_the_compiler(tmp_path: Path) -> None:
    root = Path(cache_store.__file__).parent.parent.parent
    for folder in ("speccompile", "schemas", "templates", "presets"):
        shutil.copytree(root / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(root / "pyproject.toml", tmp_path)

    def stamps() -> list[str]:
        script = "from speccompile.batch.compiler_fingerprint import *; print(local_fingerprint().hex(), text_digest())"
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment, cwd=tmp_path
        )
        return done.stdout.split()

    seen = [stamps()]
    assert stamps() == seen[0]
    assert seen[0][1] == text_digest()
    fingerprint = local_fingerprint()
    assert fingerprint is not None
    assert seen[0][0] != fingerprint.hex()
    for file in ("speccompile/compiler/merge.py", "templates/kubernetes/job.yaml.j2", "schemas/run.schema.json"):
        path = next(iter(tmp_path.glob(file)), None) or next((tmp_path / file).parent.glob("*.j2"))
        before = path.stat()
        # Of the same size, and as old as before.
        path.write_text(path.read_text()[:-1] + " ")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        seen.append(stamps())
        assert seen[-1][0] not in [one for one, _ in seen[:-1]]
        assert seen[-1][1] not in [one for _, one in seen[:-1]]


def test_errors_and_clashes_are_reported_every_time(call: Call) -> None:
    Path("runs/e.yaml").write_text("name: a\naction: job\nimage: x\n")
    Path("runs/f.yaml").write_text("name: f\naction: job\nimage: x\nresources: {mem: 8GB}\n")
    Path("profiles/odd.yaml").write_text("id: odd\nreplicas: 2\n")
    first = call()
    assert first.code == 1
    assert "run/duplicate" in first.stderr
    again = call()
    assert again.compiled == {"f"}
    assert again[:3] == first[:3]
    assert call("--no-cache")[:3] == first[:3]
    Path("profiles/odd.yaml").write_text("id: odd\nimag: 2\n")
    broken = call()
    assert broken[:3] == call()[:3] == call("--no-cache")[:3]
    assert "error[schema/unknown-key]" in broken.stderr


def test_several_runs_of_a_file_are_one_entry(call: Call) -> None:
    Path("runs/a.yaml").write_text(
        "name: a\naction: job\nimage: x\n---\nname: z\naction: job\nimage: x\nprofile: large\n"
    )
    first = call()
    assert call() == first._replace(compiled=frozenset())
    Path("profiles/large.yaml").write_text("id: large\nresources: {mem: 65Gi}\n")
    assert call().compiled == {"a", "d"}


def test_setting_findings_come_from_the_cache_as_well(call: Call) -> None:
    Path("platform.yaml").write_text("overrides: warning\n")
    first = call("--platform", "platform.yaml")
    assert "warning[merge/overridden]" in first.stderr
    assert call("--platform", "platform.yaml") == first._replace(compiled=frozenset())
    strict = call("--platform", "platform.yaml", "--strict")
    assert (strict.code, strict.stdout, strict.compiled) == (1, "", frozenset())


def test_a_report_needs_complete_results(call: Call) -> None:
    call()
    first = call("--report", "report.json")
    assert first.compiled == set("abcd")
    assert '"overrides": [' in Path("report.json").read_text()


OPERATIONS = st.one_of(
    st.tuples(
        st.sampled_from(["runs/a", "runs/b", "runs/c"]), st.sampled_from(["", "args: [x]", "args: [", "image: y"])
    ),
    st.tuples(st.just("profiles/small"), st.sampled_from(["", "priority_class: high", "extends: [large]", "imag: y"])),
    st.tuples(st.just("profiles/default"), st.sampled_from(["id: default", "id: default\nimage: z", None])),
    st.tuples(st.just("cache"), st.sampled_from([None, "damage", "truncate"])),
)


def _done(operation: tuple[str, str | None], before: dict[str, str], cache: Path) -> None:
    what, text = operation
    if what != "cache":
        file = Path(f"{what}.yaml")
        file.write_text(f"{before.get(what, '')}{text}\n") if text is not None else file.unlink(missing_ok=True)
    elif text is None:
        shutil.rmtree(cache, ignore_errors=True)
    elif found := next(cache.rglob("*.sqlite"), None):
        data = found.read_bytes()
        found.write_bytes(data[:5000] if text == "truncate" else data[:6000] + b"damaged" + data[6007:])


def _answer(*arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(["render", "runs", "--profiles", "profiles", *arguments])
    return code, out.getvalue(), err.getvalue()


@given(st.lists(OPERATIONS, min_size=1, max_size=8))
def test_cached_results_equal_compiled_ones(operations: list[tuple[str, str | None]]) -> None:
    with TemporaryDirectory() as folder, chdir(folder), pytest.MonkeyPatch.context() as patch:
        cache = Path(folder, "cache")
        patch.setenv("XDG_CACHE_HOME", str(cache))
        before = {f"profiles/{name}": text for name, text in PROFILES.items()}
        before |= {f"runs/{name}": f"name: {name}\naction: job\nimage: x\n{text}" for name, text in RUNS.items()}
        for name, text in before.items():
            Path(name).parent.mkdir(exist_ok=True)
            Path(f"{name}.yaml").write_text(text)
        for operation in operations:
            _done(operation, before, cache)
            assert _answer() == _answer("--no-cache")
        assert _answer() == _answer("--no-cache")


# Whatever happens to the file.


def database(folder: Path) -> Path:
    return next((folder / "speccompile").glob("*.sqlite"))


def test_a_cache_is_private_and_can_be_deleted_at_any_time(call: Call, own_cache: Path) -> None:
    first = call()
    assert stat.S_IMODE(database(own_cache).stat().st_mode) == 0o600
    assert stat.S_IMODE((own_cache / "speccompile").stat().st_mode) == 0o700
    shutil.rmtree(own_cache)
    assert call() == first
    database(own_cache).unlink()
    assert call() == first
    assert call().compiled == set()


def test_a_system_without_users_has_a_cache(call: Call, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "geteuid")
    first = call()
    assert database(own_cache).exists()
    again = call()
    assert again.stdout == first.stdout
    assert again.compiled == set()


@pytest.mark.parametrize("seed", range(12))
def test_a_damaged_cache_changes_nothing(call: Call, own_cache: Path, seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311  the same every time is what is wanted
    first = call()
    path = database(own_cache)
    data = bytearray(path.read_bytes())
    if seed == 0:
        data = bytearray(rng.randbytes(5000))
    elif seed == 1:
        data = data[: len(data) // 2]
    elif seed == 2:
        data = bytearray()
    else:
        for _ in range(rng.choice((1, 50, 2000))):
            data[rng.randrange(rng.choice((100, len(data))))] = rng.randrange(256)
    path.write_bytes(data)
    assert call()[:3] == first[:3]
    assert call()[:3] == first[:3]
    # What is no database at all is replaced; any other can be deleted.
    assert seed != 0 or call().compiled == set()
    shutil.rmtree(own_cache)
    assert call() == first


@contextmanager
def opened(folder: Path) -> Iterator[sqlite3.Connection]:
    """The database of the cache, for somebody who can write it."""
    connection = sqlite3.connect(database(folder), isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()


def test_swapped_values_are_ignored(own_cache: Path) -> None:
    with open_cache() as cache:
        cache.put(b"one", b"1")
        cache.put(b"two", b"2")
        cache.put(b"one", b"3", "results")
    with opened(own_cache) as connection:
        connection.execute("UPDATE skeletons SET value = (SELECT value FROM skeletons WHERE key = x'6f6e65')")
        connection.execute("UPDATE results SET value = (SELECT value FROM skeletons LIMIT 1)")
    with open_cache() as cache:
        assert (cache.get(b"one"), cache.get(b"two"), cache.get(b"one", "results")) == (b"1", None, None)


def _old_signature(key: bytes, value: bytes) -> bytes:
    return blake2b(value, key=key, digest_size=16).digest()


FORGERIES: dict[str, Callable[[bytes, bytes], Any]] = {
    "keyed by the row": lambda key, value: _old_signature(key, value) + value,
    "no key": lambda key, value: blake2b(key + value, digest_size=16).digest() + value,
    "junk": lambda key, _: _old_signature(key, b"junk") + b"junk",
    "empty": lambda *_: b"",
    "text": lambda *_: "text",
    "number": lambda *_: 1,
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_whoever_can_write_the_cache_cannot_forge_results(call: Call, own_cache: Path, forgery: str) -> None:
    first = call()
    with opened(own_cache) as connection:
        rows = connection.execute("SELECT key, value FROM results").fetchall()
        assert len(rows) == len(RUNS) + 1
        for key, signed in rows:
            forged = FORGERIES[forgery](key, signed[16:].replace(b"image: x", b"image: y"))
            connection.execute("UPDATE results SET value = ?, day = 'monday' WHERE key = ?", (forged, key))
    again = call()
    assert again == first
    assert "image: y" not in again.stdout


def test_skeletons_cannot_be_forged(call: Call, own_cache: Path) -> None:
    del call
    Path("own/kubernetes").mkdir(parents=True)
    bundled = Path(cache_store.__file__).parent.parent.parent / "templates/kubernetes/job.yaml.j2"
    Path("own/kubernetes/job.yaml.j2").write_text(bundled.read_text().replace("kind: Job", "kind: Job  # custom"))

    def rendered() -> str:
        # In a new process, because this one remembers skeletons.
        command = [
            sys.executable,
            "-m",
            "speccompile",
            "render",
            "runs",
            "--profiles",
            "profiles",
            "--templates",
            "own",
        ]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    first = rendered()
    with opened(own_cache) as connection:
        rows = connection.execute("SELECT key, value FROM skeletons").fetchall()
        assert rows
        for key, signed in rows:
            # In skeletons, not in the templates that they are valid for.
            value = signed[16:].replace(rb"\"backoffLimit\"", rb"\"forgedLimit\"")
            assert value != signed[16:]
            connection.execute(
                "UPDATE skeletons SET value = ? WHERE key = ?", (_old_signature(key, value) + value, key)
            )
        connection.execute("DELETE FROM results")
    assert rendered() == first


def test_a_cache_of_another_user_or_machine_is_ignored(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    first = call()
    monkeypatch.setenv("XDG_STATE_HOME", str(Path("another").resolve()))
    assert call() == first
    assert call().compiled == set()


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE other (a)",
        "CREATE TRIGGER slow BEFORE INSERT ON results BEGIN SELECT 1; END",
        "CREATE INDEX other ON results (day)",
        "CREATE VIEW other AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
        "ALTER TABLE results ADD COLUMN more",
        "DROP TABLE results",
        "DROP TABLE results; CREATE VIEW results AS SELECT x'00' AS key, 1 AS day, x'00' AS value",
    ],
)
def test_a_database_with_another_layout_is_replaced(call: Call, own_cache: Path, statement: str) -> None:
    first = call()
    with opened(own_cache) as connection:
        connection.executescript(statement)
    assert call() == first
    assert call().compiled == set()


def test_a_journal_that_was_placed_there_is_not_obeyed(call: Call, own_cache: Path) -> None:
    """SQLite rolls back what a journal says, and deletes the file that its end names."""
    first = call()
    precious = Path("precious").resolve()
    precious.write_text("precious")
    journal = Path(f"{database(own_cache)}-journal")
    name = os.fsencode(precious)
    magic = bytes.fromhex("d9d505f920a163d7")
    # No pages to restore, then a name with its length and checksum.
    header = magic + struct.pack(">IIIII", 0, 0, database(own_cache).stat().st_size // 4096, 512, 4096)
    end = struct.pack(">I", 2**30 // 4096 + 1) + name + struct.pack(">II", len(name), sum(name)) + magic
    journal.write_bytes(header.ljust(512, b"\0") + end)
    assert call() == first._replace(compiled=frozenset())
    assert precious.read_text() == "precious"
    assert not journal.exists()


@pytest.mark.parametrize("obstacle", ["link", "readable", "fifo", "folder", "no home", "in the cache", "read-only"])
def test_without_a_safe_place_for_the_secret_nothing_is_cached(
    call: Call, own_cache: Path, obstacle: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = call()
    secret = Path(f"{own_cache}-state", "speccompile/cache.key")
    assert (secret.stat().st_size, stat.S_IMODE(secret.stat().st_mode)) == (32, 0o600)
    assert call().compiled == set()
    if obstacle == "readable":
        secret.chmod(0o640)
    elif obstacle == "no home":
        monkeypatch.setenv("XDG_STATE_HOME", "")
        monkeypatch.setenv("HOME", "")
    elif obstacle == "in the cache":
        Path("state").symlink_to(own_cache)
        monkeypatch.setenv("XDG_STATE_HOME", str(Path("state").absolute()))
    elif obstacle == "read-only":
        monkeypatch.setenv("XDG_STATE_HOME", "/proc/self/fdinfo")
    else:
        secret.rename("elsewhere")
        if obstacle == "link":
            secret.symlink_to(Path("elsewhere").resolve())
        elif obstacle == "fifo":
            os.mkfifo(secret)
        else:
            secret.mkdir()
    assert call() == first
    assert call() == first


@pytest.mark.parametrize("junk", [b"", b"short", b"x" * 33, b"x" * 100_000])
def test_a_damaged_secret_is_replaced(call: Call, own_cache: Path, junk: bytes) -> None:
    first = call()
    secret = Path(f"{own_cache}-state", "speccompile/cache.key")
    secret.write_bytes(junk)
    assert call() == first
    assert call().compiled == set()
    assert secret.stat().st_size == 32


@given(st.data())
def test_damaged_bytes_change_nothing(data: st.DataObject) -> None:
    with TemporaryDirectory() as folder, chdir(folder), pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(Path("cache").absolute()))
        patch.setenv("XDG_STATE_HOME", str(Path("state").absolute()))
        with open_cache() as cache:
            entries = {b"%d" % number: bytes([number]) * 40 * number for number in range(1, 60)}
            for key, value in entries.items():
                cache.put(key, value, "results")
        path = database(Path("cache"))
        content = bytearray(path.read_bytes())
        # One kind of damage at a time: with a damaged header, SQLite reads none of the values.
        starts = {"header": range(120), "values": range(4096, len(content), 50), "length": range(len(content))}
        damage = data.draw(st.sampled_from(sorted(starts)))
        for start in data.draw(st.lists(st.sampled_from(starts[damage]), min_size=1, max_size=4)):
            if damage == "length":
                del content[start:]
            else:
                junk = data.draw(st.binary(min_size=1, max_size=40))
                content[start : start + len(junk)] = junk
        path.write_bytes(content)
        with at_most_cpu_seconds(10):
            for _ in range(2):
                with open_cache() as cache:
                    assert all(cache.get(key, "results") in (None, value) for key, value in entries.items())
                    cache.put(b"new", b"value", "results")


@pytest.mark.parametrize("obstacle", ["file", "fifo", "folder", "link", "readable by all", "read-only", "relative"])
def test_an_unusable_folder_means_no_cache(
    call: Call, own_cache: Path, obstacle: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = call()
    home = own_cache / "speccompile"
    path = database(own_cache)
    if obstacle == "file":
        shutil.rmtree(home)
        home.write_text("precious")
    elif obstacle == "relative":
        monkeypatch.setenv("XDG_CACHE_HOME", "here")
        monkeypatch.setenv("HOME", "")
    elif obstacle == "readable by all":
        path.chmod(0o666)
    elif obstacle == "read-only":
        # Where not even root can make anything.
        monkeypatch.setenv("XDG_CACHE_HOME", "/proc/self/fdinfo")
    else:
        path.unlink()
        if obstacle == "fifo":
            os.mkfifo(path)
        elif obstacle == "folder":
            path.mkdir()
        else:
            (own_cache / "precious").write_text("")
            path.symlink_to(own_cache / "precious")
    assert call() == first
    assert call() == first
    assert not Path("here").exists()
    home.chmod(0o700)
    if obstacle == "file":
        assert home.read_text() == "precious"


def test_many_processes_share_a_cache(call: Call, own_cache: Path) -> None:
    for number in range(150):
        Path(f"runs/{number}.yaml").write_text(f"name: r{number}\naction: job\nimage: x\nprofile: small\n")
    first = call("--no-cache")
    command = [sys.executable, "-m", "speccompile", "render", "runs", "--profiles", "profiles"]
    calls = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    assert {(*one.communicate(), one.returncode) for one in calls} == {(first.stdout, first.stderr, 0)}
    assert database(own_cache).exists()
    assert call()[:3] == first[:3]


def test_a_cache_that_another_process_writes_for_long_is_not_waited_for(call: Call, own_cache: Path) -> None:
    first = call()
    connection = sqlite3.connect(database(own_cache), isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    assert call() == first
    connection.execute("ROLLBACK")
    connection.close()
    assert call().compiled == set()


def test_least_recently_used_entries_are_evicted(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del own_cache
    monkeypatch.setattr(cache_store, "MAX_CACHE_BYTES", 300_000)
    clock = iter(range(1, 1000))
    monkeypatch.setattr("time.time", lambda: 86400.0 * next(clock))
    for number in range(100):
        with open_cache() as cache:
            cache.put(b"%d" % number, b"x" * 10_000, "results")
            cache.get(b"0", "results")
    with open_cache() as cache:
        assert cache.get(b"0", "results")
        assert cache.get(b"99", "results")
        assert sum(cache.get(b"%d" % number, "results") is not None for number in range(100)) <= 30


def test_cached_values_are_returned(own_cache: Path) -> None:
    del own_cache
    with open_cache() as cache:
        cache.put(b"key", b"value")
        assert cache.get(b"other") is None
    with open_cache() as cache:
        assert cache.get(b"key") == b"value"
        assert cache.get(b"key", "results") is None
    with open_cache(wanted=False) as cache:
        assert cache is NO_CACHE
        assert cache.get(b"key") is None
    assert CacheStore(None).get(b"key") is None


@given(st.lists(st.binary(max_size=4), max_size=4), st.lists(st.binary(max_size=4), max_size=4))
def test_keys_differ_where_parts_do(one: list[bytes], other: list[bytes]) -> None:
    assert (cache_key(*one) == cache_key(*other)) == (one == other)


@pytest.mark.parametrize(
    ("purpose", "system", "environment", "folder"),
    [
        ("cache", "linux", {}, "/home/me/.cache/speccompile"),
        ("cache", "linux", {"XDG_CACHE_HOME": "/x"}, "/x/speccompile"),
        ("cache", "linux", {"XDG_CACHE_HOME": "x"}, "/home/me/.cache/speccompile"),
        ("cache", "darwin", {}, "/home/me/Library/Caches/speccompile"),
        ("cache", "win32", {"LOCALAPPDATA": "/local"}, "/local/speccompile"),
        ("cache", "win32", {}, None),
        ("state", "linux", {"XDG_CACHE_HOME": "/x"}, "/home/me/.local/state/speccompile"),
        ("state", "linux", {"XDG_STATE_HOME": "/x"}, "/x/speccompile"),
        ("state", "darwin", {}, "/home/me/Library/Application Support/speccompile"),
        ("state", "win32", {"LOCALAPPDATA": "/local", "APPDATA": "/roaming"}, "/roaming/speccompile"),
    ],
)
def test_files_are_where_the_system_keeps_them(
    purpose: str, system: str, environment: dict[str, str], folder: str | None
) -> None:
    assert user_folder(purpose, system, environment, "/home/me") == (Path(folder) if folder else None)


def test_the_hash_of_a_profile_covers_its_file_and_its_parents(call: Call) -> None:
    del call
    from speccompile.files.load_admin_config import read_setting

    def now() -> dict[str, bytes]:
        return digests(read_setting(["profiles"], None).profiles, cache_key)

    before = now()
    Path("profiles/small.yaml").write_text("id: small\nresources: {mem: 3Gi}\n")
    after = now()
    assert {name for name in before if before[name] != after[name]} == {"small", "child"}


def test_cached_results_load_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.yaml").write_text("name: a\naction: job\nimage: x\nprofile: p\nresources: {mem: 2Gi}\n")
    Path("p.yaml").write_text("id: p\nresources: {mem: 1Gi}\n")
    script = (
        "import sys\nfrom speccompile.cli.main import main\n"
        "code = main(['render', 'run.yaml', '--profiles', 'p.yaml'])\n"
        "print('loaded:', *sorted(sys.modules), file=sys.stderr)\nsys.exit(code)"
    )

    def loaded() -> Iterator[str]:
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        return iter(done.stderr.rpartition("loaded:")[2].split())

    assert "speccompile.compiler.pipeline" in set(loaded())
    heavy = {
        "speccompile.compiler.pipeline",
        "speccompile.compiler.render",
        "jinja2",
        "jsonschema",
        "ruamel.yaml",
        "multiprocessing",
    }
    assert heavy & set(loaded()) == set()
