"""What is believed of a topic when brokers say different things."""

import asyncio

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.net.cluster import contact
from kproxy.net.cluster.second_opinions import (
    Opinion,
    contradictions,
    denied_topics,
    majority_against,
    opinion_in,
    undecided_names,
)
from kproxy.share.identifiers import TopicId
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.metadata_response import MetadataResponse, MetadataResponseTopic
from tests.in_memory.scripted_cluster import ScriptedCluster
from tests.worlds.backing import ORDERS, PAYMENTS, Backing
from tests.worlds.brokers_behind import held_metadata, name_itself_alone

OLD = TopicId(b"topic-id-old....")
NEW = TopicId(b"topic-id-new....")

NAMES = frozenset({"orders", "payments"})
NEW_ORDERS = TopicId(b"topic-id-orders2")


class Known:
    """One topic, `orders`, and an id that is known to be gone."""

    def __init__(self, topic_id: TopicId | None, *, gone: TopicId | None = None) -> None:
        self._topic_id, self._gone = topic_id, gone

    def id_of(self, name: str) -> TopicId | None:
        return self._topic_id if name == "orders" else None

    def was_gone(self, topic_id: TopicId) -> bool:
        return topic_id == self._gone


def test_a_response_says_that_a_topic_is_there_or_that_it_is_not_or_nothing() -> None:
    response = MetadataResponse(
        topics=[
            MetadataResponseTopic(name="orders", topic_id=OLD),
            MetadataResponseTopic(name="fresh", topic_id=NEW, error_code=ErrorCode.LEADER_NOT_AVAILABLE),
            MetadataResponseTopic(name="unknown", error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            MetadataResponseTopic(name="secret", error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED),
            MetadataResponseTopic(name=None, topic_id=NEW),
            MetadataResponseTopic(name="coming", error_code=ErrorCode.LEADER_NOT_AVAILABLE),
        ]
    )

    opinion = opinion_in(response, ["orders", "fresh", "unknown", "secret", "left out", "coming"])

    assert opinion == {"orders": OLD, "fresh": NEW, "unknown": None, "left out": None}


@pytest.mark.parametrize(
    ("known", "said", "is_contradiction"),
    [
        (Known(OLD), OLD, False),
        (Known(OLD), None, True),
        (Known(OLD), NEW, True),
        (Known(None), NEW, False),
        (Known(None), None, False),
        (Known(None, gone=OLD), OLD, True),
        (Known(None, gone=OLD), NEW, False),
    ],
)
def test_only_what_is_gone_another_or_back_again_needs_a_second_opinion(
    known: Known, said: TopicId | None, *, is_contradiction: bool
) -> None:
    assert bool(contradictions({"orders": said}, known, {})) is is_contradiction


def test_what_somebody_expects_counts_as_known() -> None:
    known = Known(None)

    assert contradictions({"orders": None}, known, {"orders": {NEW}}) == {"orders"}
    assert contradictions({"orders": NEW}, known, {"orders": {NEW}}) == frozenset()
    assert contradictions({"orders": NEW}, known, {"orders": {OLD, NEW}}) == {"orders"}


@pytest.mark.parametrize(
    ("known", "first", "others", "is_decided"),
    [
        pytest.param(Known(OLD), None, [], True, id="a lone broker is believed"),
        pytest.param(Known(OLD), None, [OLD], False, id="one against one: it stays"),
        pytest.param(Known(OLD), None, [None, OLD], True, id="one that still knows it is outvoted"),
        pytest.param(Known(OLD), None, [OLD, OLD], False, id="one that does not know it yet is outvoted"),
        pytest.param(Known(OLD), NEW, [None, OLD], True, id="two agree that the old one is gone"),
        pytest.param(Known(OLD), NEW, [OLD, OLD], False, id="one that knows an older one is outvoted"),
        pytest.param(Known(None, gone=OLD), OLD, [None, None], False, id="one brings nothing back"),
        pytest.param(Known(None, gone=OLD), OLD, [OLD, None], True, id="two do"),
        pytest.param(Known(NEW, gone=OLD), OLD, [NEW, NEW], False, id="nor in place of what is there"),
    ],
)
def test_the_majority_decides_and_without_one_all_stays_as_it_is(
    known: Known, first: TopicId | None, others: list[TopicId | None], *, is_decided: bool
) -> None:
    opinions: list[Opinion] = [{"orders": said} for said in (first, *others)]

    undecided = undecided_names({"orders"}, opinions, known, {})

    assert undecided == (frozenset() if is_decided else {"orders"})


def test_a_broker_that_does_not_say_has_no_voice() -> None:
    opinions: list[Opinion] = [{"orders": None}, {}]

    assert undecided_names({"orders"}, opinions, Known(OLD), {}) == frozenset()


@pytest.mark.parametrize(
    ("others", "is_decided"),
    [
        pytest.param([], True, id="there is no other broker"),
        pytest.param([{}], False, id="the only other one is silent"),
        pytest.param([{}, {}], False, id="both others are"),
        pytest.param([{"orders": None}, {}], True, id="one of them agrees"),
        pytest.param([{"orders": OLD}, {}], False, id="one of them still knows it"),
    ],
)
def test_that_the_topic_of_a_state_is_gone_is_not_believed_while_others_are_silent(
    others: list[Opinion], *, is_decided: bool
) -> None:
    opinions: list[Opinion] = [{"orders": None}, *others]

    undecided = undecided_names({"orders"}, opinions, Known(None), {"orders": {OLD}})

    assert undecided == (frozenset() if is_decided else {"orders"})


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        pytest.param([{"orders": OLD}, {"orders": OLD}], 1, id="both others say the same"),
        pytest.param([{}, {"orders": OLD}, {"orders": OLD}], 2, id="one is silent"),
        pytest.param([{"orders": OLD}], None, id="one against one"),
        pytest.param([{"orders": OLD}, {"orders": NEW}], None, id="each says something else"),
        pytest.param([{}, {}], None, id="all others are silent"),
    ],
)
def test_whoever_is_outvoted_is_told_by_whom(others: list[Opinion], expected: int | None) -> None:
    opinions: list[Opinion] = [{"orders": None}, *others]

    assert majority_against({"orders"}, opinions) == expected


