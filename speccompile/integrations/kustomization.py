"""The `kustomization.yaml` that lists manifest files."""

from __future__ import annotations

from collections.abc import Iterable

FILE = "kustomization.yaml"
OTHER_FILES = ("kustomization.yml", "Kustomization")
"""What else Kustomize would take for such a list."""
_HEAD = """\
# The runs of this folder, listed by speccompile render --kustomization
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
"""
_ITEM = "- "


def kustomization(files: Iterable[str]) -> str:
    """The text of a Kustomization whose resources are the files, which are paths of names that need no quotes."""
    listed = "".join(f"{_ITEM}{file}\n" for file in sorted(files))
    resources = f"resources:\n{listed}" if listed else "resources: []\n"
    return _HEAD + resources


def listed(text: str) -> frozenset[str]:
    """The files that a text of ours lists."""
    return frozenset(line.removeprefix(_ITEM) for line in text.splitlines() if line.startswith(_ITEM))
