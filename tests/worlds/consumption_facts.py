"""What questions about a `Consumption` have to be answered with, counted from its plain facts."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from tests.worlds.consumptions import Consumption, Fact

NEARLY: Final = 4
"""Deliveries that are near the limit."""
_PASSED: Final = "start-offset-passed"


def stuck_records(made: Sequence[Consumption]) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    return {place: what for each in made for place, what in _stuck_of(each)}


def _stuck_of(made: Consumption) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    for partition in made.partitions:
        first = partition.first_open()
        behind = partition.done_from(first)
        near = {
            offset
            for offset, (count, _) in partition.known.items()
            if count >= NEARLY and partition.is_open(offset)
        }
        for offset in near | ({first} if behind else set()):
            reasons = ["blocks-start-offset"] if offset == first and behind else []
            reasons += ["near-delivery-limit"] if offset in near else []
            count = partition.known[offset][0] if offset in partition.known else 0
            history = sorted(
                (fact.log_offset, fact.event)
                for fact in made.facts
                if fact.key == partition.key and fact.first_offset <= offset <= fact.last_offset
            )
            place = (partition.key.group_id, partition.key.partition, offset)
            yield place, (",".join(reasons), count, behind if offset == first else 0, history)


def in_log_order(facts: Sequence[Fact]) -> list[Fact]:
    return sorted(facts, key=lambda fact: (fact.key.group_id.partition("-")[2], fact.log_offset, fact.event))


def event_of(fact: Fact) -> tuple[Any, ...]:
    return (
        *(fact.key.group_id, fact.key.partition, fact.log_offset),
        *(fact.event, fact.first_offset, fact.member, fact.ended_by),
    )


def events_of_offset(made: Sequence[Consumption], offset: int) -> list[tuple[Any, ...]]:
    events = [
        event_of(fact)
        for each in made
        for fact in each.facts
        if fact.first_offset <= offset <= fact.last_offset
    ]
    for each in made:
        is_passed: dict[Any, bool] = {}
        for written in each.written:
            place = (written.key.group_id, written.key.partition, written.log_offset)
            if written.cause in {"initialize", "alter-offsets"}:
                events.append((*place, written.cause.value, None, None, None))
                is_passed[written.key] = written.start_offset > offset
            elif written.start_offset > offset and not is_passed[written.key]:
                events.append((*place, _PASSED, None, None, None))
                is_passed[written.key] = True
    return sorted(events, key=lambda row: (row[0].partition("-")[2], row[2], row[3]))
