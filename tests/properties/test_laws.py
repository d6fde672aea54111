"""The laws: what holds for every run, profile and platform, and not only for the examples somebody thought of."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from itertools import product
from random import Random
from typing import Any, NamedTuple, TypeAlias

import pytest
import yaml
from helpers.templates import answered
from hypothesis import assume, event, example, given, reject
from hypothesis import strategies as st
from ruamel.yaml import YAML

from speccompile import Compiled, CompileError, compile_many, compile_run
from speccompile.compiler.approve import approve
from speccompile.compiler.bundled_library import bundled_library
from speccompile.compiler.documents.admin_config import Setting, prepare
from speccompile.compiler.documents.run import read_run
from speccompile.compiler.merge import merge, merge_layers, replacements
from speccompile.compiler.normalize import normalize
from speccompile.compiler.normalizers import SCRATCH_DISK
from speccompile.compiler.pipeline import compile_document
from speccompile.compiler.plan import plan
from speccompile.compiler.render import fill, skeleton, sketched
from speccompile.compiler.rendering.skeleton_cache import Skeleton
from speccompile.model.documents import Profile, Run
from speccompile.model.findings import stop_if_any
from speccompile.model.key_path import KeyPath
from speccompile.model.key_spelling import camel_case, snake_case
from speccompile.model.node import Node
from speccompile.model.origin import Override
from speccompile.model.quantity import parse_quantity
from speccompile.model.source import Layer, Source, Span
from speccompile.model.spec import Merged, Plan
from speccompile.schema.validate import validate
from speccompile.testing.node_matcher import Node as ClusterNode
from speccompile.testing.node_matcher import any_term_matches, fits, selected
from speccompile.testing.strategies import (
    ACTIONS,
    NODE_KEYS,
    NODE_NAMES,
    NODE_VALUES,
    REQUIRED,
    Case,
    Data,
    cases,
    dns_labels,
    json_trees,
    placements,
    profiles,
    quantities,
    respelled,
    run_names,
    texts,
)
from speccompile.yaml_text.from_python import wrap
from speccompile.yaml_text.parse import Parsed, parse
from speccompile.yaml_text.serialize import serialize

LIBRARY = bundled_library()
FAST = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


# The line, stage by stage


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
    return Stages(run, profile, merged, plan(approved))


def from_text(case: Case) -> Compiled:
    """The compilation of the case as somebody would write it down."""
    return compile_document(as_text(case.run, Layer.RUN).documents[0], setting_of(case, as_text))


def loaded(text: str) -> list[Any]:
    return list(yaml.load_all(text, Loader=FAST))


def of_kind(result: Compiled, *kinds: str) -> list[Data]:
    return [manifest.data for manifest in result.manifests if manifest.kind in kinds]


def pod_templates(manifests: Iterable[Data]) -> Iterator[Data]:
    """The pod template of every workload."""
    for manifest in manifests:
        if manifest["kind"] == "CronJob":
            yield manifest["spec"]["jobTemplate"]["spec"]["template"]
        elif "template" in manifest.get("spec", {}):
            yield manifest["spec"]["template"]


def leaves(value: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """Every scalar and every empty container, with its path."""
    if isinstance(value, dict) and value:
        for key, child in value.items():
            yield from leaves(child, (*path, key))
    elif isinstance(value, list) and value:
        for index, child in enumerate(value):
            yield from leaves(child, (*path, index))
    else:
        yield path, value


def containers(value: Any) -> Iterator[Any]:
    if isinstance(value, (dict, list)):
        yield value
        for child in value.values() if isinstance(value, dict) else value:
            yield from containers(child)


# Total


@st.composite
def damaged(draw: st.DrawFn) -> Case:
    """A case with one value, anywhere, replaced by any other."""
    case = draw(cases())
    documents: list[Any] = [document for document in case if document]
    document = draw(st.sampled_from(documents))
    holders = list(containers(document))
    holder = draw(st.sampled_from([found for found in holders if found]))
    key = draw(st.sampled_from(sorted(holder) if isinstance(holder, dict) else range(len(holder))))
    holder[key] = draw(json_trees() | quantities() | st.sampled_from([deepcopy(found) for found in holders]))
    return case


def is_answered(compile_it: Callable[[], Compiled]) -> bool:
    """Whether manifests came of it or, if not, findings; both can be printed, and nothing else is raised."""
    try:
        told = compile_it().to_yaml()
    except CompileError as error:
        refused = str(error) if error.diagnostics else ""
    else:
        return bool(told)
    assert refused
    return False


@given(cases())
def test_total_every_valid_case_compiles(case: Case) -> None:
    """Any valid run, profile and platform give manifests; the other laws rely on what the strategies draw."""
    assert case.compile().to_yaml()


@given(damaged())
def test_total_every_damaged_case_compiles_or_says_why_not(case: Case) -> None:
    """A valid case with any value in the wrong place gives manifests or a CompileError."""
    event(f"compiles: {is_answered(case.compile)}")


@given(
    st.fixed_dictionaries({}, optional={side: quantities() for side in ("requests", "limits")}),
    st.sampled_from(("cpu", "mem", "disk", "gpu")),
    st.sampled_from((None, 1, 1.1, 100)),
)
@example({"requests": "7Ei"}, "mem", 2)
def test_total_every_quantity_compiles_or_says_why_not(sides: Data, resource: str, factor: float | None) -> None:
    """Quantities of any size, under a platform that multiplies them, give manifests or a CompileError."""
    run = {"name": "a", "action": "job", "image": "a", "resources": {resource: sides}}
    event(f"compiles: {is_answered(Case(run, None, {'memory_limit_factor': factor}).compile)}")


@given(json_trees())
def test_total_every_tree_compiles_or_says_why_not(tree: Any) -> None:
    """Anything at all given as a run is answered by a CompileError, if it is none."""
    is_answered(lambda: compile_run(tree if isinstance(tree, dict) else {"name": tree}))


@given(st.lists(texts() | st.sampled_from(("name: a", "action: job", "image: a", "  - b", "args:")), max_size=6))
def test_total_every_text_compiles_or_says_why_not(lines: list[str]) -> None:
    """Any text is a run, or is refused with a CompileError."""
    is_answered(lambda: compile_run("\n".join(lines) + "\n"))


# Pure


@given(cases())
def test_pure_inputs_stay_and_outputs_are_equal(case: Case) -> None:
    """Compiling changes nothing that was given, and compiling again gives the same bytes and findings."""
    before = case.copy()
    first = compiled(case)
    assert case == before
    second = compiled(case)
    assert first.to_yaml() == second.to_yaml()
    assert [found.message for found in first.diagnostics] == [found.message for found in second.diagnostics]
    assert case == before


@given(cases())
def test_pure_no_container_is_shared(case: Case) -> None:
    """The data of manifests shares no list or mapping with other manifests, with earlier copies or with the inputs."""
    result = compiled(case)
    text = result.to_yaml()
    copies = [manifest.data for manifest in result.manifests for _ in range(2)]
    found = [container for copy in copies for container in containers(copy)]
    given_ones = [container for document in case for container in containers(document)]
    assert len({id(container) for container in found}) == len(found)
    assert not {id(container) for container in found} & {id(container) for container in given_ones}
    for container in found:
        container.clear()
    assert result.to_yaml() == text


@given(st.lists(cases(built_in=True, alone=True), min_size=2, max_size=3, unique_by=lambda case: case.run["name"]))
def test_pure_a_batch_gives_what_each_run_gives_alone(batch: list[Case]) -> None:
    """Runs compiled in one call do not influence each other, unless they would make one object."""
    alone = [compiled(case).to_yaml() for case in batch]
    together = list(compile_many([case.run for case in batch]))
    for text, result in zip(alone, together, strict=True):
        if isinstance(result, CompileError):
            assert {found.code for found in result.diagnostics} == {"run/duplicate-object"}
        else:
            assert result.to_yaml() == text


# Precedence

MAPS = ("labels", "annotations", "node_selector")
KEYS = {"envs": "name", "volumes": "name", "service_ports": "port"}
UNIONS = ("secrets", "tolerations")


def identity(item: Any) -> str:
    """What makes an item of a union the same as another."""
    filled = {"operator": "Equal", **item} if isinstance(item, dict) else item
    return json.dumps(filled, sort_keys=True)


def expected_field(name: str, run: Any, profile: Any) -> Any:
    """The field of both layers, by the table of the design; None stands for what nobody said."""
    if run is None or profile is None:
        return profile if run is None else run
    if name in MAPS:
        return {**run, **profile}
    if name == "resources":
        sides = {side: {**run.get(side, {}), **profile.get(side, {})} for side in ("requests", "limits")}
        return {side: amounts for side, amounts in sides.items() if side in run or side in profile}
    if name in KEYS:
        # The run's first, then the profile's in its own order: a variable may refer to those before it.
        fixed = {item[KEYS[name]] for item in profile}
        return [*(item for item in run if item[KEYS[name]] not in fixed), *profile]
    if name in UNIONS:
        return list(({identity(item): item for item in run} | {identity(item): item for item in profile}).values())
    return profile


def applicable(profile: Profile | None, run: Run) -> Data:
    """The profile's fields, without those that say nothing about the run's action."""
    fields: Data = profile.fields.plain() if profile else {}
    return {
        name: value
        for name, value in fields.items()
        if run.action.value in LIBRARY.fields[name].get("x-actions", ACTIONS)
    }


SAME_TOLERATION = Case(
    {"name": "a", "action": "job", "image": "a", "tolerations": [{"key": "a", "value": "b"}, {"key": "c"}]},
    {"id": "default", "tolerations": [{"key": "a", "operator": "Equal", "value": "b"}]},
)


@given(cases())
@example(SAME_TOLERATION)
def test_precedence_the_profile_wins_and_the_run_says_the_rest(case: Case) -> None:
    """At every leaf the profile sets, the spec has the profile's value; at every other, the run's."""
    run, profile, merged, _ = stages(case)
    ours, theirs, spec = run.fields.plain(), applicable(profile, run), merged.spec.plain()
    assert set(spec) == set(ours) | set(theirs)
    for name in set(spec) - {"affinity"}:
        assert spec[name] == expected_field(name, ours.get(name), theirs.get(name)), name


@given(cases(always=("resources",)))
def test_precedence_gpus_are_one_value_whoever_gives_which_side(case: Case) -> None:
    """Whatever side of the GPU the profile gives beats both sides of the run's."""
    gpu_key = (respelled(case.platform or {}, snake_case).get("gpu_key")) or "nvidia.com/gpu"
    told = [amount for amount in (gpu_of(case.profile, gpu_key), gpu_of(case.run, gpu_key)) if amount is not None]
    spec = stages(case).merged.spec.plain()
    for side in ("requests", "limits"):
        found = spec.get("resources", {}).get(side, {}).get(gpu_key)
        assert (found is None) == (not told)
        if told:
            assert parse_quantity(found) == parse_quantity(told[0])


