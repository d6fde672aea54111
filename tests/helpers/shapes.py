"""Texts of one structure, and the comparison of their compilation by pages with the ordinary path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from speccompile.compiler.compiled import Compiled, Result
from speccompile.compiler.shapes.split_text import GAP, SplitText
from speccompile.model.source import Layer, Source

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
    """What a result shows without building trees, which the ordinary path builds in any case."""
    if not isinstance(result, Compiled):
        return (result.diagnostics, result.overrides)
    return (
        result.to_yaml(),
        result.diagnostics,
        result.name,
        result.project,
        result.place,
        result.objects,
        result.whole,
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
