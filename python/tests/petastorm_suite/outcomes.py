"""A plugin of pytest that writes the outcome of each test of Petastorm to the file that `OUTCOMES` names, as JSON lines."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

_warns = pytest.warns


def _warns_or_records(expected: Any = Warning, *arguments: Any, **named: Any) -> Any:
    """What `pytest.warns(None)` was in older releases."""
    return pytest.WarningsRecorder(_ispytest=True) if expected is None else _warns(expected, *arguments, **named)


pytest.warns = _warns_or_records  # type: ignore[assignment]


class _Hooks:
    @pytest.hookspec
    def pytest_logger_config(self, logger_config: Any) -> None:
        """A hook of pytest-logger, which Petastorm's conftest implements."""


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(_Hooks)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out tests whose data sets Spark would write, if asked."""
    if os.environ.get("WITHOUT_DATA_SETS"):
        items[:] = [item for item in items if not any(name.endswith("_dataset") for name in getattr(item, "fixturenames", ()))]


def _record(test: str, outcome: str, message: object = "") -> None:
    with open(os.environ["OUTCOMES"], "a") as file:
        file.write(json.dumps({"test": test, "outcome": outcome, "said": str(message)[-2000:]}) + "\n")


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        _record(report.nodeid, "failed", report.longrepr)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" or report.outcome != "passed":
        _record(report.nodeid, report.outcome, report.longrepr)