def gpu_of(document: Data | None, gpu_key: str) -> Any:
    """How many GPUs a run or profile asks for, in whatever shape it does."""
    told = (document or {}).get("resources") or {}
    gpu = told.get("gpu", {})
    amounts = gpu if isinstance(gpu, dict) else {"requests": gpu}
    sides = [amounts.get(side, told.get(side, {}).get(gpu_key)) for side in ("requests", "limits")]
    return next((amount for amount in sides if amount is not None), None)


# Accounting


def written(span: Span) -> Any:
    """What a YAML reader takes the source's text at the span for."""
    lines = span.source.text.split("\n")
    if span.line == span.end_line:
        return yaml.safe_load(lines[span.line - 1][span.column - 1 : span.end_column - 1])
    first, *inner = lines[span.line - 1 : span.end_line]
    inner[-1] = inner[-1][: span.end_column - 1]
    return yaml.safe_load("\n".join([first[span.column - 1 :], *inner]))


def stands_there(node: Node) -> bool:
    """Whether the value stands in its source at its span; a number and its digits are the same."""
    found, value = written(node.span), node.plain()
    if isinstance(found, float) and isinstance(value, str):
        return parse_quantity(found) == parse_quantity(value)
    return bool(found == value) or str(found) == str(value)


@given(cases())
def test_accounting_every_leaf_has_its_origin(case: Case) -> None:
    """Every leaf of every manifest has an origin, and what it shows there is the value, unless it is derived."""
    assume(compiled(case))
    result = from_text(case)
    for manifest in result.manifests:
        for path, value in leaves(manifest.data):
            node = manifest.tree.at(path)
            assert node is not None
            origin = result.origin(manifest, path)
            shown = (manifest.kind, path, value, str(origin))
            assert origin.layer is origin.span.source.layer, shown
            if origin.layer is Layer.TEMPLATE:
                line = origin.span.source.text.split("\n")[origin.span.line - 1]
                literal = json.dumps(value) if not isinstance(value, str) else value
                assert literal in line, shown
            elif origin.layer in (Layer.RUN, Layer.PROFILE) and not origin.derived:
                assert stands_there(node), shown
            elif origin.layer in (Layer.RUN, Layer.PROFILE):
                assert origin.span.line > 0, shown


@given(cases())
def test_accounting_every_override_shows_both_sides(case: Case) -> None:
    """Whatever was overridden is a notice that shows the loser in the run and the winner in the profile."""
    assume(compiled(case))
    result = from_text(case)
    told = [found for found in result.diagnostics if found.code in ("merge/overridden", "merge/extended")]
    assert len(told) == len(result.overrides)
    for override in result.overrides:
        assert override.lost.span.source.layer is Layer.RUN
        assert override.won.span.source.layer is Layer.PROFILE
        assert override.lost.span.line > 0
        assert override.won.span.line > 0
        assert override.lost.plain() != override.won.plain()


