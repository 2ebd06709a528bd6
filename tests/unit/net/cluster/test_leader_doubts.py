import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable
from kproxy.handlers.ports import PartitionLeader
from kproxy.net.cluster import contact as contact_module
from kproxy.net.cluster import leader_doubts
from kproxy.net.cluster.contact import LEAST_SILENCE_MS, Answered
from kproxy.net.cluster.leader_doubts import (
    DOUBT_MS,
    LEADER_DOUBTS,
    LEAST_PAUSE_MS,
    LONGEST_PAUSE_MS,
    THE_BROKERS,
    Doubted,
    RepeatedDoubts,
    told_code,
)
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest
from kproxy.wire.messages.metadata_response import MetadataResponse
from tests.in_memory.answering_broker import AnsweringBroker, Reply
from tests.in_memory.manual_clock import ManualClock
from tests.in_memory.scripted_cluster import ScriptedCluster
from tests.unit.net.cluster.few_brokers import brokers, one_of_three_brokers, one_of_two_bootstrap_servers
from tests.worlds.backing import ORDERS, PAYMENTS, Backing, ask, never, share_partition
from tests.worlds.waiting import until

CODES_OF_JAVAS_SHARE_CONSUMER = {
    ErrorCode.NONE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REPLICA_NOT_AVAILABLE,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.OFFSET_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INCONSISTENT_TOPIC_ID,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
}
"""What `ShareFetchCollector` handles; any other code is an IllegalStateException to the application."""

NAMES = frozenset({"orders", "payments"})


@pytest.mark.parametrize("error_code", sorted(LEADER_DOUBTS))
def test_whatever_is_said_of_a_leader_in_doubt_is_told_in_a_code_that_share_consumers_handle(
    error_code: ErrorCode,
) -> None:
    assert told_code(error_code) in CODES_OF_JAVAS_SHARE_CONSUMER


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (ErrorCode.NONE, ErrorCode.NONE),
        (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ErrorCode.INCONSISTENT_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_ID),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        (ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.OFFSET_OUT_OF_RANGE),
    ],
)
def test_codes_are_told_as_they_are_unless_clients_would_not_expect_them(
    said: ErrorCode, told: ErrorCode
) -> None:
    assert told_code(said) is told


# ---- another broker


def doubt(doubts: RepeatedDoubts, *doubted: Doubted, changes: Collection[Doubted] = ()) -> bool:
    """Look them up, as what `changes` then; return whether at another broker."""
    is_for_another = doubts.are_for_another(doubted)
    with doubts.looked_up(doubted):
        doubts.settle(changes)
    return is_for_another


def test_what_was_looked_up_and_is_doubted_again_is_for_another_broker() -> None:
    doubts = RepeatedDoubts(ManualClock())

    assert [doubt(doubts, ORDERS), doubt(doubts, PAYMENTS), doubt(doubts, PAYMENTS, ORDERS)] == [
        False,
        False,
        True,
    ]


def test_what_changed_since_is_doubted_for_the_first_time() -> None:
    doubts = RepeatedDoubts(ManualClock())
    doubt(doubts, ORDERS, changes=(ORDERS,))
    doubt(doubts, THE_BROKERS)
    doubts.settle((THE_BROKERS,))

    assert not doubt(doubts, ORDERS, THE_BROKERS)


def test_what_was_looked_up_long_ago_is_doubted_for_the_first_time() -> None:
    clock = ManualClock()
    doubts = RepeatedDoubts(clock)
    doubt(doubts, ORDERS)
    clock.advance(DOUBT_MS)

    assert not doubt(doubts, ORDERS)


def test_a_look_that_is_under_way_or_that_failed_is_none() -> None:
    doubts = RepeatedDoubts(ManualClock())

    with pytest.raises(BrokerUnavailable):
        fail_to_look_up(doubts)

    assert not doubts.are_for_another((ORDERS,))


def fail_to_look_up(doubts: RepeatedDoubts) -> None:
    """Look up a topic where nobody answers; meanwhile another doubts it."""
    with doubts.looked_up((ORDERS,)):
        assert not doubts.are_for_another((ORDERS,))
        raise BrokerUnavailable("nobody answers")


