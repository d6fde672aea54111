"""Fuzz all targets, or those named, and print what was found."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from fuzz.targets import ROOT, TARGETS

WORK = ROOT / "fuzz" / "work"
_COVERAGE = re.compile(r"cov: (\d+)")


class Row(NamedTuple):
    """The summary of one target."""

    target: str
    inputs: int
    passed: int
    cpu: float
    coverage: int
    findings: dict[str, int]


def fuzz(target: str, seconds: int) -> Row:
    """Fuzz one target in its own process, which may crash."""
    folder = WORK / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "counts.json").unlink(missing_ok=True)
    command = [sys.executable, "-m", "fuzz.driver", target, str(folder), str(seconds)]
    with (folder / "log.txt").open("w", encoding="utf-8") as log:
        code = subprocess.run(command, cwd=ROOT, stdout=log, stderr=log, check=False).returncode
    counts = json.loads(_text(folder / "counts.json") or "{}")
    findings = counts.get("findings", {})
    if code:
        findings[f"crash: the process ended with {code}, see {folder.relative_to(ROOT)}/log.txt"] = 1
    coverage = [int(number) for number in _COVERAGE.findall(_text(folder / "log.txt"))]
    return Row(
        target,
        counts.get("inputs", 0),
        counts.get("passed", 0),
        counts.get("cpu", 0.0),
        max(coverage, default=0),
        findings,
    )


def _text(path: Path) -> str:
    return path.read_text("utf-8", "replace") if path.exists() else ""


def table(rows: list[Row]) -> Iterator[str]:
    """The rows as Markdown, and the findings below."""
    yield "| target | inputs | passed the first check | findings | edges covered | CPU |"
    yield "|---|---:|---:|---:|---:|---:|"
    for row in rows:
        share = f"{row.passed / row.inputs:.0%}" if row.inputs else "-"
        yield f"| {row.target} | {row.inputs} | {share} | {len(row.findings)} | {row.coverage} | {row.cpu:.0f} s |"
    yield f"| all | {sum(row.inputs for row in rows)} | | | | {sum(row.cpu for row in rows) / 60:.1f} min |"
    for row in rows:
        for finding, count in sorted(row.findings.items()):
            yield f"{row.target}: {finding} ({count} times)"


def run_all() -> int:
    """Run the targets and return 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"one of {', '.join(TARGETS)}; all by default")
    parser.add_argument("--seconds", type=int, default=60, help="time for each target; 60 by default")
    parser.add_argument("--jobs", type=int, default=1, help="targets at a time")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.targets if name not in TARGETS]:
        parser.error(f"unknown target {', '.join(unknown)}")
    with ThreadPoolExecutor(arguments.jobs) as pool:
        rows = list(pool.map(lambda target: fuzz(target, arguments.seconds), arguments.targets or TARGETS))
    print("\n".join(table(rows)))
    return int(any(row.findings for row in rows))


if __name__ == "__main__":
    sys.exit(run_all())