SAID_TWICE = Case(
    {"name": "a", "action": "job", "image": "a", "labels": {"a": "one"}, "annotations": {"a": "one"}},
    {"id": "default", "labels": {"a": "two"}, "annotations": {"a": "two"}},
)


def said_again(name: str, fields: Node, path: KeyPath, spec: Node, lost: list[Override]) -> bool:
    """Whether what a layer said at the path is in the spec, or among what was overridden at that path."""
    said, found = fields.at(path), spec.at(path)
    assert said is not None
    if name in KEYS or name in UNIONS:
        item = fields.at(path[:2])
        assert item is not None
        key = item.fields[KEYS[name]].value if name in KEYS else None
        kept = identity(item.plain()) in {identity(other.plain()) for other in spec.fields[name].items}
        return kept or (name, str(key)) in [override.path for override in lost]
    if found is not None and (found.plain() == said.plain() or same_amount(found, said)):
        return True
    # A resource that is one value has one override, though it stands on both sides.
    sides = [override for override in lost if name == "resources" and override.path[-1] == path[-1]]
    return any(path[: len(override.path)] == override.path for override in lost) or any(
        same_amount(override.lost, said) for override in sides
    )


def same_amount(one: Node, other: Node) -> bool:
    try:
        return parse_quantity(str(one.value)) == parse_quantity(str(other.value))
    except ValueError:
        return False


@given(cases())
@example(SAID_TWICE)
def test_accounting_nothing_that_was_said_vanishes(case: Case) -> None:
    """Each leaf the run said is in the spec or among the overrides; each of the profile's is in the spec."""
    run, profile, merged, _ = stages(case)
    lost = list(replacements(merged.spec, LIBRARY))
    for name, path in told_by(run.fields.plain()):
        about = [override for override in lost if override.path[0] == name]
        assert said_again(name, run.fields, path, merged.spec, about), path
    for name, path in told_by(applicable(profile, run)):
        assert profile is not None
        assert said_again(name, profile.fields, path, merged.spec, []), path


def told_by(fields: Data) -> Iterator[tuple[str, KeyPath]]:
    """The field and path of all that the fields say; an affinity has a law of its own, an empty map says nothing."""
    for path, value in leaves(fields):
        if (
            path
            and path[0] != "affinity"
            and not (value in ({}, []) and path[0] in (*MAPS, *KEYS, *UNIONS, "resources"))
        ):
            yield str(path[0]), path


@pytest.mark.parametrize("fields", ["{a: &x one}, annotations: {a: *x}", "{a: one}, annotations: {a: one}"])
def test_accounting_aliases_are_overridden_in_every_place(fields: str) -> None:
    """A value written once and meant twice is lost twice."""
    text = f"{{name: a, action: job, image: a, labels: {fields}}}"
    profile = {"id": "default", "labels": {"a": "two"}, "annotations": {"a": "two"}}
    result = compile_run(text, profiles=[profile])
    assert {override.path for override in result.overrides} == {("labels", "a"), ("annotations", "a")}


@given(cases(built_in=True))
def test_accounting_everything_in_the_spec_is_in_the_manifests(case: Case) -> None:
    """Whatever run and profile say and do not lose stands in a manifest, with its own origin."""
    assume(compiled(case))
    manifests = from_text(case).manifests
    shown = {node.span for manifest in manifests for _, node in manifest.tree.walk() if node.is_scalar}
    for path, node in stages(case, as_text).merged.spec.walk():
        # These choose the shape of a manifest, or stand in it as one text.
        shaping = path[-1:] in (("volume_type",), ("medium",)) or path[:1] in (("inputs",), ("parameters",))
        if node.is_scalar and not shaping:
            assert node.span in shown, path


@given(cases(always=("affinity",)))
def test_accounting_rules_of_affinity_add_up(case: Case) -> None:
    """Of what run and profile prefer, and what they require of other pods, everything is in the spec, and once."""
    run, profile, merged, _ = stages(case)
    added = lists_of_rules(merged.spec.plain())
    ours, theirs = lists_of_rules(run.fields.plain()), lists_of_rules(applicable(profile, run))
    assert set(added) == set(ours) | set(theirs)
    for place, rules in added.items():
        assert as_terms(rules) == as_terms(ours.get(place, [])) | as_terms(theirs.get(place, []))
        assert len(rules) == len(as_terms(rules)) or not (place in ours and place in theirs)


def lists_of_rules(fields: Data) -> dict[tuple[str, str], list[Any]]:
    """The rules of an affinity that stand in lists, by their place: all but what is required of nodes."""
    return {
        (section, name): told
        for section, rules in fields["affinity"].items()
        for name, told in rules.items()
        if isinstance(told, list)
    }


# Merge algebra


def fields_of(data: Data) -> Node:
    """The canonical fields of a profile."""
    (profile,) = setting_of(Case({}, data)).profiles.values()
    return profile.fields


def comparable(fields: Node) -> Data:
    """The fields as data in which the order of what an affinity says does not count."""
    data: Data = fields.plain()
    if "affinity" in data:
        data["affinity"] = {
            (section, name): as_terms(told)
            for section, rules in data["affinity"].items()
            for name, told in rules.items()
        }
    return data


def as_terms(told: Any) -> frozenset[Any]:
    """Node selector terms as a set of sets of requirements; any other list of rules as a set."""
    if isinstance(told, dict):
        return frozenset(
            frozenset((key, json.dumps(item, sort_keys=True)) for key, items in term.items() for item in items)
            for term in told["nodeSelectorTerms"]
        )
    return frozenset(json.dumps(item, sort_keys=True) for item in told)


layer_fields = profiles().map(fields_of)


@given(layer_fields)
@example(fields_of({"id": "a", "tolerations": [{"key": "a"}, {"key": "a", "operator": "Equal"}]}))
def test_algebra_merging_a_layer_with_itself_changes_nothing(fields: Node) -> None:
    """Merging is idempotent: x ⊕ x = x, and one layer alone is itself."""
    assert merge_layers([fields], LIBRARY).plain() == fields.plain()
    again = merge_layers([fields, fields], LIBRARY)
    assert comparable(again) == comparable(fields)
    assert list(replacements(again, LIBRARY)) == []


@given(layer_fields, layer_fields)
def test_algebra_a_profile_applied_twice_changes_nothing(run: Node, profile: Node) -> None:
    """(run ⊕ profile) ⊕ profile = run ⊕ profile."""
    once = merge_layers([run, profile], LIBRARY)
    assert comparable(merge_layers([once, profile], LIBRARY)) == comparable(once)
    assert comparable(merge_layers([run, profile, profile], LIBRARY)) == comparable(once)


