"""Looks at the topics of share groups: cheap while nothing changes, and never wrong about what did."""

import asyncio
import threading
from collections.abc import Collection
from functools import partial
from itertools import cycle

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable
from kproxy.handlers.ports import PartitionLeader, TopicDescription
from kproxy.net.cluster import metadata_looks, view
from kproxy.net.cluster.metadata_looks import TOPICS_PER_LOOK, MetadataLooks
from kproxy.net.cluster.view import ClusterView
from kproxy.share.identifiers import TopicId
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages.metadata_response import MetadataResponse
from tests.in_memory.scripted_cluster import ScriptedCluster
from tests.worlds.backing import ORDERS, PAYMENTS, Backing

NAMES = frozenset({"orders", "payments"})
NEW_ORDERS = TopicId(b"topic-id-orders2")


def looks(backing: Backing) -> tuple[int, int]:
    """How many answers were the same as before, and how many were not."""
    counts = backing.counted.counts
    return counts["metadata_looks", "same"], counts["metadata_looks", "different"]


async def test_an_answer_that_is_the_same_as_the_last_one_is_not_read_whoever_is_the_controller() -> None:
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS, partition_count=3)
        cluster.controller_ids = cycle([1, 2, 3])

        # When
        for _ in range(4):
            await backing.metadata.look(NAMES)

        # Then
        assert looks(backing) == (3, 1)
        assert backing.metadata.leader_of(ORDERS, 2) == PartitionLeader(1, 0)


async def test_partitions_topics_leaders_and_racks_that_changed_are_noticed_by_the_next_look() -> None:
    # Given
    async with ScriptedCluster((1, 2)) as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        moved: list[TopicId] = []
        backing.metadata.on_topics.append(moved.extend)
        await backing.metadata.look(NAMES)
        moved.clear()

        # When, Then
        cluster.add_partitions(ORDERS, 3)
        await backing.metadata.look(NAMES)
        assert backing.metadata.describe(ORDERS) == TopicDescription(ORDERS, "orders", 3)

        cluster.lead(ORDERS, 0, 2)
        await backing.metadata.look(NAMES)
        assert backing.metadata.leader_of(ORDERS, 0) == PartitionLeader(2, 1)

        cluster.create_topic("payments", PAYMENTS)
        await backing.metadata.look(NAMES)
        assert backing.metadata.describe(PAYMENTS) == TopicDescription(PAYMENTS, "payments", 1)

        cluster.delete_topic(ORDERS)
        await backing.metadata.look(NAMES)
        assert backing.metadata.describe(ORDERS) is None

        assert moved == [ORDERS, ORDERS, PAYMENTS, ORDERS]
        cluster.racks[2] = "rack-b"
        await backing.metadata.look(NAMES)
        assert [endpoint.rack for endpoint in backing.metadata.advertised_endpoints()] == [None, "rack-b"]


async def test_an_answer_is_read_again_when_something_else_changed_the_view_in_between() -> None:
    """Else a topic that another question found missing, and that is back, would stay away for ever."""
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        await backing.metadata.look(NAMES)
        cluster.delete_topic(ORDERS)
        await backing.metadata.refresh()
        gone = backing.metadata.describe(ORDERS)
        cluster.create_topic("orders", ORDERS)

        # When
        await backing.metadata.look(NAMES)

        # Then
        assert gone is None
        assert backing.metadata.describe(ORDERS) == TopicDescription(ORDERS, "orders", 1)


async def test_other_topics_are_another_question() -> None:
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("payments", PAYMENTS)
        await backing.metadata.look(frozenset({"orders"}))
        await backing.metadata.look(NAMES)
        assert looks(backing) == (0, 2)
        assert backing.metadata.describe(PAYMENTS) is not None


def test_many_topics_are_looked_at_in_several_requests() -> None:
    names = frozenset(f"topic-{number}" for number in range(2 * TOPICS_PER_LOOK + 1))

    parts = MetadataLooks().at(names, ClusterView(unknown_ttl_ms=1_000))

    assert [len(part.names) for part in parts] == [TOPICS_PER_LOOK, TOPICS_PER_LOOK, 1]


async def test_topics_of_many_partitions_are_looked_at_in_several_requests_once_that_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(metadata_looks, "PARTITIONS_PER_LOOK", 5)

    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        # Given
        names = four_topics(cluster)
        await backing.metadata.look(names)
        before = len(cluster.asked(ApiKey.METADATA))

        # When
        for _ in range(2):
            await backing.metadata.look(names)

        # Then
        asked = [
            [topic.name for topic in request.message.topics or []]  # type: ignore[attr-defined]  # a MetadataRequest
            for request in cluster.asked(ApiKey.METADATA)[before:]
        ]
        assert asked == [["a", "b"], ["c"], ["d"]] * 2
        assert looks(backing)[0] == 3


def test_only_the_looks_are_made_anew_whose_topics_are_others() -> None:
    # Given
    names = frozenset(f"topic {number:05}" for number in range(5 * TOPICS_PER_LOOK))
    all_looks, view = MetadataLooks(), ClusterView(unknown_ttl_ms=1_000)
    before = all_looks.at(names, view)

    # When
    after = all_looks.at(names - {"topic 00007"} | {"new", "newer"}, view)

    # Then
    assert len(set(before) & set(after)) == 4
    assert {name for look in after for name in look.names} == names - {"topic 00007"} | {"new", "newer"}
    assert sum(len(look.names) for look in after) == len(names) + 1


