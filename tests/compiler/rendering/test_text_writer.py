"""Rendering is staged, and nobody can tell: kept skeletons and kept text give the bytes of the plain way."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import chain, combinations, count, permutations, product
from string import Template as PartsOf
from typing import Any, NamedTuple, TypeAlias, TypeVar
from weakref import WeakSet

import pytest
from helpers.templates import MAIN, node
from hypothesis import event, given, settings
from hypothesis import strategies as st

from speccompile import CompileError
from speccompile.compiler import render
from speccompile.compiler.bundled_library import bundled_library
from speccompile.compiler.compiled import Compiled
from speccompile.compiler.documents.admin_config import prepare
from speccompile.compiler.pipeline import compile_document
from speccompile.compiler.render import fill, sketch_template
from speccompile.compiler.rendering import skeleton_from_template
from speccompile.compiler.rendering import text_writer as staged
from speccompile.compiler.rendering.jinja_environment import compiled_template
from speccompile.compiler.rendering.skeleton_cache import Shelf, Skeleton, TemplateContext, shelf_of
from speccompile.compiler.rendering.template_errors import TemplateFault
from speccompile.compiler.rendering.text_writer import manifest_text
from speccompile.model import identity_cache as memo
from speccompile.model.findings import stop_if_any
from speccompile.model.node import Node
from speccompile.model.source import Layer, Source
from speccompile.schema.library import Library
from speccompile.testing.plain_data import Data
from speccompile.testing.strategies.documents import Case, cases
from speccompile.yaml_text.from_python import wrap
from speccompile.yaml_text.serialize import serialize

Templates: TypeAlias = Mapping[str, str]


# The two ways


class Outcome(NamedTuple):
    """What came of a template: its text and its tree with all origins, or the fault in place of each."""

    text: str | Refused
    tree: Node | Refused


class Refused(NamedTuple):
    """A fault of the template. Whatever else is raised is a fault of ours."""

    message: str


T = TypeVar("T")


def tried(make: Callable[[], T]) -> T | Refused:
    try:
        return make()
    except TemplateFault as fault:
        return Refused(str(fault))


def library(templates: Templates) -> Library:
    return Library(bundled_library().schemas, templates)


def context(spec: Data, platform: Node | None = None, item: Any = None) -> TemplateContext:
    return {"spec": node(spec), "platform": platform, "item": None if item is None else node(item)}


def plainly(texts: Templates, *contexts: TemplateContext) -> list[Outcome]:
    """The plain way: a library that nobody has used, and for each skeleton a shelf with nothing on it."""
    fresh = library(texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(render, "shelf_of", lambda _: Shelf())
        trees = [tried(lambda: fill(sketch_template(MAIN, seen, fresh))) for seen in contexts]  # noqa: B023  called at once
    return [Outcome(serialize([tree.plain()]) if isinstance(tree, Node) else tree, tree) for tree in trees]


def in_stages(known: Library, *contexts: TemplateContext) -> list[Outcome]:
    """With what the library has kept, of these and of whatever came before."""

    def outcome(seen: TemplateContext) -> Outcome:
        text = tried(lambda: manifest_text([sketch_template(MAIN, seen, known)]))
        return Outcome(text, tried(lambda: fill(sketch_template(MAIN, seen, known))))

    return [outcome(seen) for seen in contexts]


# A small grammar of templates

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 0.0, -0.0, 1.0, 2.5, "", "0", "1", "a", "b", "ab", "no", "one\ntwo\n", " é\t😀"),
    *("\ue000", "\ue0000\ue001", "\ue0001\ue001", "\ue002test/main.j2:1\ue003", "{{ spec.image }}", "a: b"),
    *([], {}, ["a"], ["b"], ["a", "b"], ["b", "a"], [1], [True], [1.0], ["1"], [0, False], [[], {}], [["a"], "a"]),
    *({"a": "b"}, {"a": "a"}, {"b": "a", "a": 1}, {"a": 1, "b": "a"}, {"a": {"a": "x"}, "b": []}, {"a": ["a", "b"]}),
    *([{"a": "b"}, {"a": ["a"]}], [{"a": 1}, {"a": True}, {"a": 1.0}], [{"b": 1}, "a", None]),
    *({"\ue0000\ue001": "x"}, {"k" * 1100: {"": "\n"}}),
)
COMMON: tuple[Any, ...] = (1, True, 1.0, "1", "a", "", ["a"], {"a": "b"}, "ab", ["a", "b"], {"a": 1, "b": 2})
"""What constants of templates are equal to, and what is as long as something else."""
ITEM = ("item", "item.a", "spec.image")
VOCABULARIES = (
    ("spec.image", "spec.args"),
    ("spec.image", "spec.labels", "platform"),
    ("spec.args", "spec.args[0]", "spec.args[-1].a"),
    ("spec.labels", "spec.labels.a", "spec.labels.a.a", "spec.labels[spec.image | default('a') | string]"),
    ("spec.image", "spec.command", "spec.args", "spec.labels", "platform", "platform.a", "item", "item[0]"),
)
"""What a template speaks of: little, so that it asks about the same things more than once."""
CONSTANTS = ("1", "'a'", "1", "'a'", "['a']", "{'a': 'b'}", "true", "1.0", "'1'", "''", "0", "none", "[]", "{}")
SCALARS = ("1", "true", "1.0", "'1'", "'a'", "''", "0")
CONDITIONS = (
    *("$a", "not $a", "$a is defined", "$a is not defined", "$a and $b", "not ($a or $b)", "$a or $b == $c"),
    *("$a == $c", "$a == $c", "$a != $c", "$c == $a", "$a in ($c, 'a')", "$a | length == 2", "$a | length > 0"),
    *("$a is defined and ($a is string or $a is mapping)", "$a is defined and $a is sameas $c"),
    *("$a is defined and $b is defined and $a == $b", "$a is defined and $b is defined and $a is sameas $b"),
    *("$b is defined and $a != [$b]", "$b is defined and $a == {'a': $b}", "$b is defined and $a in ([$b], $b)"),
    *("$a is defined and $a is iterable and 'a' in $a", "$b is defined and $a is iterable and [$b] in $a"),
    *(
        "$a is defined and $a is number and $a < 2",
        "($a | default($c)) == ($b | default($c))",
        "($a or $b or $c) == 'a'",
    ),
)
TEXTS = (
    "$a | default('n') | string",
    "($a | default('n')) ~ '-' ~ ($b | default(0))",
    "$a | default([]) | string | upper",
)
COMPUTED = (
    *(
        "$a | default($s)",
        "$a | default($b)",
        "$a or $s",
        "$a == $c",
        "$a | default($c) is sameas $c",
        "$a | length",
        "$s",
    ),
    *("$a if $q else $b", "$a | default($s) if $q else $s", "$a | default([]) | string | replace('a', 'b')"),
    *("$a | default('x') | int(7)", "[$a, 'x', $b] | select('defined') | join('+')", "called($a, $b)", *TEXTS),
)
ODD = (
    *(
        "$a ~ $b",
        "$a | upper",
        "$a | join('-')",
        "$a | first",
        "$a | sort | first",
        "$a + 1",
        "$a * 2",
        "-$a",
        "$a | tojson",
    ),
    *("$a < $c", "$c in $a", "$a >= $b", "$a in $b", "$a[1:] | length", "$a | each('test/deep.j2')", "$c"),
)
"""Some of these make no sense for most values, which is a fault then."""
LEAVES = (
    *["{{ $e }}"] * 9,
    *("a-{{ $t }}-b", "'{{ $t }}'", "{{ $t }}", "{{ $o }}", "a{{ $e }}"),
    *("text", "{}", "[]", "~", r'"\u2028 two\n"', "[{{ $e }}, x]", "{x: {{ $e }}}"),
)
LOOPS = ("{% for $x in $a %}", "{% for $x in $a if $x %}", "{% for $x in $a if $x != 'a' %}")
TURNS = ("{{ loop.index }}", "{{ $x ~ loop.length }}", "{{ $x.a }}", "x{{ loop.first }}", "{{ loop.last }}", "{{ $x }}")
MACRO = "{% macro called(x, y) %}{{ x }}/{{ y | default('none') }}{% if y %}!{% endif %}{% endmacro %}"

Lines: TypeAlias = tuple[str, ...]


def told(pattern: st.SearchStrategy[str], **parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """The pattern with each `$name` exchanged for what is drawn."""
    return st.builds(lambda text, **drawn: PartsOf(text).substitute(drawn), pattern, **parts)


@cache
def expressions(names: Lines, patterns: Lines) -> st.SearchStrategy[str]:
    name, scalar, constant = (st.sampled_from(choices) for choices in (names, SCALARS, CONSTANTS))
    asked = told(st.sampled_from(CONDITIONS), a=name, b=name, c=constant)
    return told(st.sampled_from(patterns), a=name, b=name, c=constant, s=scalar, q=asked)


@cache
def leaves(names: Lines) -> st.SearchStrategy[str]:
    text, odd = expressions(names, TEXTS), expressions(names, ODD)
    return told(st.sampled_from(LEAVES), e=st.sampled_from(names) | expressions(names, COMPUTED), t=text, o=odd)


def indented(lines: Sequence[str]) -> Lines:
    return tuple("  " + re.sub(r"indent\((\d+)", lambda by: f"indent({int(by[1]) + 2}", line) for line in lines)


def below(*lines: str) -> Lines:
    return ("KEY:", *lines)


@cache
def entries(names: Lines, others: Lines, depth: int) -> st.SearchStrategy[Lines]:
    """One entry of a mapping, or several that hang together; `KEY` is a key that no other entry has."""
    leaf, expression, condition = leaves(names), expressions(names, COMPUTED), expressions(names, CONDITIONS)
    plain = leaf.map(lambda value: (f"KEY: {value}",))
    if depth == 0:
        return plain
    inner = st.lists(entries(names, others, depth - 1), min_size=1, max_size=2).map(lambda many: tuple(chain(*many)))
    other, name, key = st.sampled_from(others), st.sampled_from(names), expressions(names, TEXTS)
    with_set = st.lists(entries((*names, "made"), others, depth - 1), min_size=1, max_size=2)
    return st.one_of(
        plain,
        plain,
        st.builds("{{{{ {} }}}}: {}".format, name | key, leaf).map(lambda line: below(*indented([line]))),
        st.builds("x-{{{{ {} }}}}: {}".format, key, leaf).map(lambda line: (line,)),
        inner.map(lambda lines: below(*indented(lines))),
        st.builds(lambda one, lines: below(f"- {one}", "-", *indented(lines)), leaf, inner),
        st.builds(
            lambda asked, lines, also, more, rest: (
                *(f"{{% if {asked} %}}", *lines),
                *(f"{{% elif {also} %}}", *more),
                *("{% else %}", *rest, "{% endif %}"),
            ),
            *(condition, inner, condition, inner, inner),
        ),
        *[st.builds(lambda asked, lines: (f"{{% if {asked} %}}", *lines, "{% endif %}"), condition, inner)] * 3,
        *[items(names, depth).map(lambda lines: below(*lines))] * 2,
        st.builds(
            lambda place, value: below(f"{{% for x in {place} %}}", f"  {{{{ x }}}}: {value}", "{% endfor %}"),
            *(name, st.builds("{{{{ {}[x] }}}}".format, name) | leaves((*names, "x"))),
        ),
        st.builds(
            lambda how, value, lines: (how.format(value), *chain(*lines)),
            st.sampled_from(("{{% set made = {} %}}", "{{% set made %}}{{{{ {} }}}}!{{% endset %}}")),
            *(expression, with_set),
        ),
        st.builds(lambda place, sub, one: below(f"- {{{{ {place} | each('{sub}') }}}}", f"- {one}"), name, other, leaf),
        st.builds(lambda place, sub: below(f"- - {{{{ {place} | each('{sub}') }}}}"), name, other),
        other.map(
            lambda sub: below(f"{{% filter indent(2, first=true) %}}{{% include '{sub}' %}}{{% endfilter %}}"),
        ),
    )


@cache
def items(names: Lines, depth: int) -> st.SearchStrategy[Lines]:
    """A loop that gives items of a list, with another one in it while there is depth left."""
    known = (*names, f"x{depth}")
    head = told(st.sampled_from(LOOPS), x=st.just(known[-1]), a=st.sampled_from(names))
    turn = told(st.sampled_from(TURNS), x=st.just(known[-1])) | leaves(known)
    body: st.SearchStrategy[Lines] = turn.map(lambda value: (f"- {value}",))
    if depth:
        body |= st.builds(
            lambda asked, value, lines: (
                f"{{% if {asked} %}}",
                f"- {value}",
                "{% endif %}",
                "- KEY:",
                *indented(lines),
            ),
            *(expressions(known, CONDITIONS), turn, items(known, depth - 1)),
        )
    return st.builds(lambda first, lines: (first, *lines, "{% endfor %}"), head, body)


def template(names: Lines, depth: int, *others: str) -> st.SearchStrategy[str]:
    """The text of a template of which something is always left."""

    def numbered(many: list[Lines]) -> str:
        number = count()
        return re.sub("KEY", lambda _: f"k{next(number)}", "\n".join([MACRO, *chain(*many), "z: 1", ""]))

    return st.lists(entries(names, others, depth), min_size=1, max_size=4).map(numbered)


SUB, DEEP = "test/sub.j2", "test/deep.j2"
main = st.one_of(*(template(names, 2, SUB, DEEP) for names in VOCABULARIES))
templates = st.fixed_dictionaries({MAIN: main, SUB: template(ITEM, 1, DEEP), DEEP: template(ITEM, 0)})


@st.composite
def sequences(draw: st.DrawFn) -> list[TemplateContext]:
    """What several runs let templates see, in some order, some of it again; few values, so that answers agree."""
    value = st.sampled_from(draw(st.lists(st.sampled_from(COMMON) | st.sampled_from(VALUES), min_size=3, max_size=5)))
    spec = st.fixed_dictionaries({}, optional=dict.fromkeys(("image", "command", "args", "labels"), value))
    platform = st.sampled_from([None, *(node(data, Layer.PLATFORM) for data in draw(st.lists(value, max_size=2)))])
    contexts = draw(st.lists(st.builds(context, spec, platform, value), min_size=2, max_size=5))
    return draw(st.permutations([*contexts, *draw(st.lists(st.sampled_from(contexts), max_size=3))]))


# The law


def same_both_ways(texts: Templates, contexts: Sequence[TemplateContext]) -> None:
    known = library(texts)
    assert in_stages(known, *contexts) == plainly(texts, *contexts)


@settings(max_examples=settings().max_examples * 6)
@given(templates, sequences())
def test_staged_text_is_the_plain_text(texts: Templates, contexts: list[TemplateContext]) -> None:
    """Whatever came before, a run has the bytes, the origins or the fault that it has alone."""
    known, expected = library(texts), plainly(texts, *contexts)
    event(f"refused: {sum(isinstance(one.text, Refused) for one in expected)} of {len(expected)}")
    assert in_stages(known, *contexts) == expected
    event(f"kept: {len(shelf_of(known))}")


def with_each(field: str, *values: Any) -> list[Data]:
    return [{field: value} for value in values]


IN_TURN: list[tuple[str, list[Data]]] = [
    # A reference inside of what a value is compared with is read as well.
    (
        "{% if spec.args == [spec.image] %}\na: 1\n{% endif %}\nz: 1\n",
        [{"args": [one], "image": other} for one in "ab" for other in "abc"],
    ),
    (
        "{% if [spec.image] in spec.args %}\na: 1\n{% endif %}\nz: 1\n",
        [{"args": [[one]], "image": other} for one in "ab" for other in "ac"],
    ),
    (
        "{% if spec.labels == {spec.image: {'x': spec.command}} %}\na: 1\n{% endif %}\nz: 1\n",
        [{"labels": {"a": {"x": one}}, "image": other, "command": "a"} for one in "ab" for other in "ac"],
    ),
    # What Python has twice in one place and once in another is the same nevertheless.
    (
        "a: {{ spec.image is sameas spec.command }}\n",
        [
            {"image": 1000, "command": int("1000")},
            dict.fromkeys(("image", "command"), 1000),
            {"image": 1, "command": 1.0},
        ],
    ),
    # Faults stay faults where all else vanishes.
    ("a: {{ spec.args | each('test/sub.j2') }}\nz: 1\n", [{}, {"args": []}, {"args": ["x"]}]),
    ("a:\n  b: {{ spec.args | each('test/sub.j2') }}\nz: 1\n", [{}, {"args": []}, {"args": ["x"]}]),
    (
        "a:\n  b:\n    {{ spec.image }}: {{ spec.command }}\nz: 1\n",
        [{}, {"image": "a"}, {"image": "a", "command": "b"}],
    ),
    # Numbers that are equal and are written otherwise.
    ("a: {{ spec.image ~ '' }}\n", with_each("image", 1, True, 1.0, "1", 0, False, -0.0, 0.0, "")),
    ("a: {{ spec.image }}\nb: {{ spec.image | default(2) }}\n", with_each("image", 1, True, 1.0, "1")),
    ("a: {{ spec.args | join }}\n", [{"args": [value]} for value in (1, True, 1.0, "1")]),
    ("a: {{ spec.image is string }}\n", with_each("image", 1, "1", True, "True", 1.0, "1.0", [1], "[1]", None, "None")),
    # One thing asked about several times.
    (
        "a: {{ 1 if spec.image == 1 else 2 if spec.image == '1' else 3 if spec.image == 'a' else 4 }}\n",
        with_each("image", 1, "1", True, "a", "b", [1]),
    ),
    # As long as each other, and of another kind.
    (
        "a:\n{% for x in spec.args %}\n- {{ x }}\n- {{ loop.index }}\n{% endfor %}\nz: 1\n",
        [*with_each("args", ["a", "b"], {"a": 1, "b": 2}, {"b": 1, "a": 2}, "ab", [], {}, "", 0, None), {}],
    ),
    (
        "a:\n- {{ spec.args | each('test/sub.j2') }}\nz: 1\n",
        with_each("args", ["a"], {"a": 1}, "a", [[]], 1),
    ),
    # One template in places of several depths.
    (
        "a:\n- {{ spec.args | each('test/sub.j2') }}\nb:\n  c:\n  - {{ spec.args | each('test/sub.j2') }}\n",
        with_each("args", ["a"], [{"a": "one\ntwo"}, "b"], [["x"]]),
    ),
    # What `each` gives is asked for itself, and may come to nothing.
    (
        "a:\n- {{ spec.args | each('test/sub.j2') }}\n- x\n",
        with_each("args", [{}], [[]], ["a", [], "b"], [{"a": []}, {"a": "a"}], []),
    ),
    # Faults are not kept, and spoil nothing for others.
    ("a: {{ 6 // spec.image }}\n", [*with_each("image", 0, 2, 3, "a", False, True), {}]),
    (
        "{% if spec.image < 2 %}\na: {{ spec.image + 1 }}\n{% endif %}\nz: 1\n",
        with_each("image", 1, 3, "a"),
    ),
    (
        "a-{{ spec.image }}: x{{ spec.command }}\n",
        [{"image": "a", "command": ""}, {"image": "b", "command": []}, {"image": "b", "command": "c"}],
    ),
]


@pytest.mark.parametrize(("text", "specs"), IN_TURN)
def test_staged_text_is_the_plain_text_in_every_turn(text: str, specs: list[Data]) -> None:
    """Each after each other."""
    texts = {MAIN: text, SUB: "{% if item == 'b' %}\nb: 1\n{% endif %}\na: {{ item.a | default(item) }}\n"}
    for one, other in permutations([context(spec) for spec in specs], 2):
        same_both_ways(texts, [one, other, one])
    same_both_ways(texts, [context(spec) for spec in specs])


UNFIT = (
    "1e308 * 10",
    "-1e308 * 10",
    "9223372036854775807 + 1",
    "((10 ** 64) ** 64) ** 9",
    r"'\ud800'",
    r"'\udfff' ~ spec.image",
)


@pytest.mark.parametrize("expression", UNFIT)
@pytest.mark.parametrize(
    "pattern", ["a: {{ X }}\n", "a: x{{ X }}\n", "{% if spec.image == (X) %}\na: 1\n{% endif %}\nz: 1\n"]
)
def test_what_no_manifest_can_hold_is_a_fault_both_ways(expression: str, pattern: str) -> None:
    texts, seen = {MAIN: pattern.replace("X", expression)}, context({"image": "a"})
    assert re.search("a manifest cannot contain|no value can have", str(plainly(texts, seen)))
    same_both_ways(texts, [seen, seen])


@pytest.mark.parametrize(
    "filtered",
    ["upper", "replace('0', '7')", "replace('2', '99')", "truncate(9, true)", "reverse", "replace('\\ue001', '')"],
)
def test_filters_cannot_forge_what_stands_for_values_and_lines(filtered: str) -> None:
    """A filter over a block sees placeholders; one that changes them is refused, and nothing of them gets out."""
    texts = {MAIN: f"{{% filter {filtered} %}}\nabc: {{{{ spec.image }}}}\nb: 1\n{{% endfilter %}}\n"}
    assert "block changes values" in str(plainly(texts, context({"image": "a"})))
    same_both_ways(texts, [context({"image": "a"})] * 2)


@pytest.mark.parametrize("other", ["loop", "called", "nope"])
def test_values_are_compared_with_data_only(other: str) -> None:
    """A question is kept, and whatever else is in a template lives no longer than its rendering."""
    compared = f"- {{{{ spec.image == ({other}) }}}}"
    text = f"{MACRO}\na:\n{{% for x in 'a' %}}\n{compared}\n{{% endfor %}}\n"
    for seen in (context({"image": "a", "args": ["a"]}), context({"args": ["b"]})):
        assert re.search("cannot be compared with|unknown name `nope`", str(plainly({MAIN: text}, seen)))


def test_a_value_is_not_taken_for_the_token_of_another() -> None:
    """Nor has a literal the origin of what was computed before it."""
    texts, seen = (
        {MAIN: "a: {{ 'one' }}\nb: {{ spec.image ~ '' }}\nc: {{ 'two' }}\n"},
        context({"image": "\ue0000\ue001"}),
    )
    for found in (*plainly(texts, seen), *in_stages(library(texts), seen, seen)):
        assert found.text == serialize([{"a": "one", "b": "\ue0000\ue001", "c": "two"}])
        assert isinstance(found.tree, Node)
        layers = [child.span.source.layer for child in found.tree.fields.values()]
        assert layers == [Layer.TEMPLATE, Layer.RUN, Layer.TEMPLATE]


# No cross-talk


@given(templates, templates, sequences())
def test_libraries_with_templates_of_the_same_names_share_nothing(
    one: Templates, two: Templates, contexts: list[TemplateContext]
) -> None:
    known = library(one), library(two)
    for seen, *expected in zip(contexts, plainly(one, *contexts), plainly(two, *contexts), strict=True):
        assert [outcome for each in known for outcome in in_stages(each, seen)] == expected


@given(templates, sequences(), st.sampled_from(VALUES), st.sampled_from(VALUES))
def test_profiles_share_nothing(texts: Templates, contexts: list[TemplateContext], one: Any, two: Any) -> None:
    """Values of two admins in the same place never stand in for each other."""
    admins = [node(data, Layer.PROFILE) for data in (one, two)]
    seen: list[TemplateContext] = [{**run, "platform": admin} for run in contexts for admin in admins]
    same_both_ways(texts, seen)


def test_values_of_runs_that_are_gone_are_not_written_again() -> None:
    """Sketches may be drawn one by one, each given up as soon as it is written."""
    known, values = library({MAIN: "a: {{ spec.labels }}\n"}), [{"x": [number]} for number in range(50)]
    drawn = (sketch_template(MAIN, context({"labels": value}), known) for value in values)
    assert manifest_text(drawn) == serialize({"a": value} for value in values)


def test_no_sketches_give_no_text() -> None:
    assert manifest_text(()) == serialize(()) == ""


# Bounded memory

PER_LENGTH = {
    MAIN: "a:\n{% for x in spec.args %}\n- {{ x }}\n{% endfor %}\n{% if spec.image %}\nb: 1\n{% endif %}\nz: 1\n"
}


def length_asked(kept: Skeleton) -> int:
    return next(int(str(question.answer)) for question in kept.questions if question.operation == "length")


def reachable(branches: Mapping[Any, Any]) -> Iterator[Any]:
    """Every skeleton in the tree of a shelf, and every fork."""
    for found in branches.values():
        yield found
        if not isinstance(found, Skeleton):
            yield from reachable(found.branches)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=30))
def test_a_shelf_keeps_as_many_as_it_may_and_those_used_last(lengths: list[int]) -> None:
    """And what it forgot is made again, and right."""
    shelf, known = Shelf(most=3), library(PER_LENGTH)
    used: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(render, "shelf_of", lambda _: shelf)
        for length in lengths:
            args = [f"a{number}" for number in range(length)]
            expected: Data = {**({"a": args} if args else {}), "b": 1, "z": 1}
            assert manifest_text([sketch_template(MAIN, context({"args": args, "image": "i"}), known)]) == serialize(
                [expected]
            )
            used = [*(one for one in used if one != length), length][-3:]
            assert [length_asked(kept) for kept in shelf._used] == used
            # For keys and length they share a fork, for the image each has its own: none stays without a skeleton.
            assert len(list(reachable(shelf._tops[MAIN]))) == 2 + 2 * len(used)


def test_a_skeleton_keeps_a_bounded_number_of_pages() -> None:
    """Which values are there tells pages apart, and seven values can be there or not in 128 ways."""
    fields = ("image", "command", "args", "labels", "replicas", "suspend", "parameters")
    known = library({MAIN: "".join(f"{name}: {{{{ spec.{name} }}}}\n" for name in fields) + "z: 1\n"})
    shapes = [dict.fromkeys(some, 1) for size in range(8) for some in combinations(fields, size)]
    assert len(shapes) > staged._MAX_PAGES
    for spec in shapes * 2:
        drawn = sketch_template(MAIN, context(spec), known)
        assert manifest_text([drawn]) == serialize([{**spec, "z": 1}])
        assert 0 < len(drawn.skeleton.pages) <= staged._MAX_PAGES


class Box:
    """An object with an address, and nothing else to tell it by."""

    def __init__(self, inside: object) -> None:
        self.inside = inside

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Box)

    def __hash__(self) -> int:
        return 0


def test_what_is_remembered_by_identity_is_never_of_another_object() -> None:
    """Not of an equal one, nor of one that had the same address and is gone; and no more is held than was said."""
    looked = memo.by_identity(3)(lambda box: box.inside)
    alive: WeakSet[Any] = WeakSet()
    for number in range(100):
        box = type("Own", (Box,), {"__eq__": object.__eq__, "__hash__": object.__hash__})(number)
        alive.add(box)
        assert looked(box) == looked(box) == number
        assert looked(Box(-number)) == -number
        del box
        assert len(alive) <= 3


def test_what_is_remembered_is_worked_out_once() -> None:
    """For the same object, and for the same text, be it another object."""
    made: list[object] = []
    noted = memo.by_identity(3)(lambda box, text: made.append((box.inside, text)))
    box = Box("a")
    for text in ("one", "two", "-".join("one").replace("-", ""), "two"):
        noted(box, text)
    assert made == [("a", "one"), ("a", "two")]


# Threads

MANY_SHAPES = {
    MAIN: "a:\n- {{ spec.args | each('test/sub.j2') }}\n"
    "{% if spec.image == 'a' %}\nb: {{ spec.command }}\n{% endif %}\n"
    "c: {{ spec.labels }}\nd: {{ platform }}\ne: {{ spec.replicas }}\nf: {{ spec.suspend }}\n"
    "g: {{ spec.image ~ 'x' }}\nz: 1\n",
    SUB: "a: {{ item.a }}\n{% if item.b is defined %}\nb: {{ item.b }}\n{% endif %}\n",
}


@pytest.fixture
def hurried() -> Iterator[None]:
    """Threads that take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("most", [2, 1024])
