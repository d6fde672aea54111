"""Takes nothing, gives the rules about pods and pools, whoever makes the pods: the KUBERNETES table."""

from __future__ import annotations

from speccompile.placement.lint.affinity import AFFINITY
from speccompile.placement.lint.amounts import AMOUNTS
from speccompile.placement.lint.pools import POOLS
from speccompile.placement.lint.scene import Rule
from speccompile.placement.lint.tolerations import TOLERATIONS
from speccompile.placement.lint.volumes import VOLUMES

KUBERNETES: tuple[Rule, ...] = (*TOLERATIONS, *AFFINITY, *POOLS, *AMOUNTS, *VOLUMES)
