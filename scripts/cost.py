"""Takes nothing, gives a table of what the command costs: cold start as ratios to a bare interpreter, and growth.

Run it as `make cost`. Rounds are interleaved, so that a busy machine disturbs all contenders alike; each ratio is
the median of the ratios of the rounds. Bytecode is compiled first, as an installation has it.
"""

from __future__ import annotations

import compileall
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 15
SIZES = (100, 1000, 10000)
RUN = ROOT / "examples" / "runs" / "train.yaml"
PROFILES = ROOT / "examples" / "profiles"
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}

CONTENDERS = {
    "python -c pass": ["-c", "pass"],
    "import speccompile": ["-c", "import speccompile"],
    "speccompile --help": ["-m", "speccompile", "--help"],
    "import jinja2, jsonschema, ruamel.yaml": ["-c", "import jinja2, jsonschema, ruamel.yaml"],
    "speccompile render, one run": ["-m", "speccompile", "render", str(RUN), "--profiles", str(PROFILES)],
    "speccompile validate, one faulty run": [
        "-m",
        "speccompile",
        "validate",
        str(ROOT / "golden/reject/many-errors-at-once"),
    ],
}


def main() -> None:
    compileall.compile_dir(ROOT / "speccompile", quiet=1)
    times: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    for _ in range(ROUNDS):
        for name, arguments in CONTENDERS.items():
            times[name].append(_seconds(arguments))
    base = times["python -c pass"]
    print(f"cold start, {ROUNDS} interleaved rounds, Python {sys.version.split()[0]}")
    for name, measured in times.items():
        ratio = statistics.median(one / other for one, other in zip(measured, base, strict=True))
        print(f"  {name:42} {min(measured) * 1000:7.1f} ms at best   {ratio:5.1f} × a bare interpreter")
    print("growth, one call of `render` over a directory")
    for size in SIZES:
        seconds, memory = _batch(size)
        print(f"  {size:6} runs {seconds:8.2f} s   {seconds / size * 1000:6.2f} ms a run   {memory:5} MB at most")


def _seconds(arguments: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], capture_output=True, env=ENVIRONMENT, check=False)  # noqa: S603
    return time.perf_counter() - start


def _batch(size: int) -> tuple[float, int]:
    text = RUN.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        for index in range(size):
            run = text.replace("name: train", f"name: train{index}")
            (Path(folder) / f"run{index:05}.yaml").write_text(run, encoding="utf-8")
        seconds = _seconds(["-m", "speccompile", "render", folder, "--profiles", str(PROFILES), "--quiet"])
    return seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024


if __name__ == "__main__":
    main()