def test_threads_give_what_one_thread_gives(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However they get into each other's way, forgetting included."""
    admins = [node({"x": [number]}, Layer.PLATFORM) for number in range(3)]
    optional: list[Data] = [{"a": "x", "b": 1}, {"a": []}, {"b": "y"}, {"a": "z"}]
    contexts = [
        context({"image": image, "args": list(args), **extra}, admin)
        for image in "abc"
        for args in product(optional, repeat=2)
        for extra in ({}, {"labels": {"k": image}}, {"command": ["c"], "replicas": 1}, {"suspend": True})
        for admin in admins
    ]
    shelf = Shelf(most)
    expected = plainly(MANY_SHAPES, *contexts)
    monkeypatch.setattr(render, "shelf_of", lambda _: shelf)
    monkeypatch.setattr(staged, "_MAX_PAGES", 3)
    known = library(MANY_SHAPES)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda seen: in_stages(known, seen), contexts))
    assert list(chain(*found)) == expected
    assert len(shelf) <= most


@pytest.mark.usefixtures("hurried")
def test_threads_write_pages_of_one_skeleton(monkeypatch: pytest.MonkeyPatch) -> None:
    """More pages than are kept, so that all threads throw them away all the time."""
    monkeypatch.setattr(staged, "_MAX_PAGES", 2)
    fields = ("image", "command", "args", "labels")
    known = library({MAIN: "".join(f"{name}: {{{{ spec.{name} }}}}\n" for name in fields) + "z: 1\n"})
    shapes: list[Data] = [dict.fromkeys(some, 1) for size in range(5) for some in combinations(fields, size)]
    drawn = [sketch_template(MAIN, context(spec), known) for spec in shapes] * 800
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda one: manifest_text([one]), drawn))
    assert found == [serialize([{**spec, "z": 1}]) for spec in shapes] * 800


