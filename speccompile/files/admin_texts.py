"""What an admin wrote, as texts: profiles, platform and templates, from paths or Python data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from speccompile.files.find import Unlisted, template_files
from speccompile.files.read import MAX_BYTES, expand, no_templates, read_file
from speccompile.model.documents import Document
from speccompile.model.input_texts import AdminTexts, TemplateFile, Text
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.source import Layer, Source
from speccompile.schema.bundled import preset_names
from speccompile.yaml_text.parsed import Parsed

AdminInput: TypeAlias = Mapping[str, Any] | Path | str
"""A platform: Python data, a path, or the name of a bundled preset."""
ProfileInput: TypeAlias = AdminInput | Sequence[Mapping[str, Any]]
"""A profile: Python data, with its base documents as a list, or the path of a file or directory."""


class Written(NamedTuple):
    """What the admin wrote: texts, and why others could not be read."""

    profiles: tuple[Text | Parsed, ...]
    platform: Text | Parsed | None
    templates: tuple[TemplateFile | Parsed, ...] = ()

    @property
    def admin(self) -> AdminTexts | None:
        """All of it as texts; None if something could not be read."""
        profiles = tuple(text for text in self.profiles if isinstance(text, Text))
        platform = None if isinstance(self.platform, Parsed) else self.platform
        templates = tuple(text for text in self.templates if isinstance(text, TemplateFile))
        is_whole = len(profiles) == len(self.profiles) and platform is self.platform
        return AdminTexts(profiles, platform, templates) if is_whole and len(templates) == len(self.templates) else None


def read_admin(
    profiles: Iterable[ProfileInput] | AdminInput, platform: AdminInput | None, templates: Path | str | None = None
) -> Written:
    """What the admin wrote, read but not understood; a directory stands for the files in it."""
    texts = tuple(text for profile in listed(profiles) for text in _profile_texts(profile))
    own = () if templates is None else tuple(read_templates(Path(templates)))
    return Written(texts, None if platform is None else platform_text(platform), own)


def read_templates(folder: Path) -> Iterator[TemplateFile | Parsed]:
    """The templates in the target folders of a folder, by their paths below it; or why they cannot be read."""
    found = False
    for entry in template_files(folder):
        found = True
        if isinstance(entry, Unlisted):
            yield no_templates(str(entry.path), entry.error)
            continue
        read = read_file(entry, Layer.TEMPLATE, MAX_BYTES)
        if isinstance(read, Source):
            # Some editors begin a file with a mark that is no text.
            yield TemplateFile(entry.relative_to(folder).as_posix(), read.name, read.text.removeprefix("\ufeff"))
        else:
            yield read
    if not found:
        yield no_templates(str(folder), None)


def listed(profiles: Iterable[ProfileInput] | AdminInput) -> tuple[ProfileInput, ...]:
    """The profiles; a single one counts as a list of one, though a string could be taken letter by letter."""
    return (profiles,) if isinstance(profiles, (str, Path, Mapping)) else tuple(profiles)


def platform_text(given: AdminInput) -> Text | Parsed:
    if isinstance(given, str) and given in preset_names():
        given = {"preset": given}
    if isinstance(given, Mapping):
        return data_text((given,), Source("<platform>", "", Layer.PLATFORM))
    return file_text(Path(given), Layer.PLATFORM)


def file_text(path: Any, layer: Layer) -> Text | Parsed:
    """The text of a file, or why there is none."""
    read = read_file(path, layer, MAX_BYTES)
    return Text(read.name, read.text) if isinstance(read, Source) else read


def data_text(documents: Iterable[object], source: Source) -> Text | Parsed:
    """Python data as one text, or what is wrong with it; it is ours from now on, whatever becomes of the original."""
    import json

    from speccompile.yaml_text.from_python import wrap

    files = [wrap(document, source) for document in documents]
    findings = tuple(finding for file in files for finding in file.findings)
    known: tuple[Document, ...] = tuple(document for file in files for document in file.documents)
    if findings:
        return Parsed(known, findings)
    return Text(source.name, json.dumps([document.root.plain() for document in known]), is_data=True)


def _profile_texts(profile: ProfileInput) -> Iterator[Text | Parsed]:
    if isinstance(profile, (str, Path)):
        yield from (file_text(path, Layer.PROFILE) for path in expand([Path(profile)]))
        return
    # Whatever is no list of documents is one, or is found to be none.
    data = profile if isinstance(profile, (list, tuple)) and profile else (profile,)
    yield data_text(data, Source("<profile>", "", Layer.PROFILE))
