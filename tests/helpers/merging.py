"""How fields of a run and a profile merge, written from the table of the design."""

from __future__ import annotations

import json
from typing import Any

from helpers.cases import LIBRARY

from speccompile.model.documents import Profile, Run
from speccompile.testing.plain_data import Data
from speccompile.testing.strategies.fields import ACTIONS

MAPS = ("labels", "annotations", "node_selector")
KEYS = {"envs": "name", "volumes": "name", "service_ports": "port"}
UNIONS = ("secrets", "tolerations")


def identity(item: Any) -> str:
    """What makes an item of a union the same as another."""
    filled = {"operator": "Equal", **item} if isinstance(item, dict) else item
    return json.dumps(filled, sort_keys=True)


def applicable(profile: Profile | None, run: Run) -> Data:
    """The profile's fields, without those that say nothing about the run's action."""
    fields: Data = profile.fields.plain() if profile else {}
    return {
        name: value
        for name, value in fields.items()
        if run.action.value in LIBRARY.fields[name].get("x-actions", ACTIONS)
    }


def as_terms(told: Any) -> frozenset[Any]:
    """Node selector terms as a set of sets of requirements; any other list of rules as a set."""
    if isinstance(told, dict):
        return frozenset(
            frozenset((key, json.dumps(item, sort_keys=True)) for key, items in term.items() for item in items)
            for term in told["nodeSelectorTerms"]
        )
    return frozenset(json.dumps(item, sort_keys=True) for item in told)
