"""Batches to the leaders of log partitions: one request per broker at a time, and an honest word about each batch."""

import asyncio

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.handlers.ports import TopicDescription
from kproxy.net.cluster.broker_client import BrokerClient, ConnectionLimits
from kproxy.net.state_log import log_appender
from kproxy.net.state_log.append_outcome import AppendFate, AppendOutcome, not_sent
from kproxy.net.state_log.state_topics import SlotTopics
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.metadata_request import MetadataRequest
from kproxy.wire.messages.produce_response import ProduceResponse
from kproxy.wire.record_batch_builder import build_batch
from kproxy.wire.records import Record
from tests.in_memory.scripted_state_log import WRITING_VERSIONS, Fate, ScriptedStateLog
from tests.worlds.backing import ORDERS
from tests.worlds.state_logs import GROUPS, STATE, StateLogBacking, create_state_topics, groups_log, state_log
from tests.worlds.waiting import until

QUICK_TO_GIVE_UP = ConnectionLimits(request_timeout_ms=500)


def batch_of(value: bytes, *, sequence: int = 0, epoch: int = 0) -> bytes:
    """Return a batch of one record of producer 7."""
    return build_batch(
        [Record(b"key", value)],
        producer_id=7,
        producer_epoch=epoch,
        base_sequence=sequence,
        timestamp_ms=0,
    )


def landed_at(base_offset: int) -> AppendOutcome:
    """Return the outcome of a batch that is durable."""
    return AppendOutcome(ErrorCode.NONE, base_offset)


async def appended(backing: StateLogBacking, topics: SlotTopics, batch: bytes) -> AppendOutcome:
    """Append to partition 0 of the state topic."""
    return await backing.appender.append(topics.state, 0, batch)


@pytest.mark.parametrize("highest_version", [3, 8, 9, 12, 13])
async def test_a_batch_lands_and_its_offset_is_told(highest_version: int) -> None:
    # Given
    versions = {**WRITING_VERSIONS, ApiKey.PRODUCE: (3, highest_version)}
    async with (
        ScriptedStateLog(versions=versions) as cluster,
        StateLogBacking(cluster) as backing,
    ):
        create_state_topics(cluster)
        topics = await backing.found()
        await appended(backing, topics, batch_of(b"first"))

        # When
        outcome = await appended(backing, topics, batch_of(b"second", sequence=1))

        # Then
        assert outcome == landed_at(1)
        assert [record.value for record in cluster.records(state_log())] == [b"first", b"second"]


async def test_what_is_appended_in_one_turn_to_partitions_of_one_broker_leaves_in_one_request() -> None:
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        topics = await backing.found()

        # When
        outcomes = [
            backing.appender.append(topic, partition, batch_of(b"x"))
            for topic in (topics.state, topics.groups)
            for partition in (0, 1)
        ]

        # Then
        assert [await outcome for outcome in outcomes] == [landed_at(0)] * 4
        assert cluster.produced() == [[(STATE, 0), (STATE, 1), (GROUPS, 0), (GROUPS, 1)]]


async def test_what_comes_while_a_request_is_under_way_leaves_together_with_the_next() -> None:
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        topics = await backing.found()
        cluster.may_land.clear()
        first = backing.appender.append(topics.state, 0, batch_of(b"x"))
        await cluster.brokers[1].until_asked(ApiKey.PRODUCE)

        # When
        others = [
            backing.appender.append(topic, 1, batch_of(b"x")) for topic in (topics.state, topics.groups)
        ]
        cluster.may_land.set()

        # Then
        assert [await outcome for outcome in (first, *others)] == [landed_at(0)] * 3
        assert cluster.produced() == [[(STATE, 0)], [(STATE, 1), (GROUPS, 1)]]


async def test_brokers_do_not_wait_for_each_other() -> None:
    # Given
    async with ScriptedStateLog((1, 2)) as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        topics = await backing.found()

        # When
        outcomes = [backing.appender.append(topics.state, partition, batch_of(b"x")) for partition in (0, 1)]

        # Then
        assert [await outcome for outcome in outcomes] == [landed_at(0)] * 2
        assert [len(broker.asked(ApiKey.PRODUCE)) for broker in cluster.brokers.values()] == [1, 1]


