"""Stages of share-partitions on their way to durable state and back."""

from kproxy.share.heartbeat import TopicPartitions
from kproxy.share.identifiers import TopicId, TopicIdPartition
from kproxy.share.share_group_image import StatePartitions
from kproxy.share.state_partition_metadata import NewPartitions, StatePartitionMetadata
from tests.worlds.share_builders import OTHER_TOPIC, TOPIC, partitions_of

RETRY_MS = 30_000


class ComparedId(bytes):
    """The id of a topic that counts how often such ids are compared."""

    comparisons = 0

    def __eq__(self, other: object) -> bool:
        ComparedId.comparisons += 1
        return super().__eq__(other)

    __hash__ = bytes.__hash__


def begin(metadata: StatePartitionMetadata, partition_count: int, *, now_ms: int = 0) -> list[NewPartitions]:
    topic = TopicPartitions(TOPIC, partition_count)
    return list(metadata.begin("paid", topic, retry_interval_ms=RETRY_MS, now_ms=now_ms))


def with_begun(partition_count: int) -> StatePartitionMetadata:
    metadata = StatePartitionMetadata()
    begin(metadata, partition_count)
    return metadata


def with_initialized(partition_count: int) -> StatePartitionMetadata:
    metadata = with_begun(partition_count)
    metadata.finish(partitions_of(TOPIC, range(partition_count)))
    return metadata


def restored(metadata: StatePartitionMetadata) -> StatePartitionMetadata:
    return StatePartitionMetadata.restore(
        initializing=metadata.initializing, initialized=metadata.initialized, deleting=metadata.deleting
    )


def test_the_partitions_of_a_new_topic_leave_their_start_offset_open() -> None:
    # When
    begun = begin(StatePartitionMetadata(), 2)

    # Then
    assert begun == [NewPartitions((0, 1), -1)]


def test_partitions_added_to_a_known_topic_begin_at_0() -> None:
    # Given
    metadata = with_initialized(1)

    # When
    begun = begin(metadata, 3)

    # Then
    assert begun == [NewPartitions((1, 2), 0)]


def test_a_partition_that_failed_alone_begins_where_the_others_of_its_topic_did() -> None:
    """Else a group that starts at the latest record would be given the history of one partition."""
    # Given
    metadata = StatePartitionMetadata()
    begin(metadata, 2)
    metadata.finish(partitions_of(TOPIC, [0]))
    metadata.fail(partitions_of(TOPIC, [1]))

    # When
    begun = begin(metadata, 2)

    # Then
    assert begun == [NewPartitions((1,), -1)]


def test_what_is_under_way_is_begun_again_when_the_retry_interval_is_over() -> None:
    # Given
    metadata = StatePartitionMetadata()
    begin(metadata, 1)

    # When
    attempts = [begin(metadata, 1, now_ms=now_ms) for now_ms in (RETRY_MS - 1, RETRY_MS)]

    # Then
    assert attempts == [[], [NewPartitions((0,), -1)]]


def test_what_failed_stays_initializing_for_it_may_have_state() -> None:
    # Given
    metadata = StatePartitionMetadata()
    begin(metadata, 1)

    # When
    metadata.fail(partitions_of(TOPIC, [0]))

    # Then
    assert metadata.initializing == {TOPIC: StatePartitions("paid", frozenset({0}))}
    assert metadata.initialized == {}


def test_a_deletion_takes_everything_that_may_have_state() -> None:
    # Given
    metadata = with_initialized(2)
    begin(metadata, 3)

    # When
    is_any_deleting = metadata.begin_deletion([TOPIC])

    # Then
    assert is_any_deleting
    assert (metadata.initializing, metadata.initialized) == ({}, {})
    assert metadata.deleting == {TOPIC: StatePartitions("paid", frozenset({0, 1, 2}))}
    assert metadata.topic_names == {}


def test_a_deletion_of_many_topics_goes_through_what_is_initializing_once() -> None:
    # Given
    metadata = StatePartitionMetadata()
    topic_ids = [TopicId(ComparedId(number.to_bytes(16))) for number in range(100)]
    for topic_id in topic_ids:
        metadata.begin_alteration("paid", TopicPartitions(topic_id, 3))
    ComparedId.comparisons = 0

    # When
    metadata.begin_deletion(topic_ids)

    # Then
    assert ComparedId.comparisons <= 400
    assert metadata.partition_count == 300
    assert metadata.deleting.keys() == set(topic_ids)


def test_an_interrupted_deletion_is_found_again() -> None:
    # Given
    metadata = with_initialized(2)
    metadata.begin_deletion([TOPIC])

    # When
    again = restored(metadata)
    is_any_deleting = again.begin_deletion([TOPIC])

    # Then
    assert is_any_deleting
    assert again.deleting == {TOPIC: StatePartitions("paid", frozenset({0, 1}))}


def test_nothing_is_begun_of_a_topic_that_is_being_deleted_until_that_is_done() -> None:
    # Given
    metadata = with_initialized(1)
    metadata.begin_deletion([TOPIC])
    during = begin(metadata, 1)

    # When
    metadata.finish_deletion([TOPIC])

    # Then
    assert during == []
    assert metadata.deleting == {}
    assert begin(metadata, 1) == [NewPartitions((0,), -1)]


def test_an_initialization_that_ends_after_the_topic_was_deleted_is_no_news() -> None:
    # Given
    metadata = StatePartitionMetadata()
    begin(metadata, 1)
    metadata.begin_deletion([TOPIC])

    # When
    metadata.finish(partitions_of(TOPIC, [0]))
    metadata.fail(partitions_of(TOPIC, [0]))

    # Then
    assert (metadata.initializing, metadata.initialized) == ({}, {})


