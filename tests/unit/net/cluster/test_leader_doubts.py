import pytest

from kproxy.error_codes import ErrorCode
from kproxy.net.cluster.leader_doubts import LEADER_DOUBTS, told_code

CODES_OF_JAVAS_SHARE_CONSUMER = {
    ErrorCode.NONE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REPLICA_NOT_AVAILABLE,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.OFFSET_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INCONSISTENT_TOPIC_ID,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
}
"""What `ShareFetchCollector` handles; any other code is an IllegalStateException to the application."""


@pytest.mark.parametrize("error_code", sorted(LEADER_DOUBTS))
def test_whatever_is_said_of_a_leader_in_doubt_is_told_in_a_code_that_share_consumers_handle(
    error_code: ErrorCode,
) -> None:
    assert told_code(error_code) in CODES_OF_JAVAS_SHARE_CONSUMER


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (ErrorCode.NONE, ErrorCode.NONE),
        (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ErrorCode.INCONSISTENT_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_ID),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        (ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.OFFSET_OUT_OF_RANGE),
    ],
)
def test_codes_are_told_as_they_are_unless_clients_would_not_expect_them(
    said: ErrorCode, told: ErrorCode
) -> None:
    assert told_code(said) is told
