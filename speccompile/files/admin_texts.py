"""Texts of profiles, platform and templates, from paths or Python data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from speccompile.files.call_inputs import CallError, Inputs
from speccompile.files.find import Unlisted, template_files
from speccompile.files.read import MAX_FILE_BYTES, expand, is_stream, no_templates, read_file
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.documents import Document
from speccompile.model.input_texts import AdminTexts, TemplateFile, Text
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.source import Layer, Source, Span
from speccompile.schema.bundled import preset_names
from speccompile.schema.suggestions import near
from speccompile.yaml_text.parsed import Parsed

_MOST_KNOWN = 4 * 1024 * 1024
"""Characters of runs that are kept in memory; the files of others are read again."""
AdminInput: TypeAlias = Mapping[str, Any] | Path | str
"""A platform: Python data, a path, or the name of a bundled preset."""
ProfileInput: TypeAlias = AdminInput | Sequence[Mapping[str, Any]]
"""A profile: Python data (a list if it has base documents), or the path of a file or directory."""


class AdminFiles(NamedTuple):
    """The texts of an admin, with findings in place of those that cannot be read."""

    profiles: tuple[Text | Parsed, ...]
    platform: Text | Parsed | None
    templates: tuple[TemplateFile | Parsed, ...] = ()
    project: Text | Parsed | None = None
    """The project file, if it names the project of every run."""
    trusts_profiles: bool = True
    functions: tuple[Text | Parsed, ...] = ()
    """The users' functions and tasks."""
    beside_runs: tuple[Text, ...] = ()
    """Files of runs that contain functions or tasks."""

    @property
    def admin(self) -> AdminTexts | None:
        """All texts; None if one cannot be read."""
        profiles, functions = (
            tuple(text for text in texts if isinstance(text, Text)) for texts in (self.profiles, self.functions)
        )
        platform, project = (None if isinstance(text, Parsed) else text for text in (self.platform, self.project))
        templates = tuple(text for text in self.templates if isinstance(text, TemplateFile))
        is_complete = len(profiles) == len(self.profiles) and platform is self.platform and project is self.project
        if not is_complete or len(templates) < len(self.templates) or len(functions) < len(self.functions):
            return None
        return AdminTexts(profiles, platform, templates, project, self.trusts_profiles, functions, self.beside_runs)


def read_admin(
    profiles: Iterable[ProfileInput] | AdminInput | None,
    platform: AdminInput | None,
    templates: Path | str | None = None,
    project: str | None = None,
    functions: Iterable[AdminInput] = (),
) -> AdminFiles:
    """Read profiles, platform, templates and functions without parsing them; a directory means the files in it.

    `project` is the project of every run.
    """
    texts = tuple(text for profile in as_profiles(profiles) for text in _profile_texts(profile))
    custom = () if templates is None else _templates(templates)
    fixed = None if project is None else data_text(({"project": project},), Source("<project>", "", Layer.PLATFORM))
    entities = read_functions(functions)
    return AdminFiles(texts, None if platform is None else platform_text(platform), custom, fixed, functions=entities)


def read_admin_of(inputs: Inputs, known: dict[int, Source] | None = None) -> AdminFiles:
    """Read the profiles, platform, templates and functions of a call without parsing them.

    Texts of runs that are read on the way are added to `known`, while they are few.
    """
    files = read_admin(inputs.profiles, inputs.platform, inputs.templates, functions=inputs.functions)
    return files._replace(
        project=fixed_project(inputs),
        trusts_profiles=inputs.trusts_profiles,
        beside_runs=entities_beside_runs(inputs, known),
    )


def entities_beside_runs(inputs: Inputs, known: dict[int, Source] | None = None) -> tuple[Text, ...]:
    """The run files of a call that contain functions or tasks, as in an exported directory.

    All texts are added to `known`, while they are few. Raises CallError if there is no run in any file.
    """
    found: list[Text] = []
    room = 0 if known is None else _MOST_KNOWN
    for number, path in enumerate(inputs.runs):
        read = read_file(path, Layer.RUN, MAX_FILE_BYTES) if isinstance(path, Path) and not is_stream(path) else None
        if not isinstance(read, Source):
            continue
        room -= len(read.text)
        if known is not None and room > 0:
            known[number] = read
        # Most runs have no kind, and the search for it is short.
        if "kind" in read.text and re.search(_ENTITY, read.text):
            found.append(Text(read.name, read.text))
    # Manifests, which `verify` reads, can contain the text of functions.
    has_others = any("apiVersion" in text.text or re.search(_RUN, text.text) for text in found)
    if found and len(found) == len(inputs.runs) and not has_others:
        raise CallError(f"{found[0].name} has functions or tasks, but no run; pass the runs, and this with --functions")
    return tuple(found)


_ENTITY = r"""(?:^|[{,\s])["']?kind["']?\s*:\s*["']?[a-z0-9][-.a-z0-9]*(?:\+[a-z]+)?["']?\s*(?:[,}#\r\n]|$)"""
"""The kind of a function or task, in YAML or JSON; Kubernetes writes kinds with a capital, and runs end in `:run`."""


