"""pytest plugin that reports violated properties without a traceback.

pytest loads it wherever the extra is installed, so it imports as little as possible.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest


class PropertyViolation(AssertionError):  # noqa: N818  pytest prints the name
    """A violated property, with a message for the authors of the profiles."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Replace the traceback of a violated property with its message."""
    report = yield
    if call.excinfo is not None and isinstance(call.excinfo.value, PropertyViolation):
        report.longrepr = str(call.excinfo.value)
    return report
