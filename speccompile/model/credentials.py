"""Recognize credentials: tokens by their prefix, private keys by their header, passwords by their place in a URL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_ALPHANUMERIC = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
_UPPER_CASE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
_WORD = _ALPHANUMERIC | {"_", "-"}
_TOKENS = {
    "hf_": ("a Hugging Face token", _ALPHANUMERIC),
    **dict.fromkeys(("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), ("a GitHub token", _ALPHANUMERIC)),
    "github_pat_": ("a GitHub token", _WORD),
    "glpat-": ("a GitLab token", _WORD),
    **dict.fromkeys(("xoxb-", "xoxp-"), ("a Slack token", _WORD)),
    "AKIA": ("an AWS access key", _UPPER_CASE),
    "sk-": ("an API key", _WORD),
}
"""By prefix: what the token is, and the characters that follow."""
_PEM, _PEM_END = "-----BEGIN ", "-----END "
_PRIVATE_KEY = f"{_PEM}(?:[A-Z]+ ){{0,3}}PRIVATE KEY"
_STARTS = (*_TOKENS, _PEM)
_LONG, _SHORT, _AWS_LENGTH = 16, 10, 16
_WORDS = "[A-Za-z0-9_-]+"
_ANY_WORDS, _PLAIN_WORDS = r"\S+", r"[^\s\"'`,{}\[\]<>]+"
"""Words of a value; words of a line, in which YAML separates values."""
_DIGEST, _PORT = "sha[0-9]+:", "[0-9]+/"


def credential_kind(value: str) -> str | None:
    """What the value looks like, such as "a GitHub token"; None for an ordinary value."""
    if not value.startswith(_STARTS):
        return None
    prefix = next(start for start in _STARTS if value.startswith(start))
    if prefix == _PEM:
        # A certificate is no secret.
        return "a private key" if re.match(_PRIVATE_KEY, value) else None
    kind, characters = _TOKENS[prefix]
    token = value[len(prefix) :].rstrip()
    if prefix == "AKIA":
        is_token = len(token) == _AWS_LENGTH
    elif prefix == "sk-":
        # Unlike `sk-learn-pipeline-2`, a key is random.
        is_token = len(token) >= _LONG and not token.islower()
    else:
        # `hf_transfer` is a package.
        is_token = len(token) >= _LONG or (len(token) >= _SHORT and not token.isalpha())
    return kind if is_token and characters.issuperset(token) else None


def may_have_credential(text: str) -> bool:
    """Whether the text has the beginning of a credential, or an `@` as after a password, anywhere."""
    # In an e-mail address, nothing is secret. A backslash may join two words.
    if "@" in text and ("\\" in text or any("@" in word and (":" in word or "/" in word) for word in text.split())):
        return True
    # A third of the time that `any` takes; every value of a run is searched.
    for start in _STARTS:  # noqa: SIM110
        if start in text:
            return True
    return False


def credentials_in(text: str, words: str = _ANY_WORDS) -> Iterator[str]:
    """The tokens, private keys, and passwords of URLs in the text."""
    if not may_have_credential(text):
        return
    if re.search(_PRIVATE_KEY, text):
        yield text
    yield from (word[0] for word in re.finditer(_WORDS, text) if credential_kind(word[0]))
    if "@" in text:
        for word in re.finditer(words, text):
            yield from _user_info(word[0])


def _user_info(word: str) -> Iterator[str]:
    """The user information of a URL, and the password in it; `https://` may be missing."""
    _, slashes, rest = word.partition("//") if "//" in word.partition("@")[0] else ("", "", word)
    info, _, host = rest.rpartition("@")
    user, colon, password = info.partition(":")
    # In `host:5000/image@sha256:…` and `host/path@v1`, nothing is secret.
    if not info or re.match(_DIGEST, host) or "/" in user or (not slashes and not (colon and "/" not in info)):
        return
    if not re.match(_PORT, password):
        yield from (info, password) if password else (info,)


def credential_lines(lines: Iterable[str]) -> Iterator[int]:
    """The numbers of the lines that contain a credential, also in comments."""
    is_key = False
    for number, line in enumerate(lines, start=1):
        is_key = is_key or re.search(_PRIVATE_KEY, line) is not None
        if is_key or any(credentials_in(line, _PLAIN_WORDS)):
            yield number
        is_key = is_key and _PEM_END not in line
