"""When the state log is shorter than it was: the alarm is raised, what is left is served, and nothing is skipped.

The end of a log is lost in an unclean restart; all of it when somebody deletes the topic.
"""

from collections.abc import Callable
from functools import partial

import pytest

from kproxy.errors import StateLogUnavailable
from kproxy.handlers.ports import EARLIEST_TIMESTAMP
from kproxy.net.state_log.log_scan import LogTruncated
from kproxy.statelog.group_records import RecoveryPoint
from kproxy.statelog.operations import Load
from kproxy.statelog.slot_status import SlotState
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest
from kproxy.wire.messages.list_offsets_request import ListOffsetsRequest
from kproxy.wire.messages.list_offsets_response import ListOffsetsPartitionResponse, ListOffsetsResponse
from tests.in_memory.answering_broker import Answer
from tests.in_memory.scripted_state_log import Fate, ScriptedStateLog
from tests.in_memory.written_log import a_claim, a_snapshot
from tests.worlds.slot_allocations import EPOCH, FLEET
from tests.worlds.slot_scenes import BEGINNING, KEY, OTHER, served_again, with_state
from tests.worlds.state_logs import (
    STATE,
    StateLogBacking,
    acknowledged,
    alarms,
    became,
    done_with,
    drained,
    refusal_of,
    state_log,
)
from tests.worlds.waiting import until

# ---------------------------------------------------- truncated


TRUNCATIONS = [(False, "unknown_outcome", "slot_rebuilt"), (True, "truncated", "")]


@pytest.mark.parametrize(("forgotten", "reason", "line"), TRUNCATIONS)
async def test_a_truncated_log_raises_the_alarm_once_and_what_is_left_is_served(
    reason: str,
    line: str,
    caplog: pytest.LogCaptureFixture,
    cluster: ScriptedStateLog,
    backing: StateLogBacking,
    *,
    forgotten: bool,
) -> None:
    # Given
    slot = await with_state(backing)
    for offset in (5, 6):
        slot.submit(acknowledged(KEY, offset, offset))
        await drained(slot)
    cluster.truncate(state_log(), 3, are_producers_forgotten=forgotten)

    # When
    refusal = await refusal_of(slot.submit(acknowledged(KEY, 9, 9)))

    # Then
    assert isinstance(refusal, StateLogUnavailable)
    await served_again(backing, slot)
    assert backing.measured.counts["statelog_truncations",] == 1
    assert backing.measured.counts["statelog_rebuilds", reason] == 1
    assert done_with(slot, KEY) == [(0, 4)] + ([(9, 9)] if forgotten else [])
    assert [record.msg for record in alarms(caplog)] == [*filter(None, [line]), "state_log_truncated"]


