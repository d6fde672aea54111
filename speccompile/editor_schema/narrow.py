"""Takes a profile and its setting, gives the schema of runs that compile under it and lose no value to it.

Whatever an admin says of a field becomes a schema, put where the field's path leads (`placing.py`) and met with the
field's own (`meeting.py`). What takes several values to see is left to the compiler: docs/howto/editors.md lists it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial, reduce
from types import MappingProxyType
from typing import Any, TypeAlias

from speccompile.compiler.admin_rules import CHECKS, broken_rules
from speccompile.compiler.approve import approve
from speccompile.compiler.choose_manifests import actions_of as actions_of_target
from speccompile.compiler.choose_manifests import fields_of, target_of
from speccompile.compiler.container_resources import amount, gpu_kinds, settled
from speccompile.compiler.derive import derive
from speccompile.compiler.documents.admin_config import Setting
from speccompile.compiler.merge import merge, merge_layers
from speccompile.compiler.policy import CONFINING, DEFAULT_PROFILE, own_labels, own_prefix
from speccompile.editor_schema import resources as amounts
from speccompile.editor_schema.export import (
    Made,
    Narrowed,
    actions_of,
    as_text,
    exported,
    field_definitions,
    run_schema,
    said,
    spellings,
    unsaid,
)
from speccompile.editor_schema.field_locations import (
    CLAIMED,
    Leaf,
    either,
    holds,
    implied,
    is_inside,
    placed,
    places,
    same_port,
    same_volume,
    sources,
    ways_to_write,
    with_key,
)
from speccompile.editor_schema.format_patterns import (
    Bounds,
    images_below,
    is_portable,
    literal,
    whole,
    whole_numbers_within,
)
from speccompile.editor_schema.intersect import meet
from speccompile.editor_schema.resources import RESOURCES, Amount, Demand, Where
from speccompile.model.diagnostic import Diagnostic, shown
from speccompile.model.documents import Ban, Platform, Profile, Rule, Run
from speccompile.model.findings import CompileError
from speccompile.model.key_path import KeyPath
from speccompile.model.node import Node
from speccompile.model.object_names import PLACEHOLDER
from speccompile.model.quantity import QuantityError
from speccompile.model.source import BUILT_IN, Layer
from speccompile.model.spec import Merged
from speccompile.schema.field_path import SIDES, concrete, found
from speccompile.schema.formats.by_name import QUANTITIES
from speccompile.schema.formats.safe_regex import LONGEST
from speccompile.schema.library import Library, Schema

Wish: TypeAlias = tuple[str, Made]
"""A field, and what must hold of it."""
_AS_THEY_ARE: Mapping[str, str] = MappingProxyType({})
_NO_PROFILE = Profile(
    source=BUILT_IN.source,
    id=Node(DEFAULT_PROFILE, BUILT_IN),
    about={},
    parents=(),
    target=None,
    gpu_key=None,
    fields=Node({}, BUILT_IN),
    defaults=Node({}, BUILT_IN),
    rules=(),
    bans=(),
    bases={},
)
"""What runs without a profile are under where nobody wrote the default one."""


def narrowed_text(profile: Profile | None, setting: Setting, files: Mapping[str, str] = _AS_THEY_ARE) -> str:
    """The schema of runs under the profile as JSON text; `files` says how the files of the setting are called in it."""
    return as_text(narrowed_schema(profile, setting, files))


def narrowed_schema(profile: Profile | None, setting: Setting, files: Mapping[str, str] = _AS_THEY_ARE) -> Made:
    """The schema of runs under the profile, or under none, in all forms of runs."""
    view = View(profile or _NO_PROFILE, setting, files)
    fields = field_definitions(view.library)
    for source in _SOURCES:
        for name, made in source(view):
            fields[name] = meet(fields[name], made)
    head, required = _head(view)
    needs = {action: list(_needs(action, view)) for action in actions_of(view.library)}
    long: Made = {}
    narrowed = Narrowed(_shortened(fields, long), head, required, _namespace(view), needs)
    made = run_schema(view.library, narrowed)
    made["definitions"] |= long
    return {**made, "title": f"Run under profile {shown(profile.id.value)}" if profile else "Run without a profile"}


def _shortened(value: Any, long: Made) -> Any:
    """The value with references in the place of long patterns, whose definitions are added to `long`, each once."""
    if isinstance(value, list):
        return [_shortened(child, long) for child in value]
    if not isinstance(value, dict):
        return value
    made = {key: _shortened(child, long) for key, child in value.items()}
    if not isinstance(made.get("pattern"), str) or len(made["pattern"]) < _LONG:
        return made
    # What an editor says of a text stands beside the pattern.
    part = {key: made[key] for key in ("pattern", "errorMessage") if key in made}
    name = next((name for name, known in long.items() if known == part), f"pattern {len(long) + 1}")
    long[name] = part
    rest = {key: child for key, child in made.items() if key != "pattern"}
    return {**rest, "allOf": [*rest.get("allOf", ()), {"$ref": f"#/definitions/{name}"}]}


_LONG = 500
"""Characters of a pattern that is not worth writing twice."""


@dataclass(frozen=True)
class View:
    """A profile in its setting, and what follows from the two."""

    profile: Profile
    setting: Setting
    files: Mapping[str, str]

    @property
    def library(self) -> Library:
        return self.setting.library

    @property
    def platform(self) -> Platform:
        return self.setting.platform

    @cached_property
    def fixed(self) -> Node:
        """The fields that no run can change."""
        enforced = settled(self.platform.enforced, self.platform, self.profile)
        return merge_layers([self.profile.fields, enforced], self.library)

    @cached_property
    def defaults(self) -> Node:
        common = settled(self.platform.defaults, self.platform, self.profile)
        return merge_layers([common, self.profile.defaults], self.library)

    @property
    def rules(self) -> tuple[Rule, ...]:
        return (*self.platform.rules, *self.profile.rules)

    @property
    def bans(self) -> tuple[Ban, ...]:
        return (*self.platform.bans, *self.profile.bans)

    @cached_property
    def symbols(self) -> amounts.Symbols:
        return amounts.symbols_of(self.platform, self.profile)

    @property
    def own_envs(self) -> Mapping[str, Node]:
        """The patterns of the variables that the platform sets itself."""
        own = self.platform.settings.fields.get("own_envs")
        return own.fields if own else {}

    def setting_at(self, *path: str) -> Any:
        """What the platform's settings say at the path; None if nothing."""
        node = self.platform.settings.at(path)
        return None if node is None else node.plain()

    def placed(self, path: KeyPath, leaf: Leaf) -> Wish:
        """The field of the path, and what must hold of it so that the value there is as the leaf says."""
        field, *steps = path
        return str(field), placed(self.library.fields[str(field)], steps, leaf, self.library)

    def who(self, node: Node) -> str:
        """Who says it, and where."""
        by = "the platform" if node.span.source.layer is Layer.PLATFORM else f"profile {shown(self.profile.id.value)}"
        name = node.span.source.name
        return f"{by} ({self.files.get(name, name)}:{node.span.line})" if node.span.line else by

    def fixed_by(self, node: Node) -> Made:
        return _told(f"fixed by {self.who(node)}: leave it out")


