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
from speccompile.testing.plain_data import Data
from speccompile.testing.strategies.building_blocks import among, coins, fixed_mappings, often, seldom
from speccompile.testing.strategies.fields import ACTIONS, field_values, fields_for_action
from speccompile.testing.strategies.resources import GPU_KEY, sizes
from speccompile.testing.strategies.spelling import respelled, respellings
from speccompile.testing.strategies.text import any_texts, dns_subdomains, run_names
from speccompile.testing.strategies.volumes import ACCESS_MODES

STORE = "{project}-secrets"


class Case(NamedTuple):
    """A run with its profile and platform."""

    run: Data
    profile: Data | None = None
    platform: Data | None = None

    def compile(self) -> Compiled:
        return compile_run(self.run, profiles=[self.profile] if self.profile else [], platform=self.platform)

    def copy(self) -> Case:
        return deepcopy(self)


_FREQUENT_FIELDS = frozenset({"volumes", "resources", "envs", "affinity", "tolerations", "schedule", "parameters"})
"""Fields with many forms, which are generated more often."""


def _setting(platform: Data | None, *path: str) -> Any:
    """The platform setting at the path, in any spelling; None if it is unset."""
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
    """A valid flat run that compiles under the platform.

    `spelling` mixes in camelCase and nulls; fields in `always` are set if the action has them.
    """
    run: Data = {"name": draw(run_names()), "action": action or draw(among(*ACTIONS))}
    if draw(coins):
        run["project"] = draw(run_names())
    many = draw(coins)
    fields = field_values(root="/run", gpu_key=_setting(platform, "gpu_key") or GPU_KEY, many=many, shared=many)
    always = (*always, "image", *(("service_ports",) if run["action"] == "serve" else ()))
    for name in fields_for_action(run["action"]):
        if name in always or draw(coins if name in _FREQUENT_FIELDS else seldom):
            run[name] = draw(fields[name])
    _replace_forbidden_volumes(run, platform)
    return draw(respellings(run, nulls=("project", "args", "node_selector", "replicas"))) if spelling else run


def _replace_forbidden_volumes(run: Data, platform: Data | None) -> None:
    """Replace existing volumes that the platform does not allow, and Secrets by that of the project."""
    existing, foreign = _setting(platform, "volumes", "allow_existing"), _setting(platform, "secrets", "allow_foreign")
    store = str(_setting(platform, "secrets", "store") or STORE)
    for volume in run.get("volumes", ()):
        kind, spec = bundled_library().volume_types[volume["volume_type"]], volume.get("spec", {})
        mounted = kind.mounts(spec)
        if mounted == SECRET and not foreign:
            name = store.replace("{project}", object_name(run.get("project", "default")))
            volume["spec"] = {**spec, kind.object_key: name}
        if not existing and (mounted == EXISTING or (mounted == SECRET and not foreign)):
            sub_path = {key: value for key, value in spec.items() if key == "sub_path"}
            volume |= {"volume_type": "empty_dir", "spec": sub_path}


@st.composite
def profiles(
    draw: st.DrawFn, *, platform: Data | None = None, spelling: bool = True, always: tuple[str, ...] = ()
) -> Data:
    """A valid profile with fields for all actions, compatible with every run; fields in `always` are set."""
    profile: Data = {"id": draw(among("default", "1xa100", "no", "1e3"))}
    if draw(seldom):
        profile |= {"name": draw(any_texts()), "description": draw(any_texts())}
    gpu_key = _setting(platform, "gpu_key") or GPU_KEY
    for name, values in field_values(root="/profile", gpu_key=gpu_key, many=False, shared=True).items():
        if name in always or draw(coins if name in _FREQUENT_FIELDS else seldom):
            profile[name] = draw(values)
    return draw(respellings(profile, nulls=("args", "node_selector", "labels"))) if spelling else profile


@cache
def platforms() -> st.SearchStrategy[Data]:
    """A valid platform file."""
    claim = {
        "as": among("persistent_volume_claim", "ephemeral"),
        "size": sizes(),
        "storage_class": dns_subdomains(),
        "ephemeral_storage_class": dns_subdomains(),
        "access_mode": among(*ACCESS_MODES),
    }
    disk = {"as": among("ephemeral-storage", "volume"), "mount_path": st.just("/mnt/scratch")}
    secrets = {"store": among("s-{project}", "{project}.secrets", STORE), "allow_foreign": coins}
    security = {"disable_root": coins, "seccomp_profile": among("RuntimeDefault", "Unconfined")}
    settings = {
        "gpu_key": among(GPU_KEY, "amd.com/gpu"),
        "memory_limit_factor": among(1, 1.1, 1.5, 2, 3.75, 100),
        "service_type": among("ClusterIP", "NodePort", "LoadBalancer"),
        "pvc": fixed_mappings(optional=claim),
        "disk": fixed_mappings(optional=disk),
        "secrets": fixed_mappings(optional=secrets),
        "security": fixed_mappings(optional=security),
        "volumes": fixed_mappings({"allow_existing": often}),
    }
    return fixed_mappings(optional=settings).flatmap(
        lambda platform: respellings(platform, nulls=("pvc", "memory_limit_factor"))
    )


@st.composite
def cases(  # noqa: PLR0913  each narrows the cases
    draw: st.DrawFn,
    *,
    action: str | None = None,
    built_in: bool = False,
    alone: bool = False,
    spelling: bool = True,
    always: tuple[str, ...] = (),
) -> Case:
    """A run, usually with a profile that it names or gets by default, and sometimes with a platform.

    `built_in` omits the platform, and `alone` the profile; fields in `always` are set in run and profile.
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
