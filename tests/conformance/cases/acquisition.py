"""Cases 21 to 34: what a fetch acquires."""

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
    RELEASE,
    Member,
    Topic,
    ack,
    acknowledge_errors,
    acquired,
    partitions,
)
from tests.conformance.scenario import EARLIEST, Play

RECORD_LIMIT: Final = 1
"""The acquire mode of strict record limits."""
BIG: Final = 100_000
IN_FLIGHT: Final = 100
COMPACTED: Final = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.01",
    "segment.ms": "100",
    "max.compaction.lag.ms": "100",
    "retention.ms": "-1",
}


@case(21)
def the_record_limit_is_extended_to_the_end_of_its_batch(play: Play) -> None:
    topic = play.topic()
    member = play.group(topic).member()
    play.produce_batches(topic, 10)
    assert acquired(member.fetch(terms=replace(PATIENT, max_records=5, version=1))) == [(0, 9, 1)]


@case(22)
def a_strict_record_limit_acquires_so_many_and_leaves_the_others_as_they_were(play: Play) -> None:
    topic = play.topic()
    group = play.group(topic)
    one, other = group.member(), group.member()
    play.produce_batches(topic, 10)
    strict = replace(PATIENT, max_records=5, acquire_mode=RECORD_LIMIT)
    assert acquired(one.fetch(terms=strict)) == [(0, 4, 1)]
    assert acquired(other.fetch_records()) == [(5, 9, 1)]


@case(23)
def what_is_acquired_is_cut_where_record_batches_end(play: Play) -> None:
    topic = play.topic()
    by_ten, by_fifteen = play.group(topic).member(), play.group(topic).member()
    play.produce_batches(topic, 10, 10, 10)
    assert acquired(by_ten.fetch(terms=replace(PATIENT, batch_size=10))) == [
        (0, 9, 1),
        (10, 19, 1),
        (20, 29, 1),
    ]
    assert acquired(by_fifteen.fetch(terms=replace(PATIENT, batch_size=15))) == [(0, 19, 1), (20, 29, 1)]


@case(24)
def two_members_of_a_group_never_hold_the_same_record(play: Play) -> None:
    topic = play.topic()
    group = play.group(topic)
    one, other = group.member(), group.member()
    play.produce_batches(topic, 10, 10)
    assert acquired(one.fetch(terms=replace(PATIENT, max_records=10))) == [(0, 9, 1)]
    assert acquired(other.fetch_records()) == [(10, 19, 1)]
    assert acquired(one.fetch(terms=BRIEF)) == []


@case(25)
def two_groups_get_every_record_each(play: Play) -> None:
    topic = play.topic()
    one, other = play.group(topic).member(), play.group(topic).member()
    play.produce_batches(topic, 10)
    assert acquired(one.fetch()) == acquired(other.fetch()) == [(0, 9, 1)]


@case(26)
def a_fetch_waits_for_a_record_and_no_longer_than_it_may(play: Play) -> None:
    topic = play.topic()
    member = play.group(topic).member()
    assert acquired(member.fetch(terms=BRIEF)) == []
    member.send_fetch()
    play.produce_batches(topic, 1)
    assert acquired(member.receive_fetch()) == [(0, 0, 1)]


@case(27)
def a_record_larger_than_the_fetch_may_be_is_delivered(play: Play) -> None:
    topic = play.topic()
    member = play.group(topic).member()
    play.produce(topic, "x" * BIG)
    assert acquired(member.fetch(terms=replace(PATIENT, max_bytes=1))) == [(0, 0, 1)]


@case(28)
def at_the_limit_of_locks_only_what_was_released_is_delivered(play: Play) -> None:
    topic = play.topic()
    member = _limited_member(play, topic)
    assert acquired(member.fetch()) == [(0, IN_FLIGHT - 1, 1)]
    assert acquired(member.fetch(terms=BRIEF)) == []
    assert acknowledge_errors(member.acknowledge(ack(7, 7, RELEASE))) == [ErrorCode.NONE]
    assert acquired(member.fetch_records()) == [(7, 7, 2)]
    assert acquired(member.fetch(terms=BRIEF)) == []