@given(layer_fields, layer_fields, layer_fields)
def test_algebra_grouping_does_not_matter(one: Node, two: Node, three: Node) -> None:
    """Merging is associative over three layers."""
    left = merge_layers([merge_layers([one, two], LIBRARY), three], LIBRARY)
    right = merge_layers([one, merge_layers([two, three], LIBRARY)], LIBRARY)
    assert comparable(left) == comparable(right)
    assert comparable(left) == comparable(merge_layers([one, two, three], LIBRARY))


@given(layer_fields, layer_fields)
def test_algebra_layers_stay_as_they_are(run: Node, profile: Node) -> None:
    """Merging mutates neither side, and doubles no item."""
    before = deepcopy((run, profile))
    merged = merge_layers([run, profile], LIBRARY).plain()
    assert (run, profile) == before
    for name, key in KEYS.items():
        found = [item[key] for item in merged.get(name, ())]
        assert len(found) == len(set(found))
    for name in UNIONS:
        found = [identity(item) for item in merged.get(name, ())]
        doubled = any(len(layer) != len({*layer}) for layer in (identities(run, name), identities(profile, name)))
        assert doubled or len(found) == len(set(found))


def identities(fields: Node, name: str) -> list[str]:
    return [identity(item.plain()) for item in fields.fields[name].items] if name in fields.fields else []


# Order, spelling and notation


def permuted(value: Any, random: Random) -> Any:
    """The same data with the keys of every mapping in another order."""
    if isinstance(value, dict):
        keys = list(value)
        random.shuffle(keys)
        return {key: permuted(value[key], random) for key in keys}
    return [permuted(item, random) for item in value] if isinstance(value, list) else value


@given(cases(), st.randoms(use_true_random=False))
def test_order_of_keys_does_not_matter(case: Case, random: Random) -> None:
    """Permuting the keys of every mapping leaves the bytes as they are."""
    other = Case(*(permuted(document, random) for document in case))
    assert compiled(case).to_yaml() == compiled(other).to_yaml()


@given(cases(spelling=False), st.sampled_from((camel_case, snake_case)))
def test_spelling_of_keys_does_not_matter(case: Case, spelling: Callable[[str], str]) -> None:
    """A run, profile or platform in camelCase, or in snake_case all through, is the same one."""
    other = Case(*(respelled(document, spelling) for document in case))
    assert compiled(case).to_yaml() == compiled(other).to_yaml()


def without_nulls(document: Data | None) -> Data | None:
    return None if document is None else {key: value for key, value in document.items() if value is not None}


@given(cases())
def test_null_is_not_said(case: Case) -> None:
    """A key with null is a key that is not there."""
    assert compiled(case).to_yaml() == compiled(Case(*map(without_nulls, case))).to_yaml()  # type: ignore[arg-type]


@given(cases())
def test_notation_does_not_matter(case: Case) -> None:
    """A run is the same as Python data, as YAML and as JSON, with every character escaped or none."""
    result = compiled(case)
    assert from_text(case).to_yaml() == result.to_yaml()
    for ascii_only in (True, False):
        text = json.dumps(case.run, indent=2, ensure_ascii=ascii_only)
        # YAML readers differ on numbers with an exponent, and on some separators that JSON leaves as they are.
        if not any(isinstance(value, float) and "e" in repr(value) for _, value in leaves(case.run)) and (
            ascii_only or not {"\u2028", "\u2029", "\ufeff"} & set(text)
        ):
            admin = {"profiles": [case.profile] if case.profile else [], "platform": case.platform}
            assert compile_run(text, **admin).to_yaml() == result.to_yaml()  # type: ignore[arg-type]


@given(cases())
def test_form_does_not_matter(case: Case) -> None:
    """A run is the same in its flat form, as an exported entity, and in Kubernetes' style."""
    text = compiled(case).to_yaml()
    run = case.run
    inner = {key: value for key, value in run.items() if key not in ("name", "action")}
    entity = {"kind": f"container+{run['action']}:run", "name": run["name"], "spec": inner}
    styled = {
        "apiVersion": "speccompile.dev/v1alpha1",
        "kind": "Run",
        "metadata": {"name": run["name"]},
        "spec": {**inner, "action": run["action"]},
    }
    assert compiled(case._replace(run=entity)).to_yaml() == text
    assert compiled(case._replace(run=styled)).to_yaml() == text


# Normal form


@given(cases())
def test_normal_form_is_stable_and_valid(case: Case) -> None:
    """Normalising again changes nothing, and what is normal is valid and in canonical spelling."""
    setting = setting_of(case)
    run = read_run(as_data(case.run, Layer.RUN).documents[0], setting).run
    for fields in (run.fields, *(profile.fields for profile in setting.profiles.values())):
        again, findings = normalize(fields, setting.platform, LIBRARY)
        assert (again.plain(), findings) == (fields.plain(), ())
        normal = without_scratch(fields.plain())
        assert list(LIBRARY.validator("fields").iter_errors(normal)) == []
        tree, found = validate(as_data(normal, Layer.RUN).documents[0].root, "fields", LIBRARY)
        assert (tree.plain(), found) == (normal, ())


def without_scratch(fields: Data) -> Data:
    """The fields without disk that is to become a volume: its name among requests and limits is nobody's to write."""
    for amounts in fields.get("resources", {}).values():
        amounts.pop(SCRATCH_DISK, None)
    return fields


# No injection

Reading: TypeAlias = Callable[[list[Data]], list[Any]]


def main_containers(manifests: list[Data]) -> list[Data]:
    return [template["spec"]["containers"][0] for template in pod_templates(manifests)]


def annotations_of(manifests: list[Data], key: str) -> list[Any]:
    holders = [*manifests, *pod_templates(manifests)]
    return [holder["metadata"]["annotations"][key] for holder in holders if key in annotations_on(holder)]


def annotations_on(holder: Data) -> Data:
    found: Data = holder["metadata"].get("annotations", {})
    return found


def parameter(name: str) -> Reading:
    return lambda manifests: [json.loads(text) for text in annotations_of(manifests, f"speccompile.dev/{name}")]


def volume_with(text: str) -> Data:
    return {"volume_type": "config_map", "name": "injected", "mount_path": "/in", "spec": {"data": {"file": text}}}


def path_with(text: str) -> str:
    """A path with as much of the text as paths may hold."""
    return "x" + "".join(char for char in text if char.isprintable() and char not in "./:")


def mounted_with(text: str) -> Data:
    path = path_with(text)
    return {"volume_type": "empty_dir", "name": "injected", "mount_path": f"/{path}", "sub_path": path}


def mounts(manifests: list[Data]) -> list[Data]:
    found = [mount for main in main_containers(manifests) for mount in main["volumeMounts"]]
    return [mount for mount in found if mount["name"] == "injected"]


class Place(NamedTuple):
    """A place for any text: the field that holds it, what the field says then, and where it comes out as what."""

    field: str
    says: Callable[[str], Any]
    read: Reading
    reads: Callable[[str], Any] = lambda text: text


