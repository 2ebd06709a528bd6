import pytest

from kproxy.errors import StateLogUnavailable, UnwritableStateRecord
from kproxy.statelog.tickets import Ticket, size_within
from kproxy.wire.record_batch_builder import record_size_bytes
from kproxy.wire.records import Record


def test_a_ticket_tells_whoever_waits_what_the_operation_answers() -> None:
    # Given
    ticket = Ticket()
    told: list[Ticket] = []
    ticket.on_done = told.append

    # When
    ticket.settle("durable")

    # Then
    assert told == [ticket]
    assert (ticket.is_done, ticket.response, ticket.refusal) == (True, "durable", None)


def test_a_refused_ticket_carries_the_reason_and_no_response() -> None:
    # Given
    ticket, refusal = Ticket(), StateLogUnavailable("no answer")

    # When
    ticket.refuse(refusal)

    # Then
    assert (ticket.is_done, ticket.response, ticket.refusal) == (True, None, refusal)


def test_a_ticket_is_settled_once() -> None:
    # Given
    ticket = Ticket()
    ticket.settle()

    # When / Then
    with pytest.raises(AssertionError):
        ticket.refuse(StateLogUnavailable("too late"))


def test_a_record_may_be_as_large_as_the_log_takes_and_no_larger() -> None:
    # Given
    record = Record(b"key", b"value")
    size_bytes = record_size_bytes(record)

    # When
    fitting = size_within(record, max_bytes=size_bytes, subject="g:t:0")

    # Then
    assert fitting == size_bytes
    with pytest.raises(
        UnwritableStateRecord,
        match=f"a record of {size_bytes} bytes about g:t:0; the state log takes {size_bytes - 1} at most",
    ):
        size_within(record, max_bytes=size_bytes - 1, subject="g:t:0")
