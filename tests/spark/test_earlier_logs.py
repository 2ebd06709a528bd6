"""What earlier kproxies wrote and exported: it did not say what ended records, and nobody is to guess it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import pytest

from kproxy.jobs.history.silver import ADDED_COLUMNS
from kproxy.jobs.result_writer import title_of
from tests.spark.replays import answer_of, replay

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark"), pytest.mark.soak]

EARLIER: Final = Path(__file__).parent / "data" / "demo.jsonl"
"""A dump of a log without versions in its headers, of 3,000 finished records.

Acknowledgements archived 60 of them; the end of 2 was lost when writes were merged.
"""


def counted(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    titles = ("accepted", "rejected", "gaps", "notRecorded", "atDeliveryLimit")
    return {title: sum(row[title] for row in rows) for title in titles}


@pytest.fixture
def earlier_export(tmp_path: Path) -> Path:
    """An export that an earlier kproxy began, and a later one went on with."""
    exported = replay("export", "--files", EARLIER, "--to", tmp_path / "history")
    assert exported.exit_code == 0, exported.stderr
    files = sorted((tmp_path / "history").rglob("*.parquet"))
    for file in files[: len(files) // 2]:
        rows = pq.read_table(file, partitioning=None)
        # Under another name: Spark keeps a checksum beside each file that it wrote.
        pq.write_table(rows.drop_columns(list(ADDED_COLUMNS)), file.with_name(f"earlier-{file.name}"))
        file.unlink()
    return tmp_path / "history"


def test_what_an_earlier_kproxy_wrote_of_finished_records_is_not_told_as_rejected(
    earlier_export: Path,
) -> None:
    # When
    answers = [
        answer_of(replay("throughput", "--files", place, "-o", "json")) for place in (EARLIER, earlier_export)
    ]

    # Then
    assert counted(answers[0]) == {
        "accepted": 2938,
        "rejected": 0,
        "gaps": 0,
        "notRecorded": 62,
        "atDeliveryLimit": 0,
    }
    assert answers[0] == answers[1]


def test_the_history_of_such_a_record_says_that_its_end_was_not_recorded_and_by_client_as_well() -> None:
    # When
    of_record, of_client, of_owner = (
        replay("audit", "--files", EARLIER, "-o", "json", *asked)
        for asked in (
            ("--partition", "1", "--offset", "61"),
            ("--partition", "1", "--offset", "61", "--member", "alice"),
            ("--member", "kproxy 0.1.0 process 10861 on vm"),
        )
    )

    # Then
    (finished,) = answer_of(of_client)
    assert finished in answer_of(of_record)
    assert (finished["event"], finished["endedBy"], finished["clientId"]) == (
        "finished",
        "not-recorded",
        "alice",
    )
    assert (of_owner.exit_code, "there is no member or client" in of_owner.stderr) == (3, True)


AUDITS: Final = [("--partition", "1", "--offset", "61"), ("--partition", "1", "--member", "alice")]


@pytest.mark.parametrize("asked", AUDITS, ids=["of a record", "of a member"])
def test_a_table_of_events_fits_a_terminal_and_a_wide_one_has_all_that_json_has(
    asked: tuple[str, ...],
) -> None:
    # When
    plain, wide, answer = (
        replay("audit", "--files", EARLIER, *asked, "-o", form) for form in ("table", "wide", "json")
    )

    # Then
    rows = answer_of(answer)
    longer_than_a_name = len(rows[0]["topicId"]) - len("TOPIC-NAME")
    assert max(map(len, plain.stdout.splitlines())) - longer_than_a_name <= 120, "a dump has no names"
    assert wide.stdout.splitlines()[0].split() == [title_of(name) for name in rows[0]]
    assert {"TIME", "GROUP-ID", "PARTITION", "EVENT", "ENDED-BY"} < set(plain.stdout.splitlines()[0].split())
    assert len(plain.stdout.splitlines()) == len(wide.stdout.splitlines()) == len(rows) + 1
