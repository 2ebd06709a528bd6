"""What a member says of the records that it acquired (KIP-932, KIP-1222)."""

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import InvalidRecordState, InvalidRequest
from kproxy.share.acknowledgement import AcknowledgementBatch, validate_acknowledgement_batches
from kproxy.share.limits import ShareLimits
from kproxy.share.record_state import AcknowledgeType, RecordState
from kproxy.share.state_batches import NO_CHANGE, StateBatch, StateDelta
from tests.worlds.share_builders import (
    ACCEPT,
    ALICE,
    BOB,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    CountedTypes,
    SaidBatch,
    a_share_partition,
    fetch,
    in_flight,
    say,
)


def test_batches_in_order_with_one_type_or_one_for_each_offset_are_valid() -> None:
    validate_acknowledgement_batches(
        [*say(0, 9, ACCEPT), *say(10, 12, RELEASE, REJECT, GAP), *say(12, 12, RENEW)],
        highest_type=AcknowledgeType.RENEW,
        is_renew_ack=True,
    )


@pytest.mark.parametrize(
    ("batches", "reason"),
    [
        pytest.param(say(5, 4, ACCEPT), "reversed", id="reversed"),
        pytest.param(say(5, 9, ACCEPT) + say(8, 10, ACCEPT), "not above", id="overlapping"),
        pytest.param(say(5, 9, ACCEPT) + say(0, 1, ACCEPT), "not above", id="descending"),
        pytest.param(say(0, 1), "no acknowledge type", id="no type"),
        pytest.param(say(0, 2, ACCEPT, ACCEPT), "2 acknowledge types", id="too few types"),
        pytest.param(say(0, 0, ACCEPT, ACCEPT), "2 acknowledge types", id="too many types"),
        pytest.param(say(0, 0, -1), "types -1", id="negative type"),
        pytest.param(say(0, 0, 5), "5, expected 0 to 4", id="unknown type"),
        pytest.param(say(0, 0, RENEW), "no renewal", id="renew without the flag"),
    ],
)
def test_batches_that_contradict_themselves_are_refused(
    batches: list[AcknowledgementBatch], reason: str
) -> None:
    with pytest.raises(InvalidRequest, match=reason) as refusal:
        validate_acknowledgement_batches(batches, highest_type=AcknowledgeType.RENEW, is_renew_ack=False)

    assert refusal.value.error_code is ErrorCode.INVALID_REQUEST


def test_version_one_knows_no_renewal() -> None:
    with pytest.raises(InvalidRequest, match="4, expected 0 to 3"):
        validate_acknowledgement_batches(
            say(0, 0, RENEW), highest_type=AcknowledgeType.REJECT, is_renew_ack=True
        )


def test_accepting_everything_moves_the_start_offset_past_it() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9))

    # When
    delta = share_partition.acknowledge(ALICE, say(0, 9, ACCEPT), now_ms=1)

    # Then
    assert share_partition.start_offset == 10
    assert delta == StateDelta(0, 10, (StateBatch(0, 9, RecordState.ACKNOWLEDGED, 1),))


def test_each_type_has_its_own_outcome() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 4))

    # When
    delta = share_partition.acknowledge(ALICE, say(1, 4, ACCEPT, RELEASE, REJECT, GAP), now_ms=1)

    # Then
    assert in_flight(share_partition) == [
        (0, 0, "ACQUIRED", 1),
        (1, 1, "ACKNOWLEDGED", 1),
        (2, 2, "AVAILABLE", 1),
        (3, 4, "ARCHIVED", 1),
    ]
    assert delta == StateDelta(
        0,
        3,
        (
            StateBatch(1, 1, RecordState.ACKNOWLEDGED, 1),
            StateBatch(2, 2, RecordState.AVAILABLE, 1),
            StateBatch(3, 4, RecordState.ARCHIVED, 1),
        ),
    )


def test_a_release_after_the_last_attempt_archives_the_record() -> None:
    # Given
    share_partition = a_share_partition(limits=ShareLimits(delivery_count_limit=2))
    fetch(share_partition, ALICE, (0, 0))
    share_partition.release(ALICE)
    fetch(share_partition, ALICE, (0, 0))

    # When
    delta = share_partition.acknowledge(ALICE, say(0, 0, RELEASE), now_ms=1)

    # Then
    assert delta.batches == (StateBatch(0, 0, RecordState.ARCHIVED, 2),)
    assert share_partition.start_offset == 1


