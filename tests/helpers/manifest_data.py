"""Manifests as plain data: read back from text, and walked."""

from __future__ import annotations

from typing import Any

import yaml

from speccompile import Compiled
from speccompile.testing.plain_data import Data

FAST = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


def loaded(text: str) -> list[Any]:
    return list(yaml.load_all(text, Loader=FAST))


def of_kind(result: Compiled, *kinds: str) -> list[Data]:
    return [manifest.data for manifest in result.manifests if manifest.kind in kinds]


def annotations_on(holder: Data) -> Data:
    found: Data = holder["metadata"].get("annotations", {})
    return found