async def test_a_request_never_grows_beyond_what_a_broker_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        topics = await backing.found()
        small = batch_of(b"x")
        monkeypatch.setattr(log_appender, "MAX_REQUEST_BYTES", 2 * len(small))

        # When
        outcomes = [
            backing.appender.append(topics.state, 0, batch_of(b"x" * 10_000)),
            backing.appender.append(topics.state, 1, small),
            backing.appender.append(topics.groups, 0, small),
            backing.appender.append(topics.groups, 1, small),
        ]

        # Then
        assert [await outcome for outcome in outcomes] == [landed_at(0)] * 4
        assert cluster.produced() == [[(STATE, 0)], [(STATE, 1), (GROUPS, 0)], [(GROUPS, 1)]]


@pytest.mark.parametrize(
    "fate", [Fate.LOST, Fate.LANDS_UNANSWERED, Fate.LATE], ids=lambda fate: str(fate.value)
)
async def test_nobody_knows_what_became_of_a_batch_whose_answer_did_not_come(fate: Fate) -> None:
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        topics = await backing.found()
        cluster.decree(fate)

        # When
        outcome = await appended(backing, topics, batch_of(b"x"))

        # Then
        assert outcome.error_code is ErrorCode.NETWORK_EXCEPTION
        assert outcome.base_offset == -1
        landed = [record.value for record in cluster.records(state_log())]
        assert landed == ([b"x"] if fate is Fate.LANDS_UNANSWERED else [])


async def test_a_lost_connection_is_opened_again_for_the_next_batch() -> None:
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        topics = await backing.found()
        cluster.decree(Fate.LOST)
        await appended(backing, topics, batch_of(b"x"))

        # When / Then
        assert await appended(backing, topics, batch_of(b"y")) == landed_at(0)


@pytest.mark.parametrize(
    "error_code",
    [
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ],
)
async def test_a_refusal_says_where_and_why_and_does_not_touch_other_partitions(
    error_code: ErrorCode,
) -> None:
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        topics = await backing.found()
        cluster.refuse_append(state_log(), error_code)

        # When
        refused = backing.appender.append(topics.state, 0, batch_of(b"x"))
        taken = backing.appender.append(topics.groups, 0, batch_of(b"x"))

        # Then
        outcome = await refused
        assert (outcome.error_code, outcome.base_offset) == (error_code, -1)
        peer = cluster.brokers[1].address
        assert outcome.detail == f"{STATE}-0 at {peer}: {error_code.name} ({error_code.value})"
        assert await taken == landed_at(0)


async def test_a_batch_that_is_sent_again_has_its_first_offset() -> None:
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        topics = await backing.found()
        cluster.decree(Fate.LANDS_UNANSWERED)
        await appended(backing, topics, batch_of(b"x"))
        cluster.write_foreign(state_log(), Record(b"key", b"foreign"))

        # When
        outcome = await appended(backing, topics, batch_of(b"x"))

        # Then
        assert outcome == landed_at(0)
        assert len(cluster.records(state_log())) == 2


async def test_a_higher_epoch_fences_the_lower_one_only_once_it_has_written() -> None:
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        topics = await backing.found()
        before = await appended(backing, topics, batch_of(b"old"))

        # When
        claim = await appended(backing, topics, batch_of(b"new", epoch=1))
        after = await appended(backing, topics, batch_of(b"late", sequence=1))

        # Then
        assert (before, claim) == (landed_at(0), landed_at(1))
        assert after.error_code is ErrorCode.INVALID_PRODUCER_EPOCH


async def test_an_answer_that_does_not_speak_of_a_batch_leaves_it_unknown() -> None:
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        topics = await backing.found()
        cluster.brokers[1].answers[ApiKey.PRODUCE] = lambda _: ProduceResponse()

        # When
        outcome = await appended(backing, topics, batch_of(b"x"))

        # Then
        where = f"{STATE}-0 at {cluster.brokers[1].address}"
        assert outcome == AppendOutcome(
            ErrorCode.NETWORK_EXCEPTION, detail=f"no word about {where} in the answer"
        )


async def test_without_a_leader_nothing_is_sent() -> None:
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        nowhere = TopicDescription(ORDERS, "orders", 1)

        # When
        outcome = await backing.appender.append(nowhere, 0, batch_of(b"x"))

        # Then
        assert outcome == not_sent("no leader is known of orders-0")
        assert cluster.produced() == []


async def test_a_broker_that_cannot_be_reached_was_not_sent_anything() -> None:
    # Given
    async with ScriptedStateLog((1, 2)) as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        topics = await backing.found()
        cluster.lead(groups_log().topic_id, 0, 2)
        await cluster.brokers[1].stop()

        # When
        outcome = await appended(backing, topics, batch_of(b"x"))

        # Then
        assert outcome.fate is AppendFate.NOT_APPENDED
        await cluster.brokers[1].start()


