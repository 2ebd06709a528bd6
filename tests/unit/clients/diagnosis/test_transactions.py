"""Records that wait for a transaction to end, and what is said of them."""

import pytest

from kproxy.clients.diagnosis.findings import Situation, finding
from kproxy.clients.diagnosis.transactions import held_back_from, open_transaction_text
from tests.unit.clients.diagnosis.test_findings import (
    NOON_MS,
    found_of,
    group,
    run,
    session,
    share_partition,
)

BACKING = {"bootstrapServers": "b1:9092"}
WAITS = (
    "offset 60 is the first of a transaction that has not ended, and this group is given committed records alone "
    "(share.isolation.level): it and the 4 records behind it wait for that. Whose it is: "
    "kafka-transactions.sh --bootstrap-server b1:9092 describe-producers --topic orders --partition 0"
)


@pytest.mark.parametrize(
    ("stable", "end", "first"),
    [(60, 65, 60), (65, 65, None), (66, 65, None), (None, 65, None), (60, None, None)],
)
def test_records_wait_for_a_transaction_from_the_last_stable_offset_to_the_end_of_the_log(
    stable: int | None, end: int | None, first: int | None
) -> None:
    assert held_back_from(share_partition(lastStableOffset=stable, logEndOffset=end)) == first


def test_what_waits_for_a_transaction_is_told_with_the_command_that_names_its_producer() -> None:
    # Given
    told = share_partition(startOffset=60, lastStableOffset=60, logEndOffset=65)

    # When
    found = finding(Situation(group("alice"), told, [], [session("alice")], NOON_MS, BACKING))

    # Then
    assert (
        found.verdict == "nothing is in flight, and what is next, offset 60, waits for a transaction to end"
    )
    assert found.facts["transaction"] == WAITS
    assert found.facts["next"] == "nothing, until the transaction that began at offset 60 ends"


def test_an_available_record_behind_an_open_transaction_is_not_fetched_either() -> None:
    # When
    found = found_of(
        group("alice"), [run("Available", 62, 63)], [session("alice")], lastStableOffset=60, logEndOffset=65
    )

    # Then
    assert found.verdict == "offsets 62 to 63: held back by the transaction that began at offset 60"
    assert found.facts["next"] == "nothing, until the transaction that began at offset 60 ends"


def test_records_before_an_open_transaction_are_fetched() -> None:
    # When
    found = found_of(
        group("alice"), [], [session("alice")], startOffset=59, lastStableOffset=60, logEndOffset=65
    )

    # Then
    assert found.facts["next"] == "the next fetch gets what waits, from offset 59 on, for the first time"
    assert found.facts["transaction"].startswith("offset 60 is the first of a transaction that has not ended")


def test_of_the_last_record_alone_none_are_told_behind_it_and_no_unknown_server() -> None:
    said = open_transaction_text(share_partition(lastStableOffset=64, logEndOffset=65), None)
    assert (
        ": it waits for that. Whose it is: kafka-transactions.sh --bootstrap-server BACKING-BROKER:9092 describe"
        in said
    )
