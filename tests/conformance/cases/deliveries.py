"""Cases 57 to 61: how often a record is delivered."""

from typing import Final

from kproxy.error_codes import ErrorCode
from tests.conformance.case import case
from tests.conformance.member import BRIEF, PATIENT, RELEASE, ack, acknowledge_errors, acquired
from tests.conformance.scenario import EARLIEST, Play

SHORT_LOCK: Final = {**EARLIEST, "share.record.lock.duration.ms": "1000"}
LIMIT: Final = 5


@case(57)
def a_record_that_nobody_acknowledges_is_delivered_five_times_and_archived(play: Play) -> None:
    topic = play.topic()
    member = play.group(topic, configs=SHORT_LOCK).member()
    play.produce_batches(topic, 1)
    for delivery in range(1, LIMIT + 1):
        assert acquired(member.fetch_records()) == [(0, 0, delivery)]
    play.produce_batches(topic, 1)
    assert acquired(member.fetch_records()) == [(1, 1, 1)]
    assert acquired(member.fetch_records()) == [(1, 1, 2)], "that lock ended after the one of offset 0"


@case(58)
def a_record_released_at_its_fifth_delivery_is_archived(play: Play) -> None:
    topic = play.topic()
    member = play.group(topic).member()
    play.produce_batches(topic, 1)
    for delivery in range(1, LIMIT + 1):
        assert acquired(member.fetch_records()) == [(0, 0, delivery)]
        assert acknowledge_errors(member.acknowledge(ack(0, 0, RELEASE))) == [ErrorCode.NONE]
    assert acquired(member.fetch(terms=BRIEF)) == []


@case(59)
def a_record_beyond_a_lowered_limit_is_delivered_once_more(play: Play) -> None:
    topic = play.topic()
    group = play.group(topic)
    member = group.member()
    play.produce_batches(topic, 1)
    for delivery in range(1, LIMIT):
        assert acquired(member.fetch_records()) == [(0, 0, delivery)]
        member.acknowledge(ack(0, 0, RELEASE))
    group.configure({"share.delivery.count.limit": "3"})
    assert acquired(member.fetch_records()) == [(0, 0, LIMIT)]
    member.acknowledge(ack(0, 0, RELEASE))
    assert acquired(member.fetch(terms=BRIEF)) == []


@case(60)
def a_closed_session_counts_as_a_delivery(play: Play) -> None:
    topic = play.topic()
    group = play.group(topic)
    play.produce_batches(topic, 1)
    for delivery in range(1, LIMIT + 1):
        member = group.member()
        assert acquired(member.fetch_records()) == [(0, 0, delivery)]
        member.acknowledge(epoch=-1)
    assert acquired(group.member().fetch(terms=BRIEF)) == []


@case(61)
def a_batch_that_failed_again_and_again_is_delivered_in_smaller_parts(play: Play) -> None:
    topic = play.topic()
    member = play.group(topic).member()
    play.produce_batches(topic, 8)
    for _ in range(3):
        member.fetch_records()
        member.acknowledge(ack(0, 7, RELEASE))
    parts = []
    for _ in range(2):
        halved = acquired(member.fetch_records(terms=PATIENT))
        parts.append(halved)
    assert parts == [[(0, 3, 4)], [(4, 7, 4)]]
    member.acknowledge(ack(0, 7, RELEASE))
    for offset in range(8):
        assert acquired(member.fetch_records()) == [(offset, offset, 5)]