PLACES: Mapping[str, Place] = {
    "env value": Place(
        "envs",
        lambda text: [{"name": "X", "value": text}],
        lambda manifests: [
            env["value"] for main in main_containers(manifests) for env in main["env"] if env["name"] == "X"
        ],
    ),
    "env value in a map": Place(
        "envs",
        lambda text: {"X": text},
        lambda manifests: [
            env["value"] for main in main_containers(manifests) for env in main["env"] if env["name"] == "X"
        ],
    ),
    "argument": Place(
        "args",
        lambda text: ["a", text],
        lambda manifests: [main["args"] for main in main_containers(manifests)],
        lambda text: ["a", text],
    ),
    "command": Place(
        "command",
        lambda text: [text, "a"],
        lambda manifests: [main["command"] for main in main_containers(manifests)],
        lambda text: [text, "a"],
    ),
    "executable": Place(
        "command",
        lambda text: f"/{text}",
        lambda manifests: [main["command"] for main in main_containers(manifests)],
        lambda text: [f"/{text}"],
    ),
    "annotation": Place("annotations", lambda text: {"x": text}, lambda manifests: annotations_of(manifests, "x")),
    "config file": Place(
        "volumes",
        lambda text: [volume_with(text)],
        lambda manifests: [found["data"]["file"] for found in manifests if found["kind"] == "ConfigMap"],
    ),
    "path": Place(
        "volumes",
        lambda text: [mounted_with(text)],
        mounts,
        lambda text: {"name": "injected", "mountPath": f"/{path_with(text)}", "subPath": path_with(text)},
    ),
    "parameter": Place("parameters", lambda text: {"a": text}, parameter("parameters"), lambda text: {"a": text}),
    "parameter name": Place("parameters", lambda text: {text: 1}, parameter("parameters"), lambda text: {text: 1}),
    "input": Place("inputs", lambda text: {"a": [{"b": text}]}, parameter("inputs"), lambda text: {"a": [{"b": text}]}),
}


def key_paths(manifests: list[Data]) -> set[KeyPath]:
    return {path for path, _ in leaves(manifests)}


@given(cases(spelling=False), st.sampled_from(sorted(PLACES)), texts(), st.booleans())
@example(Case({"name": "a", "action": "job", "image": "a"}), "env value", "\ue0000\ue001", False)
@example(Case({"name": "a", "action": "job", "image": "a"}), "argument", "\ue002a:1\ue003", False)
def test_injection_text_stays_text(case: Case, name: str, text: str, in_profile: bool) -> None:
    """Any text in any free place comes out as that text in that place, and changes no structure."""
    place = PLACES[name]
    if in_profile and case.profile is None:
        case = case._replace(profile={"id": "default"}, run={**case.run, "profile": ""})

    def with_text(inserted: str) -> list[Data]:
        target, other = (case.profile, case.run) if in_profile else (case.run, case.profile)
        said = {**(target or {}), place.field: place.says(inserted)}
        rest = {key: value for key, value in (other or {}).items() if key != place.field}
        run, profile = (rest, said) if in_profile else (said, rest if other else None)
        return loaded(compiled(Case(run, profile, case.platform)).to_yaml())

    manifests = with_text(text)
    found = place.read(manifests)
    assert found
    assert all(one == place.reads(text) for one in found)
    assert key_paths(manifests) == key_paths(with_text("harmless"))


@given(cases(), st.sampled_from(("inputs", "parameters")), st.dictionaries(texts(), json_trees(), max_size=3))
@example(Case({"name": "a", "action": "job", "image": "a"}), "parameters", {"a": [[{"b": None}]]})
def test_injection_what_a_function_is_given_stays_as_it_is(case: Case, name: str, value: Data) -> None:
    """Inputs and parameters arrive, as JSON, exactly as they were given, nulls and all."""
    run = {**case.run, name: value}
    others = {key: told for key, told in (case.profile or {}).items() if key != name} if case.profile else None
    manifests = loaded(compiled(Case(run, others, case.platform)).to_yaml())
    assert PLACES_READ[name](manifests)
    assert all(exactly(found) == exactly(value) for found in PLACES_READ[name](manifests))


PLACES_READ = {name: parameter(name) for name in ("inputs", "parameters")}


