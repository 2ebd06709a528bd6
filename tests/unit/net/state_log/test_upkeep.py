"""What keeps recovery short and the log small, and what it never deletes."""

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.share.identifiers import StateEpoch, TopicId
from kproxy.statelog.operations import Initialize
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.delete_records_response import DeleteRecordsResponse
from tests.in_memory.scripted_state_log import Fate
from tests.worlds.slot_allocations import EPOCH, FLEET
from tests.worlds.state_logs import STATE, alarms, groups_log, state_log
from tests.worlds.tended_slots import COLD, ELSEWHERE, MINUTE_MS, Tended
from tests.worlds.waiting import until


async def test_what_nobody_writes_any_more_is_snapshotted_and_holds_nothing_back(tended: Tended) -> None:
    # Given
    await tended.with_history()
    before = tended.slots.all()[0].status().recovery_point
    upkeep = await tended.upkeep()

    # When
    await upkeep.visit_all()

    # Then
    assert upkeep.pruned_offsets() == {("0",): 8}
    point = tended.slots.all()[0].status().recovery_point
    assert (before, point) == (1, 8)
    assert tended.recovery_points() == [0, 8]
    assert tended.log_start == 8
    assert tended.said("ok") == 1


async def test_after_upkeep_a_slot_is_loaded_from_the_recovery_point_to_the_same_state(
    tended: Tended,
) -> None:
    # Given
    await tended.with_history()
    before = tended.slots.all()[0].states().states
    upkeep = await tended.upkeep()

    # When
    await upkeep.visit_all()
    again = await tended.backing.ready_slot()

    # Then
    assert {key: state.state_batches for key, state in again.states().states.items()} == {
        key: state.state_batches for key, state in before.items()
    }


async def test_a_slot_at_rest_is_not_written_to(tended: Tended) -> None:
    # Given
    await tended.with_history()
    upkeep = await tended.upkeep()
    await upkeep.visit_all()
    produced, deleted = len(tended.cluster.produced()), tended.said("ok")

    # When
    for _ in range(3):
        tended.backing.wall_clock.advance(10 * MINUTE_MS)
        await upkeep.visit_all()

    # Then
    assert len(tended.cluster.produced()) == produced
    assert tended.said("ok") == deleted


async def test_history_that_people_want_is_kept(tended: Tended) -> None:
    # Given
    await tended.with_history()
    upkeep = await tended.upkeep(history_ms=35 * MINUTE_MS)

    # When
    await upkeep.visit_all()

    # Then
    assert tended.recovery_points()[-1] == 8
    assert tended.log_start == 5


async def test_all_history_is_kept_when_people_want_all_of_it(tended: Tended) -> None:
    # Given
    await tended.with_history()
    upkeep = await tended.upkeep(history_ms=24 * 60 * MINUTE_MS)

    # When
    await upkeep.visit_all()

    # Then
    assert tended.log_start == 0
    assert tended.cluster.asked(ApiKey.DELETE_RECORDS) == []


@pytest.mark.parametrize("error_code", [ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.POLICY_VIOLATION])
async def test_where_deleting_is_not_allowed_that_is_said_once_and_everything_else_goes_on(
    error_code: ErrorCode, caplog: pytest.LogCaptureFixture, tended: Tended
) -> None:
    # Given
    await tended.with_history()
    tended.cluster.deletion_error = error_code
    upkeep = await tended.upkeep()
    await upkeep.visit_all()

    # When
    await tended.with_history()
    await upkeep.visit_all()

    # Then
    assert tended.log_start == 0
    assert tended.said("failed") == 2, "it is tried in every round: somebody may have allowed it"
    assert len(tended.recovery_points()) == 3
    (line,) = alarms(caplog)
    assert line.msg == "pruning_not_allowed"
    assert getattr(line, "event_keys", {})["topic"] == STATE


@pytest.mark.parametrize("error_code", [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.TOPIC_AUTHORIZATION_FAILED])
async def test_a_deletion_that_fails_for_now_is_tried_again(error_code: ErrorCode, tended: Tended) -> None:
    # Given
    await tended.with_history()
    tended.cluster.deletion_error = error_code
    upkeep = await tended.upkeep()
    await upkeep.visit_all()
    tended.cluster.deletion_error = ErrorCode.NONE

    # When
    await upkeep.visit_all()

    # Then
    assert (tended.said("failed"), tended.said("ok")) == (1, 1)
    assert tended.log_start == 8


@pytest.mark.parametrize("node_ids", [(1, 2)], ids=["two brokers"])
async def test_old_records_are_deleted_at_whoever_leads_the_partition_by_then(tended: Tended) -> None:
    # Given
    await tended.with_history()
    upkeep = await tended.upkeep()
    honest = tended.backing.reader.find_offset

    async def and_then_it_moves(topic_id: TopicId, partition: int, timestamp: int) -> int:
        if timestamp >= 0:
            tended.cluster.lead(topic_id, partition, 2)
        return await honest(topic_id, partition, timestamp)

    tended.backing.reader.find_offset = and_then_it_moves  # type: ignore[method-assign]  # for this test

    # When
    await upkeep.visit_all()

    # Then
    assert tended.said("ok") == 1
    assert tended.cluster.brokers[1].asked(ApiKey.DELETE_RECORDS) == []


