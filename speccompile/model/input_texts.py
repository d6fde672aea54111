"""Input as text, before it is parsed: what travels to workers and what the cache goes by."""

from __future__ import annotations

from speccompile.model.light_namedtuple import NamedTuple


class Text(NamedTuple):
    """A text with its name; or Python data, as a JSON list of documents."""

    name: str
    text: str
    is_data: bool = False


class Template(NamedTuple):
    """A file of a target that an admin wrote: its path in a library, the name people know it by, and its text."""

    path: str
    name: str
    text: str


class Admin(NamedTuple):
    """What the admin wrote."""

    profiles: tuple[Text, ...]
    platform: Text | None
    templates: tuple[Template, ...] = ()
