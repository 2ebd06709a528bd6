import io
import re
from typing import Final

import pytest
from rich.console import Console

from kproxy.share.identifiers import GroupId
from kproxy.statelog.partitioning import group_partition
from tests.demo.book import Book
from tests.demo.events import Delivered, FellAsleep, Produced, ProducedRecord, Settled
from tests.demo.fleet_status import FleetStatus, KproxyStatus
from tests.demo.jobs import JobKind
from tests.demo.ledger import DeliveryId, Outcome, RecordId
from tests.demo.plan import GROUP, MEMBERS, Plan
from tests.demo.view import View

CONTROL_SEQUENCE: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
SLOT_OF_THE_GROUP: Final = group_partition(GroupId(GROUP), 50)
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


def a_book_with_a_kill_and_a_restart_of_one_of_three() -> Book:
    """Kproxy 2 killed at 20 s, kproxy 3 serves; restarted at 30 s, kproxy 1 serves; all is well since 35 s."""
    book = a_busy_book()
    book.note_kill(20.0, "kproxy 2")
    book.note_silence()
    book.outages[0].successor, book.outages[0].started_again_at = "kproxy 3", 27.5
    came_back = [DeliveryId(RecordId(0, 15_000), 1)]
    book.note("bob", Delivered(came_back), 26.0)
    book.note("bob", Settled(Outcome.ACCEPTED, came_back, None), 26.4)
    book.note_back(29.0)
    book.note_restart(30.0, "kproxy 3")
    book.outages[1].successor, book.outages[1].started_again_at = "kproxy 1", 31.5
    book.note_back(35.0)
    return book


def three_kproxies(*, second_is_up: bool = True) -> FleetStatus:
    """Kproxy 3 serves the group; the second one, if it is down, has no slots."""
    slots = [slot for slot in range(50) if slot != SLOT_OF_THE_GROUP]
    kproxies = [
        KproxyStatus("kproxy 1", is_up=True, slots=frozenset(slots[:17])),
        KproxyStatus("kproxy 2", is_up=second_is_up, slots=frozenset(slots[17:34] if second_is_up else ())),
        KproxyStatus("kproxy 3", is_up=True, slots=frozenset({SLOT_OF_THE_GROUP, *slots[34:]})),
    ]
    places = {"alice": "kproxy 3", "bob": "kproxy 1", "carol": "kproxy 2"}
    return FleetStatus(1.0, 50, kproxies, places)


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
        view.show(a_book_with_a_kill_and_a_restart_of_one_of_three(), Plan(proxies=3), three_kproxies())

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


# ---- several kproxies


def whereabouts(output: io.StringIO) -> str:
    return " ".join(line.strip() for line in lines_of(output) if "behind" in line or "carol" in line)


def test_a_terminal_sees_what_each_kproxy_serves_and_who_is_behind_it() -> None:
    # Given
    output = io.StringIO()
    view = View(a_console(output, is_terminal=True), started=0.0)

    # When
    with view.watching():
        view.show(a_busy_book(), Plan(record_count=20_000, proxies=3), three_kproxies(second_is_up=False))

    # Then
    seen = "\n".join(lines_of(output))
    assert re.search(r"kproxy 1 +17 +bob", seen)
    assert re.search(r"kproxy 2 +down +carol", seen)
    assert re.search(r"kproxy 3 +16 +workers +alice", seen)


def test_elsewhere_it_is_told_who_serves_and_who_is_behind_which_kproxy_whenever_that_has_changed() -> None:
    # Given
    output = io.StringIO()
    view = View(a_console(output, is_terminal=False), started=0.0)
    book = a_busy_book()
    book.note("bob", Delivered([DeliveryId(RecordId(1, 0), 1)]), 1.0)

    # When
    with view.watching():
        view.show(book, Plan(proxies=3), three_kproxies())
        view.show(book, Plan(proxies=3), three_kproxies())
        view.show(book, Plan(proxies=3), three_kproxies(second_is_up=False))

    # Then
    assert whereabouts(output) == (
        "workers served by kproxy 3; alice behind kproxy 3, bob behind kproxy 1, carol behind kproxy 2"
    )


def test_where_members_are_is_not_told_before_each_has_got_something() -> None:
    # Given
    output = io.StringIO()
    view = View(a_console(output, is_terminal=False), started=0.0)

    # When
    with view.watching():
        view.show(a_busy_book(), Plan(proxies=3), three_kproxies())

    # Then
    assert whereabouts(output) == ""


def test_each_outage_of_several_kproxies_is_told_once() -> None:
    # Given
    output = io.StringIO()
    view = View(a_console(output, is_terminal=False), started=0.0)
    book = a_book_with_a_kill_and_a_restart_of_one_of_three()

    # When
    with view.watching():
        view.show(book, Plan(proxies=3), three_kproxies())
        view.show(book, Plan(proxies=3), three_kproxies())

    # Then
    told = [" ".join(line.split()[1:]) for line in lines_of(output) if "kproxy" in line and " s" in line[-2:]]
    assert told == [
        "kproxy 2 killed (SIGKILL), 5,000 records in hand, since the start 20.0 s",
        "kproxy 3 took over: first record accepted, since the kill 6.4 s",
        "kproxy 2 started again, and has its share of the slots after 1.5 s",
        "kproxy 3 restarted as an update would: SIGTERM, and it ended in 1.5 s",
        "kproxy 1 took over: longest pause between two accepted records 0.0 s",
        "kproxy 3 started again, and has its share of the slots after 3.5 s",
    ]
