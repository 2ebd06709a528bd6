"""Appends that are certainly not in the log: sent again, or refused, and nothing is in doubt."""

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import StateNotWritten
from kproxy.net.state_log import partition_writer
from kproxy.net.state_log import slot as state_slot
from kproxy.net.state_log.loading import ClaimedSlot
from kproxy.net.state_log.slot import StateSlot
from kproxy.statelog.group_records import StateTopicFacts
from kproxy.wire.api_keys import ApiKey
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.worlds.slot_scenes import served_again
from tests.worlds.state_logs import SLOT_COUNT, StateLogBacking, acknowledged, alarms, groups_log, state_log
from tests.worlds.waiting import until
from tests.worlds.written_partition import BEGINNING, KEY, OTHER_BEGINNING, Written


async def test_an_append_that_could_not_be_sent_is_sent_again_and_nothing_is_in_doubt(
    written: Written,
) -> None:
    # Given
    await written.settled(BEGINNING)
    await written.cluster.brokers[1].stop()
    ticket = written.submit(acknowledged(KEY, 0, 4))
    await until(lambda: written.backing.connections.backoff_ms(1) > 0)

    # When
    await written.cluster.brokers[1].start()
    await until(lambda: ticket.is_done)
    (after,) = await written.settled(acknowledged(KEY, 5, 5))

    # Then
    assert (ticket.refusal, after.refusal, written.doubts) == (None, None, [])
    assert [record.offset for record in written.cluster.records(state_log())] == [0, 1, 2, 3]


async def test_an_append_that_could_not_be_sent_goes_to_whoever_leads_meanwhile(written: Written) -> None:
    # Given
    await written.settled(BEGINNING)
    written.cluster.lead(state_log().topic_id, 0, 2)
    await written.cluster.brokers[1].stop()

    # When
    (ticket,) = await written.settled(acknowledged(KEY, 0, 4))

    # Then
    assert (ticket.refusal, written.doubts) == (None, [])
    assert len(written.cluster.brokers[2].asked(ApiKey.PRODUCE)) == 1
    await written.cluster.brokers[1].start()


async def test_an_append_that_finds_too_few_replicas_is_sent_again(written: Written) -> None:
    # Given
    written.cluster.refuse_append(state_log(), ErrorCode.NOT_ENOUGH_REPLICAS, times=2)

    # When
    (ticket,) = await written.settled(BEGINNING)

    # Then
    assert (ticket.refusal, written.doubts) == (None, [])
    assert len(written.cluster.asked(ApiKey.PRODUCE)) == 3


async def test_an_append_that_cannot_be_sent_in_time_is_refused_and_the_next_one_is_not(
    monkeypatch: pytest.MonkeyPatch, written: Written
) -> None:
    # Given
    monkeypatch.setattr(written.backing.appender, "write_timeout_ms", 1_000)
    await written.cluster.brokers[1].stop()
    ticket = written.submit(BEGINNING)
    await until(lambda: written.backing.connections.backoff_ms(1) > 0)
    waiting = written.submit(OTHER_BEGINNING)

    # When
    await until(lambda: ticket.is_done)

    # Then
    assert [type(each.refusal) for each in (ticket, waiting)] == [StateNotWritten] * 2
    assert written.doubts == []
    assert written.backing.measured.counts["statelog_refusals", "late"] == 1
    await written.cluster.brokers[1].start()
    await until(lambda: written.backing.connections.backoff_ms(1) == 0)
    (again,) = await written.settled(BEGINNING)
    assert again.refusal is None


async def test_a_writer_that_is_ended_does_not_send_again_what_could_not_be_sent(
    monkeypatch: pytest.MonkeyPatch, written: Written
) -> None:
    # Given
    monkeypatch.setattr(partition_writer, "RETRY_PAUSE_SECONDS", 0)
    written.cluster.refuse_append(state_log(), ErrorCode.NOT_ENOUGH_REPLICAS)
    ticket = written.submit(BEGINNING)
    await written.cluster.brokers[1].until_asked(ApiKey.PRODUCE)

    # When
    written.writer.end()
    await written.backing.reader.find_offset(state_log().topic_id, 0, -1)

    # Then
    assert len(written.cluster.asked(ApiKey.PRODUCE)) == 1
    assert not ticket.is_done


@pytest.mark.parametrize(
    "error_code",
    [ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.INVALID_RECORD],
)
async def test_an_append_that_the_leader_will_never_take_is_refused_and_the_next_one_is_not(
    error_code: ErrorCode, caplog: pytest.LogCaptureFixture, written: Written
) -> None:
    # Given
    await written.settled(BEGINNING)
    written.cluster.refuse_append(state_log(), error_code)

    # When
    (refused,) = await written.settled(acknowledged(KEY, 0, 4))
    (taken,) = await written.settled(acknowledged(KEY, 5, 6))

    # Then
    assert isinstance(refused.refusal, StateNotWritten)
    assert error_code.name in str(refused.refusal)
    assert (taken.refusal, written.doubts) == (None, [])
    assert [record.offset for record in written.cluster.records(state_log())] == [0, 1, 2]
    assert written.backing.measured.counts["statelog_refusals", "refused"] == 1
    (alarm,) = alarms(caplog)
    assert alarm.msg == "append_refused"


async def test_a_batch_that_is_too_large_is_told_of_with_the_setting_that_decides_it(
    caplog: pytest.LogCaptureFixture, written: Written
) -> None:
    # Then
    # Given
    written.cluster.refuse_append(state_log(), ErrorCode.MESSAGE_TOO_LARGE)

    # When
    await written.settled(BEGINNING)
    (alarm,) = alarms(caplog)
    advice = alarm.__dict__["event_keys"]["advice"]
    assert "set max.message.bytes of topic __kproxy_share_state to at least that again" in advice


# ---------------------------------------------------- what is written first


async def test_a_slot_whose_first_writes_were_refused_serves_and_is_loaded_again_later(
    monkeypatch: pytest.MonkeyPatch, cluster: ScriptedStateLog, backing: StateLogBacking
) -> None:
    # Given
    monkeypatch.setattr(state_slot, "FIRST_WRITES_AGAIN_SECONDS", 0.05)
    claims = backing.claims(await backing.found())
    claimed = claims.claim

    async def and_then_nothing_else(number: int, map_epoch: int, fleet_group: str) -> ClaimedSlot:
        slot = await claimed(number, map_epoch, fleet_group)
        if slot.state.claim_epoch == 0:
            cluster.refuse_append(groups_log(), ErrorCode.POLICY_VIOLATION)
        return slot

    monkeypatch.setattr(claims, "claim", and_then_nothing_else)

    # When
    slot = await backing.ready_slot(claims)
    facts_at_first = facts_of(slot)
    await served_again(backing, slot)

    # Then
    assert facts_at_first is None
    assert facts_of(slot) == StateTopicFacts(SLOT_COUNT, 2)


def facts_of(slot: StateSlot) -> StateTopicFacts | None:
    """Return what is durable of the facts."""
    loaded = slot.loaded()
    return None if loaded is None else loaded.groups.state_topic_facts