def test_while_nobody_says_other_another_is_asked_ever_more_rarely_until_something_changes() -> None:
    clock = ManualClock()
    doubts = RepeatedDoubts(clock)
    doubt(doubts, ORDERS)

    asked_ms = []
    for _ in range(600):
        if doubt(doubts, ORDERS):
            asked_ms.append(clock.now_ms())
        clock.advance(100)
    doubts.settle((ORDERS,))
    doubt(doubts, ORDERS)

    assert doubt(doubts, ORDERS)
    pauses = [later - earlier for earlier, later in pairwise(asked_ms)]
    assert 0.8 * LEAST_PAUSE_MS <= pauses[0] <= 1.2 * LEAST_PAUSE_MS + 100
    assert all(0.8 * LONGEST_PAUSE_MS <= pause <= 1.2 * LONGEST_PAUSE_MS + 100 for pause in pauses[4:])
    assert len(asked_ms) <= 11


def test_after_a_quiet_time_the_pauses_begin_with_the_shortest_again() -> None:
    clock = ManualClock()
    doubts = RepeatedDoubts(clock)
    doubt(doubts, ORDERS)
    for _ in range(600):
        doubt(doubts, ORDERS)
        clock.advance(100)

    # When
    clock.advance(DOUBT_MS)
    doubt(doubts, ORDERS)

    # Then
    assert doubt(doubts, ORDERS)
    clock.advance(2 * LEAST_PAUSE_MS)
    assert doubt(doubts, ORDERS)


def test_no_more_is_remembered_than_the_last_that_were_doubted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leader_doubts, "MOST_DOUBTED", 1)
    doubts = RepeatedDoubts(ManualClock())
    doubt(doubts, ORDERS)
    doubt(doubts, PAYMENTS)

    assert [doubt(doubts, ORDERS), doubt(doubts, ORDERS)] == [False, True]


# ---- who is asked then


async def test_whoever_passes_on_from_the_only_broker_comes_to_those_that_were_known_lately() -> None:
    async with one_of_three_brokers(ManualClock()) as (contact, _):
        before = await contact.ask(ask)
        contact.pass_on()
        assert (before, await contact.ask(ask)) == ("1", "2")


async def test_whoever_passes_on_from_the_only_broker_comes_to_a_bootstrap_server_that_may_be_another_one() -> (
    None
):
    async with one_of_two_bootstrap_servers() as (contact, _):
        assert await contact.ask(ask) == "2"


async def test_where_a_bootstrap_server_told_of_nobody_else_the_only_broker_is_asked_again() -> None:
    async with one_of_two_bootstrap_servers() as (contact, _):
        assert [await contact.ask(ask) for _ in range(3)] == ["2", "1", "1"]


async def test_a_broker_that_was_passed_on_from_comes_after_those_that_are_met_then() -> None:
    async with one_of_two_bootstrap_servers() as (contact, both):
        # Given
        await contact.ask(ask)

        # When
        contact.learn(brokers(*both))

        # Then
        assert await contact.ask_whom(ask) == Answered("2", 2)


async def test_who_says_nothing_before_the_only_broker_is_waited_for_once_until_some_time_has_passed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(contact_module, "PATIENCE_SECONDS", 0.5)
    async with one_of_three_brokers(clock := ManualClock()) as (contact, [_, *silent]):
        # Given
        for each in silent:
            each.answers[ApiKey.METADATA] = never

        async def asked_counts_after_passing_on() -> list[int]:
            for _ in range(3):
                contact.pass_on()
                assert await contact.ask(ask) == "1"
            return [len(each.asked(ApiKey.METADATA)) for each in silent]

        # When
        at_first = await asked_counts_after_passing_on()
        clock.advance(2 * LEAST_SILENCE_MS)
        later = await asked_counts_after_passing_on()

        # Then
        assert (at_first, later) == ([1, 1], [2, 2])


async def test_who_failed_and_answered_since_is_asked_before_the_only_broker_again() -> None:
    async with one_of_two_bootstrap_servers() as (contact, [only, away]):
        for down, answer in ((away, "1"), (only, "2")):
            await down.stop()
            assert await contact.ask(ask) == answer
            await down.start()
        contact.pass_on()
        assert await contact.ask(ask) == "2"


async def test_who_failed_before_the_only_broker_and_is_back_is_asked_before_it_after_some_time() -> None:
    clock = ManualClock()
    async with one_of_three_brokers(clock) as (contact, [_, *away]):
        # Given
        for each in away:
            await each.stop()
        contact.pass_on()
        alone = await contact.ask(ask)
        for each in away:
            await each.start()

        # When
        clock.advance(2 * LEAST_SILENCE_MS)
        contact.pass_on()

        # Then
        assert (alone, await contact.ask(ask)) == ("1", "2")


