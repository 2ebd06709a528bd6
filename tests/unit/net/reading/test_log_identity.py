"""Whether what a broker has under a name is the log of the topic that is meant."""

from collections.abc import Callable

import pytest

from kproxy.errors import BrokerUnavailable
from kproxy.handlers.ports import PartitionLeader, TopicDescription
from kproxy.net.reading.log_identity import require_log_of
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest
from kproxy.wire.messages.fetch_request import FetchRequest
from kproxy.wire.messages.fetch_response import FetchResponse
from tests.in_memory.scripted_cluster import ScriptedCluster
from tests.worlds.backing import ORDERS, Backing


async def prove(backing: Backing) -> None:
    topic = await backing.metadata.topic_with_id(ORDERS)
    assert isinstance(topic, TopicDescription)
    leader = backing.metadata.leader_of(ORDERS, 0)
    assert isinstance(leader, PartitionLeader)
    client = await backing.connections.reader(leader.leader_id)
    await require_log_of(client, topic, 0, leader)


async def test_no_records_are_asked_for() -> None:
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        await cluster.append(ORDERS, 0, [b"a" * 1000])

        # When
        await prove(backing)

        # Then
        [asked] = cluster.asked(ApiKey.FETCH)
        assert isinstance(asked.message, FetchRequest)
        assert (asked.message.max_wait_ms, asked.message.session_id) == (0, 0)
        assert asked.message.topics[0].topic_id == ORDERS
        assert asked.message.topics[0].partitions[0].fetch_offset > 1 << 61


def answering(*answers: FetchResponse | None) -> Callable[[ScriptedCluster], None]:
    """Have a cluster give these answers to Fetch, its own where there is None."""

    def script(cluster: ScriptedCluster) -> None:
        left, honest = list(answers), cluster.brokers[1].answers[ApiKey.FETCH]

        def fetch(request: DecodedRequest) -> object:
            answer = left.pop(0) if left else None
            return honest(request) if answer is None else answer

        cluster.brokers[1].answers[ApiKey.FETCH] = fetch  # type: ignore[assignment]  # as the honest one

    return script


async def test_a_broker_whose_quota_is_exceeded_is_asked_again_when_it_may_be() -> None:
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        answering(FetchResponse(throttle_time_ms=1))(cluster)

        # When
        await prove(backing)

        # Then
        assert len(cluster.asked(ApiKey.FETCH)) == 2


@pytest.mark.parametrize(
    ("answer", "question_count"),
    [(FetchResponse(), 1), (FetchResponse(throttle_time_ms=1), 3)],
    ids=["at once", "throttled for ever"],
)
async def test_a_broker_that_says_nothing_of_the_partition_has_proved_nothing(
    answer: FetchResponse, question_count: int
) -> None:
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        answering(*[answer] * 9)(cluster)

        # When
        with pytest.raises(BrokerUnavailable, match="no answer to the question"):
            await prove(backing)

        # Then
        assert len(cluster.asked(ApiKey.FETCH)) == question_count
