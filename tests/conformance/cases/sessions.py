"""Cases 1 to 20: share sessions."""

from dataclasses import replace
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.share_fetch_request import FetchPartition, FetchTopic, ShareFetchRequest
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse
from tests.conformance.case import case
from tests.conformance.member import (
    ACCEPT,
    BRIEF,
    FINAL,
    LAST_EPOCH,
    NEWEST,
    OPENING,
    ack,
    acknowledge_errors,
    acquired,
    partitions,
)
from tests.conformance.scenario import Play

BAD_MEMBER_IDS: Final = ("", None, "m" * 37)


@case(1)
def the_first_fetch_of_a_member_lists_every_partition_and_the_next_one_has_epoch_1(play: Play) -> None:
    member = play.group(play.topic(2)).member()
    opened = member.fetch(terms=BRIEF)
    assert [partition.partition_index for partition in partitions(opened)] == [0, 1]
    assert member.fetch(epoch=1, terms=BRIEF).error_code == ErrorCode.NONE


@case(2)
def a_fetch_that_opens_a_session_may_carry_no_acknowledgement(play: Play) -> None:
    member = play.group(play.topic()).member()
    refused = member.fetch(ack(0, 0, ACCEPT), epoch=OPENING, terms=BRIEF)
    assert refused.error_code == ErrorCode.INVALID_REQUEST


@case(3)
def an_epoch_that_was_used_is_refused_and_changes_nothing(play: Play) -> None:
    member = play.group(play.topic()).member()
    for _ in range(3):
        member.fetch(terms=BRIEF)
    assert member.fetch(epoch=2, terms=BRIEF).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert member.fetch(epoch=3, terms=BRIEF).error_code == ErrorCode.NONE


@case(4)
def a_fetch_of_epoch_1_without_a_session_is_refused(play: Play) -> None:
    member = play.group(play.topic()).member()
    assert member.fetch(epoch=1, terms=BRIEF).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


@case(5)
def a_session_that_is_not_there_cannot_be_closed(play: Play) -> None:
    member = play.group(play.topic()).member()
    assert member.fetch(epoch=FINAL, terms=BRIEF).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert member.acknowledge(epoch=FINAL).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


@case(6)
def an_acknowledgement_cannot_open_a_session(play: Play) -> None:
    member = play.group(play.topic()).member()
    refused = member.acknowledge(ack(0, 0, ACCEPT), epoch=OPENING)
    assert refused.error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH


@case(7)
def fetches_and_acknowledgements_share_one_count_of_epochs(play: Play) -> None:
    topic = play.topic()
    member = play.group(topic).member()
    play.produce_batches(topic, 4)
    assert acquired(member.fetch(epoch=OPENING)) == [(0, 3, 1)]
    assert member.acknowledge(ack(0, 3, ACCEPT), epoch=1).error_code == ErrorCode.NONE
    assert member.fetch(epoch=2, terms=BRIEF).error_code == ErrorCode.NONE


@case(8)
def the_last_epoch_there_is_gets_no_session_that_has_not_come_to_it(play: Play) -> None:
    """That 1 follows it lies two thousand million requests away: kproxy's own tests of the session show that."""
    member = play.group(play.topic()).member()
    member.fetch(terms=BRIEF)
    refused = member.fetch(epoch=LAST_EPOCH, terms=BRIEF)
    assert refused.error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert member.fetch(epoch=1, terms=BRIEF).error_code == ErrorCode.NONE


@case(10)
def a_session_opened_again_leaves_records_locked_that_can_still_be_acknowledged(play: Play) -> None:
    topic = play.topic()
    member = play.group(topic).member()
    play.produce_batches(topic, 5)
    assert acquired(member.fetch()) == [(0, 4, 1)]
    assert acquired(member.fetch(epoch=OPENING, terms=BRIEF)) == []
    assert acknowledge_errors(member.acknowledge(ack(0, 4, ACCEPT), epoch=1)) == [ErrorCode.NONE]


@case(11)
def a_last_fetch_applies_its_acknowledgements_and_releases_the_rest(play: Play) -> None:
    topic = play.topic()
    group = play.group(topic)
    leaving, staying = group.member("leaving"), group.member("staying")
    play.produce_batches(topic, 5, 5)
    assert acquired(leaving.fetch()) == [(0, 9, 1)]
    closed = leaving.fetch(ack(0, 4, ACCEPT), epoch=FINAL)
    assert (acknowledge_errors(closed), acquired(closed)) == ([ErrorCode.NONE], [])
    assert acquired(staying.fetch_records()) == [(5, 9, 2)]


@case(12)
def a_last_acknowledgement_is_applied_and_releases_the_rest(play: Play) -> None:
    topic = play.topic()
    group = play.group(topic)
    leaving, staying = group.member("leaving"), group.member("staying")
    play.produce_batches(topic, 5, 5)
    assert acquired(leaving.fetch()) == [(0, 9, 1)]
    closed = leaving.acknowledge(ack(0, 4, ACCEPT), epoch=FINAL)
    assert acknowledge_errors(closed) == [ErrorCode.NONE]
    assert acquired(staying.fetch_records()) == [(5, 9, 2)]