def test_one_batch_may_span_what_several_fetches_acquired() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 4))
    fetch(share_partition, ALICE, (5, 9))

    # When
    share_partition.acknowledge(ALICE, say(0, 9, ACCEPT), now_ms=1)

    # Then
    assert share_partition.start_offset == 10


def test_one_batch_may_reach_over_offsets_that_the_log_does_not_hold() -> None:
    """Two reads with a hole of compacted offsets between them."""
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 4))
    fetch(share_partition, ALICE, (8, 9))

    # When
    delta = share_partition.acknowledge(ALICE, say(0, 9, ACCEPT), now_ms=1)

    # Then
    assert delta.batches == (
        StateBatch(0, 4, RecordState.ACKNOWLEDGED, 1),
        StateBatch(8, 9, RecordState.ACKNOWLEDGED, 1),
    )
    assert share_partition.start_offset == 10


@pytest.mark.parametrize(
    ("batches", "error_code"),
    [
        pytest.param(say(5, 7, ACCEPT), ErrorCode.INVALID_RECORD_STATE, id="held by another member"),
        pytest.param(say(8, 9, ACCEPT), ErrorCode.INVALID_RECORD_STATE, id="released before"),
        pytest.param(say(15, 19, ACCEPT), ErrorCode.INVALID_REQUEST, id="never acquired"),
        pytest.param(say(10, 15, ACCEPT), ErrorCode.INVALID_REQUEST, id="ends where nothing was acquired"),
        pytest.param(say(12, 13, ACCEPT), ErrorCode.INVALID_REQUEST, id="a hole in the log"),
        pytest.param(
            say(0, 1, ACCEPT) + say(1, 2, ACCEPT), ErrorCode.INVALID_RECORD_STATE, id="twice at once"
        ),
        pytest.param(
            say(0, 4, ACCEPT) + say(5, 5, ACCEPT), ErrorCode.INVALID_RECORD_STATE, id="one offset is wrong"
        ),
    ],
)
def test_an_acknowledgement_of_what_is_not_held_is_refused_whole(
    batches: list[AcknowledgementBatch], error_code: ErrorCode
) -> None:
    """Alice holds 0 to 4, 10, 11 and 14, Bob 5 to 7; 8 and 9 were released, 12 and 13 do not exist."""
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 4))
    fetch(share_partition, BOB, (5, 9))
    fetch(share_partition, ALICE, (10, 11))
    fetch(share_partition, ALICE, (14, 14))
    share_partition.acknowledge(BOB, say(8, 9, RELEASE), now_ms=1)
    before = share_partition.view()

    # When
    with pytest.raises((InvalidRecordState, InvalidRequest)) as refusal:
        share_partition.acknowledge(ALICE, batches, now_ms=1)

    # Then
    assert refusal.value.error_code is error_code
    assert share_partition.view() == before


def test_nothing_can_be_acknowledged_before_the_first_fetch() -> None:
    # Given
    share_partition = a_share_partition(start_offset=5)

    # When
    with pytest.raises(InvalidRecordState) as refusal:
        share_partition.acknowledge(ALICE, say(5, 5, ACCEPT), now_ms=1)

    # Then
    assert refusal.value.error_code is ErrorCode.INVALID_RECORD_STATE


def test_a_batch_that_reaches_over_the_end_of_an_empty_window_is_invalid() -> None:
    # Given
    share_partition = a_share_partition(start_offset=5)

    # When
    with pytest.raises(InvalidRequest) as refusal:
        share_partition.acknowledge(ALICE, say(3, 6, ACCEPT), now_ms=1)

    # Then
    assert refusal.value.error_code is ErrorCode.INVALID_REQUEST


def test_offsets_before_the_first_known_record_were_never_acquired() -> None:
    """The durable state knows nothing of offsets 0 to 4: they are to be delivered."""
    # Given
    share_partition = a_share_partition(state_batches=[StateBatch(5, 9, RecordState.AVAILABLE, 1)])

    # When
    with pytest.raises(InvalidRecordState) as refusal:
        share_partition.acknowledge(ALICE, say(0, 4, ACCEPT), now_ms=1)

    # Then
    assert refusal.value.error_code is ErrorCode.INVALID_RECORD_STATE


def test_a_second_acknowledgement_of_a_record_is_refused() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9))
    share_partition.acknowledge(ALICE, say(5, 5, ACCEPT), now_ms=1)

    # When
    with pytest.raises(InvalidRecordState, match="offset 5 is ACKNOWLEDGED") as refusal:
        share_partition.acknowledge(ALICE, say(5, 5, ACCEPT), now_ms=2)

    # Then
    assert refusal.value.error_code is ErrorCode.INVALID_RECORD_STATE