@pytest.mark.parametrize("cut_off", [1, 2, 3])
async def test_a_broker_that_names_itself_alone_since_the_start_does_not_keep_kproxy_from_the_others(
    cut_off: int,
) -> None:
    # Given
    async with (
        ScriptedCluster((1, 2, 3)) as cluster,
        Backing([cluster.brokers[(cut_off + each) % 3 or 3].address for each in range(3)]) as backing,
    ):
        cluster.create_topic("orders", ORDERS)
        cluster.lead(ORDERS, 0, cut_off % 3 + 1)
        await cluster.append(ORDERS, 0, [b"record"])
        answer = cluster.brokers[cut_off].answers[ApiKey.METADATA]

        def alone(request: DecodedRequest) -> Reply:
            response = answer(request)
            assert isinstance(response, MetadataResponse)
            response.brokers = [each for each in response.brokers if each.node_id == cut_off]
            return response

        cluster.brokers[cut_off].answers[ApiKey.METADATA] = alone
        await backing.metadata.refresh()
        known = [each.node_id for each in backing.metadata.brokers]
        await backing.metadata.look(NAMES)

        # When
        read = [(await backing.read_one(ORDERS, 0, 0)).error_code for _ in range(3)]

        # Then
        assert (known, read[-1]) == ([cut_off], ErrorCode.NONE)


# ---- as the metadata ask


@asynccontextmanager
async def a_broker_that_is_behind() -> AsyncIterator[tuple[ScriptedCluster, Backing]]:
    """Broker 1 is asked first, and has not heard that 3 leads `orders` instead of 2."""
    async with ScriptedCluster((1, 2, 3)) as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        cluster.lead(ORDERS, 0, 2)
        await cluster.append(ORDERS, 0, [b"record"])
        await backing.metadata.look(NAMES)
        await backing.metadata.refresh()
        cluster.fall_behind(1)
        cluster.lead(ORDERS, 0, 3)
        yield cluster, backing


async def test_a_broker_that_is_behind_about_a_leader_is_not_asked_first_any_more_when_reads_say_other() -> (
    None
):
    async with a_broker_that_is_behind() as (_, backing):
        # When
        read = [(await backing.read_one(ORDERS, 0, 0)).error_code for _ in range(2)]

        # Then
        assert read == [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NONE]
        await backing.metadata.look(NAMES)
        assert backing.metadata.leader_of(ORDERS, 0) == PartitionLeader(3, 2)


async def test_a_wait_for_records_finds_the_leader_of_which_the_broker_that_is_asked_first_has_not_heard() -> (
    None
):
    async with a_broker_that_is_behind() as (cluster, backing):
        # When
        wait = backing.wait_for((share_partition(ORDERS, 0), 1), for_ms=60_000)
        await until(lambda: backing.metadata.leader_of(ORDERS, 0) == PartitionLeader(3, 2))
        await cluster.append(ORDERS, 0, [b"another"])

        # Then
        async with asyncio.timeout(30):
            await wait


async def test_a_broker_that_names_another_where_it_was_is_not_asked_first_any_more_when_nobody_is_there() -> (
    None
):
    # Given
    async with (
        ScriptedCluster((1, 2, 3)) as cluster,
        Backing(cluster.bootstrap_servers) as backing,
        AnsweringBroker(version_ranges=cluster.brokers[2].version_ranges) as elsewhere,
    ):
        await backing.metadata.refresh()
        before = cluster.brokers[2]
        await before.stop()
        answer = cluster.brokers[1].answers[ApiKey.METADATA]

        def still_there(request: DecodedRequest) -> Reply:
            response = answer(request)
            assert isinstance(response, MetadataResponse)
            response.brokers[1].port = before.address.port
            return response

        cluster.brokers[1].answers[ApiKey.METADATA] = still_there
        cluster.brokers[2] = elsewhere

        # When
        for _ in range(2):
            await backing.metadata.look_for_brokers()

        # Then
        assert (await backing.connections.control(2)).peer == str(elsewhere.address)
        await before.start()


async def test_that_a_leader_is_down_makes_no_more_questions_than_doubts() -> None:
    # Given
    async with ScriptedCluster((1, 2, 3)) as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        cluster.lead(ORDERS, 0, 2)
        await backing.metadata.look(NAMES)
        await backing.metadata.refresh()
        await cluster.brokers[2].stop()
        before = len(cluster.asked(ApiKey.METADATA))

        # When
        for _ in range(10):
            await backing.read_one(ORDERS, 0, 0)

        # Then
        assert len(cluster.asked(ApiKey.METADATA)) - before == 10
        await cluster.brokers[2].start()
