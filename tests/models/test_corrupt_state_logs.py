"""Records that cannot be used: the slot that holds them stops, or passes over them when the operator says so."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from kproxy.errors import CorruptStateRecord, StateLogUnavailable, UnsupportedStateRecord
from kproxy.net.state_log.claim import SlotClaims
from kproxy.share.identifiers import AssignmentEpoch, GroupId, TopicIdPartition
from kproxy.statelog.claims import Claim
from kproxy.statelog.group_parts import TargetAssignmentMetadata
from kproxy.statelog.group_records import RecoveryPoint, StateTopicFacts, encode_group_record
from kproxy.statelog.slot_status import SlotState
from kproxy.wire.records import Record
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.in_memory.written_log import a_claim, a_snapshot, an_update
from tests.worlds.claim_scenes import opened
from tests.worlds.slot_allocations import EPOCH, FLEET
from tests.worlds.state_logs import (
    GROUPS,
    STATE,
    StateLogBacking,
    alarms,
    groups_log,
    key_of_slot,
    state_log,
)

KEY = key_of_slot(0)
NOT_A_RECORD = Record(b"\x00\x63what", b"?")

PARTITIONS = pytest.mark.parametrize("partition", [state_log(), groups_log()], ids=[STATE, GROUPS])


@pytest.fixture
def node_ids() -> Sequence[int]:
    """Two brokers, of which one coordinates what the other leads."""
    return (1, 2)


async def test_updates_without_a_snapshot_in_the_whole_log_are_corrupt(
    cluster: ScriptedStateLog, claims: SlotClaims
) -> None:
    # Given
    cluster.write_foreign(state_log(), a_claim(), an_update(KEY))

    # When / Then
    with pytest.raises(CorruptStateRecord, match=f"^{STATE}-0: offset 1: updates of .* without a snapshot"):
        await opened(claims)


@pytest.mark.parametrize("on_corrupt", ["skip"])
async def test_updates_without_a_snapshot_are_passed_over_when_the_operator_says_so(
    caplog: pytest.LogCaptureFixture, cluster: ScriptedStateLog, claims: SlotClaims
) -> None:
    # Given
    cluster.write_foreign(state_log(), a_claim(), an_update(KEY))

    # When
    loaded = await opened(claims)

    # Then
    assert dict(loaded.fold.states) == {}
    assert [record.msg for record in alarms(caplog)] == ["corrupt_record_skipped"]


@PARTITIONS
async def test_a_corrupt_record_is_named_with_topic_partition_offset_and_reason(
    partition: TopicIdPartition, cluster: ScriptedStateLog, claims: SlotClaims
) -> None:
    # Given
    cluster.write_foreign(partition, a_claim(), NOT_A_RECORD)

    # When / Then
    name = cluster.topic_names[partition.topic_id]
    with pytest.raises(CorruptStateRecord, match=f"^{name}-0: offset 1: unknown record type 99$"):
        await opened(claims)


@PARTITIONS
@pytest.mark.parametrize("on_corrupt", ["skip"])
async def test_a_corrupt_record_is_passed_over_when_the_operator_says_so(
    partition: TopicIdPartition,
    caplog: pytest.LogCaptureFixture,
    cluster: ScriptedStateLog,
    claims: SlotClaims,
) -> None:
    # Given
    cluster.write_foreign(partition, a_claim(), NOT_A_RECORD)

    # When
    claimed = await claims.claim(0, EPOCH, FLEET)
    loaded = await claims.load(claimed)

    # Then
    assert loaded.fold.claim_epoch == claimed.state.claim_epoch
    assert [record.msg for record in alarms(caplog)] == ["corrupt_record_skipped"]


@pytest.mark.parametrize("on_corrupt", ["stop", "skip"])
async def test_the_claim_of_a_newer_format_is_refused_whatever_the_operator_says(
    cluster: ScriptedStateLog, claims: SlotClaims
) -> None:
    # Given
    newer = encode_group_record(Claim("kproxy of next year", 3), claim_epoch=None)
    cluster.write_foreign(state_log(), newer)

    # When / Then
    with pytest.raises(CorruptStateRecord, match="format 3 of the log, claimed by 'kproxy of next year'"):
        await opened(claims)


@PARTITIONS
async def test_a_corrupt_record_stops_this_slot_and_no_other(
    partition: TopicIdPartition,
    caplog: pytest.LogCaptureFixture,
    cluster: ScriptedStateLog,
    backing: StateLogBacking,
    claims: SlotClaims,
) -> None:
    # Given
    cluster.write_foreign(partition, a_claim(), NOT_A_RECORD)

    # When
    broken, sound = backing.slot(claims, 0), await backing.ready_slot(claims, 1)
    await broken.settled(10)

    # Then
    reason = f"{cluster.topic_names[partition.topic_id]}-0: offset 1: unknown record type 99"
    assert (broken.status().state, broken.status().reason) == (SlotState.STOPPED, reason)
    with pytest.raises(StateLogUnavailable, match=reason):
        broken.require_ready()
    assert sound.is_ready
    assert backing.listener.events == ["loaded 1"]
    assert [record.msg for record in alarms(caplog)] == ["slot_stopped"]


async def test_a_group_of_which_too_little_is_left_is_corrupt(
    cluster: ScriptedStateLog, claims: SlotClaims
) -> None:
    # Given
    orphan = TargetAssignmentMetadata(GroupId("workers"), AssignmentEpoch(3))
    cluster.write_foreign(groups_log(), encode_group_record(orphan, claim_epoch=None))

    # When / Then
    with pytest.raises(CorruptStateRecord, match=f"^{GROUPS}-0: .*workers"):
        await opened(claims)


# ---------------------------------------------------- facts


def with_facts(cluster: ScriptedStateLog, facts: StateTopicFacts) -> None:
    """Write down what the topics are said to be."""
    cluster.write_foreign(groups_log(), encode_group_record(facts, claim_epoch=None))


async def test_facts_that_hold_are_not_written_again(cluster: ScriptedStateLog, claims: SlotClaims) -> None:
    # Given
    with_facts(cluster, StateTopicFacts(2, 2))

    # When
    loaded = await opened(claims)

    # Then
    assert list(loaded.first_writes()) == [RecoveryPoint(0, 0)]


async def test_another_number_of_partitions_than_recorded_is_refused_with_the_remedy(
    cluster: ScriptedStateLog, claims: SlotClaims
) -> None:
    # Given
    with_facts(cluster, StateTopicFacts(50, 2))

    # When
    with pytest.raises(CorruptStateRecord) as refusal:
        await opened(claims)

    # Then
    assert f"topic {STATE} has 2 partitions and had 50 when its state was written" in str(refusal.value)
    assert "kproxy.state.topic.name and kproxy.groups.topic.name" in str(refusal.value)


async def test_a_newer_format_than_this_kproxy_knows_is_refused_with_the_remedy(
    cluster: ScriptedStateLog, claims: SlotClaims
) -> None:
    # Given
    with_facts(cluster, StateTopicFacts(2, 3))

    # When / Then
    with pytest.raises(
        UnsupportedStateRecord, match=r"format 3; .* run the kproxy that wrote it, or a newer one"
    ):
        await opened(claims)


# ---------------------------------------------------- damaged bytes


def damage(cluster: ScriptedStateLog, partition: TopicIdPartition, position: int) -> None:
    """Flip a bit of the last record of a batch."""
    log = cluster.log(partition.topic_id, partition.partition)
    batch = log.batches[position]
    log.batches[position] = replace(batch, encoded=batch.encoded[:-1] + bytes([batch.encoded[-1] ^ 1]))


@PARTITIONS
async def test_a_batch_whose_checksum_is_wrong_is_corrupt(
    partition: TopicIdPartition, cluster: ScriptedStateLog, claims: SlotClaims
) -> None:
    # Given
    cluster.write_foreign(partition, a_claim())
    damage(cluster, partition, 0)

    # When / Then
    name = cluster.topic_names[partition.topic_id]
    with pytest.raises(CorruptStateRecord, match=f"^{name}-0: .*offset 0"):
        await opened(claims)


@pytest.mark.parametrize("on_corrupt", ["skip"])
async def test_a_damaged_batch_is_passed_over_when_the_operator_says_so_and_its_neighbours_are_not(
    caplog: pytest.LogCaptureFixture, cluster: ScriptedStateLog, claims: SlotClaims
) -> None:
    # Given
    cluster.write_foreign(state_log(), a_claim())
    cluster.write_foreign(state_log(), a_snapshot(KEY))
    cluster.write_foreign(state_log(), an_update(KEY))
    damage(cluster, state_log(), 2)

    # When
    loaded = await opened(claims)

    # Then
    assert loaded.fold.states[KEY].delivery_complete_count == 0
    assert loaded.fold.applied_offset == 3
    (line,) = alarms(caplog)
    assert line.msg == "corrupt_batch_skipped"
    assert getattr(line, "event_keys", {})["offset"] == 2