def _told(reason: str) -> Made:
    """A reason, for hovering and for what an editor says of a value that is refused."""
    return {"description": reason, "errorMessage": reason}


def _always(made: Made) -> Leaf:
    return lambda _: made


# What is fixed


def _fixed(view: View) -> Iterator[Wish]:
    for name, node in view.fixed.fields.items():
        strategy = view.library.fields[name].get("x-merge", "replace")
        if name != RESOURCES and strategy in _FIXERS:
            yield from _FIXERS[strategy](name, node, view)
    for name, pattern in view.own_envs.items():
        # What fills the pattern is for the run to tell.
        texts = PLACEHOLDER.split(str(pattern.value))[::2]
        made = {"pattern": whole(r"[\s\S]*".join(map(literal, texts))), **view.fixed_by(pattern)}
        yield view.placed(("envs", name, "value"), _always(made))


def _fixed_whole(name: str, node: Node, view: View) -> Iterator[Wish]:
    yield name, {"enum": [*ways_to_write(node.plain(), view.library.fields[name]), None], **view.fixed_by(node)}


def _fixed_keys(name: str, node: Node, view: View) -> Iterator[Wish]:
    for path, child in node.walk((name,)):
        # What stands in a list is fixed with it.
        if not child.fields and len(path) > 1 and not any(isinstance(step, int) for step in path):
            yield view.placed(path, _always({"enum": [child.plain(), None], **view.fixed_by(child)}))


