"""Write `prebuilt_skeletons.json`: the bundled templates, rendered ahead of time for the golden runs.

Run it with `make prepared` after changing a template; a test fails while the file is out of date.
"""

from __future__ import annotations

from pathlib import Path

from speccompile.compiler.bundled_library import bundled_library
from speccompile.compiler.compile_files import compile_files
from speccompile.compiler.documents.admin_config import prepare
from speccompile.compiler.rendering.prebuilt_skeletons import dump_skeletons, reusable_skeletons
from speccompile.compiler.rendering.skeleton_cache import shelf_of
from speccompile.files.load import load
from speccompile.files.read import expand
from speccompile.model.source import Layer
from speccompile.schema.library import Library

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "speccompile" / "compiler" / "rendering" / "prebuilt_skeletons.json"


def build_skeletons() -> str:
    """Return the up-to-date text of the file."""
    bundled = bundled_library()
    library = bundled.but(bundled.templates)
    for case in sorted((ROOT / "golden" / "accept").iterdir()):
        if (case / "run.yaml").exists():
            _compile(case, library)
    return dump_skeletons(reusable_skeletons(shelf_of(library), library), library)


def _compile(case: Path, library: Library) -> None:
    profiles, platform = case / "profiles", case / "platform.yaml"
    config = prepare(
        (load(path, Layer.PROFILE) for path in (expand([profiles]) if profiles.is_dir() else ())),
        load(platform, Layer.PLATFORM) if platform.exists() else None,
        library,
    )
    for _ in compile_files([load(case / "run.yaml", Layer.RUN)], config):
        pass


if __name__ == "__main__":
    TARGET.write_text(build_skeletons(), encoding="utf-8")
