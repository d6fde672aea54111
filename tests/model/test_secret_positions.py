"""Parts of a text that do not mention secrets are skipped, with the same result."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.paths import GOLDEN

from speccompile.cli.main import main
from speccompile.model import secret_positions
from speccompile.model.secret_positions import Secrets, is_free_of_secrets, secrets_in
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
@pytest.mark.parametrize("others", ["", "image: python\n", "envs:\n  A: b\n", "annotations: {owner: a@b.c}\n"])
def test_a_run_that_names_its_secrets_is_free_of_them(names: str, others: str) -> None:
    text = f"name: a\n{names}{others}"
    assert is_free_of_secrets(text)
    assert secrets_in(Source("run.yaml", text, Layer.RUN)) == Secrets()


def test_golden_runs_that_are_free_of_secrets_have_none() -> None:
    texts = [path.read_text(encoding="utf-8") for path in sorted((GOLDEN / "accept").glob("*/run.yaml"))]
    free = [text for text in texts if "secret" in text and is_free_of_secrets(text)]
    assert len(free) > 10
    for text in free:
        assert secrets_in(Source("run.yaml", text, Layer.RUN)) == Secrets()


@pytest.mark.parametrize(
    "text",
    [
        "secrets: [A\nB: hunter2\n",
        "secrets: [A]\n  hunter2\n",
        "secrets: [A]\nhunter2\n",
        "secrets: [A: hunter2]\n",
        "secrets:\n- A: hunter2\n",
        "secrets:\n- -\n  - hunter2\n",
        "secrets:\n  - A\n    - hunter2\n",
        "secrets: [A]\nsecrets: {A: hunter2}\n",
        "secrets: [A]\nenvs:\n  env:\n    A: hunter2\n",
        "secrets: [A]\nenvs:\n  S-ECRET: hunter2\n",
        "secrets: [A]\nenvs:\n  URL: https://me:hunter2@example.com\n",
    ],
)
def test_anything_else_may_have_secrets(text: str) -> None:
    assert not is_free_of_secrets(text)


@pytest.mark.parametrize(
    "text",
    [
        "secrets:\n- HF_TOKEN\nHF_TOKEN:hunter2\n",
        "secrets: [HF_TOKEN]\nHF_TOKEN: 'hunter2\n",
        "secrets:\n- HF_TOKEN\nHF_TOKEN: hunter2: x\n",
        "secrets: [HF_TOKEN]\nstringData: {A: hunter2\nkind: Scret\n",
        'secrets: [HF_TOKEN]\nenvs:\n  X: a\n  HF_TOKEN: "hunter2\n',
        "secrets:\n- HF_TOKEN\nimage: python\nHF_TOKEN=hunter2\n",
        "secrets: [HF_TOKEN]\nvalues: [hunter2\n",
    ],
)
def test_text_that_cannot_be_read_is_hidden_after_the_names_of_secrets(
    text: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(f"name: a\naction: job\nimage: python\n{text}")
    assert main(["validate", str(file)]) == 1
    shown = "".join(capsys.readouterr())
    assert "error[" in shown
    assert "hunter2" not in shown


def test_skipped_parts_of_golden_files_have_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [path for path in sorted(GOLDEN.rglob("*.yaml")) if path.is_file()]
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in paths]
    texts = [text for text in texts if "secret" in text.casefold() and len(text) < 10_000]
    assert texts
    for text in texts:
        skipping = searched(text, Layer.RUN, monkeypatch, skips=True)
        assert skipping == searched(text, Layer.RUN, monkeypatch, skips=False), text
