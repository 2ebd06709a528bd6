"""The matrix of a session, and the markers: all of it needs Kafka."""

from pathlib import Path
from typing import Final

import pytest

from tests.compatibility.session import Columns

THIS_FOLDER: Final = Path(__file__).resolve().parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give every test of this folder the marker `kafka`."""
    for item in items:
        if item.path.is_relative_to(THIS_FOLDER):
            item.add_marker(pytest.mark.kafka)


@pytest.fixture(scope="session")
def columns() -> Columns:
    """The results by cluster, each cluster run when it is first asked for."""
    return Columns()
