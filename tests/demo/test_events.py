import pytest

from tests.demo.events import (
    Delivered,
    Event,
    FellAsleep,
    Finished,
    Produced,
    ProducedRecord,
    Settled,
    Woke,
    encode,
    parse,
)
from tests.demo.jobs import JobKind
from tests.demo.ledger import DeliveryId, Outcome, RecordId

A_DELIVERY = DeliveryId(RecordId(partition=1, offset=42), delivery_count=2)


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (
            Produced([ProducedRecord(RecordId(0, 7), JobKind.POISON)]),
            '{"event":"produced","records":[[[0,7],"poison"]]}',
        ),
        (Delivered([A_DELIVERY]), '{"event":"delivered","deliveries":[[[1,42],2]]}'),
        (
            Settled(Outcome.TIMED_OUT, [A_DELIVERY], "INVALID_RECORD_STATE"),
            '{"event":"settled","outcome":"timed out","deliveries":[[[1,42],2]],"error":"INVALID_RECORD_STATE"}',
        ),
        (FellAsleep(18.0), '{"event":"fell_asleep","seconds":18.0}'),
        (Woke(), '{"event":"woke"}'),
        (Finished(), '{"event":"finished"}'),
    ],
)
def test_an_event_is_told_in_one_line_and_understood_as_it_was_meant(event: Event, line: str) -> None:
    # When
    told = encode(event)

    # Then
    assert told == line
    assert parse(line) == event


@pytest.mark.parametrize("line", ["", "Traceback", "{}", '{"event":"danced"}'])
def test_a_line_that_says_no_event_is_refused(line: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        parse(line)
