"""Acknowledgements by a member whose locks ended with the move of its slot, of records that the next holder has.

As a stock broker (`SharePartition.acknowledge`): what lies below the start offset is passed over without an error, and
anything else that somebody else holds, or has accepted, is refused.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.statelog.actors import RecordEnd
from kproxy.statelog.state_records import decode_state_record
from kproxy.wire.messages.share_acknowledge_request import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.models.test_first_moment import RECORDS, a_cluster, acquired_offsets, holding
from tests.real_kafka import log_reading
from tests.real_kafka.log_reading import PartitionLog
from tests.worlds.sharing_process import KEY, SharingProcess
from tests.worlds.state_log_requests import ACCEPT, MEMBER_ID, error_codes, fetch
from tests.worlds.state_logs import StateLogBacking, state_log

NEXT_MEMBER: Final = "00000000-0000-0000-0000-000000000002"


def acceptance(member_id: str, offsets: Sequence[int]) -> ShareAcknowledgeRequest:
    """Return the first request of a member's share session after the one that opened it."""
    batches = [AcknowledgementBatch(offset, offset, [ACCEPT]) for offset in offsets]
    topic = AcknowledgeTopic(KEY.topic_id, [AcknowledgePartition(KEY.partition, batches)])
    return ShareAcknowledgeRequest(KEY.group_id, member_id, 1, topics=[topic])


def acceptances(cluster: ScriptedStateLog) -> Counter[int]:
    """Return how often the log says of each offset that somebody accepted it."""
    return Counter(
        offset
        for record in cluster.records(state_log(0))
        for actor in decode_state_record(record).actors
        if actor.end is RecordEnd.ACCEPT
        for first, last in actor.offset_ranges
        for offset in range(first, last + 1)
    )


@pytest.mark.parametrize(
    ("accepted", "told"),
    [
        ([0, 1], set()),
        ([], {ErrorCode.INVALID_RECORD_STATE}),
        ([1], {ErrorCode.INVALID_RECORD_STATE}),
        ([0], {ErrorCode.INVALID_RECORD_STATE}),
    ],
)
async def test_who_acknowledges_behind_the_move_of_its_slot_is_told_of_no_error_below_the_start_offset_alone(
    accepted: list[int], told: set[ErrorCode]
) -> None:
    async with a_cluster() as cluster, StateLogBacking(cluster) as backing, StateLogBacking(cluster) as other:
        # Given
        await holding(cluster, backing, KEY)
        new_owner = await SharingProcess(other).serves()
        opening = fetch(KEY, epoch=0, max_wait_ms=60_000)
        opening.member_id = NEXT_MEMBER
        assert acquired_offsets(await new_owner.serve(opening)) == list(range(RECORDS))
        if accepted:
            by_next = await new_owner.serve(acceptance(NEXT_MEMBER, accepted), connection_id=1)
            assert error_codes(by_next) == set()
        await new_owner.serve(fetch(KEY, epoch=0, max_wait_ms=0), connection_id=2)

        # When
        answer = await new_owner.serve(acceptance(MEMBER_ID, [0, 1]), connection_id=2)

        # Then
        assert error_codes(answer) == told
        assert acceptances(cluster) == Counter(accepted)
        replayed = log_reading.replay({0: PartitionLog(records=list(cluster.records(state_log(0))))})
        assert replayed.contradictions == []
        assert (replayed.passed_at_ms(KEY, 1) is not None) is (not told)


async def test_a_log_in_which_somebody_accepts_a_record_twice_contradicts_itself() -> None:
    async with a_cluster() as cluster, StateLogBacking(cluster) as backing:
        # Given
        process = await holding(cluster, backing, KEY)
        assert error_codes(await process.serve(acceptance(MEMBER_ID, [1]))) == set()
        *records, last = cluster.records(state_log(0))

        # When
        again = replace(last, offset=last.offset + 1)
        replayed = log_reading.replay({0: PartitionLog(records=[*records, last, again])})

        # Then
        assert replayed.contradictions == [f"{KEY} [1] again at offset {again.offset}"]
