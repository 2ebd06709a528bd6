"""The simple assignor: counts and balance, and as few moves as they allow."""

from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kproxy.share.assignor import Assignment, assign
from kproxy.share.identifiers import MemberId, TopicId, TopicIdPartition
from tests.worlds.share_builders import OTHER_TOPIC, TOPIC, LookedUpId

MEMBERS = [MemberId(f"member-{number}") for number in range(12)]


def subscriptions(member_count: int, *topic_ids: TopicId) -> dict[MemberId, frozenset[TopicId]]:
    return dict.fromkeys(MEMBERS[:member_count], frozenset(topic_ids or (TOPIC,)))


def topic_with(partition_count: int, topic_id: TopicId = TOPIC) -> dict[TopicId, frozenset[int]]:
    return {topic_id: frozenset(range(partition_count))}


def sizes(assignment: Assignment) -> list[int]:
    return [len(partitions) for partitions in assignment.values()]


def holders(assignment: Assignment) -> Counter[TopicIdPartition]:
    return Counter(partition for partitions in assignment.values() for partition in partitions)


@pytest.mark.parametrize(
    ("member_count", "partition_count", "expected"),
    [
        pytest.param(1, 3, [3], id="one member gets all"),
        pytest.param(3, 3, [1, 1, 1], id="one each"),
        pytest.param(4, 3, [2, 1, 2, 1], id="more members than partitions share"),
        pytest.param(2, 5, [3, 2], id="more partitions than members"),
        pytest.param(10, 1, [1] * 10, id="everyone gets the only partition"),
    ],
)
def test_partitions_are_shared_by_quota(member_count: int, partition_count: int, expected: list[int]) -> None:
    # When
    assignment = assign(subscriptions(member_count), topic_with(partition_count), {})

    # Then
    assert sizes(assignment) == expected
    assert len(holders(assignment)) == partition_count


def test_a_member_that_joins_takes_only_what_balance_demands() -> None:
    # Given
    before = assign(subscriptions(2), topic_with(5), {})

    # When
    after = assign(subscriptions(3), topic_with(5), before)

    # Then
    assert sizes(after) == [2, 2, 1]
    assert after[MEMBERS[0]] < before[MEMBERS[0]]
    assert after[MEMBERS[1]] == before[MEMBERS[1]]


def test_a_member_that_leaves_hands_its_partitions_to_the_others() -> None:
    # Given
    before = assign(subscriptions(3), topic_with(6), {})

    # When
    after = assign(subscriptions(2), topic_with(6), before)

    # Then
    assert sizes(after) == [3, 3]
    assert after[MEMBERS[0]] > before[MEMBERS[0]]
    assert after[MEMBERS[1]] > before[MEMBERS[1]]


def test_what_is_balanced_stays_as_it_is() -> None:
    # Given
    before = assign(subscriptions(4), topic_with(3), {})

    # When
    after = assign(subscriptions(4), topic_with(3), before)

    # Then
    assert after == before


def test_members_get_partitions_of_their_own_topics_only() -> None:
    # Given
    alice, bob, carol = MEMBERS[:3]
    subscribed = {
        alice: frozenset({TOPIC}),
        bob: frozenset({TOPIC, OTHER_TOPIC}),
        carol: frozenset({OTHER_TOPIC}),
    }

    # When
    assignment = assign(subscribed, {**topic_with(4), **topic_with(2, OTHER_TOPIC)}, {})

    # Then
    by_topic = {
        member_id: Counter(partition.topic_id for partition in partitions)
        for member_id, partitions in assignment.items()
    }
    assert by_topic == {
        alice: Counter({TOPIC: 2}),
        bob: Counter({TOPIC: 2, OTHER_TOPIC: 1}),
        carol: Counter({OTHER_TOPIC: 1}),
    }


def test_a_topic_that_nobody_subscribed_to_is_left_out() -> None:
    # Given
    subscribed = {MEMBERS[0]: frozenset({TOPIC}), MEMBERS[1]: frozenset({TOPIC})}

    # When
    assignment = assign(subscribed, {**topic_with(2), **topic_with(3, OTHER_TOPIC)}, {})

    # Then
    assert sizes(assignment) == [1, 1]


def test_members_without_partitions_get_nothing() -> None:
    assert assign(subscriptions(2), {}, {}) == {MEMBERS[0]: frozenset(), MEMBERS[1]: frozenset()}


