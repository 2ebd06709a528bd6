"""Who keeps, and who takes over, what nobody else serves."""

from collections.abc import Collection, Iterable, Mapping

from kproxy.share.coverage import Coverage
from kproxy.share.identifiers import MemberId, TopicId, TopicIdPartition
from kproxy.share.share_group_member import ShareGroupMember
from tests.worlds.share_builders import ALICE, BOB, OTHER_TOPIC, TOPIC

CAROL = MemberId("carol")


def partitions(*numbers: int) -> frozenset[TopicIdPartition]:
    return frozenset(TopicIdPartition(TOPIC, number) for number in numbers)


def wanted(*numbers: int) -> Mapping[TopicId, Collection[int]]:
    return {TOPIC: frozenset(numbers)}


class OneTopic:
    """Everybody subscribes to one topic, all of which may be assigned."""

    def permitted(
        self, _member: ShareGroupMember, partitions: Collection[TopicIdPartition]
    ) -> frozenset[TopicIdPartition]:
        return frozenset(partition for partition in partitions if partition.topic_id == TOPIC)

    def subscribed_among(
        self, _member: ShareGroupMember, topic_ids: Collection[TopicId]
    ) -> Iterable[TopicId]:
        return [topic_id for topic_id in topic_ids if topic_id == TOPIC]


def told(coverage: Coverage, member_id: MemberId, numbers: Iterable[int]) -> ShareGroupMember:
    """A member that can be counted on for what it was told, and waits."""
    member = ShareGroupMember(member_id, is_waiting=True)
    coverage.count_on(member, frozenset())
    coverage.tell(member, partitions(*numbers))
    return member


def test_a_member_keeps_what_it_loses_until_somebody_else_was_told_of_it() -> None:
    # Given
    coverage = Coverage(OneTopic())
    alice, bob = told(coverage, ALICE, [0, 1]), told(coverage, BOB, [])

    # When
    before = coverage.share_of(alice, partitions(0))
    concerns_others = coverage.tell(bob, partitions(1))
    after = coverage.share_of(alice, partitions(0))

    # Then
    assert before == partitions(0, 1)
    assert concerns_others
    assert after == partitions(0)


def test_what_may_not_be_assigned_any_more_is_not_kept() -> None:
    # Given
    coverage = Coverage(OneTopic())
    alice = ShareGroupMember(ALICE)
    gone = frozenset([TopicIdPartition(OTHER_TOPIC, 0)])
    coverage.count_on(alice, frozenset())
    coverage.tell(alice, gone | partitions(0))

    # Then
    assert coverage.share_of(alice, partitions(0)) == partitions(0)


def test_who_cannot_be_counted_on_does_not_let_others_lose_anything() -> None:
    # Given
    coverage = Coverage(OneTopic())
    alice, bob = told(coverage, ALICE, [0]), told(coverage, BOB, [0])

    # When
    was_counted_on = coverage.discount(bob)

    # Then
    assert was_counted_on
    assert not coverage.discount(bob)
    assert coverage.share_of(alice, partitions()) == partitions(0)


def test_what_nobody_has_is_shared_among_those_who_wait() -> None:
    # Given
    coverage = Coverage(OneTopic())
    alice, bob = told(coverage, ALICE, [0]), told(coverage, BOB, [1])

    # When
    coverage.allot(wanted(0, 1, 2, 3), {ALICE: partitions(0), BOB: partitions(1)}, [alice, bob])

    # Then
    assert coverage.share_of(alice, partitions(0)) == partitions(0, 2)
    assert coverage.share_of(bob, partitions(1)) == partitions(1, 3)


def test_what_somebody_is_about_to_be_told_is_not_given_to_another() -> None:
    # Given
    coverage = Coverage(OneTopic())
    alice, bob = told(coverage, ALICE, []), told(coverage, BOB, [])

    # When
    coverage.allot(wanted(0), {ALICE: partitions(0), BOB: partitions()}, [alice, bob])

    # Then
    assert coverage.share_of(bob, partitions()) == partitions()


def test_when_nobody_waits_whoever_is_heard_next_takes_what_is_open_and_the_one_after_does_not() -> None:
    # Given
    coverage = Coverage(OneTopic())
    alice, bob = told(coverage, ALICE, []), told(coverage, BOB, [])
    coverage.allot(wanted(0, 1), {}, [])

    # When
    of_alice = coverage.share_of(alice, partitions())
    coverage.tell(alice, of_alice)

    # Then
    assert of_alice == partitions(0, 1)
    assert coverage.share_of(bob, partitions()) == partitions()


def test_whoever_gives_up_what_nobody_else_has_concerns_others() -> None:
    # Given
    coverage = Coverage(OneTopic())
    alice = told(coverage, ALICE, [0])

    # Then
    assert coverage.tell(alice, partitions())


def test_a_member_that_joins_again_has_to_be_told_again_what_it_had() -> None:
    # Given
    coverage = Coverage(OneTopic())
    alice, bob = told(coverage, ALICE, [0]), told(coverage, BOB, [])

    # When
    is_news = coverage.count_on(alice, frozenset())
    coverage.allot(wanted(0), {BOB: partitions()}, [bob])

    # Then
    assert is_news
    assert coverage.share_of(bob, partitions()) == partitions(0)


def test_what_was_told_to_a_member_that_is_gone_does_not_count() -> None:
    # Given
    coverage = Coverage(OneTopic())
    alice, carol = told(coverage, ALICE, []), told(coverage, CAROL, [])
    coverage.discount(alice)

    # When
    coverage.tell(alice, partitions(0))
    coverage.allot(wanted(0), {CAROL: partitions()}, [carol])

    # Then
    assert coverage.share_of(carol, partitions()) == partitions(0)


def test_what_was_taken_is_open_again_when_nobody_who_has_it_can_be_counted_on() -> None:
    # Given
    coverage = Coverage(OneTopic())
    alice, bob = told(coverage, ALICE, []), told(coverage, BOB, [])
    coverage.allot(wanted(0, 1), {}, [])
    coverage.tell(alice, partitions(0))

    # When
    before = coverage.share_of(bob, partitions())
    coverage.discount(alice)
    after = coverage.share_of(bob, partitions())

    # Then
    assert before == partitions(1)
    assert after == partitions(0, 1)


def test_what_nobody_has_goes_to_those_who_have_least_and_round_again() -> None:
    # Given
    coverage = Coverage(OneTopic())
    alice, bob, carol = (told(coverage, member_id, []) for member_id in (ALICE, BOB, CAROL))
    targets = {ALICE: partitions(7, 8), BOB: partitions(), CAROL: partitions(9)}

    # When
    coverage.allot(wanted(0, 1, 2, 3), targets, [alice, bob, carol])

    # Then
    assert coverage.share_of(bob, partitions()) == partitions(0, 3)
    assert coverage.share_of(carol, partitions(9)) == partitions(1, 9)
    assert coverage.share_of(alice, partitions(7, 8)) == partitions(2, 7, 8)
