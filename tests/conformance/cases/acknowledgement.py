"""Cases 35 to 56: acknowledgements and renewals."""

from dataclasses import replace
from typing import Final

from kproxy.error_codes import ErrorCode
from tests.conformance import preparation
from tests.conformance.case import case
from tests.conformance.member import (
    ACCEPT,
    BRIEF,
    GAP,
    PATIENT,
    REJECT,
    RELEASE,
    RENEW,
    RENEWING,
    Member,
    Topic,
    ack,
    acknowledge_errors,
    acquired,
    partitions,
)
from tests.conformance.scenario import EARLIEST, Play

SHORT_LOCK: Final = {**EARLIEST, "share.record.lock.duration.ms": "1000"}
UNKNOWN_ID: Final = b"no such topic id"
NO_SUCH_PARTITION: Final = 9


@case(36)
def a_rejected_record_is_never_delivered_again(play: Play) -> None:
    topic = play.topic()
    member = _holding(play, topic, 3)
    assert acknowledge_errors(member.acknowledge(ack(0, 2, REJECT))) == [ErrorCode.NONE]
    assert acquired(member.fetch(terms=BRIEF)) == []


@case(37)
def a_released_record_is_delivered_again_with_one_more_delivery_counted(play: Play) -> None:
    topic = play.topic()
    member = _holding(play, topic, 3)
    assert acknowledge_errors(member.acknowledge(ack(0, 2, RELEASE))) == [ErrorCode.NONE]
    assert acquired(member.fetch_records()) == [(0, 2, 2)]


@case(38)
def each_offset_is_acknowledged_in_its_own_way(play: Play) -> None:
    topic = play.topic()
    member = _holding(play, topic, 4)
    answer = member.acknowledge(ack(0, 3, ACCEPT, RELEASE, REJECT, GAP))
    assert acknowledge_errors(answer) == [ErrorCode.NONE]
    assert acquired(member.fetch_records()) == [(1, 1, 2)]


@case(39)
def a_wrong_number_of_types_is_refused_for_its_partition_alone(play: Play) -> None:
    topic = play.topic(2)
    member = _holding(play, topic, 4)
    play.produce_batches(topic, 4, partition=1)
    assert acquired(member.fetch_records()) == [(0, 3, 1)]
    answer = member.acknowledge(ack(0, 3, ACCEPT, ACCEPT), ack(0, 3, ACCEPT, partition=1))
    assert acknowledge_errors(answer) == [ErrorCode.INVALID_REQUEST, ErrorCode.NONE]


@case(40)
def batches_that_overlap_or_descend_or_end_before_they_begin_are_refused(play: Play) -> None:
    topic = play.topic()
    member = _holding(play, topic, 10)
    for acks in (
        [ack(0, 5, ACCEPT), ack(3, 8, ACCEPT)],
        [ack(6, 9, ACCEPT), ack(0, 2, ACCEPT)],
        [ack(5, 4, ACCEPT)],
    ):
        assert acknowledge_errors(member.acknowledge(*acks)) == [ErrorCode.INVALID_REQUEST]
    member.acknowledge(ack(0, 5, ACCEPT), ack(5, 8, ACCEPT))
    assert acknowledge_errors(member.acknowledge(ack(0, 9, ACCEPT))) == [ErrorCode.NONE]


@case(41)
def a_type_that_its_version_does_not_have_is_refused(play: Play) -> None:
    topic = play.topic()
    member = _holding(play, topic, 3)
    codes = [
        acknowledge_errors(member.acknowledge(ack(0, 2, RENEW), version=1)),
        acknowledge_errors(member.acknowledge(ack(0, 2, RENEW))),
        acknowledge_errors(member.acknowledge(ack(0, 2, 5))),
        acknowledge_errors(member.acknowledge(ack(0, 2, -1))),
        acknowledge_errors(member.acknowledge(ack(0, 2))),
    ]
    assert codes == [[ErrorCode.INVALID_REQUEST]] * 5
    assert acknowledge_errors(member.acknowledge(ack(0, 2, ACCEPT))) == [ErrorCode.NONE]


