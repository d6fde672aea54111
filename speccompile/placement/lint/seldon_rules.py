"""Takes a scene, gives what Seldon would make of its Servers and Models: the SELDON table."""

from __future__ import annotations

from speccompile.placement.lint.scene import Rule
from speccompile.placement.lint.seldon_fields import FIELDS
from speccompile.placement.lint.seldon_models import MODELS
from speccompile.placement.lint.seldon_runtime import RUNTIME
from speccompile.placement.lint.seldon_servers import SERVERS

SELDON: tuple[Rule, ...] = (*FIELDS, *SERVERS, *MODELS, *RUNTIME)