async def test_a_connection_that_broke_before_a_byte_went_out_leaves_nothing_in_doubt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        topics = await backing.found()
        opened = await backing.connections.appender(1)
        opened.close()

        async def just_broken(_: int) -> BrokerClient:
            return opened

        monkeypatch.setattr(backing.connections, "appender", just_broken)

        # When
        outcome = await appended(backing, topics, batch_of(b"x"))

        # Then
        assert outcome.fate is AppendFate.NOT_APPENDED
        assert cluster.produced() == []


async def test_a_batch_that_quotas_hold_back_for_too_long_was_not_sent() -> None:
    """Nothing is in doubt: whoever waits hears that it was not written, or sends it again."""
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster, limits=QUICK_TO_GIVE_UP) as backing:
        create_state_topics(cluster)
        topics = await backing.found()
        cluster.brokers[1].answers[ApiKey.PRODUCE] = lambda _: ProduceResponse(throttle_time_ms=60_000)
        await appended(backing, topics, batch_of(b"x"))
        cluster.brokers[1].requests.clear()

        # When
        outcome = await appended(backing, topics, batch_of(b"y", sequence=1))

        # Then
        assert outcome.fate is AppendFate.NOT_APPENDED
        assert "the quotas of client id 'kproxy' are exceeded" in outcome.detail
        assert not cluster.brokers[1].asked(ApiKey.PRODUCE)


async def test_a_batch_is_not_kept_for_longer_than_a_leader_may_take() -> None:
    """Acknowledgements wait for it, and batches for other partitions behind it."""
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        topics = await backing.found()
        cluster.brokers[1].answers[ApiKey.PRODUCE] = lambda _: ProduceResponse(throttle_time_ms=60_000)
        await appended(backing, topics, batch_of(b"x"))
        first = backing.appender.append(topics.state, 0, batch_of(b"y", sequence=1))
        await asyncio.sleep(0)

        # When
        async with asyncio.timeout(backing.appender.write_timeout_ms / 1000):
            outcomes = [await first, await backing.appender.append(topics.state, 1, batch_of(b"z"))]

        # Then
        assert [outcome.fate for outcome in outcomes] == [AppendFate.NOT_APPENDED] * 2


async def test_while_quotas_hold_batches_back_the_leaders_are_looked_for_once_in_a_while() -> None:
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        topics = await backing.found()
        cluster.brokers[1].answers[ApiKey.PRODUCE] = lambda _: ProduceResponse(throttle_time_ms=60_000)
        await appended(backing, topics, batch_of(b"x"))
        cluster.brokers[1].requests.clear()

        # When
        for _ in range(5):
            await appended(backing, topics, batch_of(b"y", sequence=1))
            await backing.metadata.ask_for_brokers()

        # Then
        messages = [request.message for request in cluster.brokers[1].asked(ApiKey.METADATA)]
        assert len([each for each in messages if isinstance(each, MetadataRequest) and each.topics]) < 3


async def test_after_a_batch_that_could_not_be_sent_the_leaders_are_looked_for() -> None:
    # Given
    async with ScriptedStateLog((1, 2)) as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        topics = await backing.found()
        cluster.lead(state_log().topic_id, 0, 2)
        await cluster.brokers[1].stop()

        # When
        outcomes = [await appended(backing, topics, batch_of(b"x"))]
        await until(lambda: leader_id(backing) == 2)
        outcomes.append(await appended(backing, topics, batch_of(b"x")))

        # Then
        assert [outcome.fate for outcome in outcomes] == [AppendFate.NOT_APPENDED, AppendFate.DURABLE]
        await cluster.brokers[1].start()


def leader_id(backing: StateLogBacking) -> int:
    """Return who leads partition 0 of the state topic, as far as kproxy knows."""
    leader = backing.metadata.leader_of(state_log().topic_id, 0)
    return -1 if leader is None else leader.leader_id


async def test_when_kproxy_stops_nobody_waits_for_ever() -> None:
    # Given
    async with ScriptedStateLog() as cluster, StateLogBacking(cluster) as backing:
        create_state_topics(cluster)
        topics = await backing.found()
        cluster.may_land.clear()
        under_way = backing.appender.append(topics.state, 0, batch_of(b"x"))
        await cluster.brokers[1].until_asked(ApiKey.PRODUCE)
        waiting = backing.appender.append(topics.state, 1, batch_of(b"x"))

        # When
        await backing.tasks.close()

        # Then
        outcomes = [await under_way, await waiting]
        assert {outcome.error_code for outcome in outcomes} == {ErrorCode.NETWORK_EXCEPTION}
