"""Takes the golden runs, gives `speccompile/prepared.json`: what the bundled templates make of them, made ahead.

Run it as `make prepared` after a template has changed; a test says when that is due.
"""

from __future__ import annotations

from pathlib import Path

from speccompile.batch import compile_files
from speccompile.library import Library
from speccompile.load import expand, load
from speccompile.model import Layer
from speccompile.prepared import of_any_run, written
from speccompile.resources import bundled_library
from speccompile.setting import prepare
from speccompile.skeletons import shelf_of

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "speccompile" / "prepared.json"


def prepared() -> str:
    """The text of the file, as it should be."""
    bundled = bundled_library()
    library = Library(bundled.schemas, bundled.templates, bundled.presets)
    for case in sorted((ROOT / "golden" / "accept").iterdir()):
        if (case / "run.yaml").exists():
            _compile(case, library)
    return written(of_any_run(shelf_of(library), library), library)


def _compile(case: Path, library: Library) -> None:
    profiles, platform = case / "profiles", case / "platform.yaml"
    setting = prepare(
        (load(path, Layer.PROFILE) for path in (expand([profiles]) if profiles.is_dir() else ())),
        load(platform, Layer.PLATFORM) if platform.exists() else None,
        library,
    )
    for _ in compile_files([load(case / "run.yaml", Layer.RUN)], setting):
        pass


if __name__ == "__main__":
    TARGET.write_text(prepared(), encoding="utf-8")
