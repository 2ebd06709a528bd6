import io
from typing import Final

from rich.console import Console

from tests.demo.book import Book
from tests.demo.closing import show_closing
from tests.demo.events import Delivered, Produced, ProducedRecord, Settled
from tests.demo.jobs import JobKind
from tests.demo.ledger import Check, DeliveryId, Outcome, RecordId

FIRST: Final = RecordId(0, 0)
SECOND: Final = RecordId(0, 1)


def a_book() -> Book:
    """Alice accepts one record; bob releases the other, whose second delivery fails."""
    book = Book(["alice", "bob"])
    records = [ProducedRecord(FIRST, JobKind.ORDINARY), ProducedRecord(SECOND, JobKind.BUSY)]
    book.note("producer", Produced(records), 0.0)
    book.note("alice", Delivered([DeliveryId(FIRST, 1)]), 0.0)
    book.note("alice", Settled(Outcome.ACCEPTED, [DeliveryId(FIRST, 1)], None), 0.0)
    book.note("bob", Delivered([DeliveryId(SECOND, 1)]), 0.0)
    book.note("bob", Settled(Outcome.RELEASED, [DeliveryId(SECOND, 1)], None), 0.0)
    book.note("bob", Delivered([DeliveryId(SECOND, 2)]), 0.0)
    book.note("bob", Settled(Outcome.FAILED, [DeliveryId(SECOND, 2)], "NOT_ANSWERED"), 0.0)
    return book


def test_the_closing_shows_each_member_each_rule_and_what_went_wrong() -> None:
    # Given
    output = io.StringIO()
    console = Console(file=output, width=80, highlight=False)
    checks = [
        Check("2 produced = 2 accepted", holds=True),
        Check("none is missing", holds=False, evidence="0:1"),
    ]

    # When
    show_closing(console, a_book(), checks)

    # Then
    assert output.getvalue().splitlines() == [
        "",
        "                                              alice      bob together",
        "  produced                                                          2",
        "  delivered                                       1        2        3",
        "    accepted                                      1        0        1",
        "    released, then delivered again                0        1        1",
        "    rejected                                      0        0        0",
        "    lock expired, delivered to another            0        0        0",
        "    acknowledgement failed                        0        1        1",
        "  of all delivered, not the first time            0        1        1",
        "",
        "  ✓ 2 produced = 2 accepted",
        "  ✗ none is missing: 0:1",
        "    1 acknowledgements were answered with NOT_ANSWERED",
    ]
