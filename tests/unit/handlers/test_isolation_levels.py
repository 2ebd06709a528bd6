"""The names of isolation levels."""

import pytest

from kproxy.errors import InvalidConfig
from kproxy.handlers.isolation_levels import IsolationLevel, parse_isolation_level


def test_both_levels_are_known_by_kafkas_names() -> None:
    assert parse_isolation_level("read_committed") is IsolationLevel.READ_COMMITTED
    assert parse_isolation_level("read_uncommitted") is IsolationLevel.READ_UNCOMMITTED


@pytest.mark.parametrize("text", ["", "READ_COMMITTED", "committed", "1"])
def test_anything_else_is_refused_and_told_what_there_is(text: str) -> None:
    with pytest.raises(InvalidConfig, match="one of: read_committed, read_uncommitted"):
        parse_isolation_level(text)