def _fixed_items(name: str, node: Node, view: View) -> Iterator[Wish]:
    same: Mapping[str, Callable[[Any], Made]] = {
        "service_ports": same_port,
        "volumes": lambda item: same_volume(item, view.library),
    }
    for item in node.items:
        key = str(item.fields[view.library.fields[name]["x-key"]].value)
        if name != "envs":
            made = same[name](item.plain()) if name in same else {"enum": [item.plain(), None]}
            yield view.placed((name, key), _always({**made, **view.fixed_by(item)}))
        elif key not in view.own_envs:
            made = {"enum": [item.fields["value"].value, None], **view.fixed_by(item)}
            yield view.placed((name, key, "value"), _always(made))


_FIXERS: Mapping[str, Callable[[str, Node, View], Iterator[Wish]]] = {
    "replace": _fixed_whole,
    "map": _fixed_keys,
    "keyed": _fixed_items,
}
"""By how layers meet; where they add up, nothing of the run's is lost."""


# What is forbidden, and what rules ask for


def _banned(view: View) -> Iterator[Wish]:
    for ban in view.bans:
        if ban.path[0] == RESOURCES and len(ban.path) > 1:
            continue
        reason = _told(f"{view.who(ban.written)} forbids it")
        yield from (view.placed(path, partial(_unsaid, reason=reason)) for path in places(ban.path))
        yield from _secrets(ban.path, reason)


def _unsaid(schema: Schema, reason: Made) -> Made:
    return {"not": {}, **reason} if is_inside(schema) else {"enum": [None], **reason}


def _secrets(path: KeyPath, reason: Made) -> Iterator[Wish]:
    """A variable that is forbidden, or whose value is looked at, is no secret either."""
    if path[0] == "envs" and len(path) > 1:
        yield "secrets", {"items": {"allOf": [{"not": {"const": path[1]}, **reason}]}}


def _ruled(view: View) -> Iterator[Wish]:
    for rule in _checking(view):
        if rule.path[0] != RESOURCES:
            reason = _told(_reason(rule, view))
            yield from _ruled_field(rule, reason, view)
            yield from _secrets(rule.path, reason)


def _ruled_field(rule: Rule, reason: Made, view: View) -> Iterator[Wish]:
    checked = partial(_checked, rule=rule, reason=reason, library=view.library)
    follows = implied(rule.path)
    if follows is None:
        yield from (view.placed(path, checked) for path in places(rule.path))
        return
    value = Node(follows.value, BUILT_IN)
    is_good = all(check(value, rule) for keyword, check in CHECKS.items() if keyword in rule.constraint.fields)
    # No item is null, and editors tell the reason for a type.
    then = {} if is_good else {"type": "null", **reason}

    def item(schema: Schema) -> Made:
        return {"if": follows.condition, "then": then, "else": placed(schema, rule.path[2:], checked, view.library)}

    yield view.placed(rule.path[:2], item)


def _checking(view: View) -> Iterator[Rule]:
    """The rules that ask more than that a field is there."""
    return (rule for rule in view.rules if not CHECKS.keys().isdisjoint(rule.constraint.fields))


def _reason(rule: Rule, view: View) -> str:
    told = rule.constraint.fields
    words = (_WORDS[keyword](told[keyword].plain()) for keyword in CHECKS if keyword in told)
    because = f", because {told['reason'].value}" if "reason" in told else ""
    return f"{view.who(rule.constraint)} wants {' and '.join(words)}{because}"