@pytest.mark.parametrize(
    ("answer", "is_denied"),
    [
        pytest.param(MetadataResponseTopic(name="orders", topic_id=OLD), False, id="it is there"),
        pytest.param(MetadataResponseTopic(name="orders", topic_id=NEW), True, id="it is another one"),
        pytest.param(
            MetadataResponseTopic(name="orders", error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            True,
            id="it is unknown",
        ),
        pytest.param(
            MetadataResponseTopic(name="orders", error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED),
            False,
            id="it may merely not be seen",
        ),
        pytest.param(MetadataResponseTopic(name="payments", topic_id=NEW), False, id="nothing is said of it"),
    ],
)
def test_a_topic_is_denied_when_its_name_is_unknown_or_belongs_to_another(
    answer: MetadataResponseTopic, *, is_denied: bool
) -> None:
    response = MetadataResponse(topics=[answer])

    denied = denied_topics(response, {"orders": [OLD]}, undecided=())

    assert denied == ({OLD} if is_denied else set())


def test_what_is_undecided_is_not_denied() -> None:
    response = MetadataResponse(topics=[MetadataResponseTopic(name="orders", topic_id=NEW)])

    assert denied_topics(response, {"orders": [OLD]}, undecided={"orders"}) == frozenset()


# ---- as the metadata ask


async def test_a_topic_that_a_broker_does_not_know_yet_stays_when_the_others_know_it() -> None:
    # Given
    async with ScriptedCluster((1, 2, 3)) as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.fall_behind(2)
        cluster.create_topic("orders", ORDERS)
        await backing.metadata.look(NAMES)
        await cluster.brokers[1].stop()

        # When
        await backing.metadata.look(NAMES)

        # Then
        assert backing.metadata.describe(ORDERS) is not None
        assert await backing.metadata.missing_topics({ORDERS: "orders"}) == []
        cluster.catch_up(2)
        await backing.metadata.look(NAMES)
        assert backing.metadata.describe(ORDERS) is not None


async def test_a_topic_that_was_deleted_is_gone_although_one_broker_still_knows_it() -> None:
    # Given
    async with ScriptedCluster((1, 2, 3)) as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        await backing.metadata.look(NAMES)
        cluster.fall_behind(3)
        cluster.delete_topic(ORDERS)

        # When
        await backing.metadata.look(NAMES)

        # Then
        assert backing.metadata.describe(ORDERS) is None
        assert await backing.metadata.missing_topics({ORDERS: "orders"}) == [ORDERS]


async def test_a_topic_that_is_gone_is_not_brought_back_by_one_broker_that_still_knows_it() -> None:
    # Given
    async with ScriptedCluster((1, 2, 3)) as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        await backing.metadata.look(NAMES)
        cluster.fall_behind(2)
        cluster.create_topic("orders", NEW_ORDERS)
        await backing.metadata.look(NAMES)
        asked_first = [node_id for node_id in (1, 2, 3) if cluster.brokers[node_id].asked(ApiKey.METADATA)]
        await cluster.brokers[1].stop()

        # When
        await backing.metadata.look(NAMES)

        # Then
        assert 1 in asked_first
        assert backing.metadata.describe(ORDERS) is None
        assert backing.metadata.describe(NEW_ORDERS) is not None


async def test_after_a_restart_what_groups_expect_is_not_gone_because_one_broker_has_not_heard_of_it() -> (
    None
):
    # Given
    async with ScriptedCluster((1, 2, 3)) as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.fall_behind(1)
        cluster.create_topic("orders", ORDERS)
        await backing.metadata.refresh()

        # When
        missing = await backing.metadata.missing_topics({ORDERS: "orders", PAYMENTS: "payments"})

        # Then
        assert missing == [PAYMENTS]


async def test_a_topic_is_not_gone_because_a_look_at_a_broker_that_is_behind_was_answered_in_between() -> (
    None
):
    """What groups have state of is deleted when it is gone."""
    # Given
    async with ScriptedCluster((1, 2, 3)) as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.fall_behind(1)
        cluster.create_topic("orders", ORDERS)
        await backing.metadata.refresh()
        for node_id in (2, 3):  # who asks them gives up after half a second, which dialling may take
            await backing.connections.control(node_id)
        async with held_metadata(cluster, 2, 3) as may_answer, asyncio.TaskGroup() as tasks:
            missing = tasks.create_task(backing.metadata.missing_topics({ORDERS: "orders"}))
            for node_id in (2, 3):
                await cluster.brokers[node_id].until_asked(ApiKey.METADATA)

            # When
            await backing.metadata.look(NAMES)
            may_answer.set()

        # Then
        assert missing.result() == []


async def test_what_was_heard_while_others_were_asked_is_not_undone_by_the_older_answer() -> None:
    # Given
    async with ScriptedCluster((1, 2, 3)) as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("payments", PAYMENTS)
        await backing.metadata.look(frozenset({"payments"}))
        cluster.delete_topic(PAYMENTS)
        for node_id in (2, 3):  # who asks them gives up after half a second, which dialling may take
            await backing.connections.control(node_id)
        async with held_metadata(cluster, 2, 3) as may_answer, asyncio.TaskGroup() as tasks:
            look = tasks.create_task(backing.metadata.look(NAMES))
            for node_id in (2, 3):
                await cluster.brokers[node_id].until_asked(ApiKey.METADATA)
            cluster.create_topic("orders", ORDERS)

            # When
            await backing.metadata.topics_named({"orders"})
            may_answer.set()

        # Then
        assert not look.result()
        assert backing.metadata.describe(ORDERS) is not None
        assert backing.metadata.describe(PAYMENTS) is None


async def test_what_groups_have_state_of_is_not_gone_because_one_broker_says_so_and_the_others_are_silent() -> (
    None
):
    # Given
    async with ScriptedCluster((1, 2, 3)) as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.fall_behind(1)
        cluster.create_topic("orders", ORDERS)
        await backing.metadata.refresh()
        async with held_metadata(cluster, 2, 3):
            # When
            missing = await backing.metadata.missing_topics({ORDERS: "orders"})

        # Then
        assert missing == []


async def test_a_broker_that_names_itself_alone_does_not_take_over_while_the_others_are_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What groups have state of is deleted when it is gone."""
    # Given
    monkeypatch.setattr(contact, "PATIENCE_SECONDS", 0.05)
    async with ScriptedCluster((1, 2, 3)) as cluster, Backing(cluster.bootstrap_servers) as backing:
        name_itself_alone(cluster, 1)
        cluster.create_topic("orders", ORDERS)
        async with held_metadata(cluster, 1) as may_answer:
            await backing.metadata.look(NAMES)
            may_answer.set()
        known = [broker.node_id for broker in backing.metadata.brokers]

        # When
        async with held_metadata(cluster, 2, 3):
            await backing.metadata.look(NAMES)
            while_silent = await backing.metadata.missing_topics({ORDERS: "orders"})
            still_silent = await backing.metadata.missing_topics({ORDERS: "orders"})
        for node_id in (2, 3):
            await backing.connections.control(node_id)
        afterwards = await backing.metadata.missing_topics({ORDERS: "orders"})
        await backing.metadata.look(NAMES)

        # Then
        assert known == [2, 3]
        assert (while_silent, still_silent, afterwards) == ([], [], [])
        assert [broker.node_id for broker in backing.metadata.brokers] == [2, 3]
        assert backing.metadata.describe(ORDERS) is not None


async def test_the_brokers_of_an_answer_that_is_not_believed_are_not_taken_in() -> None:
    # Given
    async with ScriptedCluster((1, 2, 3)) as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("payments", PAYMENTS)
        await backing.metadata.look(NAMES)
        name_itself_alone(cluster, 1)
        cluster.create_topic("orders", ORDERS)
        for node_id in (2, 3):
            await backing.connections.control(node_id)

        # When
        missing = await backing.metadata.missing_topics({ORDERS: "orders"})

        # Then
        assert missing == []
        assert [broker.node_id for broker in backing.metadata.brokers] == [2, 3]


async def test_after_a_start_one_broker_of_several_bootstrap_servers_is_not_enough_for_a_topic_to_be_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(contact, "PATIENCE_SECONDS", 0.05)
    async with ScriptedCluster((1, 2, 3)) as cluster, Backing(cluster.bootstrap_servers) as backing:
        name_itself_alone(cluster, 1)
        cluster.create_topic("orders", ORDERS)
        async with held_metadata(cluster, 2, 3):
            await backing.metadata.refresh()

            # When
            missing = await backing.metadata.missing_topics({ORDERS: "orders"})

        # Then
        assert missing == []
        assert [broker.node_id for broker in backing.metadata.brokers] == [1]
