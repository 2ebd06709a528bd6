"""A running kproxy for the tests of a file, and a client that is connected to it."""

from collections.abc import Iterator

import pytest

from kproxy.clients.cluster.cluster_client import ClusterClient
from tests.worlds.administered_proxy import AdministeredProxy, administered_proxy


@pytest.fixture(scope="module")
def proxy() -> Iterator[AdministeredProxy]:
    """A kproxy that serves share groups; each test has groups of its own there."""
    with administered_proxy() as running:
        yield running


@pytest.fixture
def cluster(proxy: AdministeredProxy) -> Iterator[ClusterClient]:
    """A client of it."""
    with proxy.client() as client:
        yield client