@case(29)
def one_record_that_is_not_acknowledged_holds_up_all_that_come_after_the_limit(play: Play) -> None:
    topic = play.topic()
    member = _limited_member(play, topic)
    assert acquired(member.fetch()) == [(0, IN_FLIGHT - 1, 1)]
    assert acknowledge_errors(member.acknowledge(ack(1, IN_FLIGHT - 1, ACCEPT))) == [ErrorCode.NONE]
    assert acquired(member.fetch(terms=BRIEF)) == []
    assert acknowledge_errors(member.acknowledge(ack(0, 0, ACCEPT))) == [ErrorCode.NONE]
    assert acquired(member.fetch_records()) == [(IN_FLIGHT, IN_FLIGHT + 9, 1)]


@case(30)
def offsets_that_compaction_removed_are_acquired_and_acknowledged_as_gaps(play: Play) -> None:
    topic = play.topic(settings=COMPACTED)
    group = play.group(topic, is_loaded=False)
    preparation.produce_keyed(play.helper, topic, ["a", "b", "b", "b", "c"], timestamp_ms=1_000)
    preparation.produce_keyed(play.helper, topic, ["d"], timestamp_ms=10_000)
    play.wait_until(
        lambda: preparation.first_offsets(play.helper, topic) == [0, 3, 4], what="the log is compacted"
    )
    member = group.member()
    assert acquired(member.fetch_records()) == [(0, 4, 1)]
    answer = member.acknowledge(ack(0, 4, ACCEPT, GAP, GAP, ACCEPT, ACCEPT))
    assert acknowledge_errors(answer) == [ErrorCode.NONE]
    assert acquired(member.fetch_records()) == [(5, 5, 1)]
    assert acquired(member.fetch(terms=BRIEF)) == []


@case(31)
def a_released_record_is_delivered_before_new_ones(play: Play) -> None:
    topic = play.topic()
    member = play.group(topic).member()
    play.produce_batches(topic, 5)
    assert acquired(member.fetch()) == [(0, 4, 1)]
    play.produce_batches(topic, 5)
    assert acknowledge_errors(member.acknowledge(ack(3, 3, RELEASE))) == [ErrorCode.NONE]
    assert acquired(member.fetch(terms=replace(PATIENT, max_records=1))) == [(3, 3, 2)]
    assert acquired(member.fetch()) == [(5, 9, 1)]


@case(32)
def whole_batches_are_sent_and_only_what_was_acquired_is_listed(play: Play) -> None:
    topic = play.topic()
    member = play.group(topic).member()
    play.produce_batches(topic, 10)
    assert acquired(member.fetch()) == [(0, 9, 1)]
    member.acknowledge(ack(0, 1, ACCEPT), ack(2, 3, RELEASE), ack(4, 9, ACCEPT))
    again = member.fetch_records()
    assert acquired(again) == [(2, 3, 2)]
    assert len(partitions(again)[0].records) > 0


@case(33)
def released_neighbours_of_a_batch_are_one_entry_when_their_counts_are_equal(play: Play) -> None:
    topic = play.topic()
    member = play.group(topic).member()
    play.produce_batches(topic, 6, 4)
    by_batch = replace(PATIENT, batch_size=6)
    assert acquired(member.fetch(terms=by_batch)) == [(0, 5, 1), (6, 9, 1)]
    member.acknowledge(ack(2, 3, RELEASE))
    assert acquired(member.fetch_records()) == [(2, 3, 2)]
    member.acknowledge(ack(0, 3, RELEASE), ack(4, 5, RELEASE), ack(6, 9, RELEASE))
    assert acquired(member.fetch_records()) == [(0, 1, 2), (2, 3, 3), (4, 5, 2), (6, 9, 2)]


@case(34)
def the_lock_duration_of_the_group_is_told(play: Play) -> None:
    configs = {**EARLIEST, "share.record.lock.duration.ms": "15000"}
    member = play.group(play.topic(), configs=configs).member()
    assert member.fetch(terms=BRIEF).acquisition_lock_timeout_ms == 15_000
    assert member.acknowledge().acquisition_lock_timeout_ms == 15_000


def _limited_member(play: Play, topic: Topic) -> Member:
    member = play.group(topic, configs={"share.partition.max.record.locks": str(IN_FLIGHT)}).member()
    play.produce_batches(topic, *([10] * (IN_FLIGHT // 10 + 1)))
    return member