def test_looks_that_became_small_are_put_together() -> None:
    # Given
    all_looks, view = MetadataLooks(), ClusterView(unknown_ttl_ms=1_000)
    names = frozenset(f"topic {number:05}" for number in range(5 * TOPICS_PER_LOOK))
    all_looks.at(names, view)
    few = frozenset(name for name in names if name.endswith("01"))

    # When
    all_looks.at(few, view)
    after = all_looks.at(few | {"new"}, view)

    # Then
    assert [look.names for look in after] == [sorted(few | {"new"})]


def four_topics(cluster: ScriptedCluster) -> frozenset[str]:
    """Create them, with 18 partitions together."""
    counts = {"a": 2, "b": 3, "c": 4, "d": 9}
    for name, count in counts.items():
        cluster.create_topic(name, TopicId(name.encode() * 16), partition_count=count)
    return frozenset(counts)


async def test_an_answer_about_many_partitions_is_taken_in_in_several_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(view, "PARTITIONS_AT_ONCE", 5)
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        # Given
        names = four_topics(cluster)
        told: list[set[str]] = []
        backing.metadata.on_topics.append(lambda ids: told.append({name[:1].decode() for name in ids}))

        # When
        for _ in range(2):
            await backing.metadata.look(names)

        # Then
        assert told == [{"a", "b"}, {"c"}, {"d"}]
        assert looks(backing) == (1, 1)


async def test_what_was_heard_between_two_portions_of_an_answer_is_younger_and_the_next_one_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(view, "PARTITIONS_AT_ONCE", 5)
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        # Given
        names, seen = four_topics(cluster), backing.metadata.view
        await backing.metadata.look(names)
        d = TopicId(b"d" * 16)

        def hear_that_d_is_gone(_: Collection[TopicId]) -> None:
            backing.metadata.on_topics.clear()
            younger = MetadataResponse(cluster_id=seen.cluster_id)
            changes = partial(seen.absorb, younger, asked_names=["d"], now_ms=backing.clock.now_ms())
            asyncio.get_running_loop().call_soon(changes)

        backing.metadata.on_topics.append(hear_that_d_is_gone)
        cluster.lead(TopicId(b"a" * 16), 0, 1)

        # When
        is_settled = await backing.metadata.look(names)

        # Then
        assert not is_settled
        assert backing.metadata.describe(d) is None
        assert backing.metadata.describe(TopicId(b"c" * 16)) is not None
        same_before, _ = looks(backing)
        await backing.metadata.look(frozenset(names))
        assert looks(backing)[0] == same_before


async def test_a_long_answer_is_decoded_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata_looks, "LONG_ANSWER_BYTES", 100)
    threads: list[int] = []
    decoded = metadata_looks.metadata_in

    def decoded_somewhere(message: Message) -> MetadataResponse:
        threads.append(threading.get_ident())
        return decoded(message)

    monkeypatch.setattr(metadata_looks, "metadata_in", decoded_somewhere)
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        # Given
        names = four_topics(cluster)

        # When
        for _ in range(2):
            await backing.metadata.look(names)

        # Then
        assert len(threads) == 1
        assert threads[0] != threading.get_ident()
        assert looks(backing) == (1, 1)
        assert backing.metadata.describe(TopicId(b"d" * 16)) == TopicDescription(TopicId(b"d" * 16), "d", 9)


async def test_a_topic_that_is_looked_for_in_passing_is_found_and_asked_for_once() -> None:
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        cluster.create_topic("payments", PAYMENTS)
        names = frozenset({"orders"})

        # When
        await backing.metadata.look(names, ["payments", "to come"])
        await backing.metadata.look(names)

        # Then
        assert backing.metadata.describe(PAYMENTS) is not None
        assert len(cluster.asked(ApiKey.METADATA)) == 3


async def test_a_look_that_nobody_answers_fails_and_says_so_once_it_succeeds_again() -> None:
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        await backing.metadata.look(NAMES)
        await cluster.brokers[1].stop()

        # When
        with pytest.raises(BrokerUnavailable):
            await backing.metadata.look(NAMES)

        # Then
        assert backing.counted.counts["metadata_looks", "failed"] == 1
        assert backing.metadata.last_failure is not None


async def test_a_read_that_a_broker_refuses_for_an_unknown_topic_makes_kproxy_look() -> None:
    # Given
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        await backing.metadata.look(NAMES)
        cluster.delete_topic(ORDERS)

        # When
        data = await backing.read_one(ORDERS, 0, 0)

        # Then
        assert data.error_code is ErrorCode.UNKNOWN_TOPIC_ID
        assert backing.metadata.describe(ORDERS) is None


async def test_a_broker_that_still_knows_a_topic_which_its_leader_does_not_know_is_not_asked_first_any_more() -> (
    None
):
    # Given
    async with ScriptedCluster((1, 2, 3)) as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        await backing.metadata.look(NAMES)
        cluster.fall_behind(1)
        cluster.delete_topic(ORDERS)
        await backing.metadata.look(NAMES)
        still_there = backing.metadata.describe(ORDERS) is not None

        # When
        data = await backing.read_one(ORDERS, 0, 0)
        await backing.metadata.look(NAMES)

        # Then
        assert still_there
        assert data.error_code is ErrorCode.UNKNOWN_TOPIC_ID
        assert backing.metadata.describe(ORDERS) is None
