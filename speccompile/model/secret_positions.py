"""Secrets in a text, by their position in its tree: what a Secret or a field for secrets contains, and credentials."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, auto
from functools import lru_cache

from speccompile.model.credentials import credential_lines, credentials_in, may_have_credential
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.source import Layer, Source, lines_of, split_lines
from speccompile.model.yaml_outline import TextPart, outlines

# Patterns are compiled on use, because most calls need none.
_MENTION = "(?i)secret"
_IN_COMMENT = "(?i)#.*secret"
_KIND_MENTION = r"(?i)\bsecret(s|list)?\b(?![\"']?\s*:)"
"""A mention that is not a key: perhaps the kind of an object, before or after its values."""
_VARIABLES = r"env(?<!\wenv)[\"']?\s*:"
_FIELD = rf"(?i)secret|{_VARIABLES}"
_ESCAPE = r"\\[xuU\r\n]"
_NAMES = r"(?m)^secrets:(?: \[\w[-\w.]*(?:, \w[-\w.]*)*\]|\n( *)- \w[-\w.]*(?:\n\1- \w[-\w.]*)*)$(?=\n\w+:|\n?\Z)"
"""The names of a run's secrets, which are shown."""
_IDENTIFIER = r"[-\w.]*"
_NAME = r"[A-Za-z_][-\w./]*"
_SIGNS = r"[\W_]+"
_WORDS = ("secret", "env")
"""A part of a text in which neither word appears is secret only because of what is around it."""
_MAX_MENTIONS = 20
_MAX_NESTED = 3
"""Levels of texts inside texts, such as profiles in a ConfigMap."""
_MAX_TEXTS = 1000
"""Secret values that are compared with messages; of more, all the text is compared."""
_FILE_ENDINGS = (".yaml", ".yml", ".json")


class Secrets(NamedTuple):
    """What reports must not show of a text."""

    lines: frozenset[int] = frozenset()
    near: frozenset[int] = frozenset()
    """The lines, and those of all keys above them: a finding there may quote a secret."""
    values: frozenset[tuple[int, int]] = frozenset()
    """Lines and columns at which secret values begin."""
    texts: frozenset[str] = frozenset()
    """Secret values."""


@lru_cache(maxsize=8)
def secrets_in(source: Source) -> Secrets:
    """What may be secret in a text."""
    is_template = source.layer is Layer.TEMPLATE and not source.name.endswith(_FILE_ENDINGS)
    has_credential = may_have_credential(source.text)
    if not has_credential and (is_template or not may_contain_secrets(source.text)):
        return Secrets()
    found, lines = _Found(source.layer), lines_of(source)
    # Also in comments, and in templates, which are not YAML.
    found.lines.update(credential_lines(lines) if has_credential else ())
    found.read(lines, None if is_template else source.text)
    texts = found.texts if len(found.texts) <= _MAX_TEXTS else (source.text,)
    near = found.near | found.lines
    return Secrets(frozenset(found.lines), frozenset(near), frozenset(found.values), frozenset(texts))


def may_contain_secrets(text: str) -> bool:
    """Whether a part of the text may be secret because of its words, whatever is around it."""
    # Patterns that ignore case are slow. An escape may hide a word.
    folded = text.casefold()
    return (
        "secret" in folded
        or ("env" in folded and re.search(_VARIABLES, folded) is not None)
        or ("\\" in text and re.search(_ESCAPE, text) is not None)
    )


def is_free_of_secrets(text: str) -> bool:
    """Whether a text, if it can be read, has at most the names of secrets, as most runs do; False if in doubt."""
    if may_have_credential(text):
        return False
    if not may_contain_secrets(text):
        return True
    others, count = re.subn(_NAMES, "", text, count=1)
    # `envs` has values that are shown, unlike `env` of a container.
    return count > 0 and _mentions([line for line in split_lines(others) if line != "envs:"]) == []


class _Place(Enum):
    """What a part of the tree belongs to."""

    ORDINARY = auto()
    SECRET = auto()
    """All of it may be secret."""
    OBJECT = auto()
    """A Secret, or a volume that mounts one: values that do not describe it may be secret."""
    IDENTIFIERS = auto()
    """A list of the names of secrets."""
    VARIABLES = auto()
    """The variables of a container, which often contain passwords."""
    SETTINGS = auto()
    """`secrets` of the platform, which says where they are stored, or a rule for `secrets`."""


