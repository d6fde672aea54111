"""Read profiles, platform and templates into the setting that runs are compiled under."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from speccompile.compiler.bundled_library import bundled_library, library_of
from speccompile.compiler.documents.admin_config import Setting, parsed, prepare, setting_of
from speccompile.files.admin_texts import (
    AdminFiles,
    AdminInput,
    ProfileInput,
    entities_beside_runs,
    fixed_project,
    platform_text,
    read_admin,
    read_admin_of,
    read_functions,
    read_templates,
)
from speccompile.files.call_inputs import Inputs
from speccompile.model.input_texts import TemplateFile, Text
from speccompile.model.source import Layer
from speccompile.yaml_text.parsed import Parsed


def setting_for(inputs: Inputs) -> Setting:
    """Read and check the profiles, platform and templates of a call."""
    return setting_from(read_admin_of(inputs))


def read_setting(
    profiles: Iterable[ProfileInput] | AdminInput, platform: AdminInput | None, templates: Path | str | None = None
) -> Setting:
    """Read and check profiles, platform and templates; a directory means the files in it."""
    return setting_from(read_admin(profiles, platform, templates))


def setting_from(texts: AdminFiles) -> Setting:
    """Parse the texts into a setting, with all findings."""
    admin = texts.admin
    if admin is not None:
        return setting_of(admin)
    platform = None if texts.platform is None else parse_text(texts.platform, Layer.PLATFORM)
    project = None if texts.project is None else parse_text(texts.project, Layer.PLATFORM)
    profiles = (parse_text(text, Layer.PROFILE) for text in texts.profiles)
    functions, beside_runs = (
        [parse_text(text, Layer.FUNCTION) for text in some] for some in (texts.functions, texts.beside_runs)
    )
    setting = prepare(
        profiles,
        platform,
        bundled_library(),
        project,
        trusts_profiles=texts.trusts_profiles,
        functions=functions,
        beside_runs=beside_runs,
    )
    return _with_faults(setting, texts.templates)


def setting_with(
    profiles: Iterable[Parsed], inputs: Inputs, platform: Parsed | None = None, *, trusts_profiles: bool = True
) -> Setting:
    """Like `setting_for`, with parsed profiles, and possibly a parsed platform."""
    text = platform or (None if inputs.platform is None else platform_text(inputs.platform))
    custom = () if inputs.templates is None else tuple(read_templates(inputs.templates))
    library = library_of(tuple(template for template in custom if isinstance(template, TemplateFile)))
    parsed_platform, project = (
        None if one is None else parse_text(one, Layer.PLATFORM) for one in (text, fixed_project(inputs))
    )
    functions, beside_runs = (
        [parse_text(one, Layer.FUNCTION) for one in some]
        for some in (read_functions(inputs.functions), entities_beside_runs(inputs))
    )
    setting = prepare(
        profiles,
        parsed_platform,
        library,
        project,
        trusts_profiles=trusts_profiles,
        functions=functions,
        beside_runs=beside_runs,
    )
    return _with_faults(setting, custom)


def parse_text(text: Text | Parsed, layer: Layer = Layer.RUN) -> Parsed:
    """The documents of a text, or its findings if it could not be read."""
    return text if isinstance(text, Parsed) else parsed(text, layer)


def _with_faults(setting: Setting, templates: Iterable[TemplateFile | Parsed]) -> Setting:
    """The setting, with the findings of templates that cannot be read."""
    faults = [finding for text in templates if isinstance(text, Parsed) for finding in text.findings]
    return setting._replace(findings=(*setting.findings, *faults))
