from dataclasses import replace

import pytest

from kproxy.cli.log_rows import row_of
from kproxy.clients.log_lines import LogTopic, line_of
from kproxy.wire.records import Record
from tests.in_memory.written_log import a_claim, a_tombstone, an_update

VALUE_OF_UPDATE = (
    '{"snapshotEpoch":3,"leaderEpoch":5,"startOffset":100,"deliveryCompleteCount":6,"stateBatches":'
    '[{"firstOffset":100,"lastOffset":104,"deliveryState":2,"deliveryCount":1}]}'
)


@pytest.mark.parametrize(
    ("record", "cells"),
    [
        (
            an_update(),
            [
                *("ShareUpdate", "workers:dG9waWMtaWQtb3JkZXJzLg:1", "0", "accept"),
                VALUE_OF_UPDATE,
            ],
        ),
        (a_tombstone(), ["Tombstone", "workers:dG9waWMtaWQtb3JkZXJzLg:1", "0", "delete", "-"]),
        (
            a_claim("me", 17, "a fleet"),
            [
                "KproxyClaim",
                "-",
                "-",
                "-",
                '{"owner":"me","formatVersion":1,"mapEpoch":17,"fleetGroup":"a fleet"}',
            ],
        ),
        (
            Record(b"\x00\x09", b"", headers=(("kproxy.actor", b"nobody"),)),
            ["Undecodable", "-", "-", "?", "unknown record type 9"],
        ),
    ],
    ids=["update", "tombstone", "claim", "undecodable"],
)
def test_a_row_has_the_gist(record: Record, cells: list[str]) -> None:
    # Given
    placed = replace(record, offset=12, timestamp_ms=1_700_000_000_000)

    # When
    row = row_of(line_of(LogTopic.STATE, "states", 7, placed))

    # Then
    assert row == ["7", "12", "2023-11-14T22:13:20.000Z", *cells]


def test_a_record_without_a_time_has_none() -> None:
    assert row_of(line_of(LogTopic.STATE, "states", 7, a_claim()))[2] == "-"
