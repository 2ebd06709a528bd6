"""Finding the durable state of a slot in the log: exactly up to the claim, from the recovery point on."""

import asyncio
from collections import Counter
from collections.abc import Sequence

import pytest

from kproxy.handlers.live.pauses import MOST_AT_ONCE
from kproxy.net.reading.log_identity import BEYOND_ALL_RECORDS
from kproxy.net.state_log.claim import SlotClaims
from kproxy.share.identifiers import GroupEpoch, GroupId
from kproxy.share.share_group_image import ShareGroupImage
from kproxy.statelog import partitioning
from kproxy.statelog.group_log_fold import GroupLogFold
from kproxy.statelog.group_parts import GroupMetadata
from kproxy.statelog.group_records import (
    GroupConfigs,
    RecoveryPoint,
    StateTopicFacts,
    encode_group_record,
)
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.fetch_request import FetchRequest
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.in_memory.written_log import a_claim, a_snapshot, an_update
from tests.worlds.claim_scenes import opened
from tests.worlds.slot_allocations import EPOCH, FLEET
from tests.worlds.state_logs import (
    alarms,
    groups_log,
    key_of_slot,
    state_log,
)

KEY, OTHER = key_of_slot(0), key_of_slot(0, skip=1)


@pytest.fixture
def node_ids() -> Sequence[int]:
    """Two brokers, of which one coordinates what the other leads."""
    return (1, 2)


async def test_an_empty_slot_has_no_state_and_writes_down_how_many_partitions_there_are(
    claims: SlotClaims,
) -> None:
    # When
    claimed = await claims.claim(0, EPOCH, FLEET)
    loaded = await claims.load(claimed)

    # Then
    assert (dict(loaded.fold.states), loaded.fold.claim_epoch) == ({}, claimed.state.claim_epoch)
    assert loaded.groups.claim_epoch == claimed.groups.claim_epoch
    assert loaded.record_count == 2
    assert list(loaded.first_writes()) == [StateTopicFacts(2, 2), RecoveryPoint(0, 0)]


async def test_state_is_loaded_up_to_the_claim_record_and_not_beyond(
    cluster: ScriptedStateLog, claims: SlotClaims
) -> None:
    # Given
    cluster.write_foreign(state_log(), a_claim(), a_snapshot(KEY))
    claimed = await claims.claim(0, EPOCH, FLEET)
    cluster.write_foreign(state_log(), a_snapshot(OTHER))

    # When
    loaded = await claims.load(claimed)

    # Then
    assert set(loaded.fold.states) == {KEY}
    assert loaded.fold.applied_offset == claimed.state.claim_epoch == 2


async def test_groups_and_configurations_are_loaded(cluster: ScriptedStateLog, claims: SlotClaims) -> None:
    # Given
    configs = GroupConfigs(GroupId("workers"), {"share.auto.offset.reset": "earliest"})
    cluster.write_foreign(groups_log(), encode_group_record(configs, claim_epoch=None))

    # When
    loaded = await opened(claims)

    # Then
    assert loaded.groups.configs() == {"workers": {"share.auto.offset.reset": "earliest"}}


