"""Container image references."""

import re
from typing import Final

from speccompile.model.diagnostic import quote
from speccompile.schema.formats.text_format import Shape, ValueFault, shape_fault, too_long, with_suggestion

_LONGEST_IMAGE_NAME: Final = 255
_LONGEST_DIGEST: Final = 256
_SCHEME: Final = r"[A-Za-z][A-Za-z0-9+.-]{0,30}://"
_IMAGE_HOST: Final = (
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*"
    r"|\[[A-Fa-f0-9:]+\])(?::[0-9]+)?"
)
_IMAGE_PART: Final = r"[a-z0-9]+(?:(?:[.]|__?|-+)[a-z0-9]+)*"
_IMAGE_PATH: Final = rf"{_IMAGE_PART}(?:/{_IMAGE_PART})*"
_LENGTH_OF_ID: Final = 64
_IMAGE_ID: Final = r"[a-f0-9]+"
_IMAGE_TAG: Final = Shape(
    "an image tag",
    r"[A-Za-z0-9_][A-Za-z0-9_.-]*",
    128,
    "use letters, digits, `_`, `.` and `-`, and begin with a letter, a digit or `_`",
)
_DIGEST: Final = r"(?P<algorithm>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*):(?P<hex>[A-Fa-f0-9]{32,})"
_HUB: Final = "docker.io"
_HUBS: Final = {"": _HUB, "index.docker.io": _HUB}
"""Other names of Docker Hub."""
_DIGEST_LENGTHS: Final = {"sha256": 64, "sha384": 96, "sha512": 128}


def image_fault(text: str) -> ValueFault | None:
    """A reference `[host[:port]/]path[:tag][@digest]`.

    A first part without `.` and `:` is part of the path and not a host, except for `localhost`.
    """
    if not text:
        return ValueFault("the image reference is empty", "write a name such as `registry.example.com/team/app:1.0`")
    # Few references contain `://`, so the pattern is rarely compiled.
    if "://" in text and (scheme := re.match(_SCHEME, text)):
        return ValueFault(f"{quote(text)} begins with a scheme", f"leave out `{scheme.group()}`")
    if text.split() != [text]:
        return ValueFault(f"{quote(text)} contains white space", "write the image reference without spaces")
    if len(text) == _LENGTH_OF_ID and re.fullmatch(_IMAGE_ID, text):
        return ValueFault(f"{quote(text)} is an image id, not a name", "write the image's name, with a tag or digest")
    tagged, at, digest = text.partition("@")
    folder, slash, last = tagged.rpartition("/")
    base, colon, tag = last.partition(":")
    return (
        _image_name_fault(folder + slash + base, text)
        or (shape_fault(tag, _IMAGE_TAG) if colon else None)
        or (_digest_fault(digest) if at else None)
    )


def repository(text: str) -> str:
    """The full name `host/path` of an image, without tag and digest; without a host, it is on Docker Hub."""
    tagged, _, _ = text.partition("@")
    folder, slash, last = tagged.rpartition("/")
    host, path = _split_host(folder + slash + last.partition(":")[0])
    host = _HUBS.get(host.lower(), host.lower())
    return f"{host}/library/{path}" if host == _HUB and "/" not in path else f"{host}/{path}"


def is_below(image: str, registry: str) -> bool:
    """Whether the image is in the registry or the folder of a registry."""
    host, slash, path = registry.partition("/")
    folder = f"{_HUBS.get(host.lower(), host.lower())}{slash}{path}"
    return repository(image) == folder or repository(image).startswith(f"{folder}/")


def registry_fault(text: str) -> ValueFault | None:
    """A registry, or a folder of one: a host and the start of a path."""
    if fault := too_long(text, "a registry or a folder of one", _LONGEST_IMAGE_NAME):
        return fault
    host, slash, path = text.partition("/")
    if not (host == "localhost" or "." in host or ":" in host) or not re.fullmatch(_IMAGE_HOST, host):
        return ValueFault(f"{quote(text)} does not begin with a registry host", "write, for example, `ghcr.io/acme`")
    if slash and not re.fullmatch(_IMAGE_PATH, path):
        return ValueFault(
            f"{quote(text)} is not a registry or a path in one", "write, for example, `ghcr.io/acme`, without a tag"
        )
    return None


def _split_host(name: str) -> tuple[str, str]:
    """The host, empty if there is none, and the path."""
    first, slash, rest = name.partition("/")
    is_host = bool(slash) and (first == "localhost" or "." in first or ":" in first)
    return (first, rest) if is_host else ("", name)


def _image_name_fault(name: str, text: str) -> ValueFault | None:
    if not name:
        return ValueFault(f"{quote(text)} has no image name", "write a name before the tag or digest")
    if fault := too_long(name, "an image name", _LONGEST_IMAGE_NAME):
        return fault
    host, path = _split_host(name)
    if host and not re.fullmatch(_IMAGE_HOST, host):
        return ValueFault(f"{quote(host)} is not a registry host", "write a host such as `registry.example.com:5000`")
    if re.fullmatch(_IMAGE_PATH, path):
        return None
    if re.fullmatch(_IMAGE_PATH, path.lower()):
        lowered = f"{name[: len(name) - len(path)]}{path.lower()}{text[len(name) :]}"
        return ValueFault(
            f"{quote(path)} has upper-case letters",
            # The tag and digest are not checked yet, and the suggestion must be valid.
            with_suggestion("" if image_fault(lowered) else lowered, "write the name in lower case"),
        )
    return ValueFault(
        f"{quote(path)} is not an image name",
        "use lower-case letters and digits, joined by `/`, `-`, `.`, `_` or `__`",
    )


def _digest_fault(digest: str) -> ValueFault | None:
    match = re.fullmatch(_DIGEST, digest) if len(digest) <= _LONGEST_DIGEST else None
    if match is None:
        return ValueFault(
            f"{quote(digest)} is not a digest", "write a digest such as `sha256:` and 64 hexadecimal digits"
        )
    length = _DIGEST_LENGTHS.get(match["algorithm"])
    if length is None:
        return None
    if len(match["hex"]) != length:
        return ValueFault(
            f"{quote(digest)} has {len(match['hex'])} hexadecimal digits",
            f"a `{match['algorithm']}` digest has {length}",
        )
    if match["hex"] != match["hex"].lower():
        return ValueFault(f"{quote(digest)} has upper-case digits", "write the digest in lower case")
    return None
