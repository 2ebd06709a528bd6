"""Cases 69 to 82: members of share groups."""

from typing import Final

from confluent_kafka.admin import AdminClient, NewPartitions

from kproxy.error_codes import ErrorCode
from tests.conformance import preparation
from tests.conformance.case import case
from tests.conformance.member import Member, Topic, acquired
from tests.conformance.membership import JOINING, Membership, assigned_to, settle
from tests.conformance.scenario import Play

MOST_MEMBERS: Final = 200
"""What `group.share.max.size` is by default."""
FEWEST_KEPT: Final = 3
"""Of five partitions, when two members become three; ties are broken as a hash set has it."""
SESSION_TIMEOUT_MS: Final = 5_000
FUTURE_SECONDS: Final = 30.0


@case(69)
def a_member_that_joins_is_assigned_every_partition(play: Play) -> None:
    topic = play.topic(3)
    one = _membership(play, topic)
    answer = one.beat()
    assert (answer.error_code, answer.member_epoch >= 1) == (ErrorCode.NONE, True)
    assert answer.assignment is not None
    settle(one, sizes=[3])
    play.say("assigned", assigned_to(one))
    one.member.heartbeat(JOINING, topics=one.names)


@case(70)
def nobody_joins_without_topics(play: Play) -> None:
    member = _member(play, play.topic())
    refused = [member.heartbeat(JOINING), member.heartbeat(JOINING, topics=[])]
    assert [answer.error_code for answer in refused] == [ErrorCode.INVALID_REQUEST] * 2


@case(71)
def a_heartbeat_of_nobody_or_of_another_epoch_is_refused(play: Play) -> None:
    topic = play.topic()
    one = _membership(play, topic)
    assert one.member.heartbeat(1).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    settle(one, sizes=[1])
    other = _membership(play, topic, like=one)
    assert other.member.heartbeat(1).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    before = one.epoch
    assert one.member.heartbeat(before + 100).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    settle(one, other, sizes=[1, 1])
    assert one.epoch > before
    third = _membership(play, topic, like=one)
    settle(one, other, third, sizes=[1, 1, 1])
    previous = one.member.heartbeat(one.previous_epoch)
    assert previous.error_code == ErrorCode.NONE
    assert one.member.heartbeat(before).error_code == ErrorCode.FENCED_MEMBER_EPOCH


@case(72)
def a_member_that_was_fenced_joins_again_with_its_id(play: Play) -> None:
    one = _membership(play, play.topic(2))
    settle(one, sizes=[2])
    assert one.member.heartbeat(one.epoch + 100).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    again = one.member.heartbeat(JOINING, topics=one.names)
    assert again.error_code == ErrorCode.NONE


@case(73)
def an_epoch_below_that_of_leaving_is_refused(play: Play) -> None:
    one = _membership(play, play.topic())
    settle(one, sizes=[1])
    refused = [one.member.heartbeat(epoch) for epoch in (-2, -(2**31))]
    assert [answer.error_code for answer in refused] == [ErrorCode.INVALID_REQUEST] * 2


@case(74)
def a_full_group_takes_nobody_more_and_keeps_those_it_has(play: Play) -> None:
    topic = play.topic()
    first = _membership(play, topic)
    first.beat()
    for _ in range(MOST_MEMBERS - 1):
        assert _membership(play, topic, like=first).beat().error_code == ErrorCode.NONE
    late = _membership(play, topic, like=first)
    assert late.member.heartbeat(JOINING, topics=late.names).error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert first.beat().error_code == ErrorCode.NONE


@case(75)
def what_a_member_that_leaves_had_goes_to_the_others_with_their_next_heartbeats(play: Play) -> None:
    topic = play.topic(2)
    one = _membership(play, topic)
    other = _membership(play, topic, like=one)
    settle(one, other, sizes=[1, 1])
    one.leave()
    settle(other, sizes=[2])
    play.say("assigned", assigned_to(other))
    assert one.member.heartbeat(-1).error_code == ErrorCode.UNKNOWN_MEMBER_ID


