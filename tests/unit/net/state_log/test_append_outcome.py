"""What may be concluded from what a leader said, or did not say."""

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.net.state_log.append_outcome import AppendFate, AppendOutcome, not_sent, unknown


def test_a_batch_with_an_offset_is_durable() -> None:
    assert AppendOutcome(ErrorCode.NONE, 7).fate is AppendFate.DURABLE


@pytest.mark.parametrize(
    ("error_code", "fate"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, AppendFate.NOT_APPENDED),
        (ErrorCode.MESSAGE_TOO_LARGE, AppendFate.REFUSED),
        (ErrorCode.RECORD_LIST_TOO_LARGE, AppendFate.REFUSED),
        (ErrorCode.INVALID_RECORD, AppendFate.REFUSED),
        (ErrorCode.POLICY_VIOLATION, AppendFate.REFUSED),
        (ErrorCode.INVALID_PRODUCER_EPOCH, AppendFate.FENCED),
        (ErrorCode.PRODUCER_FENCED, AppendFate.FENCED),
        (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, AppendFate.UNKNOWN),
        (ErrorCode.REQUEST_TIMED_OUT, AppendFate.UNKNOWN),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, AppendFate.UNKNOWN),
        (ErrorCode.LEADER_NOT_AVAILABLE, AppendFate.UNKNOWN),
        (ErrorCode.KAFKA_STORAGE_ERROR, AppendFate.UNKNOWN),
        (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, AppendFate.UNKNOWN),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, AppendFate.UNKNOWN),
        (ErrorCode.UNKNOWN_SERVER_ERROR, AppendFate.UNKNOWN),
    ],
)
def test_only_what_is_said_before_anything_is_written_leaves_no_doubt(
    error_code: ErrorCode, fate: AppendFate
) -> None:
    assert AppendOutcome(error_code).fate is fate


def test_a_batch_of_which_not_a_byte_went_out_may_be_sent_again() -> None:
    # When
    outcome = not_sent("nobody listens there")

    # Then
    assert (outcome.fate, outcome.detail) == (AppendFate.NOT_APPENDED, "nobody listens there")


def test_a_batch_whose_answer_did_not_come_may_be_anywhere() -> None:
    # When
    outcome = unknown("the connection ended")

    # Then
    assert (outcome.fate, outcome.detail) == (AppendFate.UNKNOWN, "the connection ended")
