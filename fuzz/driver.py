"""Fuzz one target with Atheris: `python -m fuzz.driver TARGET FOLDER SECONDS`."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import pkgutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["speccompile"]):
    # The program imports most modules on use, which would be too late to measure their coverage.
    import speccompile

    for _module in pkgutil.walk_packages(speccompile.__path__, "speccompile."):
        if not _module.name.startswith(("speccompile.__main__", "speccompile.testing")):
            importlib.import_module(_module.name)
    from fuzz.check import check
from fuzz.mutate import mutate
from fuzz.targets import as_input, seeds_of

_LONGEST = 64 * 1024
_SAVE_EVERY = 20


class Campaign:
    """Counts of one target, saved regularly because libFuzzer ends the process."""

    def __init__(self, target: str, folder: Path, work: Path) -> None:
        self._target, self._folder, self._work = target, folder, work
        self._inputs = self._passed = 0
        self._findings: Counter[str] = Counter()

    def __call__(self, data: bytes) -> None:
        verdict = check(self._target, data, self._work)
        self._inputs += 1
        self._passed += verdict.passed
        for fault in verdict.faults:
            self._findings[fault] += 1
            if self._findings[fault] == 1:
                name = hashlib.sha256(fault.encode()).hexdigest()[:12]
                (self._folder / "findings" / name).write_bytes(data)
        if verdict.faults or self._inputs % _SAVE_EVERY == 0:
            counts = {"inputs": self._inputs, "passed": self._passed, "cpu": sum(os.times()[:2])}
            text = json.dumps({**counts, "findings": self._findings}, indent=2)
            (self._folder / "counts.json").write_text(text, "utf-8")


def run_target(target: str, folder: Path, seconds: int) -> None:
    """Fuzz until the time is over; the process ends here."""
    for name in ("corpus", "findings"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds_of(target).values()):
        (folder / "corpus" / f"seed-{number}").write_bytes(as_input(seed, seed.text))
    work = Path(tempfile.mkdtemp(prefix="speccompile-fuzz-"))
    os.environ["XDG_CACHE_HOME"] = str(work / "cache")
    campaign = Campaign(target, folder, work / "call")

    def mutator(data: bytes, most: int, number: int) -> bytes:
        return mutate(target, data, most, number)

    options = [
        f"-max_total_time={seconds}",
        f"-max_len={_LONGEST}",
        "-rss_limit_mb=2048",
        # `check` limits the CPU time of an input; on a busy machine it may take far longer.
        "-timeout=1200",
        "-report_slow_units=1200",
        f"-artifact_prefix={folder}/",
    ]
    atheris.Setup([sys.argv[0], *options, str(folder / "corpus")], campaign, custom_mutator=mutator)
    atheris.Fuzz()


if __name__ == "__main__":
    run_target(sys.argv[1], Path(sys.argv[2]).resolve(), int(sys.argv[3]))
