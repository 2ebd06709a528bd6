"""A log that a newer kproxy wrote to: the slot that holds it stops and says what to run; nothing else notices."""

import struct
from collections.abc import Sequence

import pytest

from kproxy.errors import NotCoordinator, StateLogUnavailable
from kproxy.net.state_log.claim import SlotClaims
from kproxy.share.identifiers import StateEpoch, TopicIdPartition
from kproxy.statelog.claims import Claim
from kproxy.statelog.group_records import encode_group_record
from kproxy.statelog.operations import Initialize
from kproxy.statelog.slot_status import SlotState
from kproxy.wire.records import Record
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.in_memory.written_log import a_claim, a_snapshot
from tests.worlds.state_logs import (
    GROUPS,
    STATE,
    StateLogBacking,
    acknowledged,
    alarms,
    became,
    done_with,
    drained,
    groups_log,
    key_of_slot,
    state_log,
)

KEY, ELSEWHERE = key_of_slot(1), key_of_slot(0)

NEWER_CLAIM = encode_group_record(Claim("kproxy of next year", 3), claim_epoch=None)
NEWER_TYPE = Record(struct.pack(">h", 27519) + b"whatever", b"whatever")
NEWER_VALUE = Record(a_snapshot(KEY).key, struct.pack(">h", 1) + b"whatever")

REMEDY = "run the kproxy that wrote it, or a newer one"
FOUND = [
    (state_log(1), NEWER_CLAIM, "format 3 of the log, claimed by 'kproxy of next year'; this kproxy reads up to 2"),
    (groups_log(1), NEWER_CLAIM, "format 3 of the log, claimed by 'kproxy of next year'; this kproxy reads up to 2"),
    (state_log(1), NEWER_TYPE, "record type 27519, which this kproxy does not know"),
    (groups_log(1), NEWER_TYPE, "record type 27519, which this kproxy does not know"),
    (state_log(1), NEWER_VALUE, "ShareSnapshotValue in version 1; this kproxy reads up to 0"),
]  # fmt: skip
NEWER = pytest.mark.parametrize(("partition", "newer", "found"), FOUND)


def name_of(partition: TopicIdPartition) -> str:
    return {state_log(1): f"{STATE}-1", groups_log(1): f"{GROUPS}-1"}[partition]


@NEWER
@pytest.mark.parametrize("on_corrupt", ["stop", "skip"])
async def test_a_slot_of_a_newer_format_stops_and_says_what_was_found_what_is_read_and_what_to_run(  # noqa: PLR0917 - fixtures
    partition: TopicIdPartition,
    newer: Record,
    found: str,
    caplog: pytest.LogCaptureFixture,
    cluster: ScriptedStateLog,
    backing: StateLogBacking,
    claims: SlotClaims,
) -> None:
    # Given
    cluster.write_foreign(partition, a_claim(), newer)

    # When
    slot = backing.slot(claims, 1)
    await slot.settled(10)

    # Then
    reason = f"{name_of(partition)}: offset 1: {found}: {REMEDY}"
    assert (slot.status().state, slot.status().reason) == (SlotState.STOPPED, reason)
    with pytest.raises(StateLogUnavailable, match="run the kproxy that wrote it"):
        slot.require_ready()
    (line,) = alarms(caplog)
    assert (line.msg, getattr(line, "event_keys", {})) == ("slot_stopped", {"slot": 1, "reason": reason})
    assert backing.measured.counts["statelog_newer_formats",] == 1
    assert backing.measured.counts.get(("statelog_corrupt_slots",), 0) == 0


@NEWER
async def test_the_other_slots_serve_and_of_the_newer_one_nothing_is_lost_and_nothing_written_but_a_claim(
    partition: TopicIdPartition,
    newer: Record,
    found: str,
    cluster: ScriptedStateLog,
    backing: StateLogBacking,
    claims: SlotClaims,
) -> None:
    # Given
    cluster.write_foreign(state_log(1), a_claim(), a_snapshot(KEY))
    cluster.write_foreign(partition, newer)
    before = {each: contents(cluster, each) for each in (state_log(1), groups_log(1))}
    stopped = backing.slot(claims, 1)
    await stopped.settled(10)

    # When
    sound = await backing.ready_slot(claims, 0)
    sound.submit(Initialize(ELSEWHERE, StateEpoch(0), 0))
    sound.submit(acknowledged(ELSEWHERE, 0, 4))
    await drained(sound)

    # Then
    assert done_with(sound, ELSEWHERE) == [(0, 4)]
    assert backing.listener.events == ["loaded 0"]
    for each, records in before.items():
        (claim,) = contents(cluster, each)[len(records) :]
        assert contents(cluster, each)[:-1] == records
        assert claim[0] == a_claim().key


def contents(
    cluster: ScriptedStateLog, partition: TopicIdPartition
) -> Sequence[tuple[bytes | None, bytes | None]]:
    """Return keys and values of all that a partition holds, in order."""
    return [(record.key, record.value) for record in cluster.records(partition)]


@pytest.mark.parametrize("newer", [NEWER_CLAIM, NEWER_TYPE], ids=["claim", "record type"])
async def test_a_slot_that_a_newer_kproxy_took_over_is_not_claimed_back(
    newer: Record, cluster: ScriptedStateLog, backing: StateLogBacking, claims: SlotClaims
) -> None:
    # Given
    slot = await backing.ready_slot(claims, 1)
    slot.submit(Initialize(KEY, StateEpoch(0), 0))
    await drained(slot)
    epoch = cluster.producer_epoch(f"{STATE}-1")

    # When: what this process appends next lands behind the foreign record, so it is in doubt
    cluster.write_foreign(state_log(1), newer)
    slot.submit(acknowledged(KEY, 0, 4))
    await became(slot, SlotState.STOPPED)

    # Then
    assert slot.status().reason.endswith(REMEDY)
    assert cluster.producer_epoch(f"{STATE}-1") == epoch


async def test_a_slot_that_was_stopped_for_its_format_is_another_process_s_as_soon_as_the_fleet_says_so(
    cluster: ScriptedStateLog, backing: StateLogBacking, claims: SlotClaims
) -> None:
    # Given
    cluster.write_foreign(state_log(1), NEWER_CLAIM)
    slot = backing.slot(claims, 1)
    await became(slot, SlotState.STOPPED)

    # When
    slot.lose("the fleet gave it to another process")
    slot.is_at("kproxy of next year")

    # Then
    assert slot.status().state is SlotState.ELSEWHERE
    with pytest.raises(NotCoordinator, match="kproxy of next year owns it"):
        slot.require_ready()
