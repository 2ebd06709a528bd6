"""Each thing that may be left of a client is told."""

import dataclasses
from collections import Counter

import pytest

from tests.faults.leftovers import CONNECTIONS_PER_BROKER, MOST_MORE_BYTES, left_over
from tests.faults.watched_kproxy import Held

QUIET = Held(
    tasks=Counter({"sweeper": 1}),
    objects=Counter({"LimitedConnection": 0, "HostPort": 5}),
    client_connections=frozenset(),
    broker_connections=frozenset({("127.0.0.1:5", "127.0.0.2:6")}),
    other_files=12,
    resident_bytes=100_000_000,
    share={"share sessions": 0, "members": 0},
)
MANY = frozenset((f"127.0.0.1:{port}", "127.0.0.2:6") for port in range(2 * CONNECTIONS_PER_BROKER + 1))


def test_what_was_there_before_is_not_left_over() -> None:
    assert left_over(QUIET, QUIET, brokers=2, vanished={("127.0.0.1:7", "127.0.0.2:6")}) == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"share": {"share sessions": 1, "members": 0}}, "1 share sessions"),
        (
            {"client_connections": frozenset({("127.0.0.1:9", "127.0.0.1:40")})},
            "127.0.0.1:40 is still connected",
        ),
        ({"broker_connections": MANY}, "23 connections to 2 brokers"),
        ({"other_files": 13}, "13 other open files, 12 before"),
        ({"tasks": Counter({"sweeper": 1, "dial for N": 2})}, "2 more of the tasks 'dial for N'"),
        ({"objects": Counter({"LimitedConnection": 1})}, "1 of the objects LimitedConnection, 0 before"),
        (
            {"resident_bytes": 100_000_001 + MOST_MORE_BYTES},
            "112,582,913 bytes of memory, 100,000,000 before",
        ),
    ],
)
def test_what_is_left_is_told_in_words(change: dict[str, object], told: str) -> None:
    after = dataclasses.replace(QUIET, **change)  # type: ignore[arg-type]  # each has the type of its field
    assert left_over(QUIET, after, brokers=2, vanished=set()) == [told]


def test_a_connection_to_who_has_vanished_is_left_over() -> None:
    [ends] = QUIET.broker_connections
    assert left_over(QUIET, QUIET, brokers=2, vanished={ends}) == [
        f"the connection {ends} still waits for who has vanished"
    ]
