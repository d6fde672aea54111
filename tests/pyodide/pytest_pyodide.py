"""Pytest plugin for runs in Pyodide: replaces tests/conftest.py, which needs the compiled part of hypothesis.

Golden cases that cannot be equal there are listed below with the reason. Any other difference fails, and so does a
listed case that has become equal.
"""

from __future__ import annotations

import platform

import pytest

UNEQUAL = {
    "test_case[reject/link-to-itself-cannot-be-read]": "the message quotes the C library, which is musl in Pyodide",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="has no use in Pyodide")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.name in UNEQUAL:
            item.add_marker(pytest.mark.xfail(reason=UNEQUAL[item.name], raises=AssertionError, strict=True))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    equal, *unequal = (
        [report for report in terminalreporter.getreports(outcome) if "::test_case[" in report.nodeid]
        for outcome in ("passed", "xfailed", "failed", "skipped")
    )
    total = len(equal) + sum(map(len, unequal))
    python = f"Python {platform.python_version()} on {platform.machine()}"
    terminalreporter.write_line(f"{python}: {len(equal)} of {total} golden cases equal")
    for report in unequal[0]:
        terminalreporter.write_line(f"left out: {report.nodeid}: {report.wasxfail}")