def exactly(value: Any) -> Any:
    """A form that is equal only for equal data of equal types; the order of keys does not count."""
    if isinstance(value, dict):
        return {key: exactly(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [exactly(inner) for inner in value]
    return type(value).__name__, value


# Round trip


def ruamel(text: str) -> list[Any]:
    reader = YAML(typ="safe", pure=True)
    reader.version = (1, 2)
    return list(reader.load_all(text))


READERS: Mapping[str, Callable[[str], list[Any]]] = {
    "pyyaml": lambda text: list(yaml.load_all(text, Loader=yaml.SafeLoader)),
    "fastest": loaded,
    "ruamel": ruamel,
}


@given(cases())
def test_round_trip_every_reader_gets_the_data_back(case: Case) -> None:
    """YAML 1.1 and YAML 1.2 readers take the text for exactly the manifests' data."""
    result = compiled(case)
    data = [manifest.data for manifest in result.manifests]
    text = result.to_yaml()
    for name, read in READERS.items():
        assert exactly(read(text)) == exactly(data), name


# Names


def objects(run: Data) -> set[tuple[str, str]]:
    return {(manifest.kind, manifest.name) for manifest in compile_run(run).manifests}


def run_named(name: str, action: str, **fields: Any) -> Data:
    ports = {"service_ports": [{"port": 80}]} if action == "serve" else {}
    return {"name": name, "action": action, "image": "a", **ports, **fields}


@given(run_names(), run_names(), st.sampled_from(ACTIONS), st.booleans())
@example("a", "A", "serve", False)
@example("1a", "s-1a", "serve", False)
@example("x" * 63, "x" * 64, "job", True)
@example("x" * 52, "x" * 53, "job", True)
def test_names_of_distinct_runs_are_distinct(one: str, other: str, action: str, scheduled: bool) -> None:
    """Two runs with different names share no object, and neither is named into the other."""
    assume(one != other)
    schedule = {"schedule": "@daily"} if scheduled and action == "job" else {}
    volumes = [{"volume_type": "persistent_volume_claim", "name": "data", "mount_path": "/data"}]
    made = [objects(run_named(name, action, volumes=volumes, **schedule)) for name in (one, other)]
    assert not made[0] & made[1]
    # Nor is a run that is called what the other's object is called.
    for _, name in made[0]:
        if name != one:
            assert not made[0] & objects(run_named(name, action, volumes=volumes, **schedule))


@given(st.tuples(run_names(), dns_labels()), st.tuples(run_names(), dns_labels()))
@example(("a", "b-c"), ("a-b", "c"))
@example(("a", "b"), ("A", "b"))
@example(("a-b", "c"), ("a-b-c", "c"))
def test_names_of_claims_are_distinct(one: tuple[str, str], other: tuple[str, str]) -> None:
    """Claims of different runs, or of different volumes of one run, have different names."""
    assume(one != other)
    names = []
    for run, volume in (one, other):
        volumes = [{"volume_type": "persistent_volume_claim", "name": volume, "mount_path": "/data"}]
        result = compile_run(run_named(run, "job", volumes=volumes))
        names += [claim["metadata"]["name"] for claim in of_kind(result, "PersistentVolumeClaim")]
    assert len(set(names)) == len(names) == 2


LONGEST = {"CronJob": 52}


@given(cases())
def test_names_are_what_kubernetes_accepts(case: Case) -> None:
    """Names are DNS-1123 labels of at most 63 characters, CronJobs' of 52, and Services' begin with a letter."""
    for manifest in compiled(case).manifests:
        name = manifest.name
        assert name.isascii()
        assert name == name.lower()
        assert name.replace("-", "").isalnum()
        assert not name.startswith("-")
        assert not name.endswith("-")
        assert len(name) <= LONGEST.get(manifest.kind, 63)
        assert manifest.kind != "Service" or name[0].isalpha()


@given(dns_labels(), st.booleans(), cases(action="serve", alone=True, spelling=False))
@example("a", True, Case({"name": "b", "action": "serve", "image": "a", "service_ports": [{"port": 80}]}))
def test_names_no_object_is_made_twice(name: str, alias: bool, case: Case) -> None:
    """No two objects of one compilation have one kind and name, even where a run's alias is its own name."""
    assume(not alias or name[0].isalpha())
    run = {**case.run, "name": name, **({"service_name": name} if alias else {})}
    made = [(manifest.kind, manifest.name) for manifest in compiled_or_none(case._replace(run=run))]
    assert len(made) == len(set(made))


def compiled_or_none(case: Case) -> tuple[Any, ...]:
    try:
        return case.compile().manifests
    except CompileError:
        return ()


@given(cases(always=("labels", "annotations", "volumes")))
def test_names_labels_and_annotations_are_on_every_object(case: Case) -> None:
    """What is said in `labels` and `annotations` is on every object, on pods, and on what makes pods."""
    spec = stages(case).merged.spec.plain()
    manifests = [manifest.data for manifest in compiled(case).manifests]
    nested = [manifest["spec"]["jobTemplate"] for manifest in manifests if manifest["kind"] == "CronJob"]
    for holder in (*manifests, *nested, *pod_templates(manifests)):
        assert spec["labels"].items() <= holder["metadata"]["labels"].items()
        assert spec["annotations"].items() <= annotations_on(holder).items()


@given(cases(always=("volumes",)))
def test_names_of_what_is_made_are_those_that_are_mounted(case: Case) -> None:
    """Every claim and ConfigMap that is made is mounted, and every volume of such a type has its object."""
    manifests = [manifest.data for manifest in compiled(case).manifests]
    volumes = {volume["name"]: volume for volume in stages(case).merged.spec.plain()["volumes"]}
    (template,) = pod_templates(manifests)
    mounted = {volume["name"]: volume for volume in template["spec"].get("volumes", ())}
    claims = [name for name, volume in volumes.items() if volume["volume_type"] == "persistent_volume_claim"]
    configs = [name for name, volume in volumes.items() if "data" in volume["spec"]]
    made = {
        kind: [manifest["metadata"]["name"] for manifest in manifests if manifest["kind"] == kind]
        for kind in ("PersistentVolumeClaim", "ConfigMap")
    }
    assert made["PersistentVolumeClaim"] == [mounted[name]["persistentVolumeClaim"]["claimName"] for name in claims]
    assert made["ConfigMap"] == [mounted[name]["configMap"]["name"] for name in configs]


SCRATCH = Case(
    {
        "name": "a",
        "action": "job",
        "image": "a",
        "resources": {"disk": "1Gi"},
        "volumes": [{"volume_type": "empty_dir", "name": "scratch", "mount_path": "/x"}],
    },
    None,
    {"disk": {"as": "volume"}},
)


def keyed_lists(manifests: list[Data]) -> Iterator[tuple[str, list[Any]]]:
    """The keys of every list that Kubernetes merges by key, which it refuses if one is there twice."""
    for template in pod_templates(manifests):
        pod = template["spec"]
        yield "volumes", [volume["name"] for volume in pod.get("volumes", ())]
        for container in pod["containers"]:
            yield "env", [env["name"] for env in container.get("env", ())]
            yield "ports", [port["containerPort"] for port in container.get("ports", ())]
            yield "volumeMounts", [mount["mountPath"].rstrip("/") for mount in container.get("volumeMounts", ())]
    for service in manifests:
        if service["kind"] == "Service":
            yield "service ports", [port["port"] for port in service["spec"]["ports"]]
            yield "service port names", [port["name"] for port in service["spec"]["ports"]]


@given(cases())
@example(SCRATCH)
def test_names_no_key_stands_twice_in_a_list(case: Case) -> None:
    """Volumes, mounts, variables and ports are there once, and every mount has its volume."""
    manifests = [manifest.data for manifest in compiled(case).manifests]
    for what, found in keyed_lists(manifests):
        assert len(found) == len(set(found)), what
    for template in pod_templates(manifests):
        known = {volume["name"] for volume in template["spec"].get("volumes", ())}
        for container in template["spec"]["containers"]:
            assert {mount["name"] for mount in container.get("volumeMounts", ())} == known


# Placement

NODES = [
    ClusterNode(name, {key: value for key, value in zip(NODE_KEYS, values, strict=True) if value is not None})
    for values in product((None, *NODE_VALUES), repeat=len(NODE_KEYS))
    for name in NODE_NAMES
]
"""Every node that the labels and names of the strategies can tell apart."""


def pod_placement(fields: Data) -> Data:
    """What the fields alone ask of a node, in Kubernetes' own words."""
    return {"nodeSelector": fields.get("node_selector", {}), "affinity": fields.get("affinity", {})}


@given(placements(2), st.sampled_from(("job", "deploy")))
def test_affinity_both_hold(layers: list[Data], action: str) -> None:
    """A pod fits exactly the nodes that its profile accepts and that the run accepts, where the profile lets it.

    So no run can make a pod fit a node that its profile's `node_selector` or required affinity excludes.
    """
    run, profile = layers
    case = Case({"name": "a", "action": action, "image": "a", **run}, {"id": "default", **profile})
    (template,) = pod_templates(of_kind(compiled(case), "Job", "Deployment"))
    theirs = pod_placement(profile)
    ours = pod_placement(run)
    ours["nodeSelector"] = {
        key: value for key, value in ours["nodeSelector"].items() if key not in theirs["nodeSelector"]
    }
    accepted = [node for node in NODES if fits(template["spec"], node)]
    assert accepted == [node for node in NODES if fits(theirs, node) and fits(ours, node)]
    event("some nodes fit" if accepted else "no node fits")


@given(placements(3))
def test_affinity_three_layers_hold(layers: list[Data]) -> None:
    """Merging any number of layers keeps exactly what each of them requires."""
    merged = merge_layers([fields_of({"id": "a", **layer}) for layer in layers], LIBRARY).plain()
    required = [{"affinity": layer.get("affinity", {})} for layer in layers]
    for node in NODES:
        assert fits({"affinity": merged.get("affinity", {})}, node) == all(fits(told, node) for told in required)


REQUIREMENTS: list[tuple[str, list[str] | None, dict[str, bool]]] = [
    ("In", ["a", "b"], {"a": True, "c": False, "": False, "absent": False}),
    ("In", [""], {"": True, "absent": False}),
    ("NotIn", ["a"], {"a": False, "b": True, "": True, "absent": True}),
    ("Exists", None, {"a": True, "": True, "absent": False}),
    ("DoesNotExist", None, {"a": False, "": False, "absent": True}),
    ("Gt", ["5"], {"6": True, "5": False, "10": True, "-7": False, "x": False, "": False, "absent": False}),
    ("Lt", ["5"], {"4": True, "5": False, "10": False, "-7": True, "x": False, " 4": False, "absent": False}),
]


@pytest.mark.parametrize(("operator", "values", "expected"), REQUIREMENTS)
def test_matcher_knows_the_operators(operator: str, values: list[str] | None, expected: dict[str, bool]) -> None:
    requirement = {"key": "k", "operator": operator, **({} if values is None else {"values": values})}
    for value, outcome in expected.items():
        node = ClusterNode("n", {} if value == "absent" else {"k": value})
        assert any_term_matches([{"matchExpressions": [requirement]}], node) == outcome, value


def test_matcher_knows_how_terms_combine() -> None:
    node = ClusterNode("n", {"a": "1", "b": "2"})
    yes = {"key": "a", "operator": "In", "values": ["1"]}
    no = {"key": "b", "operator": "Exists", "values": []} | {"operator": "DoesNotExist"}
    here = {"key": "metadata.name", "operator": "In", "values": ["n"]}
    elsewhere = {"key": "metadata.name", "operator": "NotIn", "values": ["n"]}
    assert any_term_matches([{"matchExpressions": [yes], "matchFields": [here]}], node)
    assert any_term_matches([{"matchExpressions": [no]}, {"matchFields": [here]}], node)
    assert not any_term_matches([{"matchExpressions": [yes, no]}], node)
    assert not any_term_matches([{"matchExpressions": [yes], "matchFields": [elsewhere]}], node)
    assert not any_term_matches([{}], node)
    assert not any_term_matches([], node)
    assert selected({"a": "1"}, node)
    assert not selected({"a": "2"}, node)
    assert not selected({"c": ""}, node)
    terms = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [yes]}]}}}
    assert fits({"affinity": terms, "nodeSelector": {"b": "2"}}, node)
    assert not fits({"affinity": terms, "nodeSelector": {"b": "1"}}, node)
    assert fits({}, node)


