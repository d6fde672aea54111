"""Which values look like credentials, and which lines are hidden for it."""

from __future__ import annotations

import pytest

from speccompile.model.credentials import credential_kind, credential_lines
from speccompile.model.secret_positions import secrets_in
from speccompile.model.source import Layer, Source

CREDENTIALS = {
    "hf_abcdefghijklmnopqrstuvwxyz": "a Hugging Face token",
    "hf_abcdef123456": "a Hugging Face token",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789": "a GitHub token",
    "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz": "a GitHub token",
    "glpat-abcdefghij_lmnopqrst": "a GitLab token",
    "AKIAIOSFODNN7EXAMPLE": "an AWS access key",
    "sk-proj-AbCdEfGhIjKlMnOpQrSt": "an API key",
    "xoxb-123456789012-abcdefghijkl": "a Slack token",
    "xoxp-123456789012-abcdefghijkl": "a Slack token",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\n": "a private key",
    "-----BEGIN PRIVATE KEY-----": "a private key",
}
OTHERS = [
    "",
    "hf_",
    "hf_transfer",
    "hf_accelerate",
    "hf_mistral_7b_instruct_v3",
    "ghp_",
    "AKIA",
    "AKIAIOSFODNN7EXAMPLE2",
    "sk-learn",
    "sk-learn-pipeline-of-2024",
    "task-AbCdEfGhIjKlMnOpQrSt",
    "-----BEGIN CERTIFICATE-----\nPRIVATE KEY\n-----END CERTIFICATE-----\n",
]


@pytest.mark.parametrize("value", CREDENTIALS)
def test_a_credential_is_recognized_by_its_beginning(value: str) -> None:
    assert credential_kind(value) == CREDENTIALS[value]
    assert credential_kind(f"{value}\n") == CREDENTIALS[value]


@pytest.mark.parametrize("value", OTHERS)
def test_other_values_are_not_credentials(value: str) -> None:
    assert credential_kind(value) is None


@pytest.mark.parametrize("value", CREDENTIALS)
def test_lines_with_a_credential_are_hidden(value: str) -> None:
    lines = value.rstrip("\n").split("\n")
    text = "\n".join(["name: train", f'command: ["--token={lines[0]}"]', *lines[1:], "action: job"])
    numbers = {*range(2, 2 + len(lines))}
    assert {*credential_lines(text.split("\n"))} == (numbers if len(lines) > 1 or "BEGIN" not in value else {2, 3})
    assert numbers <= secrets_in(Source("run.yaml", text, Layer.RUN)).lines


def test_lines_without_a_credential_are_shown() -> None:
    text = "\n".join(f"value: {value!r}" for value in OTHERS)
    assert secrets_in(Source("run.yaml", text, Layer.RUN)).lines == frozenset()


def test_the_search_takes_linear_time() -> None:
    assert credential_kind("sk-" * 200_000) is None
    assert [*credential_lines(["hf_" * 200_000, "-----BEGIN " * 50_000])] == []
