"""Render runs with a profile and a Jinja template: a script that takes an hour to write."""

import sys
from pathlib import Path
from typing import Any

import jinja2
import yaml


def main(runs: str, fixed: str, template: str) -> None:
    profile = _read(Path(fixed))
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, autoescape=False)  # noqa: S701  YAML
    manifests = environment.from_string(Path(template).read_text(encoding="utf-8"))
    for path in sorted(Path(runs).iterdir()):
        sys.stdout.write(manifests.render(run=_merge(_read(path), profile)))


def _read(path: Path) -> Any:
    # The C parser needs libyaml; the Python parser is too slow for a fair comparison.
    return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)


def _merge(weak: Any, strong: Any) -> Any:
    if isinstance(weak, dict) and isinstance(strong, dict):
        both = {key: _merge(weak[key], strong[key]) for key in weak.keys() & strong.keys()}
        return weak | strong | both
    return strong


if __name__ == "__main__":
    main(*sys.argv[1:])
