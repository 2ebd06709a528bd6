"""Rights as brokers tell them in their answers."""

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.security.acls import AclOperation
from kproxy.security.authorized_operations import (
    NOTHING_TOLD,
    OMITTED,
    of_cluster,
    of_configs,
    of_described_group,
    of_reading,
    of_topic,
)

READ, DESCRIBE, DELETE = AclOperation.READ, AclOperation.DESCRIBE, AclOperation.DELETE
READ_AND_DESCRIBE = 1 << READ | 1 << DESCRIBE


def test_a_bit_is_an_operation_by_its_number() -> None:
    # When
    told = of_topic(ErrorCode.NONE, READ_AND_DESCRIBE)

    # Then
    assert [told.allows(operation) for operation in (READ, DESCRIBE, DELETE)] == [True, True, False]


def test_a_topic_that_is_not_there_has_its_operations_all_the_same() -> None:
    # When
    told = of_topic(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, READ_AND_DESCRIBE)

    # Then
    assert told.allows(READ)


def test_who_may_not_describe_a_topic_may_nothing() -> None:
    # When
    told = of_topic(ErrorCode.TOPIC_AUTHORIZATION_FAILED, OMITTED)

    # Then
    assert [told.allows(operation) for operation in (READ, DESCRIBE)] == [False, False]


def test_what_was_left_out_is_neither_allowed_nor_denied() -> None:
    # When
    told = (
        of_topic(ErrorCode.NONE, OMITTED),
        of_cluster(OMITTED),
        of_reading(ErrorCode.UNKNOWN_SERVER_ERROR),
    )

    # Then
    assert told == (NOTHING_TOLD,) * 3
    assert NOTHING_TOLD.allows(READ) is None


def test_who_may_not_describe_the_cluster_is_told_of_no_operation() -> None:
    # When
    told = of_cluster(0)

    # Then
    assert told.allows(AclOperation.CLUSTER_ACTION) is False


def test_a_group_s_coordinator_tells_all_operations() -> None:
    # When
    told = of_described_group(ErrorCode.NONE, READ_AND_DESCRIBE)

    # Then
    assert [told.allows(operation) for operation in (READ, DESCRIBE, DELETE)] == [True, True, False]


def test_another_broker_tells_that_a_group_may_be_described_and_no_more() -> None:
    # When
    told = of_described_group(ErrorCode.NOT_COORDINATOR, OMITTED)

    # Then
    assert [told.allows(operation) for operation in (READ, DESCRIBE, DELETE)] == [None, True, None]


@pytest.mark.parametrize(
    "error_code",
    [
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    ],
)
def test_what_may_be_the_error_of_a_whole_answer_tells_nothing_of_a_group(error_code: ErrorCode) -> None:
    """A broker that fails says so of every group that was named, before anybody asked its authorizer."""
    # When
    told = of_described_group(error_code, OMITTED)

    # Then
    assert told == NOTHING_TOLD


def test_who_may_not_describe_a_group_may_read_it_perhaps() -> None:
    # When
    told = of_described_group(ErrorCode.GROUP_AUTHORIZATION_FAILED, OMITTED)

    # Then
    assert [told.allows(operation) for operation in (READ, DESCRIBE, DELETE)] == [None, False, False]


@pytest.mark.parametrize(
    ("error_code", "may_read"),
    [
        (ErrorCode.UNKNOWN_MEMBER_ID, True),
        (ErrorCode.NOT_COORDINATOR, True),
        (ErrorCode.INVALID_GROUP_ID, True),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, False),
        (ErrorCode.UNSUPPORTED_VERSION, None),
        (4711, None),
    ],
)
def test_a_heartbeat_of_nobody_tells_whether_a_group_may_be_read(
    error_code: int, *, may_read: bool | None
) -> None:
    # When
    told = of_reading(error_code)

    # Then
    assert told.allows(READ) is may_read
    assert told.allows(DESCRIBE) is None


@pytest.mark.parametrize(
    ("error_code", "may_describe"),
    [
        (ErrorCode.NONE, True),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, False),
        (ErrorCode.INVALID_REQUEST, None),
    ],
)
def test_a_request_about_configurations_tells_of_the_one_right_that_it_wants(
    error_code: ErrorCode, *, may_describe: bool | None
) -> None:
    # When
    told = of_configs(AclOperation.DESCRIBE_CONFIGS, error_code)

    # Then
    assert told.allows(AclOperation.DESCRIBE_CONFIGS) is may_describe
    assert told.allows(AclOperation.ALTER_CONFIGS) is None
