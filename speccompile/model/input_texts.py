"""Input as text, before it is parsed: sent to workers, and part of cache keys."""

from __future__ import annotations

from speccompile.model.light_namedtuple import NamedTuple


class Text(NamedTuple):
    """A text with its name, or Python data as a JSON list of documents."""

    name: str
    text: str
    is_data: bool = False


class TemplateFile(NamedTuple):
    """A file of a custom target: its path in the library, its file name and its text."""

    path: str
    name: str
    text: str


class AdminTexts(NamedTuple):
    """The texts that all runs of a call share: the admin's files, and the functions that runs name."""

    profiles: tuple[Text, ...]
    platform: Text | None
    templates: tuple[TemplateFile, ...] = ()
    project: Text | None = None
    """The project file, if it names the project of every run."""
    trusts_profiles: bool = True
    """Whether the profiles are the admin's; the platform restricts those of others as it does runs."""
    functions: tuple[Text, ...] = ()
    """The users' functions and tasks."""
    beside_runs: tuple[Text, ...] = ()
    """Files of runs that contain functions or tasks."""
