"""Parts of a text that do not mention secrets are skipped, with the same result."""

from __future__ import annotations

import pytest
from helpers.paths import GOLDEN

from speccompile.model import secret_positions
from speccompile.model.secret_positions import Secrets, secrets_in
from speccompile.model.source import Layer, Source

TEXTS = [
    "base: &base\n  kind: Secret\nother:\n  <<: *base\n  data: hunter2\n",
    "secrets: [A]\nb:\n  ? sec\n    ret\n  : hunter2\n",
    'a:\n  secret: hunter2\nb: "unclosed\n',
    "secrets: [A]\nb:\n  s_ecret: hunter2\n",
    'secrets: [A]\nb:\n  "\\x73ecret": hunter2\n',
    "secrets: [A]\nb:\n  env:\n    A: hunter2\n",
    "secrets: [A]\nurl: https://user:hunter2@host\n",
    "text: |\n  a: b\n  kind: Secret\n  data: hunter2\nother: c\n",
    "a: b\nlist:\n- name: my-secret\n  value: hunter2\n",
]
"""Texts with a secret whose own line does not mention one, or mentions it in another way."""


def searched(text: str, layer: Layer, monkeypatch: pytest.MonkeyPatch, *, skips: bool) -> Secrets:
    with monkeypatch.context() as patch:
        if not skips:
            patch.setattr(secret_positions, "_mentions", lambda _: None)
        return secrets_in.__wrapped__(Source("run.yaml", text, layer))


@pytest.mark.parametrize("text", TEXTS)
def test_skipped_parts_have_no_secrets(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    skipping = searched(text, Layer.RUN, monkeypatch, skips=True)
    assert "hunter2" in "".join(skipping.texts)
    assert skipping == searched(text, Layer.RUN, monkeypatch, skips=False)


@pytest.mark.parametrize("names", ["secrets: [A, b.c-d]\n", "secrets:\n- A\n- b\n", "secrets:\n  - A\n"])
@pytest.mark.parametrize("others", ["", "image: python\n", "args: [a\n", "envs:\n  A: b\n"])
def test_names_of_secrets_are_shown(names: str, others: str) -> None:
    assert secrets_in(Source("run.yaml", f"name: a\n{names}{others}", Layer.RUN)) == Secrets()


@pytest.mark.parametrize(
    "text",
    [
        "secrets: [A\nB: hunter2\n",
        "secrets: [A]\n  hunter2\n",
        "secrets: [A]\nhunter2\n",
        "secrets: [A: hunter2]\n",
        "secrets:\n- A: hunter2\n",
        "secrets: [A]\nsecrets: {A: hunter2}\n",
        "secrets: [A]\nenvs:\n  env:\n    A: hunter2\n",
        "secrets: [A]\nenvs:\n  S-ECRET: hunter2\n",
    ],
)
def test_what_is_not_a_list_of_names_is_hidden(text: str) -> None:
    assert "hunter2" in "".join(secrets_in(Source("run.yaml", text, Layer.RUN)).texts)


def test_skipped_parts_of_golden_files_have_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [path for path in sorted(GOLDEN.rglob("*.yaml")) if path.is_file()]
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in paths]
    # A complete list of names is shown even in a text with syntax errors.
    texts = [
        text
        for text in texts
        if "secret" in text.casefold() and len(text) < 10_000 and 'args: [--epochs, "3"\n' not in text
    ]
    assert texts
    for text in texts:
        skipping = searched(text, Layer.RUN, monkeypatch, skips=True)
        assert skipping == searched(text, Layer.RUN, monkeypatch, skips=False), text