_KINDS = frozenset({"secret", "secrets", "secretlist"})
"""Values of `kind` and `volume_type`, with common misspellings: an unknown kind may still be a Secret."""
_KIND_KEYS = frozenset({"kind", "volumetype"})
_SHOWN: Mapping[_Place, frozenset[str]] = {
    _Place.OBJECT: frozenset(
        {"apiversion", "kind", "mountpath", "name", "namespace", "readonly", "subpath", "volumetype"}
    ),
    _Place.VARIABLES: frozenset({"name", "valuefrom"}),
    _Place.SETTINGS: frozenset({"allowforeign", "store"}),
}
"""Keys whose values are never secret, in places where others may be."""
_INSIDE = frozenset({"", "metadata", "spec"})
"""Keys of an object below which it continues; a merge key has no letters."""


class _Found:
    """The secrets of one text."""

    def __init__(self, layer: Layer, nested: int = 0) -> None:
        self.lines: set[int] = set()
        self.near: set[int] = set()
        self.values: set[tuple[int, int]] = set()
        self.texts: set[str] = set()
        self._layer = layer
        self._nested = nested
        self._root: TextPart | None = None
        self._visited: dict[tuple[int, _Place], bool] = {}
        self._mentions: Sequence[int] | None = None
        """The lines outside of which only secret places have secrets; None if that is not known."""

    def search(self, part: TextPart, place: _Place = _Place.ORDINARY) -> bool:
        """Search a part of the tree; return whether it contains a secret."""
        if place is _Place.ORDINARY and self._mentions is not None:
            first, last = part.first, part.last
            if not any(first <= line <= last for line in self._mentions):
                return False
        visit = (id(part), place)
        if visit not in self._visited:
            self._visited[visit] = False
            is_object = place is _Place.ORDINARY and part.is_mapping and self._is_secret_object(part)
            found = [self._search_child(part, *child, _Place.OBJECT if is_object else place) for child in part.children]
            is_text = part.text is not None and self._search_text(part, part.text, place)
            if place is _Place.SECRET:
                self.lines.update(range(part.first, part.last + 1))
                self.values.add((part.first, part.column))
                self.texts.update(part.names)
            self._visited[visit] = is_text or place is _Place.SECRET or any(found)
            self.near.update((part.first,) if self._visited[visit] else ())
        return self._visited[visit]

    def _is_secret_object(self, part: TextPart) -> bool:
        # A target lists kinds with their templates.
        is_row = self._layer is Layer.TEMPLATE and any(_letters(key) == "template" for key, _ in part.children)
        return not is_row and not _KINDS.isdisjoint(_kinds(part))

    def _search_child(self, parent: TextPart, key: TextPart | None, child: TextPart, place: _Place) -> bool:
        name = _letters(key)
        child_place = self._place_below(place, name, child)
        if child_place is _Place.ORDINARY and name == "value" and _is_named_secret(parent):
            child_place = _Place.SECRET
        elif child_place is _Place.VARIABLES and parent is self._root:
            # `env` of a run is `envs` misspelled, and the values of both are in its manifests.
            child_place = _Place.ORDINARY
        is_found = self.search(child, child_place)
        if key is not None:
            # In `{a:b}`, where a space is missing, the value is a part of the key.
            is_name = child_place is not _Place.SECRET or re.fullmatch(_NAME, key.text or "")
            is_found |= self.search(key, _Place.ORDINARY if is_name else _Place.SECRET)
            self.near.update((key.first,) if is_found else ())
        return is_found

    def _place_below(self, place: _Place, name: str, child: TextPart) -> _Place:
        """The place of the value at a key."""
        is_list = child.text is None and not child.is_mapping
        if place is _Place.IDENTIFIERS and child.text is not None and re.fullmatch(_IDENTIFIER, child.text):
            return _Place.ORDINARY
        if place is _Place.OBJECT and name in _INSIDE and child.text is None:
            return _Place.OBJECT
        if place is _Place.VARIABLES and not name and child.is_mapping:
            return _Place.VARIABLES
        if place is _Place.SETTINGS and name == "options" and is_list:
            return _Place.IDENTIFIERS
        if place is not _Place.ORDINARY:
            return _Place.ORDINARY if name in _SHOWN.get(place, ()) else _Place.SECRET
        if name == "env":
            return _Place.VARIABLES
        if name == "secrets" and is_list:
            return _Place.IDENTIFIERS
        if self._layer is Layer.PLATFORM and name == "registrysecret":
            return _Place.ORDINARY
        if self._layer in (Layer.PROFILE, Layer.PLATFORM) and name == "secrets" and child.is_mapping:
            return _Place.SETTINGS
        return _Place.SECRET if "secret" in name else _Place.ORDINARY

    def _search_text(self, part: TextPart, text: str, place: _Place) -> bool:
        values = [text] if place is _Place.SECRET else [*credentials_in(text)]
        self.texts.update(value for value in values if value)
        self.lines.update(range(part.first, part.last + 1) if values else ())
        # The lines of a quoted or plain scalar are joined by spaces: an unclosed quote may have swallowed a Secret.
        is_nested = "\n" in text or "{" in text or part.last > part.first
        if self._nested < _MAX_NESTED and is_nested and may_contain_secrets(text):
            self._search_nested(part, text)
        return bool(values)

    def _search_nested(self, part: TextPart, text: str) -> None:
        """Search a text inside the text, such as a profile in a ConfigMap."""
        inner = _Found(self._layer, self._nested + 1)
        inner.read(split_lines(text), text)
        self.texts |= inner.texts
        if part.is_literal:
            self.lines.update(part.first + line for line in inner.lines)
            self.near.update(part.first + line for line in inner.near)
        elif inner.lines:
            self.lines.update(range(part.first, part.last + 1))

    def read(self, lines: Sequence[str], text: str | None) -> None:
        """Search a whole text, unless it is not YAML."""
        documents, is_complete = outlines(text) if text is not None else ([], False)
        # The last line of a mapping is known only if it is complete.
        self._mentions = _mentions(lines) if is_complete else None
        for self._root in documents:
            self.search(self._root)
        if not is_complete:
            self.lines.update(_unread_lines(lines) if text is not None else ())
            self.texts.update(lines[number - 1] for number in self.lines if lines[number - 1])
        self.lines.update(_comments(self.lines, lines))