@case(76)
def a_member_that_says_nothing_for_the_session_timeout_is_removed(play: Play) -> None:
    topic = play.topic(2)
    silent = _membership(play, topic)
    play_configs = {"share.session.timeout.ms": str(SESSION_TIMEOUT_MS)}
    preparation.alter_group_configs(play.helper, silent.member.group or "", play_configs)
    other = _membership(play, topic, like=silent)
    settle(silent, other, sizes=[1, 1])
    before = other.epoch
    settle(other, sizes=[2])
    assert other.epoch > before
    assert silent.member.heartbeat(silent.epoch).error_code == ErrorCode.UNKNOWN_MEMBER_ID


@case(77)
def partitions_are_shared_out_evenly_and_moved_seldom(play: Play) -> None:
    three, five = play.topic(3), play.topic(5)
    first = _membership(play, three)
    four = [first, *(_membership(play, three, like=first) for _ in range(3))]
    settle(*four, sizes=[2, 2, 1, 1])
    play.say("each partition has two members", sorted(place for each in assigned_to(*four) for place in each))
    one = _membership(play, five)
    two = [one, _membership(play, five, like=one)]
    settle(*two, sizes=[3, 2])
    before = [each.assigned for each in two]
    two.append(_membership(play, five, like=one))
    settle(*two, sizes=[2, 2, 1])
    kept = sum(len(had & each.assigned) for had, each in zip(before, two, strict=False))
    assert kept >= FEWEST_KEPT, f"{kept} of 5 partitions stayed with their member"


@case(78)
def a_member_is_assigned_only_what_it_subscribes_to(play: Play) -> None:
    here, there = play.topic(2), play.topic(2)
    both = _membership(play, here, there)
    one = _membership(play, here, like=both)
    settle(both, one, sizes=[3, 1])
    play.say("assigned to who subscribes to one", {topic.name for topic, _ in one.assigned})
    play.say("of the other topic", sorted(index for topic, index in both.assigned if topic is there))


@case(79)
def a_topic_that_is_created_after_it_was_subscribed_to_is_assigned_later(play: Play) -> None:
    here, name = play.topic(), play.new_name("later")
    one = _membership(play, here, Topic(name, bytes(16), 2))
    settle(one, sizes=[1])
    created = play.topic(2, name=name)
    one.topics = (here, created)
    settle(one, sizes=[3])
    play.say("assigned", assigned_to(one))


@case(80)
def a_partition_that_is_added_begins_with_its_first_record(play: Play) -> None:
    topic = play.topic()
    group = play.group(topic, configs={"share.auto.offset.reset": "latest"})
    admin = AdminClient({"bootstrap.servers": play.target.address()})
    admin.create_partitions([NewPartitions(topic.name, 2)])[topic.name].result(FUTURE_SECONDS)
    larger = preparation.known_topic(play.helper, topic.name, partitions=2)
    play.produce_batches(larger, 3, partition=1)
    joining = Membership(play.member(group.group_id, (larger,), member_id="joining"), (larger,))
    group.founder.topics = (larger,)
    settle(group.founder, joining, sizes=[1, 1])
    found = joining.member.open_session()
    play.as_kafka_4_4("a partition added to a known topic begins at 0")
    assert acquired(found) == ([] if play.target.is_reference else [(0, 2, 1)])


@case(81)
def a_heartbeat_with_nothing_new_brings_no_assignment(play: Play) -> None:
    one = _membership(play, play.topic(2))
    settle(one, sizes=[2])
    assert one.member.heartbeat(one.epoch).assignment is None
    assert one.member.heartbeat(one.epoch, topics=one.names).assignment is not None


@case(82)
def the_id_of_a_consumer_group_is_no_share_groups(play: Play) -> None:
    topic = play.topic()
    one = _membership(play, topic)
    preparation.commit_offset(play.helper, one.member.group or "", topic)
    refused = one.member.heartbeat(JOINING, topics=one.names)
    assert refused.error_code == ErrorCode.GROUP_ID_NOT_FOUND


def _member(play: Play, *topics: Topic, like: Membership | None = None) -> Member:
    """A member of a new group, or of the group of another one and on its connection."""
    group_id = play.new_group_id() if like is None else like.member.group
    return play.member(
        group_id or "",
        topics,
        member_id=play.new_name("member"),
        connection=None if like is None else like.member.connection,
    )


def _membership(play: Play, *topics: Topic, like: Membership | None = None) -> Membership:
    return Membership(_member(play, *topics, like=like), topics)
