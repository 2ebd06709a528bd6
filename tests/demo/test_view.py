import io
import re
from typing import Final

import pytest
from rich.console import Console

from tests.demo.book import Book
from tests.demo.events import Delivered, FellAsleep, Produced, ProducedRecord, Settled
from tests.demo.jobs import JobKind
from tests.demo.ledger import DeliveryId, Outcome, RecordId
from tests.demo.plan import MEMBERS, Plan
from tests.demo.view import View

CONTROL_SEQUENCE: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
A_LONG_ADDRESS: Final = "127.0.0.1:65535"


def a_console(output: io.StringIO, *, is_terminal: bool) -> Console:
    return Console(file=output, width=80, highlight=False, markup=False, force_terminal=is_terminal)


def a_busy_book() -> Book:
    """Twenty thousand records, all accepted by alice but those on which carol sleeps."""
    book = Book(MEMBERS)
    records = [RecordId(0, offset) for offset in range(20_000)]
    book.note("producer", Produced([ProducedRecord(one, JobKind.ORDINARY) for one in records]), 0.0)
    accepted = [DeliveryId(one, 1) for one in records[:15_000]]
    book.note("alice", Delivered(accepted), 0.0)
    book.note("alice", Settled(Outcome.ACCEPTED, accepted, None), 0.0)
    book.note("carol", Delivered([DeliveryId(one, 1) for one in records[15_000:]]), 0.0)
    book.note("carol", FellAsleep(18.0), 0.0)
    return book


def a_book_with_a_kill() -> Book:
    """The busy one: killed at 20 s, back at 21 s, and at 22.5 s bob accepts one of the records that came back."""
    book = a_busy_book()
    book.note_kill(20.0)
    book.note_back(21.0)
    came_back = [DeliveryId(RecordId(0, 15_000), 1)]
    book.note("bob", Delivered(came_back), 22.0)
    book.note("bob", Settled(Outcome.ACCEPTED, came_back, None), 22.5)
    return book


def lines_of(output: io.StringIO) -> list[str]:
    return CONTROL_SEQUENCE.sub("", output.getvalue()).splitlines()


@pytest.mark.parametrize("is_terminal", [True, False], ids=["on_a_terminal", "elsewhere"])
def test_nothing_is_wider_than_80_columns(*, is_terminal: bool) -> None:
    # Given
    output = io.StringIO()
    view = View(a_console(output, is_terminal=is_terminal), started=0.0)

    # When
    with view.step(f"Apache Kafka 4.3.1, one broker, share groups off: {A_LONG_ADDRESS}"):
        pass
    with view.watching():
        view.show(a_book_with_a_kill(), Plan(record_count=20_000))

    # Then
    assert [line for line in lines_of(output) if len(line) > 80] == []


def test_a_terminal_sees_what_each_member_holds_and_who_sleeps() -> None:
    # Given
    output = io.StringIO()
    view = View(a_console(output, is_terminal=True), started=0.0)

    # When
    with view.watching():
        view.show(a_busy_book(), Plan(record_count=20_000))

    # Then
    seen = "\n".join(lines_of(output))
    assert "…" not in seen
    assert re.search(r"alice +15,000 +0 +15,000 +0 +0 +0 +0 +0", seen)
    assert re.search(r"carol +5,000 +5,000 +0 +0 +0 +0 +0 +0", seen)
    assert "carol sleeps on what it holds" in seen


def test_elsewhere_plain_lines_tell_the_same_without_control_sequences() -> None:
    # Given
    output = io.StringIO()
    view = View(a_console(output, is_terminal=False), started=0.0)

    # When
    with view.watching():
        view.show(a_busy_book(), Plan(record_count=20_000))

    # Then
    first_accepted, titles, counts = output.getvalue().splitlines()
    assert "first record accepted" in first_accepted
    assert titles.split() == [
        *("time", "produced", "accepted", "released", "rejected", "timed", "out", "cut", "off", "records/s")
    ]
    assert counts.split()[2:7] == ["20,000", "15,000", "0", "0", "0"]


def test_the_kill_and_the_return_are_told_once_with_what_they_took() -> None:
    # Given
    output = io.StringIO()
    view = View(a_console(output, is_terminal=False), started=0.0)
    book = a_book_with_a_kill()

    # When
    with view.watching():
        view.show(book, Plan(record_count=20_000))
        view.show(book, Plan(record_count=20_000))

    # Then
    told = [" ".join(line.split()[1:]) for line in lines_of(output) if " kill" in line]
    assert told == [
        "kproxy killed (SIGKILL) with 5,000 records in hand, since the start 20.0 s",
        "first record accepted again, since the kill 2.5 s",
    ]


def test_a_terminal_sees_that_kproxy_is_down_until_a_record_is_accepted_again() -> None:
    # Given
    output = io.StringIO()
    view = View(a_console(output, is_terminal=True), started=0.0)
    book = a_busy_book()
    book.note_kill(20.0)

    # When
    with view.watching():
        view.show(book, Plan(record_count=20_000))
        is_down = "starts again" in "\n".join(lines_of(output))
        book.note_back(21.0)
        came_back = [DeliveryId(RecordId(0, 15_000), 1)]
        book.note("bob", Delivered(came_back), 22.0)
        book.note("bob", Settled(Outcome.ACCEPTED, came_back, None), 22.5)
        view.show(book, Plan(record_count=20_000))

    # Then
    assert is_down
    assert "back after 2.5 s" in "\n".join(lines_of(output))
