"""Values for the placeholders in names, labels and variables: `{name}`, `{project}`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from speccompile.model.documents import Platform, Profile, Run
from speccompile.model.node import Node

_UNFIT = re.compile(r"[^a-z0-9-]+", re.ASCII)


def facts_of(run: Run, profile: Profile | None, platform: Platform) -> Mapping[str, Node]:
    """The value of each placeholder that has one, with its origin; the run's facts override the platform's."""
    settings = platform.settings.fields
    facts = {
        "id": run.name,
        "function": run.name,
        **settings["identity"].fields,
        **run.facts,
        "name": run.name,
        "project": run.project,
        "action": run.action,
        **{name: settings[name] for name in ("application", "namespace") if name in settings},
    }
    task = f"{facts['runtime'].value}{run.action.value}".lower()
    facts["task"] = run.action.but(value=_UNFIT.sub("", task), derived="runtime and action")
    if profile:
        facts["profile"] = profile.id
        if run.profile:
            facts["named_profile"] = profile.id
    return facts
