"""pytest plugin that reports a broken property in its own words.

It stands in every pytest run where the extra is installed, so it imports next to nothing.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest


class LawBroken(AssertionError):  # noqa: N818  reads as what it says in a report
    """A law that does not hold, told for the people who wrote the profile."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """The report, without the trace through the laws, which is nothing to an admin."""
    report = yield
    if call.excinfo is not None and isinstance(call.excinfo.value, LawBroken):
        report.longrepr = str(call.excinfo.value)
    return report