_WORDS: Mapping[str, Callable[[Any], str]] = {
    "min": lambda least: f"at least {shown(least)}",
    "max": lambda most: f"at most {shown(most)}",
    "options": lambda options: " or ".join(map(shown, options)),
    "pattern": lambda pattern: f"what {shown(pattern)} matches",
}


def _checked(schema: Schema, rule: Rule, reason: Made, library: Library) -> Made:
    """What a rule asks of a value, or of each item of a list."""
    if "array" not in schema.get("type", ()):
        return {**_checked_value(schema, rule), **reason}
    one = {**_checked_value(library.resolve(schema["items"]), rule), **reason}
    if "string" not in schema["type"]:
        return {"items": one}
    return {"anyOf": [{"type": ["array", "null"], "items": one}, {"type": "string", **one}], **reason}


def _checked_value(schema: Schema, rule: Rule) -> Made:
    told, types, bounds = rule.constraint.fields, schema.get("type", ()), _bounds(rule)
    is_quantity = schema.get("format") in QUANTITIES
    parts: list[Made] = []
    if "options" in told and is_quantity:
        parts.append({"anyOf": [{"type": "null"}, *amounts.equal_to(_values(rule))]})
    elif "options" in told and rule.counts:
        numbers = [amounts.number(value) for value in _values(rule)]
        parts.append({"enum": [*numbers, *(map(str, numbers) if "string" in types else ()), None]})
    elif "options" in told:
        parts.append({"enum": [*told["options"].plain(), None]})
    if bounds != Bounds():
        texts = {"pattern": whole_numbers_within(bounds)} if "string" in types else {}
        parts.append(amounts.within(bounds) | ({} if is_quantity else texts))
    parts.append(_pattern(rule))
    return reduce(meet, parts, {})


def _pattern(rule: Rule) -> Made:
    """What a rule's pattern asks of text, if editors read it alike."""
    pattern = rule.constraint.fields.get("pattern")
    is_read = pattern is not None and is_portable(str(pattern.value))
    return {"pattern": whole(str(pattern.value)), "maxLength": LONGEST} if pattern and is_read else {}


def _bounds(rule: Rule) -> Bounds:
    told = rule.constraint.fields
    return Bounds(*(amount(told[keyword]).value if keyword in told else None for keyword in ("min", "max")))


def _values(rule: Rule) -> list[Fraction]:
    """The options that are quantities; any other equals none."""
    values = []
    for option in rule.constraint.fields["options"].items:
        try:
            values.append(amount(option).value)
        except QuantityError:
            continue
    return values


# Resources


def _amounts(view: View) -> Iterator[Wish]:
    demands = list(_demands(view))
    wheres = _places(view)
    kinds: Made = {kind: {} for kind in gpu_kinds(view.platform)}
    yield RESOURCES, {"properties": {"gpu": {"properties": kinds, "additionalProperties": {"type": "null"}}}}
    yield RESOURCES, amounts.allowed_in(wheres, demands)
    yield RESOURCES, amounts.allowed_elsewhere(demands)
    if parts := list(_as_requests(wheres, view)):
        yield RESOURCES, {"allOf": parts}


def _places(view: View) -> list[Where]:
    paths = [*(rule.path for rule in view.rules), *(ban.path for ban in view.bans)]
    paths += [(RESOURCES, *one) for layer in (view.fixed, view.defaults) for one in _amounts_in(layer)]
    names = (*amounts.NAMED, *view.symbols["gpu"], *amounts.names_in(paths, view.symbols))
    return list(amounts.places(dict.fromkeys(names), view.platform, view.profile))


def _amounts_in(layer: Node) -> Mapping[Amount, Node]:
    sides = ((side, layer.at((RESOURCES, side))) for side in SIDES)
    return {Amount(side, name): node for side, told in sides if told for name, node in told.fields.items()}