async def test_a_log_that_is_shorter_when_it_is_claimed_again_raises_the_alarm(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slot = await with_state(backing)
    cluster.decree(Fate.LOST, state_log())
    cluster.before_init_producer_id = lambda _: cluster.truncate(state_log(), 1)

    # When
    await refusal_of(slot.submit(acknowledged(KEY, 5, 6)))

    # Then
    await served_again(backing, slot)
    assert backing.measured.counts["statelog_truncations",] == 1
    assert slot.states().states == {}


async def test_a_share_partition_whose_state_is_gone_is_one_that_was_never_initialized(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slot = await with_state(backing)
    cluster.truncate(state_log(), 1)
    await refusal_of(slot.submit(acknowledged(KEY, 5, 5)))
    await became(slot, SlotState.READY)

    # When
    ticket = slot.submit(Load(OTHER))
    await until(lambda: ticket.is_done)

    # Then
    assert (ticket.refusal, ticket.response) == (None, None)


# ---------------------------------------------------- while kproxy was down


async def stopped_after_three_records(backing: StateLogBacking) -> None:
    """Leave a log with a snapshot at offset 1, an update and a second snapshot, and its recovery point, 3."""
    slot = await backing.ready_slot(backing.claims(await backing.found(), updates_per_snapshot=1))
    slot.submit(BEGINNING)
    await drained(slot)
    for offset in (0, 5):
        slot.submit(acknowledged(KEY, offset, offset + 4))
        await drained(slot)
    loaded = slot.loaded()
    assert loaded is not None
    assert loaded.recovery_point() == RecoveryPoint(3, 3)
    slot.submit_group(loaded.recovery_point())
    await drained(slot)
    await backing.tasks.close()


async def loaded_anew(cluster: ScriptedStateLog) -> tuple[dict[str, list[tuple[int, int]]], int]:
    """Return what another process finds to be done with, by key, and how often it raised the alarm."""
    async with StateLogBacking(cluster) as backing:
        slot = await backing.ready_slot()
        found = {str(key): done_with(slot, key) for key in slot.states().states}
        return found, backing.measured.counts["statelog_truncations",]


@pytest.mark.parametrize(
    ("end_offset", "left"),
    [(3, {str(KEY): [(0, 4)]}), (2, {str(KEY): []}), (1, {}), (0, {})],
)
async def test_a_log_that_ends_below_its_recovery_point_raises_the_alarm_and_is_read_from_its_start(
    end_offset: int,
    left: dict[str, list[tuple[int, int]]],
    cluster: ScriptedStateLog,
    backing: StateLogBacking,
) -> None:
    # Given
    await stopped_after_three_records(backing)
    cluster.truncate(state_log(), end_offset)

    # When
    found, alarm_count = await loaded_anew(cluster)

    # Then
    assert (found, alarm_count) == (left, 1)
    assert (await loaded_anew(cluster))[1] == 0, "the alarm is raised once"


async def test_a_log_that_lost_records_above_its_recovery_point_raises_the_alarm(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    slot = await with_state(backing)
    loaded = slot.loaded()
    assert loaded is not None
    slot.submit_group(loaded.recovery_point())
    await drained(slot)
    point = loaded.recovery_point()
    await backing.tasks.close()
    cluster.truncate(state_log(), 2)

    # When
    found, alarm_count = await loaded_anew(cluster)

    # Then
    assert point == RecoveryPoint(1, 2)
    assert (found, alarm_count) == ({str(KEY): []}, 1)


async def test_a_log_that_begins_above_its_recovery_point_raises_the_alarm(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    await stopped_after_three_records(backing)
    cluster.log(state_log().topic_id, 0).move_start(4)

    # When
    found, alarm_count = await loaded_anew(cluster)

    # Then
    assert (found, alarm_count) == ({}, 1)


async def test_a_log_that_is_as_it_was_left_raises_no_alarm(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    await stopped_after_three_records(backing)

    # When
    found, alarm_count = await loaded_anew(cluster)

    # Then
    assert (found, alarm_count) == ({str(KEY): [(0, 9)]}, 0)


def begins_where(cluster: ScriptedStateLog, told: Callable[[ListOffsetsPartitionResponse], None]) -> None:
    """Have `told` see, and change, each answer to where the state log of slot 0 begins."""
    for broker in cluster.brokers.values():
        broker.answers[ApiKey.LIST_OFFSETS] = partial(_answer, broker.answers[ApiKey.LIST_OFFSETS], told)


def _answer(
    honest: Answer, told: Callable[[ListOffsetsPartitionResponse], None], request: DecodedRequest
) -> ListOffsetsResponse:
    asked, answer = request.message, honest(request)
    assert isinstance(asked, ListOffsetsRequest)
    assert isinstance(answer, ListOffsetsResponse)
    [topic] = asked.topics
    [partition] = topic.partitions
    if (topic.name, partition.timestamp) == (STATE, EARLIEST_TIMESTAMP):
        told(answer.topics[0].partitions[0])
    return answer


def where_the_log_start_moves(cluster: ScriptedStateLog, start: int) -> None:
    """Let old records be deleted right after the state log's first offset was found."""
    moves = [start]

    def and_then_it_moves(_: ListOffsetsPartitionResponse) -> None:
        if moves:
            cluster.log(state_log().topic_id, 0).move_start(moves.pop())

    begins_where(cluster, and_then_it_moves)


async def test_records_that_are_deleted_between_finding_the_log_start_and_loading_from_it_are_no_alarm(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    cluster.write_foreign(state_log(), a_claim(), a_claim())
    cluster.write_foreign(state_log(), a_snapshot(KEY))
    claims = backing.claims(await backing.found())
    cluster.log(state_log().topic_id, 0).move_start(1)
    where_the_log_start_moves(cluster, 2)

    # When
    slot = await backing.ready_slot(claims)

    # Then
    assert set(slot.states().states) == {KEY}
    assert backing.measured.counts["statelog_truncations",] == 0


async def test_records_that_are_deleted_between_finding_the_log_start_and_looking_for_claims_are_no_alarm(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    claims = backing.claims(await backing.found())
    for _ in range(4):
        await claims.claim(0, EPOCH, FLEET)
    cluster.log(state_log().topic_id, 0).move_start(2)
    where_the_log_start_moves(cluster, 3)

    # When
    await claims.require_unclaimed(0, 0, EPOCH)

    # Then
    assert cluster.log(state_log().topic_id, 0).log_start_offset == 3


async def test_a_log_without_what_is_to_be_read_and_with_an_unmoved_start_is_not_read_twice(
    cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    claims = backing.claims(await backing.found())
    claimed = await claims.claim(0, EPOCH, FLEET)
    cluster.log(state_log().topic_id, 0).move_start(1)

    def outdated(answer: ListOffsetsPartitionResponse) -> None:
        answer.offset = 0

    begins_where(cluster, outdated)

    # When / Then
    with pytest.raises(LogTruncated):
        await claims.load(claimed)