@case(42)
def only_the_member_that_holds_a_record_acknowledges_it(play: Play) -> None:
    topic = play.topic()
    group = play.group(topic)
    holder, other = group.member("holder"), group.member("other")
    play.produce_batches(topic, 3)
    assert acquired(holder.fetch()) == [(0, 2, 1)]
    other.fetch(terms=BRIEF)
    assert acknowledge_errors(other.acknowledge(ack(0, 2, ACCEPT))) == [ErrorCode.INVALID_RECORD_STATE]
    assert acknowledge_errors(holder.acknowledge(ack(0, 2, ACCEPT))) == [ErrorCode.NONE]


@case(43)
def a_record_is_acknowledged_once(play: Play) -> None:
    topic = play.topic()
    member = _holding(play, topic, 3)
    assert acknowledge_errors(member.acknowledge(ack(1, 2, ACCEPT))) == [ErrorCode.NONE]
    assert acknowledge_errors(member.acknowledge(ack(1, 2, ACCEPT))) == [ErrorCode.INVALID_RECORD_STATE]


@case(44)
def an_acknowledgement_after_its_lock_ended_is_refused(play: Play) -> None:
    topic = play.topic()
    group = play.group(topic, configs=SHORT_LOCK)
    late, other = group.member("late"), group.member("other")
    play.produce_batches(topic, 3)
    assert acquired(late.fetch()) == [(0, 2, 1)]
    assert acquired(other.fetch_records()) == [(0, 2, 2)]
    assert acknowledge_errors(late.acknowledge(ack(0, 2, ACCEPT))) == [ErrorCode.INVALID_RECORD_STATE]


@case(45)
def an_acknowledgement_below_the_start_of_a_log_that_was_cut_succeeds(play: Play) -> None:
    topic = play.topic()
    member = _holding(play, topic, 5)
    play.produce_batches(topic, 5)
    preparation.delete_records(play.helper, topic, before=5)
    assert acquired(member.fetch_records()) == [(5, 9, 1)]
    assert acknowledge_errors(member.acknowledge(ack(0, 4, ACCEPT))) == [ErrorCode.NONE]


@case(46)
def an_offset_that_was_never_acquired_cannot_be_acknowledged(play: Play) -> None:
    topic = play.topic()
    member = _holding(play, topic, 5)
    beyond = member.acknowledge(ack(3, 7, ACCEPT))
    after_all = member.acknowledge(ack(7, 9, ACCEPT))
    assert acknowledge_errors(beyond) == acknowledge_errors(after_all) == [ErrorCode.INVALID_REQUEST]
    behind_a_truncation = play.topic()
    play.produce_batches(behind_a_truncation, 5)
    preparation.delete_records(play.helper, behind_a_truncation, before=3)
    empty = play.group(behind_a_truncation).member()
    empty.fetch(terms=replace(BRIEF, max_records=0))
    nothing_held = empty.acknowledge(ack(3, 4, ACCEPT))
    assert acknowledge_errors(nothing_held) == [ErrorCode.INVALID_RECORD_STATE]


@case(47)
def one_bad_offset_undoes_all_of_its_partition(play: Play) -> None:
    topic = play.topic()
    member = _holding(play, topic, 5)
    assert acknowledge_errors(member.acknowledge(ack(2, 2, ACCEPT))) == [ErrorCode.NONE]
    answer = member.acknowledge(ack(0, 1, RELEASE), ack(2, 4, ACCEPT))
    assert acknowledge_errors(answer) == [ErrorCode.INVALID_RECORD_STATE]
    assert acquired(member.fetch(terms=BRIEF)) == []
    answer = member.acknowledge(ack(0, 1, ACCEPT), ack(3, 4, ACCEPT))
    assert acknowledge_errors(answer) == [ErrorCode.NONE]


@case(48)
def each_partition_has_an_answer_of_its_own(play: Play) -> None:
    topic = play.topic(2)
    member = _holding(play, topic, 3)
    play.produce_batches(topic, 3, partition=1)
    assert acquired(member.fetch_records()) == [(0, 2, 1)]
    answer = member.acknowledge(ack(0, 2, ACCEPT, partition=1), ack(9, 9, ACCEPT))
    assert acknowledge_errors(answer) == [ErrorCode.INVALID_REQUEST, ErrorCode.NONE]


@case(51)
def acknowledgements_on_a_fetch_are_answered_though_no_record_comes(play: Play) -> None:
    topic = play.topic(2)
    member = _holding(play, topic, 3)
    play.produce_batches(topic, 3, partition=1)
    assert acquired(member.fetch_records()) == [(0, 2, 1)]
    answer = member.fetch(ack(0, 2, ACCEPT), ack(0, 5, ACCEPT, partition=1), terms=BRIEF)
    assert acknowledge_errors(answer) == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST]
    assert acquired(answer) == []