def _demands(view: View) -> Iterator[Demand]:
    """Everything that is demanded of amounts."""
    for one, node in _amounts_in(view.fixed).items():
        reason = f"fixed by {view.who(node)}: leave it out"
        yield Demand(one.__eq__, reason, values=frozenset({amount(node).value}))
    for rule in _checking(view):
        if rule.path[0] == RESOURCES:
            yield from _ruled_amounts(rule, view)
    for name, is_meant in amounts.CEILINGS.items():
        if ceiling := view.platform.settings.at(("ceilings", name)):
            yield Demand(is_meant, _ceiling(ceiling, view), Bounds(most=amount(ceiling).value))
    for ban in view.bans:
        if ban.path[0] == RESOURCES and len(ban.path) > 1:
            yield Demand(
                partial(_is_about, path=ban.path, view=view), f"{view.who(ban.written)} forbids it", is_banned=True
            )


def _ruled_amounts(rule: Rule, view: View) -> Iterator[Demand]:
    reason, bounds = _reason(rule, view), _bounds(rule)
    values = frozenset(_values(rule)) if "options" in rule.constraint.fields else None
    is_meant = partial(amounts.is_at, path=rule.path, symbols=view.symbols)
    yield Demand(is_meant, reason, bounds, values, text=_pattern(rule))
    if bounds.most is not None:
        yield Demand(partial(amounts.is_like, path=rule.path), reason, Bounds(most=bounds.most))


def _is_about(one: Amount, path: KeyPath, view: View) -> bool:
    return amounts.is_at(one, path, view.symbols) or amounts.is_like(one, path)


def _ceiling(node: Node, view: View) -> str:
    return f"{view.who(node)} has a ceiling of {shown(node.value)}"


def _as_requests(wheres: Sequence[Where], view: View) -> Iterator[Made]:
    """Where nothing is requested the limit is the request, and what rules ask of requests is asked of it."""
    asked = [demand for rule in _checking(view) if rule.path[:2] == _REQUESTS for demand in _ruled_amounts(rule, view)]
    for name in amounts.NAMED:
        request, limit = (Amount(side, name) for side in SIDES)
        is_given = any(found(layer, (RESOURCES, *request), view.library) for layer in (view.fixed, view.defaults))
        demands = [demand._replace(is_meant=limit.__eq__) for demand in asked if demand.is_meant(request)]
        if demands and not is_given:
            yield {"if": amounts.said_in(wheres, [request]), "else": amounts.allowed_in(wheres, demands)}


_REQUESTS = (RESOURCES, SIDES[0])


# What the platform's settings allow


def _registries(view: View) -> Iterator[Wish]:
    allowed = view.platform.settings.fields.get("allowed_registries")
    if allowed is not None:
        names = [str(item.value) for item in allowed.items]
        reason = _told(f"{view.who(allowed)} allows images under {' or '.join(map(shown, names))}")
        ways = [{"type": "null"}, *({"pattern": images_below(name), **reason} for name in names)]
        yield "image", {"anyOf": ways, **reason}
        yield "volumes", {"items": _in_spec(("image",), {"anyOf": ways, **reason})}


def _in_spec(names: Iterable[str], made: Made) -> Made:
    """What must hold of a volume, so that what its `spec` says under any of the names is as it should be."""
    return {"properties": {"spec": {"properties": dict.fromkeys(names, made)}}}


def _volumes(view: View) -> Iterator[Wish]:
    """The volumes that a run may bring; one that is equal to the profile's own is the profile's."""
    allowed = view.setting_at("volumes", "allowed_types")
    existing, foreign = view.setting_at("volumes", "allow_existing"), view.setting_at("secrets", "allow_foreign")
    schema = view.library.resolve(view.library.fields["volumes"]["items"])
    needs = {"shared_volume": existing, "secret": existing or foreign}
    types = [kind for kind in schema["properties"]["volume_type"]["enum"] if needs.get(kind, True)]
    types = [kind for kind in types if allowed is None or kind in allowed]
    reason = _told(f"the platform allows {' or '.join(map(shown, types)) or 'no volumes'}")
    claims: Made = {} if "shared_volume" in types else {"not": {}, **reason}
    others = {"properties": {name: {"enum": types, **reason} for name in _TYPE}}
    demands: list[Made] = [{"if": CLAIMED, "then": claims, "else": others}]
    if not existing:
        demands.append({"if": _is_volume("config_map"), "then": said("spec", "data")})
    if not foreign:
        store = whole("[-.a-z0-9]+".join(map(literal, str(view.setting_at("secrets", "store")).split("{project}"))))
        named = {"if": said("spec", "name"), "then": said("spec", "name", pattern=store)}
        demands.append({"if": _is_volume("secret"), "then": {**named, "else": said("name", pattern=store)}})
    fixed = view.fixed.fields.get("volumes")
    if fixed and fixed.items:
        own = [item.fields["name"].value for item in fixed.items]
        demands = [{"if": said("name", enum=own), "else": {"allOf": demands}}]
    yield "volumes", {"items": {"allOf": demands}}