async def test_pictures_of_very_many_groups_are_made_in_several_turns(
    cluster: ScriptedStateLog, claims: SlotClaims, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    ids = [GroupId(f"group {number}") for number in range(3 * MOST_AT_ONCE)]
    records = [encode_group_record(GroupMetadata(each, GroupEpoch(1)), claim_epoch=None) for each in ids]
    for begin in range(0, len(records), 100):
        cluster.write_foreign(groups_log(), *records[begin : begin + 100])
    plain, turn, made_in = GroupLogFold.image, 0, Counter[int]()

    def counted(fold: GroupLogFold, group_id: GroupId) -> ShareGroupImage | None:
        made_in[turn] += 1
        return plain(fold, group_id)

    async def count_turns() -> None:
        nonlocal turn
        while True:
            await asyncio.sleep(0)
            turn += 1

    monkeypatch.setattr(GroupLogFold, "image", counted)

    # When
    async with asyncio.TaskGroup() as tasks:
        counting = tasks.create_task(count_turns())
        loaded = await claims.load(await claims.claim(0, EPOCH, FLEET))
        counting.cancel()

    # Then
    assert set(loaded.images) == set(ids)
    assert made_in.total() == len(ids)
    assert max(made_in.values()) <= MOST_AT_ONCE


async def test_what_a_slot_had_is_let_go_of_piece_by_piece(
    cluster: ScriptedStateLog, claims: SlotClaims
) -> None:
    # Given
    configs = GroupConfigs(GroupId("workers"), {"share.auto.offset.reset": "earliest"})
    group = GroupMetadata(GroupId("workers"), GroupEpoch(1))
    cluster.write_foreign(
        groups_log(), *(encode_group_record(each, claim_epoch=None) for each in (configs, group))
    )
    loaded = await opened(claims)

    # When
    works = list(loaded.take_apart())

    # Then
    assert works == [2, 1, 1]
    assert (loaded.groups.group_ids, loaded.images, loaded.configs) == ((), {}, {})


async def test_the_long_ids_of_groups_that_are_loaded_are_hashed_in_several_turns(
    cluster: ScriptedStateLog, claims: SlotClaims, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    ids = [GroupId(f"loaded with its slot {number:02} ".ljust(32_000, "x")) for number in range(10)]
    configs = [GroupConfigs(group_id, {"share.auto.offset.reset": "earliest"}) for group_id in ids]
    records = [encode_group_record(each, claim_epoch=None) for each in configs]
    cluster.write_foreign(groups_log(), *records)
    plain_hash, turn, hashed_in = partitioning._hash, 0, Counter[int]()

    def counted_hash(text: str) -> int:
        hashed_in[turn] += 1
        return plain_hash(text)

    async def count_turns() -> None:
        nonlocal turn
        while True:
            await asyncio.sleep(0)
            turn += 1

    monkeypatch.setattr(partitioning, "_hash", counted_hash)

    # When
    async with asyncio.TaskGroup() as tasks:
        counting = tasks.create_task(count_turns())
        await claims.load(await claims.claim(0, EPOCH, FLEET))
        counting.cancel()

    # Then
    assert hashed_in.total() == len(ids)
    assert max(hashed_in.values()) <= 3


def with_history(cluster: ScriptedStateLog, recovery_point: int) -> None:
    """Write a log of three records, and where its replay is said to begin."""
    cluster.write_foreign(state_log(), a_claim())
    cluster.write_foreign(state_log(), a_snapshot(KEY))
    cluster.write_foreign(state_log(), an_update(KEY))
    point = encode_group_record(RecoveryPoint(recovery_point), claim_epoch=None)
    cluster.write_foreign(groups_log(), point)


def first_read(cluster: ScriptedStateLog) -> list[int]:
    """Return the offsets from which reading the state topic began."""
    asked = [request.message for request in cluster.asked(ApiKey.FETCH)]
    return [
        partition.fetch_offset
        for message in asked
        if isinstance(message, FetchRequest)
        for topic in message.topics
        if topic.topic_id == state_log().topic_id
        for partition in topic.partitions
        if partition.fetch_offset < BEYOND_ALL_RECORDS
    ]


async def test_reading_begins_at_the_recovery_point(cluster: ScriptedStateLog, claims: SlotClaims) -> None:
    # Given
    with_history(cluster, recovery_point=1)

    # When
    loaded = await opened(claims)

    # Then
    assert first_read(cluster) == [1]
    assert loaded.fold.states[KEY].delivery_complete_count == 6
    assert list(loaded.first_writes()) == [StateTopicFacts(2, 2), RecoveryPoint(1, 3)]


async def test_where_a_log_begins_is_asked_for_only_when_it_begins_too_late(
    cluster: ScriptedStateLog, claims: SlotClaims
) -> None:
    # Given
    with_history(cluster, recovery_point=1)

    # When
    await opened(claims)

    # Then
    assert cluster.asked(ApiKey.LIST_OFFSETS) == []
    assert len(cluster.asked(ApiKey.FETCH)) == 2


async def test_a_recovery_point_behind_a_snapshot_that_is_needed_is_not_believed(
    caplog: pytest.LogCaptureFixture, cluster: ScriptedStateLog, claims: SlotClaims
) -> None:
    # Given
    with_history(cluster, recovery_point=2)

    # When
    loaded = await opened(claims)

    # Then
    assert first_read(cluster) == [2, 0]
    assert loaded.fold.states[KEY].delivery_complete_count == 6
    assert [record.msg for record in alarms(caplog)] == ["recovery_point_too_late"]


async def test_a_recovery_point_above_the_end_of_the_log_reads_the_claim_alone(
    cluster: ScriptedStateLog, claims: SlotClaims
) -> None:
    # Given
    point = encode_group_record(RecoveryPoint(77), claim_epoch=None)
    cluster.write_foreign(groups_log(), point)

    # When
    loaded = await opened(claims)

    # Then
    assert loaded.fold.applied_offset == 0


async def test_a_recovery_point_that_was_deleted_meanwhile_gives_way_to_the_log_start(
    cluster: ScriptedStateLog, claims: SlotClaims
) -> None:
    # Given
    with_history(cluster, recovery_point=0)
    cluster.log(state_log().topic_id, 0).move_start(1)

    # When
    loaded = await opened(claims)

    # Then
    assert first_read(cluster) == [0, 1]
    assert set(loaded.fold.states) == {KEY}
