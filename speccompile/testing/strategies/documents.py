"""Strategies for whole documents: runs, profiles, platforms, and cases of all three."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any

from hypothesis import strategies as st

from speccompile import Compiled, compile_run
from speccompile.compiler.bundled_library import bundled_library
from speccompile.model.key_spelling import snake_case
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.object_names import object_name
from speccompile.schema.volume_types import EXISTING, SECRET
from speccompile.testing.strategies.building_blocks import Data, among, coins, mapping, often, seldom
from speccompile.testing.strategies.fields import ACTIONS, field_values, fields_of
from speccompile.testing.strategies.resources import GPU_KEY, sizes
from speccompile.testing.strategies.spelling import respelled, respellings
from speccompile.testing.strategies.text import dns_subdomains, run_names, texts
from speccompile.testing.strategies.volumes import ACCESS_MODES

STORE = "{project}-secrets"


class Case(NamedTuple):
    """A run and what it is compiled under."""

    run: Data
    profile: Data | None = None
    platform: Data | None = None

    def compile(self) -> Compiled:
        return compile_run(self.run, profiles=[self.profile] if self.profile else [], platform=self.platform)

    def copy(self) -> Case:
        return deepcopy(self)


_RICH = frozenset({"volumes", "resources", "envs", "affinity", "tolerations", "schedule", "parameters"})
"""Fields of many shapes, which are drawn more often."""


def _setting(platform: Data | None, *path: str) -> Any:
    """What the platform says at the path, in whatever spelling; None where it says nothing."""
    value: Any = respelled(platform or {}, snake_case)
    for step in path:
        value = (value or {}).get(step)
    return value


@st.composite
def runs(
    draw: st.DrawFn,
    *,
    action: str | None = None,
    platform: Data | None = None,
    spelling: bool = True,
    always: tuple[str, ...] = (),
) -> Data:
    """A valid run in the flat form that compiles under the platform.

    `spelling` mixes in camelCase and nulls; the fields in `always` are there, if the action has them.
    """
    made: Data = {"name": draw(run_names()), "action": action or draw(among(*ACTIONS))}
    if draw(coins):
        made["project"] = draw(run_names())
    many = draw(coins)
    fields = field_values(root="/run", gpu_key=_setting(platform, "gpu_key") or GPU_KEY, many=many, shared=many)
    always = (*always, "image", *(("service_ports",) if made["action"] == "serve" else ()))
    for name in fields_of(made["action"]):
        if name in always or draw(coins if name in _RICH else seldom):
            made[name] = draw(fields[name])
    _mount_what_is_allowed(made, platform)
    return draw(respellings(made, nulls=("project", "args", "node_selector", "replicas"))) if spelling else made


def _mount_what_is_allowed(run: Data, platform: Data | None) -> None:
    """Replaces volumes that mount existing storage the platform does not allow; a Secret is the project's store."""
    existing, foreign = _setting(platform, "volumes", "allow_existing"), _setting(platform, "secrets", "allow_foreign")
    store = str(_setting(platform, "secrets", "store") or STORE)
    for volume in run.get("volumes", ()):
        kind, spec = bundled_library().volume_types[volume["volume_type"]], volume.get("spec", {})
        mounted = kind.mounts(spec)
        if mounted == SECRET and not foreign:
            name = store.replace("{project}", object_name(run.get("project", "default")))
            volume["spec"] = {**spec, kind.object_key: name}
        if not existing and (mounted == EXISTING or (mounted == SECRET and not foreign)):
            kept = {key: value for key, value in spec.items() if key == "sub_path"}
            volume |= {"volume_type": "empty_dir", "spec": kept}


@st.composite
def profiles(
    draw: st.DrawFn, *, platform: Data | None = None, spelling: bool = True, always: tuple[str, ...] = ()
) -> Data:
    """A valid profile, with fields for all actions, that suits every run; the fields in `always` are there."""
    made: Data = {"id": draw(among("default", "1xa100", "no", "1e3"))}
    if draw(seldom):
        made |= {"name": draw(texts()), "description": draw(texts())}
    gpu_key = _setting(platform, "gpu_key") or GPU_KEY
    for name, values in field_values(root="/profile", gpu_key=gpu_key, many=False, shared=True).items():
        if name in always or draw(coins if name in _RICH else seldom):
            made[name] = draw(values)
    return draw(respellings(made, nulls=("args", "node_selector", "labels"))) if spelling else made


@cache
def platforms() -> st.SearchStrategy[Data]:
    """A valid platform; what it leaves out is the built-in platform's."""
    claim = {"size": sizes(), "storage_class": dns_subdomains(), "access_mode": among(*ACCESS_MODES)}
    disk = {"as": among("ephemeral-storage", "volume"), "mount_path": st.just("/mnt/scratch")}
    secrets = {"store": among("s-{project}", "{project}.secrets", STORE), "allow_foreign": coins}
    security = {"disable_root": coins, "seccomp_profile": among("RuntimeDefault", "Unconfined")}
    settings = {
        "gpu_key": among(GPU_KEY, "amd.com/gpu"),
        "memory_limit_factor": among(1, 1.1, 1.5, 2, 3.75, 100),
        "service_type": among("ClusterIP", "NodePort", "LoadBalancer"),
        "pvc": mapping(optional=claim),
        "disk": mapping(optional=disk),
        "secrets": mapping(optional=secrets),
        "security": mapping(optional=security),
        "volumes": mapping({"allow_existing": often}),
    }
    return mapping(optional=settings).flatmap(lambda made: respellings(made, nulls=("pvc", "memory_limit_factor")))


@st.composite
def cases(  # noqa: PLR0913  each narrows what a law is about
    draw: st.DrawFn,
    *,
    action: str | None = None,
    built_in: bool = False,
    alone: bool = False,
    spelling: bool = True,
    always: tuple[str, ...] = (),
) -> Case:
    """A run, mostly with a profile that it names or gets by default, and sometimes with a platform.

    `built_in` leaves the platform out, and `alone` the profile; fields in `always` are there, in run and profile.
    """
    platform = None if built_in or draw(coins) else draw(platforms())
    run = draw(runs(action=action, platform=platform, spelling=spelling, always=always))
    if alone or not (draw(often) or always):
        return Case(run, None, platform)
    profile = draw(profiles(platform=platform, spelling=spelling, always=always))
    if profile["id"] != "default":
        run["profile"] = profile["id"]
    elif draw(coins):
        run["profile"] = draw(among("", "default"))
    return Case(run, profile, platform)
