"""Takes a folder of runs, the fields of a profile and a template, gives manifests: what one writes in an hour."""

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
        sys.stdout.write(manifests.render(run=_merged(_read(path), profile)))


def _read(path: Path) -> Any:
    # The C parser; without libyaml it is not there, and this is no contender.
    return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)


def _merged(weak: Any, strong: Any) -> Any:
    if isinstance(weak, dict) and isinstance(strong, dict):
        both = {key: _merged(weak[key], strong[key]) for key in weak.keys() & strong.keys()}
        return weak | strong | both
    return strong


if __name__ == "__main__":
    main(*sys.argv[1:])