# The bundled templates


def through(case: Case, known: Library) -> Compiled | None:
    """The compilation with the library's templates; nothing if the case does not compile."""
    read = [(data, layer) for data, layer in ((case.profile, Layer.PROFILE), (case.platform, Layer.PLATFORM))]
    profile, platform = (None if data is None else wrap(data, Source(f"<{layer}>", "", layer)) for data, layer in read)
    try:
        setting = prepare([profile] if profile else [], platform, known)
        stop_if_any(setting.findings)
        return compile_document(wrap(case.run, Source("<run>", "", Layer.RUN)).documents[0], setting)
    except CompileError:
        return None


@given(st.lists(cases(), min_size=1, max_size=3))
def test_bundled_templates_give_the_plain_text(drawn: list[Case]) -> None:
    """With a library that has seen many runs, and with one that has seen none."""
    fresh = library(bundled_library().templates)
    for case in [*drawn, drawn[0]]:
        warm, cold = through(case, bundled_library()), through(case, fresh)
        event(f"compiles: {warm is not None}")
        if warm is None or cold is None:
            assert warm is cold
            continue
        assert warm.to_yaml() == serialize(manifest.data for manifest in warm.manifests)
        assert warm.to_yaml() == cold.to_yaml() == serialize(manifest.data for manifest in cold.manifests)
        assert warm.manifests == cold.manifests


RUN = {
    "name": "a",
    "project": "p",
    "action": "job",
    "image": "python",
    "args": ["x"],
    "envs": {"A": "1"},
    "labels": {"t": "u"},
}


def test_a_second_run_of_the_same_shape_needs_no_jinja(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = library(bundled_library().templates)
    assert through(Case(RUN), fresh)
    called: list[str] = []

    def noted(known: Library, name: str) -> Any:
        called.append(name)
        return compiled_template(known, name)

    monkeypatch.setattr(skeleton_from_template, "compiled_template", noted)
    other = through(
        Case({**RUN, "name": "b", "image": "ruby", "args": ["y", "z"], "envs": {"B": "2", "C": "3"}}), fresh
    )
    assert other is not None
    assert not called
    assert "ruby" in other.to_yaml()
    assert through(Case({**RUN, "action": "deploy"}), fresh)
    assert called