def test_deleting_a_topic_that_was_never_seen_does_nothing() -> None:
    # Given
    metadata = with_initialized(1)

    # When
    is_any_deleting = metadata.begin_deletion([OTHER_TOPIC])
    metadata.finish_deletion([OTHER_TOPIC])

    # Then
    assert not is_any_deleting
    assert metadata.topic_names == {TOPIC: "paid"}


def test_what_was_initializing_is_begun_again_at_once_after_a_restart() -> None:
    # Given
    metadata = with_initialized(1)
    begin(metadata, 2)

    # When
    begun = begin(restored(metadata), 2)

    # Then
    assert begun == [NewPartitions((1,), 0)]


def test_after_a_restart_partitions_begin_where_they_would_have_without_it() -> None:
    """Partition 1 came with its topic, 2 and 3 were added when 0 was initialized already."""
    # Given
    metadata = StatePartitionMetadata()
    begin(metadata, 2)
    metadata.finish(partitions_of(TOPIC, [0]))
    begin(metadata, 4)

    # When
    begun = begin(restored(restored(metadata)), 4)

    # Then
    assert begun == [NewPartitions((1,), -1), NewPartitions((2, 3), 0)]
    assert metadata.initializing == {TOPIC: StatePartitions("paid", frozenset({1, 2, 3}), frozenset({2, 3}))}


def test_the_last_known_topics_count_what_is_initializing_too() -> None:
    # Given
    metadata = with_initialized(2)
    begin(metadata, 5)

    # When
    topics = restored(metadata).last_known_topics()

    # Then
    assert topics == {"paid": TopicPartitions(TOPIC, 5)}


def test_what_an_alteration_leaves_out_begins_where_it_would_have() -> None:
    """Else partitions of a topic of which one was altered would be taken for added ones, and begin at 0."""
    # Given
    metadata = StatePartitionMetadata()
    has_begun = metadata.begin_alteration("paid", TopicPartitions(TOPIC, 3))
    metadata.finish(partitions_of(TOPIC, [1]))

    # When
    begun = begin(restored(metadata), 4)

    # Then
    assert has_begun
    assert begun == [NewPartitions((0, 2), -1), NewPartitions((3,), 0)]


def test_an_alteration_of_what_is_initialized_begins_nothing() -> None:
    metadata = with_initialized(2)

    assert not metadata.begin_alteration("paid", TopicPartitions(TOPIC, 2))
    assert metadata.initializing == {}


def test_partitions_that_were_added_before_an_alteration_begin_at_0() -> None:
    """Else records that were produced to them before the next member joins would be missed."""
    # Given
    metadata = with_initialized(2)
    has_begun = metadata.begin_alteration("paid", TopicPartitions(TOPIC, 3))
    metadata.finish(partitions_of(TOPIC, [0]))

    # When
    begun = begin(restored(metadata), 3)

    # Then
    assert has_begun
    assert begun == [NewPartitions((2,), 0)]


def test_an_alteration_keeps_the_choice_of_an_initialization_that_failed() -> None:
    # Given
    metadata = with_initialized(1)
    begin(metadata, 2)
    metadata.fail(partitions_of(TOPIC, [1]))

    # When
    has_begun = metadata.begin_alteration("paid", TopicPartitions(TOPIC, 2))

    # Then
    assert not has_begun
    assert begin(metadata, 2) == [NewPartitions((1,), 0)]


def test_partitions_of_every_stage_are_counted() -> None:
    metadata = with_initialized(2)
    begin(metadata, 3)
    metadata.begin_deletion([TOPIC])
    metadata.begin_alteration("other", TopicPartitions(OTHER_TOPIC, 2))
    metadata.finish(partitions_of(OTHER_TOPIC, [1]))

    assert metadata.partition_count == 5


def test_what_failed_after_it_was_begun_anew_is_no_attempt_of_before() -> None:
    """Who began the first attempt must not take the second one for its own."""
    # Given
    metadata = restored(with_begun(1))
    before = metadata.attempts()
    metadata.begin_deletion([TOPIC])
    metadata.finish_deletion([TOPIC])

    # When
    begin(metadata, 1)
    metadata.fail(partitions_of(TOPIC, [0]))

    # Then
    assert metadata.attempts().keys() == before.keys()
    assert all(metadata.attempts()[place] is not attempt for place, attempt in before.items())


def test_what_is_initializing_beyond_the_partitions_of_a_topic_is_not_begun_again() -> None:
    """A broker that is behind may know fewer partitions."""
    metadata = with_begun(3)
    metadata.fail(partitions_of(TOPIC, range(3)))

    assert begin(metadata, 2) == [NewPartitions((0, 1), -1)]


def test_a_topic_that_a_record_names_without_partitions_is_not_known() -> None:
    # When
    metadata = StatePartitionMetadata.restore(
        initializing={TOPIC: StatePartitions("paid", frozenset())}, initialized={}, deleting={}
    )

    # Then
    assert (metadata.initializing, metadata.last_known_topics()) == ({}, {})


def test_what_is_initialized_is_pictured_once_as_long_as_it_stays_the_same() -> None:
    """Each answer of a large group has an image."""
    # Given
    metadata = StatePartitionMetadata()
    metadata.begin("paid", TopicPartitions(TOPIC, 2), retry_interval_ms=1, now_ms=0)
    metadata.finish([TopicIdPartition(TOPIC, 0)])
    before = metadata.initialized

    # When
    again = metadata.initialized
    metadata.finish([TopicIdPartition(TOPIC, 1)])

    # Then
    assert again is before
    assert before[TOPIC].partitions == {0}
    assert metadata.initialized[TOPIC].partitions == {0, 1}
