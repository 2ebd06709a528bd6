"""Who coordinates what: any broker is asked, in any version, and what it says is not taken for more than it is."""

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable
from kproxy.net.cluster.broker_answers import BrokerRefusal
from kproxy.net.cluster.coordinators import CoordinatorKind, find_coordinator
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from tests.in_memory.scripted_cluster import ScriptedCluster
from tests.worlds.backing import Backing

COORDINATOR = 2
NEW, OLD = (0, 6), (0, 2)
"""Versions of FindCoordinator: Kafka 4's and Kafka 2.0's."""


def cluster_that_answers(
    error_code: ErrorCode = ErrorCode.NONE, *, versions: tuple[int, int] = NEW, answer_count: int = 1
) -> ScriptedCluster:
    """Two brokers, each of which says that the second coordinates everything."""
    cluster = ScriptedCluster((1, COORDINATOR))
    entry = Coordinator(key="g", error_code=error_code, node_id=COORDINATOR)
    answer = FindCoordinatorResponse(error_code=error_code, node_id=COORDINATOR)
    if versions == NEW:
        answer = FindCoordinatorResponse(coordinators=[entry] * answer_count)
    for broker in cluster.brokers.values():
        broker.version_ranges[ApiKey.FIND_COORDINATOR] = versions
        broker.answers[ApiKey.FIND_COORDINATOR] = lambda _: answer
    return cluster


@pytest.mark.parametrize("kind", CoordinatorKind)
@pytest.mark.parametrize("versions", [NEW, OLD])
async def test_a_broker_of_any_age_names_the_coordinator(
    versions: tuple[int, int], kind: CoordinatorKind
) -> None:
    # Given
    async with (
        cluster_that_answers(versions=versions) as cluster,
        Backing(cluster.bootstrap_servers) as backing,
    ):
        await backing.metadata.refresh()

        # When
        found = await find_coordinator(backing.metadata, kind, "g")

        # Then
        assert found == COORDINATOR
        (asked,) = [request.message for request in cluster.asked(ApiKey.FIND_COORDINATOR)]
        assert isinstance(asked, FindCoordinatorRequest)
        assert asked.key_type == kind
        assert (asked.key, asked.coordinator_keys) == (("", ["g"]) if versions == NEW else ("g", []))


@pytest.mark.parametrize("versions", [NEW, OLD])
async def test_a_refusal_says_which_and_nobody_else_is_asked(versions: tuple[int, int]) -> None:
    # Given
    async with (
        cluster_that_answers(ErrorCode.COORDINATOR_NOT_AVAILABLE, versions=versions) as cluster,
        Backing(cluster.bootstrap_servers) as backing,
    ):
        await backing.metadata.refresh()

        # When
        with pytest.raises(BrokerRefusal, match=r"FindCoordinator of g at 127\.0\.0\.1") as refusal:
            await find_coordinator(backing.metadata, CoordinatorKind.GROUP, "g")

        # Then
        assert refusal.value.error_code is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert len(cluster.asked(ApiKey.FIND_COORDINATOR)) == 1


@pytest.mark.parametrize("answer_count", [0, 2])
async def test_an_answer_to_another_question_is_no_answer(answer_count: int) -> None:
    # Given
    async with (
        cluster_that_answers(answer_count=answer_count) as cluster,
        Backing(cluster.bootstrap_servers) as backing,
    ):
        await backing.metadata.refresh()

        # When / Then
        with pytest.raises(BrokerUnavailable, match=f": {answer_count} answers to one question"):
            await find_coordinator(backing.metadata, CoordinatorKind.GROUP, "g")


async def test_a_broker_that_is_away_is_passed_over() -> None:
    # Given
    async with cluster_that_answers() as cluster, Backing(cluster.bootstrap_servers) as backing:
        await backing.metadata.refresh()
        await cluster.brokers[1].stop()

        # When / Then
        assert await find_coordinator(backing.metadata, CoordinatorKind.GROUP, "g") == COORDINATOR
        await cluster.brokers[1].start()