@case(52)
def an_acknowledgement_for_an_unknown_topic_is_refused_for_it_alone(play: Play) -> None:
    topic = play.topic()
    unknown = Topic("unknown", UNKNOWN_ID, 1)
    play.name_id(UNKNOWN_ID, "unknown id")
    member = _holding(play, topic, 3)
    answer = member.acknowledge(ack(0, 2, ACCEPT), ack(0, 2, ACCEPT, topic=unknown))
    assert sorted(acknowledge_errors(answer)) == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_ID]
    absent = member.acknowledge(ack(0, 0, ACCEPT, partition=NO_SUCH_PARTITION))
    assert acknowledge_errors(absent) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    fetched = member.fetch(ack(0, 2, ACCEPT, topic=unknown), terms=BRIEF)
    play.as_kafka_4_4("a fetch that acknowledges records of an unknown topic is not refused as a whole")
    if play.target.is_reference:
        assert (fetched.error_code, fetched.responses) == (ErrorCode.UNKNOWN_SERVER_ERROR, [])
    else:
        assert fetched.error_code == ErrorCode.NONE
        assert acknowledge_errors(fetched) == [ErrorCode.UNKNOWN_TOPIC_ID]


@case(53)
def a_renewed_lock_ends_one_duration_after_its_renewal(play: Play) -> None:
    configs = {**EARLIEST, "share.record.lock.duration.ms": "6000"}
    topic = play.topic()
    group = play.group(topic, configs=configs)
    keeper, waiting = group.member("keeper"), group.member("waiting")
    play.produce_batches(topic, 3)
    assert acquired(keeper.fetch()) == [(0, 2, 1)]
    waiting.fetch(terms=replace(BRIEF, max_wait_ms=4_000))
    renewed = keeper.fetch(ack(0, 2, RENEW), terms=RENEWING)
    assert acknowledge_errors(renewed) == [ErrorCode.NONE]
    assert acquired(waiting.fetch(terms=replace(BRIEF, max_wait_ms=3_000))) == []
    assert acquired(waiting.fetch_records()) == [(0, 2, 2)]


@case(54)
def a_fetch_that_renews_may_ask_for_no_records(play: Play) -> None:
    topic = play.topic()
    member = _holding(play, topic, 3)
    for asking in (
        replace(RENEWING, max_records=1),
        replace(RENEWING, max_bytes=1),
        replace(RENEWING, min_bytes=1),
        replace(RENEWING, max_wait_ms=1),
    ):
        refused = member.fetch(ack(0, 2, RENEW), epoch=1, terms=asking)
        assert refused.error_code == ErrorCode.INVALID_REQUEST
    assert acknowledge_errors(member.fetch(ack(0, 2, RENEW), epoch=1, terms=RENEWING)) == [ErrorCode.NONE]


@case(55)
def where_renewals_are_switched_off_a_renewal_is_refused(play: Play) -> None:
    topic = play.topic()
    group = play.group(topic, configs={"share.renew.acknowledge.enable": "false"})
    member = group.member()
    play.produce_batches(topic, 3)
    assert acquired(member.fetch()) == [(0, 2, 1)]
    refused = member.acknowledge(ack(0, 2, RENEW), is_renew=True)
    assert acknowledge_errors(refused) == [ErrorCode.INVALID_RECORD_STATE]


@case(56)
def a_renewal_is_no_delivery(play: Play) -> None:
    topic = play.topic()
    member = _holding(play, topic, 3)
    renewed = member.acknowledge(ack(0, 2, RENEW), is_renew=True)
    assert acknowledge_errors(renewed) == [ErrorCode.NONE]
    member.acknowledge(ack(0, 2, RELEASE))
    assert acquired(member.fetch_records()) == [(0, 2, 2)]


def _holding(play: Play, topic: Topic, count: int) -> Member:
    """A member of a new group that has acquired the first records of partition 0; it holds a session of all."""
    member = play.group(topic).member()
    play.produce_batches(topic, count)
    fetched = member.fetch(terms=PATIENT)
    assert acquired(fetched) == [(0, count - 1, 1)], partitions(fetched)
    return member
