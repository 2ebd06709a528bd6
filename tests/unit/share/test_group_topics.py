"""What a group knows of its topics."""

import gc
import tracemalloc
import weakref

import pytest

from kproxy.share.group_topics import GroupTopics, subscription
from kproxy.share.heartbeat import AssignedTopic, TopicInitialization, TopicPartitions
from kproxy.share.identifiers import GroupEpoch, TopicId, TopicIdPartition
from kproxy.share.limits import GroupLimits
from kproxy.share.share_group_member import ShareGroupMember
from kproxy.share.state_partition_metadata import StatePartitionMetadata
from tests.worlds.share_builders import ALICE, BOB, ORDERS, OTHER_TOPIC, TOPIC, LookedUpId

NAME_COUNT = 1_000
PAID, SENT = TopicPartitions(TOPIC, 2), TopicPartitions(OTHER_TOPIC, 1)


def looked_up_id(number: int) -> TopicId:
    return TopicId(LookedUpId(f"{number:016}".encode()))


@pytest.fixture
def topics() -> GroupTopics:
    """Two known topics; partition 0 of each is initialized."""
    state = StatePartitionMetadata()
    for name, topic in (("paid", PAID), ("sent", SENT)):
        state.begin(name, topic, retry_interval_ms=1, now_ms=0)
        state.finish([TopicIdPartition(topic.topic_id, 0)])
    known = GroupTopics(state)
    known.subscribe(frozenset(), frozenset(["paid", "sent"]))
    known.learn({"paid": PAID, "sent": SENT})
    return known


def test_news_are_told_from_what_is_known(topics: GroupTopics) -> None:
    assert not topics.learn({"paid": PAID})
    assert topics.learn({"paid": None})
    assert topics.known == {"sent": SENT}


def test_a_topic_is_forgotten_with_the_last_member_that_subscribes_to_it(topics: GroupTopics) -> None:
    # Given
    topics.subscribe(frozenset(), frozenset(["paid"]))
    both = topics.subscribed_names

    # When
    is_another = topics.subscribe(frozenset(["paid", "sent"]), frozenset())

    # Then
    assert is_another
    assert both == {"paid", "sent"}
    assert topics.subscribed_names == {"paid"}
    assert topics.known == {"paid": PAID}
    assert not topics.learn({"sent": SENT})


def test_the_names_are_the_same_object_as_long_as_they_are_the_same(topics: GroupTopics) -> None:
    # Given
    before = topics.subscribed_names

    # When
    topics.subscribe(frozenset(), frozenset(["paid"]))

    # Then
    assert topics.subscribed_names is before


def initializations(topics: GroupTopics, limits: GroupLimits, now_ms: int) -> list[TopicInitialization]:
    return list(topics.begin_initializations(ORDERS, GroupEpoch(1), limits, now_ms))


def test_what_is_initialized_is_not_looked_at_again_until_its_topic_changes(topics: GroupTopics) -> None:
    # Given
    limits = GroupLimits(initialize_retry_interval_ms=1)

    # When
    begun = [(new.topic_id, new.partitions) for new in initializations(topics, limits, 1)]
    topics.state_partitions.finish([TopicIdPartition(TOPIC, 1)])
    later = initializations(topics, limits, 2)
    topics.learn({"sent": TopicPartitions(OTHER_TOPIC, 2)})
    grown = [(new.topic_id, new.partitions) for new in initializations(topics, limits, 3)]

    # Then
    assert begun == [(TOPIC, (1,))]
    assert later == []
    assert grown == [(OTHER_TOPIC, (1,))]


def test_a_topic_whose_state_was_deleted_and_that_exists_is_initialized_again(topics: GroupTopics) -> None:
    # Given
    limits = GroupLimits()
    initializations(topics, limits, 0)
    topics.begin_deletion([OTHER_TOPIC])

    # When
    meanwhile = [new.topic_id for new in initializations(topics, limits, 0)]
    topics.state_partitions.finish_deletion([OTHER_TOPIC])

    # Then
    assert meanwhile == []
    assert [new.topic_id for new in initializations(topics, limits, 0)] == [OTHER_TOPIC]


def test_only_what_is_initialized_may_be_assigned(topics: GroupTopics) -> None:
    assert topics.assignable() == {TOPIC: frozenset([0]), OTHER_TOPIC: frozenset([0])}


def test_a_member_may_have_what_it_subscribes_to_and_what_may_be_assigned(topics: GroupTopics) -> None:
    # Given
    alice = ShareGroupMember(ALICE, subscribed_topic_names=frozenset(["paid"]))

    # Then
    asked_for = [TopicIdPartition(TOPIC, 0), TopicIdPartition(TOPIC, 1), TopicIdPartition(OTHER_TOPIC, 0)]
    assert topics.permitted(alice, asked_for) == {TopicIdPartition(TOPIC, 0)}
    assert topics.wanted([alice]) == {TOPIC: {0}}


def test_partitions_are_told_in_the_order_of_their_topics_names(topics: GroupTopics) -> None:
    # When
    told = topics.named(
        [
            TopicIdPartition(OTHER_TOPIC, 0),
            TopicIdPartition(TopicId(b"is not known...."), 0),
            TopicIdPartition(TOPIC, 1),
            TopicIdPartition(TOPIC, 0),
        ]
    )

    # Then
    assert told == (AssignedTopic(TOPIC, "paid", (0, 1)), AssignedTopic(OTHER_TOPIC, "sent", (0,)))


