"""Texts of one structure, and the comparison of their compilation by pages with the ordinary path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from speccompile.compiler.compile_files import compile_file, source_compiler
from speccompile.compiler.compiled import Compiled, Result
from speccompile.compiler.documents.admin_config import Setting
from speccompile.compiler.shapes.known_shapes import KnownShapes, _key, _numbers_of
from speccompile.compiler.shapes.page import ShapePage
from speccompile.compiler.shapes.split_text import GAP, SplitText, split_text
from speccompile.compiler.shapes.varying import _marked
from speccompile.model.source import Layer, Source
from speccompile.schema.library import Library
from speccompile.schema.validate import validate
from speccompile.yaml_text.parse import parse

_SCALARS = """\
a
b-c
a--b
x-x0123456789
n
true
null
~
1
007
1e3
0x10
12:30
2026-11-18
8080
80
0
-1
70000
9090
1Gi
1024Mi
500m
0.5
64
3000
1Ki
2.5Gi
"1"
"true"
''
""
'a b'
"a, b"
a,b
a, b
a b
a:b
a: b
a #b
#a
a#b
[a]
{a: b}
- a
*a
&a b
!a b
|
>
@a
`a`
%a
?
? a
"a
é
“a”
/a
/a/
/scratch
/data
/shared
/cache
3Ti
../a
$(HOME)
$$
hf_abcdefghijklmnop1
https://u:p@h/x
my-secret
webhook
env: a
a@b
ghcr.io/acme/a:1
zq1qz
731001Mi
41001
%s
50%
name
default
ReadWriteMany
Memory
persistent_volume_claim
empty_dir
config_map
job
serve
ReadWriteOnce
kubernetes
"""
SCALARS = (*_SCALARS.splitlines(), "a\n  b", "a" * 70, "a" * 300)
"""Scalars as written, most of which need a closer look in one field or another."""


def source(text: str, name: str = "run.yaml") -> Source:
    return Source(name, text, Layer.RUN)


def outcome(result: Result) -> tuple[Any, ...]:
    """What a result shows, except for its trees, which the ordinary path builds on demand."""
    if not isinstance(result, Compiled):
        return (result.diagnostics, result.overrides)
    return (
        result.to_yaml(),
        result.diagnostics,
        result.name,
        result.project,
        result.place,
        result.objects,
    )


def scalars_in(data: Any) -> Iterator[str]:
    if isinstance(data, (dict, list, tuple)):
        for child in data.values() if isinstance(data, dict) else data:
            yield from scalars_in(child)
    elif data is not None:
        yield str(data)


def with_scalars(split: SplitText, scalars: Sequence[str]) -> str:
    """The text of the structure with other scalars."""
    return "".join(part for pair in zip(split.structure.split(GAP), (*scalars, ""), strict=True) for part in pair)


def marked_scalars(text: str, library: Library) -> dict[int, tuple[str, str]]:
    """Kind and key of the scalars that the schemas mark, by their number; empty for a text that is not one run."""
    split = split_text(text)
    documents = parse(source(text)).documents
    if split is None or len(documents) != 1:
        return {}
    properties = library.resolve(library.schemas["run"])["properties"]
    tree, _ = validate(documents[0].root, "run", library)
    numbers = _numbers_of(tree, split)
    return {
        numbers[id(node)]: (schema["x-varies"], str(path[-1]))
        for name, field in tree.fields.items()
        if name in properties
        for path, node, schema in _marked(field, properties[name], (name,), library)
        if id(node) in numbers
    }


def assert_same(texts: list[str], setting: Setting) -> None:
    """Compile the texts in order, and each of them alone by the ordinary path."""
    compile_source = source_compiler(setting)
    for number, text in enumerate(texts):
        one = source(text, f"run-{number}.yaml")
        expected = [outcome(result) for result in compile_file(parse(one), setting)]
        assert [outcome(result) for result in compile_source(one)] == expected, text


class Page:
    """A run that was compiled three times, and the comparison of other runs of its shape with the ordinary path."""

    def __init__(self, text: str, setting: Setting) -> None:
        self._setting = setting
        self._shapes = KnownShapes(setting, self._compile_usually)
        for number in range(3):
            self._shapes.compile(source(text, f"{number}.yaml"))
        self.split = split_text(text) or SplitText(text, ())
        structure = self._shapes._structures.get(self.split.structure)
        self.holes = structure.holes.get(structure.decided_by(self.split.scalars)) if structure else None
        self._key = _key(self.split.scalars, self.holes)[0] if self.holes else ""
        self.exists = isinstance(self._shapes._shapes.get(self._key), ShapePage)

    def _compile_usually(self, one: Source) -> list[Result]:
        return [*compile_file(parse(one), self._setting)]

    def with_others(self, number: int, others: Iterable[str]) -> Iterator[tuple[str, ...]]:
        """The scalars of other runs that the page compiles: with one scalar replaced by each of the others."""
        scalars = self.split.scalars
        for other in others:
            changed = (*scalars[:number], other, *scalars[number + 1 :])
            has_same_shape = self.holes is not None and _key(changed, self.holes)[0] == self._key
            if has_same_shape and split_text(with_scalars(self.split, changed)) == (self.split.structure, changed):
                yield changed

    def assert_same(self, scalars: Sequence[str]) -> None:
        """Compile the run with other scalars by the page and by the ordinary path."""
        one = source(with_scalars(self.split, scalars))
        expected = [outcome(result) for result in self._compile_usually(one)]
        assert [outcome(result) for result in self._shapes.compile(one)] == expected, one.text