async def test_without_a_leader_nothing_is_deleted_for_now(
    caplog: pytest.LogCaptureFixture, tended: Tended
) -> None:
    with caplog.at_level("INFO", "kproxy.net.state_log.upkeep"):
        # Given
        await tended.with_history()
        upkeep = await tended.upkeep()
        honest = tended.backing.reader.find_offset

        async def and_then_the_leader_goes(topic_id: TopicId, partition: int, timestamp: int) -> int:
            offset = await honest(topic_id, partition, timestamp)
            tended.cluster.lead(topic_id, partition, -1)
            await tended.backing.metadata.refresh()
            return offset

        tended.backing.reader.find_offset = and_then_the_leader_goes  # type: ignore[method-assign]  # for this test

        # When
        await upkeep.visit_all()

        # Then
        assert tended.cluster.asked(ApiKey.DELETE_RECORDS) == []
    said = {record.msg for record in caplog.records if record.name == "kproxy.net.state_log.upkeep"}
    assert said == {"upkeep_failed"}


async def test_an_answer_that_does_not_speak_of_the_partition_is_no_success(tended: Tended) -> None:
    # Given
    await tended.with_history()
    tended.cluster.brokers[1].answers[ApiKey.DELETE_RECORDS] = lambda _: DeleteRecordsResponse()
    upkeep = await tended.upkeep()

    # When
    await upkeep.visit_all()

    # Then
    assert (tended.said("failed"), tended.said("ok")) == (1, 0)


async def test_a_recovery_point_that_did_not_become_durable_deletes_nothing(
    caplog: pytest.LogCaptureFixture, tended: Tended
) -> None:
    with caplog.at_level("INFO"):
        # Given
        await tended.with_history()
        upkeep = await tended.upkeep()
        tended.cluster.decree(Fate.LOST, groups_log())

        # When
        await upkeep.visit_all()

        # Then
        assert tended.log_start == 0
        assert tended.cluster.asked(ApiKey.DELETE_RECORDS) == []
    assert "upkeep_failed" in [record.msg for record in caplog.records]


async def test_a_slot_that_is_not_ready_is_left_alone_and_the_others_are_visited(tended: Tended) -> None:
    # Given
    slot = tended.slots.slot_of_group(ELSEWHERE.group_id)
    slot.submit(Initialize(ELSEWHERE, StateEpoch(0), 0))
    await tended.slots.drain(10)
    tended.cluster.refused_initializations.extend([ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 100)
    tended.cluster.decree(Fate.LOST, state_log())
    tended.slots.all()[0].submit(Initialize(COLD, StateEpoch(0), 0))
    await until(lambda: not tended.slots.all()[0].is_ready)
    tended.backing.wall_clock.advance(MINUTE_MS)
    upkeep = await tended.upkeep()

    # When
    await upkeep.visit_all()

    # Then
    assert tended.cluster.log(state_log().topic_id, 1).log_start_offset == 1


async def test_a_fault_in_one_slot_keeps_upkeep_from_no_other_and_from_no_later_round(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tended: Tended
) -> None:
    # Given
    await tended.with_history()
    upkeep = await tended.upkeep()
    honest = tended.backing.reader.find_offset

    async def broken(topic_id: TopicId, partition: int, timestamp: int) -> int:
        if partition == 0 and timestamp >= 0:
            raise RuntimeError("a fault of kproxy itself")
        return await honest(topic_id, partition, timestamp)

    with monkeypatch.context() as patch:
        patch.setattr(tended.backing.reader, "find_offset", broken)
        await upkeep.visit_all()
    after_the_fault = tended.said("ok")

    # When
    await upkeep.visit_all()

    # Then
    assert (after_the_fault, tended.said("ok")) == (0, 1)
    assert [record.msg for record in alarms(caplog)] == ["upkeep_fault"]


async def test_a_slot_that_is_not_served_here_is_not_looked_after(tended: Tended) -> None:
    # Given
    await tended.with_history()
    upkeep = await tended.upkeep()
    tended.slots.slots_lost(frozenset(range(len(tended.slots))), "the map gives them to another")

    # When
    await upkeep.visit_all()

    # Then
    assert tended.log_start == 0


async def test_a_process_whose_lease_ended_looks_after_nothing(tended: Tended) -> None:
    # Given
    await tended.with_history()
    upkeep = await tended.upkeep()
    tended.backing.fleet.has_lease = False

    # When
    await upkeep.visit_all()

    # Then
    assert tended.log_start == 0


async def test_a_process_that_was_overtaken_without_knowing_finds_out_when_it_looks_after_a_slot(
    tended: Tended,
) -> None:
    # Given
    await tended.with_history()
    upkeep = await tended.upkeep()
    await tended.backing.claims(await tended.backing.found()).claim(0, EPOCH, FLEET)

    # When
    await upkeep.visit_all()

    # Then
    await until(lambda: tended.backing.fleet.seen_epoch == EPOCH)
    assert tended.log_start == 0


async def test_rounds_follow_each_other(tended: Tended) -> None:
    # Given
    await tended.with_history()
    upkeep = await tended.upkeep(interval_ms=1)

    # When
    tended.backing.tasks.spawn(upkeep.run(), name="upkeep")

    # Then
    await tended.cluster.brokers[1].until_asked(ApiKey.DELETE_RECORDS)
    await tended.with_history()
    await tended.cluster.brokers[1].until_asked(ApiKey.DELETE_RECORDS, 2)
