"""Takes profile and platform documents, gives them validated and canonical, and all that is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from speccompile.diagnostics import Diagnostic, Note, shown
from speccompile.library import Library
from speccompile.model import BUILT_IN, Document, Node, Platform, Profile
from speccompile.normalize import normalize
from speccompile.parse import Parsed
from speccompile.validate import near, validate, without_faulty

DEFAULT = "default"


def read_platform(parsed: Parsed | None, library: Library) -> tuple[Platform, tuple[Diagnostic, ...]]:
    """The platform's settings over the built-in ones; the built-in platform where there is no file."""
    built_in = _built_in(library)
    if parsed is None:
        return Platform(built_in), ()
    findings = list(parsed.findings)
    settings = built_in
    for document in parsed.documents[:1]:
        told, found = validate(document.root, "platform", library)
        findings += found
        settings = _over(built_in, told)
    if len(parsed.documents) > 1:
        findings.append(_several(parsed.documents[1], "platform"))
    return Platform(settings), tuple(findings)


def _built_in(library: Library) -> Node:
    root: dict[str, Node] = {}
    for path, value in library.defaults("platform"):
        fields = root
        for step in path[:-1]:
            inner = fields.setdefault(step, Node({}, BUILT_IN))
            assert isinstance(inner.value, dict)
            fields = inner.value
        fields[path[-1]] = Node(value, BUILT_IN)
    return Node(root, BUILT_IN)


def _over(weaker: Node, stronger: Node) -> Node:
    if not (isinstance(weaker.value, Mapping) and isinstance(stronger.value, Mapping)):
        return stronger
    grown = {
        key: _over(weaker.fields[key], child) if key in weaker.fields else child
        for key, child in stronger.fields.items()
    }
    return stronger.with_fields({**weaker.fields, **grown})


def read_profiles(
    files: Iterable[Parsed], platform: Platform, library: Library
) -> tuple[Mapping[str, Profile], tuple[Diagnostic, ...]]:
    """The profiles by id. Each file holds one profile document; no fault is passed over."""
    profiles: dict[str, Profile] = {}
    findings: list[Diagnostic] = []
    for parsed in files:
        findings += parsed.findings
        findings += [_several(document, "profile") for document in parsed.documents[1:]]
        for document in parsed.documents[:1]:
            profile, found = _read_profile(document, platform, library)
            findings += found
            if profile is None:
                continue
            first = profiles.setdefault(str(profile.id.value), profile)
            if first is not profile:
                findings.append(_repeated(profile, first))
    return profiles, tuple(findings)


def _read_profile(
    document: Document, platform: Platform, library: Library
) -> tuple[Profile | None, tuple[Diagnostic, ...]]:
    tree, findings = validate(document.root, "profile", library)
    fields, more = normalize(without_faulty(tree, findings), platform, library)
    if findings:
        return None, (*findings, *more)
    return Profile(source=document.source, id=tree.fields["id"], fields=fields), more


def _several(document: Document, noun: str) -> Diagnostic:
    return Diagnostic(
        code="profile/several-documents",
        message=f"a {noun} file holds one document, and this is another",
        span=document.root.span,
        help="put each into a file of its own",
    )


def _repeated(profile: Profile, first: Profile) -> Diagnostic:
    return Diagnostic(
        code="profile/duplicate-id",
        message=f"profile {shown(profile.id.value)} is defined a second time",
        span=profile.id.span,
        notes=(Note("first here", first.id.span),),
        help="rename one of the two",
    )


def choose(wanted: Node | None, profiles: Mapping[str, Profile]) -> tuple[Profile | None, tuple[Diagnostic, ...]]:
    """The profile a run names, else the one with id `default`, else none; an unknown name is an error."""
    if wanted is None:
        return profiles.get(DEFAULT), ()
    profile = profiles.get(str(wanted.value))
    if profile is not None:
        return profile, ()
    meant = near(str(wanted.value), profiles)
    known = ", ".join(f"`{name}`" for name in sorted(profiles)[:10]) if profiles else "no profiles were given"
    return None, (
        Diagnostic(
            code="profile/unknown",
            message=f"unknown profile {shown(wanted.value)}",
            span=wanted.span,
            path=("profile",),
            notes=(Note(f"known profiles: {known}" if profiles else known),),
            help=f"did you mean `{meant}`?" if meant else "name a known profile, or give its file with --profiles",
        ),
    )
