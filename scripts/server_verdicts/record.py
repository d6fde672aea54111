"""Record what kube-apiserver thinks of mutated manifests, for `tests/verify/test_server_verdicts.py`.

`make verdicts` runs it. It needs Go and the network: it builds `main.go` with the server's own code, which takes
several minutes. Record again when the test asks for it, or to judge by a newer server.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
TESTS = FOLDER.parent.parent / "tests"
RECORD = TESTS / "verify" / "server_verdicts.jsonl"
VERSION = "1.35.8"
SEED = 35
COUNTS = {True: 600, False: 400}
"""How many mutants of golden/ and of other kinds."""


def build(folder: Path) -> Path:
    """Build the judge; the server's module refers to folders of its repository, which are published as modules."""

    def go(*arguments: str) -> str:
        return subprocess.run(["go", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout

    shutil.copy(FOLDER / "main.go", folder)
    module = json.loads(go("mod", "download", "-json", f"k8s.io/kubernetes@v{VERSION}"))
    staged = re.findall(r"(k8s\.io/[a-z-]+) => \./staging", Path(module["GoMod"]).read_text(encoding="utf-8"))
    replaced = "".join(f"replace {name} => {name} v0.{VERSION.partition('.')[2]}\n" for name in staged)
    (folder / "go.mod").write_text(f"module judge\ngo 1.25.0\nrequire k8s.io/kubernetes v{VERSION}\n{replaced}")
    go("mod", "tidy")
    go("build", "-o", "judge", ".")
    return folder / "judge"


def main() -> None:
    """Write the mutants and their verdicts."""
    sys.path.insert(0, str(TESTS))
    from helpers.mutants import mutants

    chosen = [one for golden, count in COUNTS.items() for one in islice(mutants(SEED, golden=golden), count)]
    with tempfile.TemporaryDirectory() as folder:
        judge = sys.argv[1] if len(sys.argv) > 1 else str(build(Path(folder)))
        text = "".join(f"{json.dumps(one.data())}\n" for one in chosen)
        verdicts = subprocess.run([judge], input=text, check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [
        json.dumps([json.loads(verdict)["accepted"], *one], separators=(",", ":"), ensure_ascii=False)
        for one, verdict in zip(chosen, verdicts, strict=True)
    ]
    RECORD.write_text("\n".join(rows) + "\n", encoding="utf-8")
    print(f"{RECORD.name}: {len(rows)} verdicts of Kubernetes {VERSION}")


if __name__ == "__main__":
    main()