@case(13)
def what_a_member_holds_whose_connection_ends_goes_to_another_one(play: Play) -> None:
    topic = play.topic()
    group = play.group(topic)
    dying, staying = group.member("dying"), group.member("staying")
    play.produce_batches(topic, 5)
    assert acquired(dying.fetch()) == [(0, 4, 1)]
    dying.drop()
    assert acquired(staying.fetch_records()) == [(0, 4, 2)]


@case(14)
def the_end_of_an_old_connection_does_not_end_a_session_that_was_opened_on_a_new_one(play: Play) -> None:
    topic = play.topic()
    group = play.group(topic)
    old, moved, other = group.member("moved"), group.member("moved"), group.member("other")
    play.produce_batches(topic, 5)
    assert acquired(old.fetch()) == [(0, 4, 1)]
    moved.fetch(terms=BRIEF)
    old.drop()
    assert acquired(other.fetch(terms=replace(BRIEF, max_wait_ms=1_000))) == []
    assert acquired(moved.fetch(terms=BRIEF)) == []
    assert acknowledge_errors(moved.acknowledge(ack(0, 4, ACCEPT))) == [ErrorCode.NONE]


@case(15)
def a_forgotten_partition_is_fetched_no_more_but_what_is_held_of_it_can_be_acknowledged(play: Play) -> None:
    topic = play.topic(2)
    member = play.group(topic).member()
    play.produce_batches(topic, 3, partition=1)
    assert acquired(member.fetch()) == [(0, 2, 1)]
    play.produce_batches(topic, 3, partition=1)
    assert acquired(member.fetch(forgotten=[(topic, 1)], terms=BRIEF)) == []
    assert acquired(member.fetch(terms=BRIEF)) == []
    assert acknowledge_errors(member.acknowledge(ack(0, 2, ACCEPT, partition=1))) == [ErrorCode.NONE]


@case(16)
def a_partition_that_a_fetch_names_only_to_acknowledge_and_forgets_is_not_in_the_session(play: Play) -> None:
    topic = play.topic(2)
    member = play.group(topic).member()
    play.produce_batches(topic, 3, partition=1)
    assert acquired(member.fetch()) == [(0, 2, 1)]
    play.produce_batches(topic, 3, partition=1)
    answer = member.fetch(ack(0, 2, ACCEPT, partition=1), forgotten=[(topic, 1)], terms=BRIEF)
    assert (acknowledge_errors(answer), acquired(answer)) == ([ErrorCode.NONE], [])
    assert partitions(member.fetch(terms=BRIEF)) == []


@case(17)
def a_topic_that_stands_twice_in_a_request_is_one_topic(play: Play) -> None:
    """As librdkafka sends it."""
    topic = play.topic(2)
    member = play.group(topic).member()
    play.produce_batches(topic, 3, partition=0)
    halves = [
        FetchTopic(topic_id=topic.topic_id, partitions=[FetchPartition(partition_index=index)])
        for index in range(2)
    ]
    request = ShareFetchRequest(
        group_id=member.group,
        member_id=member.member_id,
        max_wait_ms=BRIEF.max_wait_ms,
        min_bytes=BRIEF.min_bytes,
        max_records=BRIEF.max_records,
        batch_size=BRIEF.batch_size,
        topics=halves,
    )
    answer = member.ask("fetch", ApiKey.SHARE_FETCH, NEWEST, request, ShareFetchResponse)
    assert [partition.partition_index for partition in partitions(answer)] == [0, 1]
    assert acquired(answer) == [(0, 2, 1)]


@case(18)
def a_member_id_that_is_empty_or_null_or_too_long_is_refused(play: Play) -> None:
    member = play.group(play.topic()).member()
    for member_id in BAD_MEMBER_IDS:
        member.member_id = member_id
        assert member.fetch(epoch=OPENING, terms=BRIEF).error_code == ErrorCode.INVALID_REQUEST
        assert member.acknowledge(epoch=1).error_code == ErrorCode.INVALID_REQUEST


@case(19)
def no_group_id_is_refused(play: Play) -> None:
    member = play.group(play.topic()).member()
    member.group = None
    assert member.fetch(epoch=OPENING, terms=BRIEF).error_code == ErrorCode.INVALID_REQUEST
    assert member.acknowledge(epoch=1).error_code == ErrorCode.INVALID_REQUEST


@case(20)
def a_later_fetch_lists_only_what_has_records_or_is_new_in_the_session(play: Play) -> None:
    topic = play.topic(2)
    member = play.group(topic).member()
    member.fetch(wanted=[(topic, 0)], terms=BRIEF)
    assert partitions(member.fetch(terms=BRIEF)) == []
    added = member.fetch(wanted=[(topic, 1)], terms=BRIEF)
    assert [partition.partition_index for partition in partitions(added)] == [1]