def test_an_acknowledgement_after_the_lock_ran_out_is_refused() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9), now_ms=1_000)

    # When
    with pytest.raises(InvalidRecordState, match="ran out") as refusal:
        share_partition.acknowledge(ALICE, say(0, 9, ACCEPT), now_ms=31_000)

    # Then
    assert refusal.value.error_code is ErrorCode.INVALID_RECORD_STATE


def test_records_below_the_start_offset_pass_once_that_is_durable() -> None:
    """The answer must wait: the write that moved the start offset may not have landed yet."""
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9))
    share_partition.acknowledge(ALICE, say(0, 9, ACCEPT), now_ms=1)

    # When
    delta = share_partition.acknowledge(BOB, say(0, 9, ACCEPT), now_ms=1)

    # Then
    assert delta == StateDelta(10, 0, ())
    assert not delta.is_empty


def test_a_batch_that_straddles_the_start_offset_settles_the_rest() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9))
    share_partition.move_start(4)

    # When
    delta = share_partition.acknowledge(
        ALICE, say(0, 9, *[REJECT] * 4, *[ACCEPT] * 3, *[RELEASE] * 3), now_ms=1
    )

    # Then
    assert delta == StateDelta(
        4,
        3,
        (StateBatch(4, 6, RecordState.ACKNOWLEDGED, 1), StateBatch(7, 9, RecordState.AVAILABLE, 1)),
    )


def test_a_range_about_the_start_offset_is_refused_when_nothing_is_in_flight() -> None:
    # Given: 4.3.1 fails here, and with it the whole request
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9))
    share_partition.acknowledge(ALICE, say(0, 9, ACCEPT), now_ms=1)

    # When
    with pytest.raises(InvalidRequest, match="offset 12 was never acquired"):
        share_partition.acknowledge(ALICE, say(5, 12, ACCEPT), now_ms=2)


def test_no_batches_change_nothing() -> None:
    assert a_share_partition().acknowledge(ALICE, [], now_ms=1) is NO_CHANGE


def test_a_renewed_lock_lasts_one_duration_from_now_and_is_not_durable() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9))

    # When
    delta = share_partition.acknowledge(ALICE, say(4, 5, RENEW), now_ms=24_000)
    at_the_old_deadline = share_partition.expire_locks(30_000)
    held = in_flight(share_partition)
    at_the_new_deadline = share_partition.expire_locks(54_000)

    # Then
    assert delta is NO_CHANGE
    assert [batch.first_offset for batch in at_the_old_deadline.batches] == [0, 6]
    assert held[1] == (4, 5, "ACQUIRED", 1)
    assert at_the_new_deadline.batches == (StateBatch(4, 5, RecordState.AVAILABLE, 1),)


def test_a_record_may_be_renewed_and_settled_in_one_request() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9))

    # When
    delta = share_partition.acknowledge(ALICE, say(0, 3, RENEW) + say(3, 3, ACCEPT), now_ms=1)

    # Then
    assert delta.batches == (StateBatch(3, 3, RecordState.ACKNOWLEDGED, 1),)
    assert in_flight(share_partition)[0] == (0, 2, "ACQUIRED", 1)


def test_renewal_can_be_forbidden() -> None:
    # Given
    share_partition = a_share_partition(limits=ShareLimits(is_renew_enabled=False))
    fetch(share_partition, ALICE, (0, 9))

    # When
    with pytest.raises(InvalidRecordState, match="does not allow") as refusal:
        share_partition.acknowledge(ALICE, say(0, 9, RENEW), now_ms=1)

    # Then
    assert refusal.value.error_code is ErrorCode.INVALID_RECORD_STATE


def test_of_what_anybody_says_behind_a_cut_only_what_was_in_flight_is_looked_at() -> None:
    """It is below the start offset, so it may be any number of offsets, and nobody's."""
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9))
    share_partition.move_start(100_000)
    types = CountedTypes([ACCEPT, REJECT] * 25_000)

    # When
    share_partition.acknowledge(BOB, [SaidBatch(5, 50_004, types)], now_ms=1)

    # Then
    assert types.looked_at == 5


def test_a_record_that_is_renewed_and_then_settled_cannot_be_renewed_again() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9))

    # When
    with pytest.raises(InvalidRecordState, match="offset 5 is acknowledged twice"):
        share_partition.acknowledge(
            ALICE, [*say(3, 5, RENEW), *say(5, 5, ACCEPT), *say(5, 5, RENEW)], now_ms=1
        )
