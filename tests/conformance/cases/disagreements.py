"""Cases from 101 on: disagreements that were found beside the list."""

from dataclasses import replace
from typing import Final

from kproxy.error_codes import ErrorCode
from tests.conformance import preparation
from tests.conformance.case import case
from tests.conformance.member import ACCEPT, PATIENT, RELEASE, Member, ack, acknowledge_errors, acquired
from tests.conformance.scenario import Play

RECORD_LIMIT: Final = 1


@case(101)
def a_log_cut_within_a_batch_behind_records_that_are_held_gives_the_whole_batch(play: Play) -> None:
    member = _with_a_log_cut_behind_what_it_holds(play)
    assert acquired(member.fetch_records()) == [(5, 9, 1)]
    assert acknowledge_errors(member.acknowledge(ack(5, 9, RELEASE))) == [ErrorCode.NONE]
    assert acquired(member.fetch_records()) == [(7, 9, 2)]
    assert acknowledge_errors(member.acknowledge(ack(6, 8, ACCEPT))) == [ErrorCode.NONE]


@case(105)
def a_log_cut_within_a_batch_behind_records_that_are_done_with_gives_what_is_left(play: Play) -> None:
    member = _with_a_log_cut_behind_what_it_holds(play)
    assert acknowledge_errors(member.acknowledge(ack(0, 4, ACCEPT))) == [ErrorCode.NONE]
    assert acquired(member.fetch_records()) == [(7, 9, 1)]


@case(106)
def of_records_in_flight_before_the_cut_some_may_be_done_with(play: Play) -> None:
    member = _with_a_log_cut_behind_what_it_holds(play)
    assert acknowledge_errors(member.acknowledge(ack(0, 4, ACCEPT, ACCEPT, ACCEPT, RELEASE, RELEASE))) == [0]
    assert acquired(member.fetch_records()) == [(5, 9, 1)]


@case(103)
def what_a_strict_limit_left_of_a_batch_is_known_and_held_by_nobody(play: Play) -> None:
    topic = play.topic()
    member = play.group(topic).member()
    play.produce_batches(topic, 5)
    strict = replace(PATIENT, max_records=1, acquire_mode=RECORD_LIMIT)
    assert acquired(member.fetch(terms=strict)) == [(0, 0, 1)]
    assert acknowledge_errors(member.acknowledge(ack(0, 1, ACCEPT))) == [ErrorCode.INVALID_RECORD_STATE]
    assert acknowledge_errors(member.acknowledge(ack(1, 4, ACCEPT))) == [ErrorCode.INVALID_RECORD_STATE]
    assert acknowledge_errors(member.acknowledge(ack(0, 0, ACCEPT))) == [ErrorCode.NONE]


def _with_a_log_cut_behind_what_it_holds(play: Play) -> Member:
    """A member that holds a batch of five, which the log has lost, with two of the five records behind it."""
    topic = play.topic()
    member = play.group(topic).member()
    play.produce_batches(topic, 5)
    assert acquired(member.fetch()) == [(0, 4, 1)]
    play.produce_batches(topic, 5)
    preparation.delete_records(play.helper, topic, before=7)
    return member