def test_a_place_stays_empty_when_the_only_member_with_room_holds_that_partition() -> None:
    """Four places: two of each partition. The algorithm tolerates this slight imbalance."""
    # Given
    first, second, third = MEMBERS[:3]
    p0, p1 = (TopicIdPartition(TOPIC, number) for number in (0, 1))
    previous = {first: frozenset({p1}), second: frozenset({p0}), third: frozenset({p0})}

    # When
    assignment = assign(subscriptions(3), topic_with(2), previous)

    # Then
    assert assignment == previous


@given(
    subscribed=st.lists(st.sets(st.sampled_from([TOPIC, OTHER_TOPIC])), min_size=1, max_size=8),
    counts=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    before=st.tuples(st.integers(1, 9), st.integers(1, 9)),
)
def test_every_partition_with_a_subscriber_is_assigned(
    subscribed: list[set[TopicId]], counts: tuple[int, int], before: tuple[int, int]
) -> None:
    # Given
    of_members = {MEMBERS[number]: frozenset(topics) for number, topics in enumerate(subscribed)}
    previous = assign(of_members, {**topic_with(before[0]), **topic_with(before[1], OTHER_TOPIC)}, {})
    assignable = {**topic_with(counts[0]), **topic_with(counts[1], OTHER_TOPIC)}

    # When
    assignment = assign(of_members, assignable, previous)

    # Then
    wanted = {
        TopicIdPartition(topic_id, number)
        for topic_id, numbers in assignable.items()
        if any(topic_id in topics for topics in subscribed)
        for number in numbers
    }
    assert set(holders(assignment)) == wanted
    assert all(
        partition.topic_id in of_members[member_id]
        for member_id, partitions in assignment.items()
        for partition in partitions
    )


@given(
    subscribed=st.lists(st.sets(st.sampled_from([TOPIC, OTHER_TOPIC])), min_size=2, max_size=8),
    counts=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    before=st.lists(st.sets(st.sampled_from([TOPIC, OTHER_TOPIC])), min_size=2, max_size=8),
)
def test_of_different_subscriptions_each_topic_is_shared_as_if_there_were_no_other(
    subscribed: list[set[TopicId]], counts: tuple[int, int], before: list[set[TopicId]]
) -> None:
    # Given
    assume(len({frozenset(topics) for topics in subscribed}) > 1)
    of_members = {MEMBERS[number]: frozenset(topics) for number, topics in enumerate(subscribed)}
    held_before = {MEMBERS[number]: frozenset(topics) for number, topics in enumerate(before)}
    assignable = {**topic_with(counts[0]), **topic_with(counts[1], OTHER_TOPIC)}
    previous = assign(held_before, assignable, {})

    # When
    assignment = assign(of_members, assignable, previous)

    # Then
    for topic_id in (TOPIC, OTHER_TOPIC):
        subscribers = {
            member_id: frozenset([topic_id]) for member_id, ids in of_members.items() if topic_id in ids
        }
        alone = assign(subscribers, {topic_id: assignable[topic_id]}, previous)
        assert alone == {
            member_id: frozenset(each for each in assignment[member_id] if each.topic_id == topic_id)
            for member_id in subscribers
        }


def test_the_topics_of_one_member_are_not_looked_for_in_each_others_subscription() -> None:
    # Given
    ids = [TopicId(LookedUpId(f"{number:016}".encode())) for number in range(500)]
    narrow = {MemberId(f"{number}"): frozenset(ids[number : number + 1]) for number in range(100)}
    subscribed = {**narrow, MEMBERS[0]: frozenset(ids)}
    assignable = {topic_id: frozenset([0]) for topic_id in ids}
    LookedUpId.look_ups = 0

    # When
    assignment = assign(subscribed, assignable, {})

    # Then
    assert len(assignment[MEMBERS[0]]) == len(ids)
    assert LookedUpId.look_ups < 10 * len(ids)


def test_partitions_of_a_lone_member_are_not_looked_for_in_what_it_had() -> None:
    # Given
    subscribed = subscriptions(1, TopicId(LookedUpId(TOPIC)))
    assignable = {topic_id: frozenset(range(500)) for topic_id in subscribed[MEMBERS[0]]}
    previous = assign(subscribed, assignable, {})
    LookedUpId.look_ups = 0

    # When
    assignment = assign(subscribed, assignable, previous)

    # Then
    assert LookedUpId.look_ups < 1.5 * 500
    assert assignment == previous
