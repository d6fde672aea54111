"""Pytest plugin for runs in Pyodide: replaces tests/conftest.py, which needs the compiled part of hypothesis."""

from __future__ import annotations

import platform

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="has no use in Pyodide")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    equal, *others = (
        [report for report in terminalreporter.getreports(outcome) if "::test_case[" in report.nodeid]
        for outcome in ("passed", "failed", "skipped")
    )
    total = len(equal) + sum(map(len, others))
    python = f"Python {platform.python_version()} on {platform.machine()}"
    terminalreporter.write_line(f"{python}: {len(equal)} of {total} golden cases equal")
