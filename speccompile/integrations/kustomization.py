"""A `kustomization.yaml` that lists manifest files."""

from __future__ import annotations

from collections.abc import Iterable

FILE = "kustomization.yaml"
OTHER_FILES = ("kustomization.yml", "Kustomization")
"""Other file names that Kustomize accepts."""
_HEAD = """\
# The runs of this folder, listed by speccompile render --kustomization
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
"""
_ITEM = "- "


def kustomization(files: Iterable[str]) -> str:
    """The text of a Kustomization with the files as resources; their names need no quotes."""
    items = "".join(f"{_ITEM}{file}\n" for file in sorted(files))
    resources = f"resources:\n{items}" if items else "resources: []\n"
    return _HEAD + resources


def listed_files(text: str) -> frozenset[str]:
    """The files that a generated Kustomization lists."""
    return frozenset(line.removeprefix(_ITEM) for line in text.splitlines() if line.startswith(_ITEM))