def fixed_project(inputs: Inputs) -> Text | Parsed | None:
    """The text of the project file, if it names the project of every run."""
    return file_text(inputs.project, Layer.PLATFORM) if inputs.fixes_project else None


def _templates(folder: Path | str) -> tuple[TemplateFile | Parsed, ...]:
    fault = path_fault(folder, "a directory", Layer.TEMPLATE)
    return (Parsed((), (fault,)),) if fault else tuple(read_templates(Path(folder)))


def path_fault(path: object, what: str, layer: Layer) -> Diagnostic | None:
    """The error for a value that is not a path."""
    if isinstance(path, (str, PathLike)):
        return None
    return Diagnostic(
        code="schema/wrong-type",
        message=f"expected the path of {what}, found a value of type `{type(path).__name__}`",
        span=Span(Source(f"<{layer}>", "", layer)),
        help="pass a string or a `pathlib.Path`",
    )


def read_templates(folder: Path) -> Iterator[TemplateFile | Parsed]:
    """Read the templates in the target folders of a folder, named by their paths in it, with findings for the rest."""
    is_empty = True
    for entry in template_files(folder):
        is_empty = False
        if isinstance(entry, Unlisted):
            yield no_templates(str(entry.path), entry.error)
            continue
        read = read_file(entry, Layer.TEMPLATE, MAX_FILE_BYTES)
        if isinstance(read, Source):
            # Some editors begin a file with a byte order mark.
            yield TemplateFile(entry.relative_to(folder).as_posix(), read.name, read.text.removeprefix("\ufeff"))
        else:
            yield read
    if is_empty:
        yield no_templates(str(folder), None)


def as_profiles(profiles: Iterable[ProfileInput] | AdminInput | None) -> tuple[ProfileInput, ...]:
    """A list of profiles; a single one, which may be a string, becomes a list of one."""
    if profiles is None:
        return ()
    # Anything else that is not a list is one profile too, and refused later.
    if isinstance(profiles, (str, Path, Mapping)) or not isinstance(profiles, Iterable):
        return (profiles,)
    return tuple(profiles)


def platform_text(platform: AdminInput) -> Text | Parsed:
    if isinstance(platform, str) and platform in preset_names():
        platform = {"preset": platform}
    if not isinstance(platform, (str, PathLike)):
        return data_text((platform,), Source("<platform>", "", Layer.PLATFORM))
    text = file_text(Path(platform), Layer.PLATFORM)
    return _suggest_preset(text, str(platform)) if isinstance(text, Parsed) else text


def _suggest_preset(parsed: Parsed, name: str) -> Parsed:
    """Name the preset that was probably meant by a platform file that does not exist."""
    preset = near(name, preset_names())
    if not preset or [finding.code for finding in parsed.findings] != ["input/missing-file"]:
        return parsed
    finding = parsed.findings[0]._replace(help=f"did you mean the preset `{preset}`?")
    return parsed._replace(findings=(finding,))


def file_text(path: Any, layer: Layer) -> Text | Parsed:
    """The text of a file, or findings if it cannot be read."""
    read = read_file(path, layer, MAX_FILE_BYTES)
    return Text(read.name, read.text) if isinstance(read, Source) else read


def data_text(documents: Iterable[object], source: Source) -> Text | Parsed:
    """Python data as JSON text, or findings about it; later changes of the data have no effect."""
    import json

    from speccompile.yaml_text.from_python import wrap

    files = [wrap(document, source) for document in documents]
    findings = tuple(finding for file in files for finding in file.findings)
    wrapped: tuple[Document, ...] = tuple(document for file in files for document in file.documents)
    if findings:
        return Parsed(wrapped, findings)
    return Text(source.name, json.dumps([document.root.plain() for document in wrapped]), is_data=True)


_RUN = r"""\+[a-z]+:run|(?:^|[{,\s])["']?action["']?[ \t]*:"""
"""What every file with a run contains."""


def read_functions(functions: Iterable[AdminInput]) -> tuple[Text | Parsed, ...]:
    """Read functions and tasks without parsing them; a directory means the files in it."""
    return tuple(text for one in functions for text in _function_texts(one))


def _function_texts(function: AdminInput) -> Iterator[Text | Parsed]:
    if isinstance(function, (str, Path)):
        yield from (file_text(path, Layer.FUNCTION) for path in expand([Path(function)]))
    else:
        yield data_text((function,), Source("<function>", "", Layer.FUNCTION))


def _profile_texts(profile: ProfileInput) -> Iterator[Text | Parsed]:
    if isinstance(profile, (str, Path)):
        yield from (file_text(path, Layer.PROFILE) for path in expand([Path(profile)]))
        return
    # Anything else is one document, and refused later if it is not a mapping.
    data = profile if isinstance(profile, (list, tuple)) and profile else (profile,)
    yield data_text(data, Source("<profile>", "", Layer.PROFILE))