# Hardware and security


def is_extended(resource: str) -> bool:
    """Whether Kubernetes wants request and limit of the resource to be equal."""
    return "/" in resource or resource.startswith("hugepages-")


@given(cases(always=("resources",)))
def test_hardware_that_comes_whole_is_requested_as_it_is_limited(case: Case) -> None:
    """In every container, request and limit of every extended resource are equal, and no request is above its limit."""
    for template in pod_templates(manifest.data for manifest in compiled(case).manifests):
        for container in template["spec"]["containers"]:
            asked = container.get("resources", {})
            requests, limits = asked.get("requests", {}), asked.get("limits", {})
            for name in {*requests, *limits}:
                if is_extended(name):
                    assert parse_quantity(requests[name]) == parse_quantity(limits[name])
                elif name in requests and name in limits:
                    assert parse_quantity(requests[name]) <= parse_quantity(limits[name])


def meant(resources: Data) -> dict[str, Data]:
    """Requests and limits by full name, for resources in any shape: what the shapes stand for."""
    amounts: dict[str, Data] = {side: dict(resources.get(side, {})) for side in ("requests", "limits")}
    full = {"cpu": "cpu", "mem": "memory", "disk": "ephemeral-storage", "gpu": "nvidia.com/gpu"}
    for short, name in full.items():
        told = resources.get(short, {})
        pair = told if isinstance(told, dict) else dict.fromkeys(("requests", *(["limits"] * (short == "disk"))), told)
        for side, amount in pair.items():
            amounts[side][name] = amount
    for name in filter(is_extended, {*amounts["requests"], *amounts["limits"]}):
        both = amounts["requests"].get(name, amounts["limits"].get(name))
        amounts["requests"][name] = amounts["limits"][name] = both
    return {side: told for side, told in amounts.items() if told}


@given(cases(built_in=True, alone=True, always=("resources",)))
def test_hardware_shapes_mean_the_same(case: Case) -> None:
    """Whatever shape resources are written in, the container gets the amounts that the shape stands for."""
    (template,) = pod_templates(manifest.data for manifest in compiled(case).manifests)
    found = template["spec"]["containers"][0].get("resources", {})
    expected = meant(case.run["resources"])
    assert {side: set(amounts) for side, amounts in found.items()} == {
        side: set(told) for side, told in expected.items()
    }
    for side, amounts in found.items():
        for name, amount in amounts.items():
            assert parse_quantity(amount) == parse_quantity(expected[side][name])


ALLOWED_VOLUMES = {
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",  # since Kubernetes 1.33
    "persistentVolumeClaim",
    "projected",
    "secret",
}
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"


def violations(template: Data) -> Iterator[str]:
    """What the Pod Security Standard "restricted", which includes "baseline", objects to in a pod."""
    pod, context = template["spec"], template["spec"].get("securityContext", {})
    for key in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.get(key):
            yield key
    if context.get("runAsNonRoot") is not True:
        yield "runAsNonRoot"
    if context.get("seccompProfile", {}).get("type") not in ("RuntimeDefault", "Localhost"):
        yield "seccompProfile"
    if "sysctls" in context or "seLinuxOptions" in context or "windowsOptions" in context:
        yield "securityContext"
    for volume in pod.get("volumes", ()):
        if not set(volume) - {"name"} <= ALLOWED_VOLUMES or len(volume) != 2:
            yield f"volume {volume}"
    for key, value in annotations_on(template).items():
        if key.startswith(APP_ARMOR) and value not in ("", "runtime/default") and not value.startswith("localhost/"):
            yield f"annotation {key}"
    for holder in (context, *(container.get("securityContext", {}) for container in pod["containers"])):
        if holder.get("runAsUser") == 0:
            yield "runAsUser"
    for container in (*pod["containers"], *pod.get("initContainers", ())):
        yield from container_violations(container)


