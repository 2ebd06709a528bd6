"""Files in the earlier record forms, through the command line: state and analyses as of any other log."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from kproxy.clients.log_ranges import LogRange
from kproxy.jobs.history.silver import silver_rows
from kproxy.jobs.sources.early_log import early_log
from kproxy.jobs.sources.log_files import find_files
from kproxy.jobs.sources.log_reader import LogReader
from kproxy.jobs.sources.raw_records import records_of
from kproxy.statelog.state_log_fold import StateLogFold
from kproxy.wire.records import Record

pytestmark = pytest.mark.spark

DATA: Final = Path(__file__).parents[1] / "unit" / "jobs" / "sources" / "data"


def read(log: LogReader) -> list[Record]:
    table = log.records(log.ranges()).toArrow()
    return [record for batch in table.to_batches() for _, record in records_of(batch)]


@pytest.mark.parametrize("form", ["kip-control", "kip-checkpoint"])
def test_a_file_in_an_early_form_is_a_log_whose_fold_ends_where_its_page_does(spark: Any, form: Any) -> None:
    # Given
    log = early_log(spark, find_files(str(DATA / f"{form.replace('-', '_')}.jsonl")), form)
    fold = StateLogFold()

    # When
    for record in read(log):
        fold.apply(record)

    # Then
    (state,) = fold.states.values()
    assert (state.start_offset, state.state_batches) == (120, ())


def test_each_file_of_a_folder_is_a_partition_of_the_log(spark: Any, tmp_path: Path) -> None:
    # Given
    lines = (DATA / "kip_control.jsonl").read_text()
    (tmp_path / "a.jsonl").write_text(lines)
    (tmp_path / "b.jsonl").write_text(lines.replace('"G1"', '"G2"'))

    # When
    ranges = early_log(spark, find_files(str(tmp_path)), "kip-control").ranges()

    # Then
    assert ranges == [LogRange(0, 130, 138), LogRange(1, 130, 138)]


def test_silver_rows_of_an_early_form_say_what_changed_without_saying_who(spark: Any) -> None:
    # Given
    log = early_log(spark, find_files(str(DATA / "kip_control.jsonl")), "kip-control")

    # When
    rows = silver_rows(log.records(log.ranges())).collect()

    # Then
    told = [(row["log_offset"], row["first_offset"], row["state"], row["cause"]) for row in rows]
    assert told == [
        (130, None, None, None),
        (131, 100, 2, None),
        (132, 110, 0, None),
        (133, 111, 0, None),
        (133, 119, 2, None),
        (134, 111, 0, None),
        (135, 113, 2, None),
        (136, 110, 2, None),
        (137, 111, 2, None),
    ]


def test_a_file_that_lacks_a_record_is_refused_in_one_line(spark: Any, tmp_path: Path) -> None:
    # Given
    lines = (DATA / "kip_control.jsonl").read_text().splitlines()
    place = tmp_path / "lacking.jsonl"
    place.write_text("\n".join([*lines[:3], *lines[4:]]))
    log = early_log(spark, find_files(str(place)), "kip-control")

    # When
    with pytest.raises(Exception, match="its BackOffset is 133, but the record before it is at 132"):
        log.ranges()


def test_times_of_the_lines_are_times_of_the_log(spark: Any, tmp_path: Path) -> None:
    # Given
    lines = (DATA / "kip_control.jsonl").read_text().splitlines()
    timed = [json.dumps(json.loads(line) | {"Timestamp": number * 100}) for number, line in enumerate(lines)]
    (tmp_path / "timed.jsonl").write_text("\n".join(timed))
    log = early_log(spark, find_files(str(tmp_path)), "kip-control")

    # When
    offsets = log.offsets_at(350)

    # Then
    assert offsets == {0: 134}