_TYPE = ("volume_type", "volumeType")


def _is_volume(*kinds: str) -> Made:
    return {"anyOf": [said(name, enum=list(kinds)) for name in _TYPE]}


def _sizes(view: View) -> Iterator[Wish]:
    """The ceilings of volumes: of claims, and of directories on disk and in memory."""
    ceilings = {name: view.platform.settings.at(("ceilings", name)) for name in ("mem", "disk", "pvc")}
    bounded = {
        name: {**amounts.within(Bounds(most=amount(node).value)), **_told(_ceiling(node, view))} if node else {}
        for name, node in ceilings.items()
    }
    in_memory, on_disk = (_in_spec(("size_limit", "sizeLimit"), bounded[name]) for name in ("mem", "disk"))
    demands = [{"if": said("spec", "medium", const="Memory"), "then": in_memory, "else": on_disk}]
    most, size = ceilings["pvc"], view.platform.settings.at(("pvc", "size"))
    if most and size and amount(size) > amount(most):
        claims = {"allOf": [_is_volume("persistent_volume_claim", "ephemeral"), {"not": CLAIMED}]}
        demands.append({"if": claims, "then": said("spec", "size")})
    yield "volumes", {"items": {**_in_spec(("size",), bounded["pvc"]), "allOf": demands}}


def _reserved(view: View) -> Iterator[Wish]:
    """Keys that are not for runs to use."""
    own = {"pattern": f"^{literal(own_prefix(view.platform))}"}
    labels = {"not": {"anyOf": [own, {"enum": sorted(own_labels(view.platform))}]}, **_told(_RESERVED)}
    yield "labels", {"propertyNames": labels, "items": {"properties": {"name": {"allOf": [labels]}}}}
    yield "annotations", {"propertyNames": {"not": own, **_told(_RESERVED)}}
    if view.setting_at("security", "disable_root"):
        confining = {"pattern": f"^(?:{'|'.join(map(literal, CONFINING))})"}
        fixed = view.fixed.fields.get("annotations")
        may_be: list[Made] = [{"not": confining}, *({"const": key} for key in (fixed.fields if fixed else ()))]
        yield "annotations", {"propertyNames": {**either(may_be), **_told("it changes how containers are confined")}}


_RESERVED = "it is set by the compiler itself"


def _foreign(view: View) -> Iterator[Wish]:
    """Fields that are not for the profile's target."""
    target = target_of(view.profile, view.library)
    for name in view.library.fields.keys() - fields_of(target, view.library):
        yield name, unsaid(f"`{name}` does not apply to target `{target.name}`")


_SOURCES: tuple[Callable[[View], Iterator[Wish]], ...] = (
    _fixed,
    _ruled,
    _amounts,
    _registries,
    _volumes,
    _sizes,
    _reserved,
    _banned,
    _foreign,
)


# What a run must say


def _head(view: View) -> tuple[Mapping[str, Made], Sequence[str]]:
    """What `profile` and `project` may be, and which of them must be there."""
    known = exported(view.library.schemas["run"], "#/definitions/flat", view.library)["properties"]
    name = str(view.profile.id.value)
    if name == DEFAULT_PROFILE:
        names = [name] if name in view.setting.profiles else []
        return {"profile": {**known["profile"], "enum": [*names, "", None]}}, ()
    profile = {**known["profile"], "type": "string", "enum": [name], "default": name}
    listed = view.setting_at("project_profiles")
    if listed is None:
        return {"profile": profile}, ("profile",)
    default = view.library.schemas["run"]["properties"]["project"]["default"]
    is_open = name in listed.get("*", ())
    having, lacking = ([one for one, names in listed.items() if (name in names) is wanted] for wanted in (True, False))
    choice: Made = {"not": {"enum": lacking}} if is_open else {"enum": [*having, None]}
    reason = _told(f"the platform lets only some projects use profile {shown(name)}")
    may_lack = default in having or (is_open and default not in lacking)
    project = meet(known["project"], {**choice, **reason})
    return {"profile": profile, "project": project}, ("profile",) if may_lack else ("profile", "project")


