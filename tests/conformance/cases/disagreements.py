"""Cases from 101 on: disagreements that were found beside the list."""

from dataclasses import replace
from typing import Final

from kproxy.error_codes import ErrorCode
from tests.conformance import preparation
from tests.conformance.case import Lack, case
from tests.conformance.member import ACCEPT, PATIENT, ack, acknowledge_errors, acquired
from tests.conformance.scenario import Play

RECORD_LIMIT: Final = 1


@case(101, lack=Lack.BELOW_START)
def a_log_cut_within_a_batch_behind_records_that_are_held_gives_the_whole_batch(play: Play) -> None:
    topic = play.topic()
    member = play.group(topic).member()
    play.produce_batches(topic, 5)
    assert acquired(member.fetch()) == [(0, 4, 1)]
    play.produce_batches(topic, 5)
    preparation.delete_records(play.helper, topic, before=7)
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
