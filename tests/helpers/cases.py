"""A case compiled, as a whole or stage by stage."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hypothesis import reject

from speccompile import Compiled, CompileError
from speccompile.compiler.approve import approve
from speccompile.compiler.bundled_library import bundled_library
from speccompile.compiler.documents.admin_config import Setting, prepare
from speccompile.compiler.documents.run import read_run
from speccompile.compiler.merge import merge
from speccompile.compiler.pipeline import compile_document
from speccompile.compiler.plan import plan
from speccompile.model.documents import Profile, Run
from speccompile.model.findings import stop_if_any
from speccompile.model.node import Node
from speccompile.model.source import Layer, Source
from speccompile.model.spec import Merged, Plan
from speccompile.testing.plain_data import Data
from speccompile.testing.strategies.documents import Case
from speccompile.yaml_text.from_python import wrap
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.parsed import Parsed
from speccompile.yaml_text.serialize import serialize

LIBRARY = bundled_library()


class Stages(NamedTuple):
    """What the stages make of a case on the way to its manifests."""

    run: Run
    profile: Profile | None
    merged: Merged
    plan: Plan


def compiled(case: Case) -> Compiled:
    """The compilation; what does not compile proves nothing here."""
    try:
        return case.compile()
    except CompileError:
        reject()


def as_data(data: Data, layer: Layer) -> Parsed:
    return wrap(data, Source(f"<{layer}>", "", layer))


def as_text(data: Data, layer: Layer) -> Parsed:
    return parse(Source(f"{layer}.yaml", serialize([data]), layer))


def setting_of(case: Case, read: Callable[[Data, Layer], Parsed] = as_data) -> Setting:
    profiles_read = [read(case.profile, Layer.PROFILE)] if case.profile else []
    platform = None if case.platform is None else read(case.platform, Layer.PLATFORM)
    setting = prepare(profiles_read, platform, LIBRARY)
    stop_if_any(setting.findings)
    return setting


def stages(case: Case, read: Callable[[Data, Layer], Parsed] = as_data) -> Stages:
    """What the stages make of the case; what does not compile proves nothing here."""
    try:
        return _stages(case, read)
    except CompileError:
        reject()


def _stages(case: Case, read: Callable[[Data, Layer], Parsed]) -> Stages:
    setting = setting_of(case, read)
    run, profile, target, _, _ = read_run(read(case.run, Layer.RUN).documents[0], setting)
    merged, _ = merge(run, profile, target, setting.platform, LIBRARY)
    approved, _ = approve(merged, LIBRARY)
    return Stages(run, profile, merged, plan(approved, LIBRARY))


def from_text(case: Case) -> Compiled:
    """The compilation of the case as somebody would write it down."""
    return compile_document(as_text(case.run, Layer.RUN).documents[0], setting_of(case, as_text))


def fields_of(data: Data) -> Node:
    """The canonical fields of a profile."""
    (profile,) = setting_of(Case({}, data)).profiles.values()
    return profile.fields
