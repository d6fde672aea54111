"""pytest plugin that reports violated properties without a traceback, and the time that the properties took.

pytest loads it wherever the extra is installed, so it imports as little as possible.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest


class PropertyViolation(AssertionError):  # noqa: N818  pytest prints the name
    """A violated property, with a message for the authors of the profiles."""


_MARKER = "speccompile_properties"


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker of all property tests."""
    config.addinivalue_line("markers", f"{_MARKER}: property tests of profiles and a platform file")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print one line with the number of property tests and their time."""
    reports = [
        report
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and _MARKER in report.keywords
    ]
    tests = len({report.nodeid for report in reports})
    if tests:
        seconds = sum(report.duration for report in reports)
        terminalreporter.write_line(f"speccompile: {tests} property test{'s' * (tests > 1)} took {seconds:.1f} s")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Replace the traceback of a violated property with its message."""
    report = yield
    if call.excinfo is not None and isinstance(call.excinfo.value, PropertyViolation):
        report.longrepr = str(call.excinfo.value)
    return report