def test_what_one_member_is_told_is_not_looked_for_among_all_topics_of_the_group() -> None:
    # Given
    found = {f"{number:04}": TopicPartitions(looked_up_id(number), 1) for number in range(NAME_COUNT)}
    topics = GroupTopics(StatePartitionMetadata())
    topics.subscribe(frozenset(), frozenset(found))
    topics.learn(found)
    LookedUpId.look_ups = 0

    # When
    told = topics.named([TopicIdPartition(looked_up_id(7), 0), TopicIdPartition(looked_up_id(3), 0)])

    # Then
    assert [topic.topic_name for topic in told] == ["0003", "0007"]
    assert LookedUpId.look_ups < 20


def test_what_members_want_is_all_when_nobody_else_subscribes_and_only_theirs_otherwise(
    topics: GroupTopics,
) -> None:
    # Given
    topics.subscribe(frozenset(), frozenset(["paid"]))
    alice = ShareGroupMember(ALICE, subscribed_topic_names=frozenset(["paid"]))
    bob = ShareGroupMember(BOB, subscribed_topic_names=frozenset(["paid", "sent"]))

    # Then
    assert topics.wanted([alice, bob]) is topics.assignable()
    assert topics.wanted([alice]) == {TOPIC: frozenset([0])}
    assert topics.wanted([]) == {}


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(frozenset(["paid"]), id="fewer names than topics"),
        pytest.param(frozenset(["paid", "not there", "nor this"]), id="more names than topics"),
    ],
)
def test_of_some_topics_those_are_told_that_exist_and_are_subscribed_to(
    topics: GroupTopics, names: frozenset[str]
) -> None:
    # Given
    alice = ShareGroupMember(ALICE, subscribed_topic_names=names)

    # Then
    assert list(topics.subscribed_among(alice, [OTHER_TOPIC, TOPIC])) == [TOPIC]
    assert list(topics.subscribed_among(alice, [OTHER_TOPIC])) == []


def test_a_restored_group_knows_the_topics_that_it_saw_last(topics: GroupTopics) -> None:
    # Given
    restored = GroupTopics(topics.state_partitions)

    # When
    restored.restore([frozenset(["paid", "sent"])], assigned_from=[TOPIC])
    of_current_assignment = dict(restored.known)
    restored.restore([frozenset(["paid", "sent"])], assigned_from=None)

    # Then
    assert of_current_assignment.keys() == {"paid"}
    assert restored.known.keys() == {"paid", "sent"}


class LookedUpName(str):
    """A topic name that is seen whenever it is looked up."""

    __slots__ = ()
    look_ups = 0

    def __hash__(self) -> int:
        LookedUpName.look_ups += 1
        return super().__hash__()


def test_a_restored_group_looks_each_name_of_each_subscription_up_once() -> None:
    """200,000 names of 20 subscriptions took 80 ms."""
    # Given
    names = [LookedUpName(name) for name in decoded()]
    wide = [frozenset(names), frozenset(names[1:])]
    restored = GroupTopics(StatePartitionMetadata())
    LookedUpName.look_ups = 0

    # When
    restored.restore([*wide, *wide], assigned_from=None)

    # Then
    assert LookedUpName.look_ups <= 2 * NAME_COUNT
    assert restored.subscribed_names == wide[0]
    assert restored.name_count == 2 * NAME_COUNT - 1


# ---- names are gone through when they come and when they go


def test_all_topics_are_asked_for_again_without_a_list_of_their_own() -> None:
    # Given
    topics = GroupTopics(StatePartitionMetadata())
    names = subscription(decoded())
    topics.subscribe(frozenset(), names)
    topics.learn(dict.fromkeys(names))
    tracemalloc.start()

    # When
    topics.topics_moved()

    # Then
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 10 * NAME_COUNT
    assert set(topics.unasked_names(NAME_COUNT)) == names


def test_what_was_not_asked_since_topics_moved_is_still_to_be_asked(topics: GroupTopics) -> None:
    # Given
    topics.topics_moved()

    # When
    topics.learn({"paid": PAID})
    topics.subscribe(frozenset(), frozenset(["packed"]))

    # Then
    assert set(topics.unasked_names(10)) == {"sent", "packed"}


def test_members_with_the_same_subscription_have_its_names_once(topics: GroupTopics) -> None:
    # Given
    names = subscription(decoded())
    restored = GroupTopics(topics.state_partitions)

    # When
    restored.restore([names, subscription(decoded()), names], assigned_from=None)
    of_three = restored.name_count
    restored.subscribe(names, frozenset())
    restored.subscribe(names, frozenset([*names, "paid"]))
    of_two = restored.subscribed_names
    restored.subscribe(names, frozenset())

    # Then
    assert of_three == NAME_COUNT
    assert of_two == restored.subscribed_names == {*names, "paid"}
    assert restored.name_count == NAME_COUNT + 1


# ---- subscriptions are held once


def decoded(count: int = NAME_COUNT, kind: str = "orders") -> list[str]:
    """Return names that are objects of their own, as a request has them."""
    return [f"{kind}-of-the-{number:05}" for number in range(count)]


def test_equal_subscriptions_are_one_object() -> None:
    # When
    first, second = subscription(decoded()), subscription(decoded()[::-1])

    # Then
    assert first is second
    assert first == frozenset(decoded())


def test_nothing_is_kept_of_a_subscription_that_nobody_has_any_more() -> None:
    # Given
    held = subscription(decoded(kind="soon gone"))
    kept = weakref.ref(held)

    # When
    del held
    gc.collect()

    # Then
    assert kept() is None


def test_a_hundred_equal_subscriptions_take_little_more_than_one() -> None:
    # Given
    held = [subscription(decoded())]
    tracemalloc.start()

    # When
    held.extend(subscription(decoded()) for _ in range(100))
    added_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    # Then
    assert added_bytes < 100 * NAME_COUNT


def test_no_names_are_no_names() -> None:
    assert subscription(()) == frozenset()
