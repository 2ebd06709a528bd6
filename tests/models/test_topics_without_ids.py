"""A cluster whose topics have no ids serves no share groups; where its brokers are is heard all the same."""

from collections.abc import Sequence
from functools import partial

import pytest

from kproxy.net.cluster import view
from kproxy.net.cluster.view import TopicIdsMissing
from kproxy.share.identifiers import TopicId
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest
from kproxy.wire.message_schema import ZERO_UUID
from kproxy.wire.messages.metadata_response import MetadataResponse
from tests.in_memory.answering_broker import Answer
from tests.in_memory.scripted_cluster import ScriptedCluster
from tests.unit.net.cluster.metadata_answers import response, topic, view_of
from tests.worlds.backing import ORDERS, PAYMENTS, Backing


def without_ids(cluster: ScriptedCluster, *names: str) -> None:
    """Let the brokers describe the topics of these names as those of a cluster that gave them no ids."""
    for broker in cluster.brokers.values():
        broker.answers[ApiKey.METADATA] = partial(_answer, frozenset(names), broker.answers[ApiKey.METADATA])


def _answer(names: frozenset[str], answer: Answer, request: DecodedRequest) -> MetadataResponse:
    described = answer(request)
    assert isinstance(described, MetadataResponse)
    for each in described.topics:
        if each.name in names:
            each.topic_id = ZERO_UUID
    return described


def brokers_told(backing: Backing) -> list[Sequence[int]]:
    """Return a list of the node ids that listeners hear of from now on, each time they do."""
    told: list[Sequence[int]] = []
    backing.metadata.on_brokers.append(lambda brokers: told.append([each.node_id for each in brokers]))
    return told


async def test_whoever_asks_for_a_topic_without_an_id_hears_of_that_and_all_hear_of_the_brokers() -> None:
    async with ScriptedCluster((1, 2, 3)) as cluster, Backing(cluster.bootstrap_servers[:1]) as backing:
        # Given
        cluster.create_topic("orders", ORDERS)
        without_ids(cluster, "orders")
        cluster.listed_node_ids = [1, 2]
        await backing.metadata.refresh()
        told, version = brokers_told(backing), backing.metadata.view.version
        cluster.listed_node_ids = [2, 3]

        # When
        with pytest.raises(TopicIdsMissing, match="topic 'orders' has no id"):
            await backing.metadata.topics_named({"orders"})

        # Then
        assert told == [[2, 3]]
        assert backing.metadata.view.version > version
        await cluster.brokers[1].stop()
        await cluster.brokers[2].stop()
        await backing.metadata.ask_for_brokers()
        assert cluster.brokers[3].asked(ApiKey.METADATA)


async def test_topics_that_have_ids_are_taken_in_from_every_portion_of_an_answer_that_names_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(view, "PARTITIONS_AT_ONCE", 1)
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        # Given
        names = ("a", "b", "c", "d")
        for name in names:
            cluster.create_topic(name, TopicId(name.encode() * 16), partition_count=2)
        without_ids(cluster, "a", "c")
        told: list[str] = []
        backing.metadata.on_topics.append(lambda ids: told.extend(each[:1].decode() for each in ids))

        # When
        with pytest.raises(TopicIdsMissing, match="topic 'a' has no id"):
            await backing.metadata.look(frozenset(names))

        # Then
        assert told == ["b", "d"]
        assert sorted(backing.metadata.view.topic_names) == ["b", "d"]


def test_a_topic_that_is_described_without_its_id_stays_as_it_was() -> None:
    # Given
    known = view_of(topic("orders", ORDERS, (1, 5)), topic("payments", PAYMENTS, (1, 5)))
    nameless = [topic("orders", TopicId(ZERO_UUID), (2, 6)), topic("payments", PAYMENTS, (2, 6))]

    # When
    changes = known.absorb(response(*nameless), asked_names=["orders", "payments"], now_ms=10)

    # Then
    assert changes.moved_topics == {PAYMENTS}
    assert known.id_of("orders") == ORDERS
