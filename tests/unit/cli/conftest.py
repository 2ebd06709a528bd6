"""A running kproxy for the commands that come over the wire."""

from collections.abc import Iterator

import pytest

from tests.worlds.administered_proxy import AdministeredProxy, administered_proxy


@pytest.fixture(scope="module")
def proxy() -> Iterator[AdministeredProxy]:
    """A kproxy that serves share groups; each test has groups of its own there."""
    with administered_proxy() as running:
        yield running
