"""Takes nothing, gives the rules about pods and pools, whoever makes the pods: the KUBERNETES table."""

from __future__ import annotations

from speccompile.placement.lint_affinity import AFFINITY
from speccompile.placement.lint_amounts import AMOUNTS
from speccompile.placement.lint_pools import POOLS
from speccompile.placement.lint_scene import Rule
from speccompile.placement.lint_tolerations import TOLERATIONS
from speccompile.placement.lint_volumes import VOLUMES

KUBERNETES: tuple[Rule, ...] = (*TOLERATIONS, *AFFINITY, *POOLS, *AMOUNTS, *VOLUMES)
