"""Which texts may name a group or a member."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.error_codes import ErrorCode
from kproxy.errors import InvalidRequest
from kproxy.share.identifiers import (
    MAX_GROUP_ID_BYTES,
    GroupId,
    SharePartitionKey,
    TopicId,
    TopicIdPartition,
    require_group_id,
    require_member_id,
    require_storable_group_id,
    topic_id_of,
    topic_id_text,
)


def test_a_member_id_is_any_text_of_1_to_36_characters() -> None:
    assert require_member_id("x") == "x"
    assert require_member_id("m" * 36) == "m" * 36


@pytest.mark.parametrize("text", [None, "", "m" * 37])
def test_other_member_ids_are_refused(text: str | None) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        require_member_id(text)

    assert refusal.value.error_code is ErrorCode.INVALID_REQUEST


def test_a_group_id_must_not_be_null() -> None:
    with pytest.raises(InvalidRequest) as refusal:
        require_group_id(None)

    assert refusal.value.error_code is ErrorCode.INVALID_REQUEST


def test_a_group_id_is_any_text() -> None:
    assert require_group_id("orders") == "orders"


def test_a_share_partition_is_written_as_find_coordinator_has_it() -> None:
    """Kafka's own golden text for group gs1 and the topic id 1."""
    # Given
    key = SharePartitionKey(GroupId("gs1"), TopicId(bytes(15) + b"\x01"), 0)

    # When
    text = str(key)

    # Then
    assert text == "gs1:AAAAAAAAAAAAAAAAAAAAAQ:0"


def test_a_group_id_has_to_fit_into_the_key_of_a_log_record() -> None:
    # Given
    longest = "ü" * (MAX_GROUP_ID_BYTES // 2)
    require_storable_group_id(longest)

    # When
    with pytest.raises(InvalidRequest) as refusal:
        require_storable_group_id(longest + "üü")

    # Then
    assert refusal.value.error_code is ErrorCode.INVALID_REQUEST


@given(topic_id=st.binary(min_size=16, max_size=16).map(TopicId))
def test_the_text_of_a_topic_id_is_the_id_again(topic_id: TopicId) -> None:
    assert topic_id_of(topic_id_text(topic_id)) == topic_id


@pytest.mark.parametrize(
    "text", ["", "orders", "a" * 24, "orders.of.22.letters.xy", "b3JkZXJzb3JkZXJzb3JkZX"]
)
def test_other_texts_are_no_topic_id(text: str) -> None:
    with pytest.raises(ValueError, match="is no topic id"):
        topic_id_of(text)


def test_a_partition_of_a_topic_is_another_share_partition_in_each_group() -> None:
    # Given
    partition = TopicIdPartition(TopicId(bytes(16)), 3)

    # When
    keys = [partition.in_group(GroupId(name)) for name in ("orders", "billing")]

    # Then
    assert [(key.group_id, key.topic_id, key.partition) for key in keys] == [
        ("orders", bytes(16), 3),
        ("billing", bytes(16), 3),
    ]


def test_a_message_about_a_share_partition_tells_the_beginning_of_a_long_group_id() -> None:
    topic_id = TopicId(bytes(16))
    short, long = (SharePartitionKey(GroupId("g" * length), topic_id, 7) for length in (256, 32_000))

    assert f"{short}" == str(short)
    assert f"{long}" == f"{'g' * 256}...:AAAAAAAAAAAAAAAAAAAAAA:7"
    assert str(long) == f"{'g' * 32_000}:AAAAAAAAAAAAAAAAAAAAAA:7"
