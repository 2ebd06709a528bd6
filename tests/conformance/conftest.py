"""The stage, with every case that this run has chosen."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from tests.conformance.answers import AnswersTable
from tests.conformance.case import Case
from tests.conformance.grounds import Ground
from tests.conformance.stage import Stage
from tests.conformance.target import start_targets

THIS_FOLDER: Final = Path(__file__).resolve().parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give every test of this folder the marker `kafka`."""
    for item in items:
        if item.path.is_relative_to(THIS_FOLDER):
            item.add_marker(pytest.mark.kafka)


@pytest.fixture(scope="session")
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    """All chosen cases, begun."""
    with ExitStack() as owned:
        chosen = _chosen(request.session.items)
        targets = start_targets({Ground.SHARED, *(case.ground for case in chosen)}, owned)
        stage = owned.enter_context(Stage(targets))
        stage.begin(chosen)
        yield stage


@pytest.fixture(scope="session")
def answers_table() -> Iterator[AnswersTable]:
    """The table of answers, written when the run ends."""
    table = AnswersTable()
    yield table
    table.write()


def _chosen(items: list[pytest.Item]) -> list[Case]:
    chosen = [
        item.callspec.params.get("case")
        for item in items
        if isinstance(item, pytest.Function) and hasattr(item, "callspec")
    ]
    return sorted(
        {case.number: case for case in chosen if isinstance(case, Case)}.values(),
        key=lambda case: case.number,
    )