def _mentions(lines: Sequence[str]) -> Sequence[int] | None:
    """The lines that may mention a secret; None if there are many, or if one may be mentioned in another way."""
    text = "\n".join(lines)
    # Aliases repeat other lines, and a key after a question mark may have several.
    if "*" in text or "?" in text or "\\" in text or may_have_credential(text):
        return None
    folded = (re.sub(_SIGNS, "", line).casefold() for line in lines)
    numbers = [number for number, line in enumerate(folded, start=1) if any(word in line for word in _WORDS)]
    return numbers if len(numbers) <= _MAX_MENTIONS else None


def _letters(key: TextPart | None) -> str:
    """A key without the differences between `volume_type`, `volumeType` and `VOLUME-TYPE`."""
    return re.sub(_SIGNS, "", key.text).casefold() if key and key.text else ""


def _kinds(part: TextPart, levels: int = _MAX_NESTED) -> Iterator[str]:
    """The kind of a mapping, also from the mappings that it merges."""
    for key, child in part.children if levels else ():
        if _letters(key) in _KIND_KEYS:
            yield (child.text or "").casefold()
        elif key is None or key.text == "<<":
            yield from _kinds(child, levels - 1)


def _is_named_secret(part: TextPart) -> bool:
    """Whether the mapping is a pair of a value and a name that mentions a secret."""
    names = (child.text or "" for key, child in part.children if _letters(key) in ("key", "name"))
    return any(re.search(_MENTION, name) for name in names)


def _comments(hidden: set[int], lines: Sequence[str]) -> Iterator[int]:
    """The comments that mention secrets or follow hidden lines, which may be older values."""
    is_after = False
    for number, line in enumerate(lines, start=1):
        is_after = number in hidden or (is_after and line.lstrip().startswith("#"))
        is_after |= re.search(_IN_COMMENT, line) is not None
        if is_after:
            yield number


def _unread_lines(lines: Sequence[str]) -> range:
    """All lines from the first field for secrets on; the whole text if it may mention the kind of an object."""
    mentions = [number for number, line in enumerate(lines, start=1) if re.search(_FIELD, line)]
    has_kind = any(re.search(_KIND_MENTION, lines[number - 1]) for number in mentions)
    return range(1 if has_kind else mentions[0], len(lines) + 1) if mentions else range(0)