def container_violations(container: Data) -> Iterator[str]:
    own = container.get("securityContext", {})
    if own.get("allowPrivilegeEscalation") is not False:
        yield "allowPrivilegeEscalation"
    if own.get("privileged") or own.get("procMount", "Default") != "Default":
        yield "privileged"
    capabilities = own.get("capabilities", {})
    if "ALL" not in capabilities.get("drop", ()) or not set(capabilities.get("add", ())) <= {"NET_BIND_SERVICE"}:
        yield "capabilities"
    if own.get("runAsNonRoot") is False or own.get("seccompProfile", {}).get("type") == "Unconfined":
        yield "container securityContext"
    if any("hostPort" in port for port in container.get("ports", ())):
        yield "hostPort"


UNCONFINED = {f"{APP_ARMOR}main": "unconfined"}


@given(cases(built_in=True))
@example(Case({"name": "a", "action": "job", "image": "a", "annotations": UNCONFINED}))
def test_security_every_pod_is_restricted(case: Case) -> None:
    """Under the built-in platform every pod passes the Pod Security Standard "restricted"."""
    for template in pod_templates(manifest.data for manifest in compiled(case).manifests):
        assert list(violations(template)) == []


@given(cases(built_in=True))
def test_security_of_violations_none_is_overlooked(case: Case) -> None:
    """The check itself sees each of these: it is what the law above relies on."""
    (template,) = pod_templates(manifest.data for manifest in compiled(case).manifests)

    def broken(*path: str | int, value: Any) -> bool:
        copy = deepcopy(template)
        holder: Any = copy
        for step in path[:-1]:
            holder = holder.setdefault(step, {}) if isinstance(holder, dict) else holder[step]
        holder[path[-1]] = value
        return any(violations(copy))

    main = ("spec", "containers", 0, "securityContext")
    assert broken("spec", "securityContext", "runAsNonRoot", value=False)
    assert broken("spec", "securityContext", "runAsUser", value=0)
    assert broken("spec", "securityContext", "seccompProfile", "type", value="Unconfined")
    assert broken("spec", "volumes", value=[{"name": "a", "hostPath": {"path": "/"}}])
    assert broken("spec", "hostPID", value=True)
    assert broken(*main, "allowPrivilegeEscalation", value=True)
    assert broken(*main, "capabilities", "drop", value=[])
    assert broken(*main, "capabilities", "add", value=["SYS_ADMIN"])
    assert broken(*main, "privileged", value=True)
    assert broken("metadata", "annotations", value=UNCONFINED)


@given(cases(action="serve"), st.dictionaries(dns_labels(), dns_labels(), max_size=3))
def test_selectors_never_change(case: Case, labels: Data) -> None:
    """A Deployment's selector is part of its pods' labels and is its Services' selector, whatever labels are set."""

    def selectors_of(case: Case) -> list[Any]:
        result = compiled(case)
        (deployment,) = of_kind(result, "Deployment")
        selector = deployment["spec"]["selector"]["matchLabels"]
        assert selector
        assert selector.items() <= deployment["spec"]["template"]["metadata"]["labels"].items()
        assert selector.items() <= deployment["metadata"]["labels"].items()
        services = [service["spec"]["selector"] for service in of_kind(result, "Service")]
        assert services
        assert all(service == selector for service in services)
        return [selector]

    named: Data = {key: value for key, value in case.run.items() if key in ("name", "project", "action")}
    bare = Case({**named, "image": "a", "service_ports": [{"port": 80}]})
    assert selectors_of(case) == selectors_of(case._replace(run={**case.run, "labels": labels})) == selectors_of(bare)


# References


class Made(NamedTuple):
    """A skeleton with the template it was made from and what the template saw."""

    template: str
    context: Mapping[str, Node | None]
    skeleton: Skeleton


def filled(skeleton: Skeleton, context: Mapping[str, Node | None]) -> Node:
    return fill(sketched(skeleton, context, LIBRARY))


def skeletons(case: Case) -> list[Made]:
    """The skeleton of every manifest."""
    made = stages(case).plan
    seen = [(step.template, {**made.context, "item": step.item}) for step in made.steps]
    return [Made(template, context, skeleton(template, context, LIBRARY)) for template, context in seen]


def reworded(value: Any, path: KeyPath = ()) -> Any:
    """The run with other values in the same shape: what is there stays there, and every free text is another."""
    if isinstance(value, dict):
        if path and path[-1] in ("parameters", "inputs") and value:
            return {"other": 1}
        if path and path[-1] in ("labels", "annotations", "node_selector") and value:
            return {"other": "value"}
        return {key: reworded(child, (*path, key)) for key, child in value.items()}
    if isinstance(value, list):
        return [reworded(item, (*path, index)) for index, item in enumerate(value)]
    if path[0] in ("name", "project", "args", "command", "image"):
        return f"{value}0" if value else "0"
    if path[-1] in ("mount_path", "sub_path", "value", "file"):
        return f"{str(value).rstrip('/')}x" if path[0] != "node_selector" else value
    return value


@given(cases(alone=True, spelling=False))
def test_references_skeletons_depend_on_shape_alone(case: Case) -> None:
    """A run with other values in the same shape is asked the same questions and has the same skeletons."""
    other = case._replace(run=reworded(case.run))
    assume(compiled(other))
    made, remade = skeletons(case), skeletons(other)
    assert [one.template for one in made] == [two.template for two in remade]
    for one, two in zip(made, remade, strict=True):
        assert one.skeleton.questions == two.skeleton.questions
        assert one.skeleton.tree.plain() == two.skeleton.tree.plain()
        assert one.skeleton.placed == two.skeleton.placed


@st.composite
def changed_runs(draw: st.DrawFn) -> tuple[Case, Case]:
    """A case, and one that differs a little: other words, a field more or less, or another case's field."""
    case = draw(cases(alone=True, spelling=False))
    donor = draw(cases(action=case.run["action"], alone=True, spelling=False))
    run = reworded(case.run) if draw(st.booleans()) else deepcopy(case.run)
    names = st.sampled_from(sorted({*case.run, *donor.run} - {"name", "action"}))
    for name in draw(st.lists(names, min_size=1, max_size=3)):
        if name in donor.run:
            run[name] = donor.run[name]
        elif name != "image":
            run.pop(name, None)
    return case, case._replace(run=run)


@given(changed_runs())
def test_references_equal_answers_mean_equal_skeletons(pair: tuple[Case, Case]) -> None:
    """A kept skeleton fits whatever run gives the answers it was made with: what staging relies on."""
    case, other = pair
    assume(compiled(case) and compiled(other))
    for kept, fresh in product(skeletons(case), skeletons(other)):
        if kept.template != fresh.template:
            continue
        questions = kept.skeleton.questions
        same = all(answered(question, fresh.context) == question.answer for question in questions)
        event(f"same answers: {same}")
        if same:
            assert fresh.skeleton.tree.plain() == kept.skeleton.tree.plain()
            assert fresh.skeleton.placed == kept.skeleton.placed
            assert filled(fresh.skeleton, fresh.context) == filled(kept.skeleton, fresh.context)
