"""Clusters of the session, started when a test first asks for them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.session_clusters import ClusterOfSession, SessionClusters
from tests.real_kafka.share_endpoint import EndpointsOfSession

THIS_FOLDER: Final = Path(__file__).resolve().parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give every test of this folder the marker `kafka`."""
    for item in items:
        if item.path.is_relative_to(THIS_FOLDER):
            item.add_marker(pytest.mark.kafka)


@pytest.fixture(scope="session")
def kafka_cluster(request: pytest.FixtureRequest) -> Iterator[ClusterOfSession]:
    """A function that gives running clusters by version, brokers and share groups until the session ends."""
    failed_before = request.session.testsfailed
    clusters = SessionClusters()
    try:
        yield clusters.get
    finally:
        clusters.stop_all(keep_logs=request.session.testsfailed > failed_before)


@pytest.fixture(scope="session")
def reference_cluster(kafka_cluster: ClusterOfSession) -> KafkaCluster:
    """One broker of the reference version with share groups off: what kproxy usually stands in front of."""
    return kafka_cluster()


@pytest.fixture(scope="session")
def share_endpoint(
    request: pytest.FixtureRequest, kafka_cluster: ClusterOfSession
) -> Iterator[EndpointsOfSession]:
    """A function that gives running endpoints for share consumers by name until the session ends."""
    failed_before = request.session.testsfailed
    endpoints = EndpointsOfSession(kafka_cluster)
    try:
        yield endpoints
    finally:
        endpoints.stop_all(keep_logs=request.session.testsfailed > failed_before)


@pytest.fixture
def cluster(kafka_cluster: ClusterOfSession, version: str) -> KafkaCluster:
    """One broker of the version that the test is parametrized with; it runs before the test's event loop does."""
    return kafka_cluster(version)