def _namespace(view: View) -> Made:
    own = view.platform.settings.fields.get("namespace")
    return {"enum": [own.value, None], **view.fixed_by(own)} if own else {}


def _needs(action: str, view: View) -> Iterator[Wish]:
    """What a run must say itself: whatever is refused of one that says nothing but its action."""
    target = target_of(view.profile, view.library)
    if action not in actions_of_target(target):
        yield "action", {"not": {}, "errorMessage": f"target `{target.name}` makes nothing of action `{action}`"}
        return
    for path, finding in _refused(action, view):
        field = path[0]
        if path != _REQUESTS and found(view.fixed, finding.path, view.library):
            yield str(field), {"not": {}, "errorMessage": finding.message}
        elif field == RESOURCES:
            yield RESOURCES, with_key(RESOURCES, _needed_amount(path, view))
        else:
            schema = view.library.fields[str(field)]
            below = [holds(schema, source[1:], view.library) for source in sources(path)]
            yield str(field), either(with_key(name, one) for one in below for name in spellings(str(field), schema))


def _needed_amount(path: KeyPath, view: View) -> Made:
    """What holds where an amount that the path leads to is written, or one that it is made from."""
    wheres = _places(view)
    if len(path) <= len(_REQUESTS):
        sides = [str(side) for side in path[1:]] or SIDES
        made = [Amount(SIDES[0], name) for name in amounts.factored(view.platform)] if SIDES[1] in sides else []
        return either(amounts.said_on(side, wheres, made) for side in sides)
    told = [Amount(str(side), str(name)) for _, side, name in concrete(path, view.symbols)]
    return amounts.said_in(wheres, [*told, *(_source(one, view) for one in told)])


def _source(one: Amount, view: View) -> Amount:
    """What the amount is made from: a request from the limit, a limit from the request if the platform has a factor."""
    (other,) = (Amount(side, one.name) for side in SIDES if side != one.side)
    is_made = one.side == SIDES[0] or one.name in amounts.factored(view.platform)
    is_given = found(view.defaults, (RESOURCES, *one), view.library)
    is_fixed = found(view.fixed, (RESOURCES, *other), view.library)
    return one if is_given or is_fixed or not is_made else other


_NEEDED = ("policy/no-image", "policy/no-ports", "policy/ceiling", "target/missing-field")


def _refused(action: str, view: View) -> Iterator[tuple[KeyPath, Diagnostic]]:
    """What there is against a run that says nothing but its action, and the field that would cure it."""
    run = Run(
        source=BUILT_IN.source,
        name=Node("run", BUILT_IN),
        project=Node("default", BUILT_IN),
        action=Node(action, BUILT_IN),
        profile=None,
        facts={},
        fields=Node({}, BUILT_IN),
    )
    merged, _ = merge(run, view.profile, target_of(view.profile, view.library), view.platform, view.library)
    try:
        approve(merged, view.library)
    except CompileError as error:
        yield from ((one.path, one) for one in error.diagnostics if one.code in _NEEDED)
        yield from _broken(merged, view)


def _broken(merged: Merged, view: View) -> Iterator[tuple[KeyPath, Diagnostic]]:
    """What rules have against it; whatever `gpu` stands for is what a rule on `gpu` requires."""
    try:
        specs = merged.spec, derive(merged).spec
    except CompileError:
        return
    for rule in view.rules:
        for one in broken_rules([rule], specs, view.symbols, merged.run.name, view.library):
            is_there = rule.path[0] == RESOURCES and one.code != _MISSING
            yield one.path if is_there else rule.path, one


_MISSING = "rule/required"
