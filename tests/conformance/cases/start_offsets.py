"""Cases 62 to 68: where a group begins, logs that are cut, and transactions."""

import time
from typing import Final

from kproxy.error_codes import ErrorCode
from tests.conformance import preparation
from tests.conformance.case import case
from tests.conformance.member import ACCEPT, BRIEF, GAP, ack, acknowledge_errors, acquired, partitions
from tests.conformance.scenario import EARLIEST, Play
from tests.conformance.transactions import Transaction

READ_COMMITTED: Final = {**EARLIEST, "share.isolation.level": "read_committed"}
HOUR_MS: Final = 3_600_000


@case(62)
def a_group_that_begins_with_the_latest_record_gets_none_that_was_there_before(play: Play) -> None:
    topic = play.topic()
    play.produce_batches(topic, 5)
    member = play.group(topic, configs={"share.auto.offset.reset": "latest"}).member()
    play.produce_batches(topic, 3)
    assert acquired(member.fetch()) == [(5, 7, 1)]


@case(63)
def a_group_that_begins_with_the_earliest_record_gets_all(play: Play) -> None:
    topic = play.topic()
    play.produce_batches(topic, 5)
    member = play.group(topic, is_loaded=False).member()
    play.produce_batches(topic, 3)
    assert acquired(member.fetch_records()) == [(0, 7, 1)]


@case(64)
def a_group_that_begins_an_hour_ago_gets_the_records_of_that_hour(play: Play) -> None:
    topic = play.topic()
    now_ms = time.time_ns() // 1_000_000
    play.produce(topic, "old", "older", timestamp_ms=now_ms - 2 * HOUR_MS)
    play.produce(topic, "new", "newer", timestamp_ms=now_ms)
    configs = {"share.auto.offset.reset": "by_duration:PT1H"}
    member = play.group(topic, configs=configs, is_loaded=False).member()
    assert acquired(member.fetch_records()) == [(2, 3, 1)]


@case(65)
def a_log_cut_behind_the_start_offset_moves_it_without_an_error(play: Play) -> None:
    topic = play.topic()
    group = play.group(topic)
    play.produce_batches(topic, 5, 5)
    preparation.delete_records(play.helper, topic, before=7)
    fetched = group.member().fetch_records()
    assert [partition.error_code for partition in partitions(fetched)] == [ErrorCode.NONE]
    assert acquired(fetched) == [(7, 9, 1)]


@case(66)
def a_group_that_reads_committed_records_gets_none_that_was_aborted_or_is_open(play: Play) -> None:
    topic = play.topic()
    member = play.group(topic, configs=READ_COMMITTED).member()
    with Transaction(play.target.address(), play.new_name("aborted")) as aborted:
        aborted.write(topic.name, "a", "b")
        aborted.abort()
    play.wait_for_end(topic, 3)
    play.produce_batches(topic, 2)
    assert acquired(member.fetch_records()) == [(2, 4, 1)]
    member.acknowledge(ack(2, 4, GAP, ACCEPT, ACCEPT))
    with Transaction(play.target.address(), play.new_name("open")) as still_open:
        still_open.write(topic.name, "c")
        play.produce_batches(topic, 1)
        assert acquired(member.fetch(terms=BRIEF)) == []
        still_open.commit()
    play.wait_for_end(topic, 8)
    assert acquired(member.fetch_records()) == [(5, 7, 1)]


@case(67)
def a_group_that_reads_all_records_gets_aborted_ones_too(play: Play) -> None:
    topic = play.topic()
    member = play.group(topic).member()
    with Transaction(play.target.address(), play.new_name("aborted")) as aborted:
        aborted.write(topic.name, "a", "b")
        aborted.abort()
    play.wait_for_end(topic, 3)
    assert acquired(member.fetch_records()) == [(0, 2, 1)]


@case(68)
def a_control_record_is_acquired_and_acknowledged_as_a_gap(play: Play) -> None:
    topic = play.topic()
    member = play.group(topic).member()
    with Transaction(play.target.address(), play.new_name("committed")) as committed:
        committed.write(topic.name, "a", "b")
        committed.commit()
    play.wait_for_end(topic, 3)
    assert acquired(member.fetch_records()) == [(0, 2, 1)]
    answer = member.acknowledge(ack(0, 2, ACCEPT, ACCEPT, GAP))
    assert acknowledge_errors(answer) == [ErrorCode.NONE]
    play.produce_batches(topic, 1)
    assert acquired(member.fetch_records()) == [(3, 3, 1)]
