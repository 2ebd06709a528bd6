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
        view.show(a_busy_book(), Plan(record_count=20_000))

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
    assert re.search(r"alice +15,000 +0 +15,000 +0 +0 +0 +0", seen)
    assert re.search(r"carol +5,000 +5,000 +0 +0 +0 +0 +0", seen)
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
        *("time", "produced", "accepted", "released", "rejected", "timed", "out", "records/s")
    ]
    assert counts.split()[2:7] == ["20,000", "15,000", "0", "0", "0"]
