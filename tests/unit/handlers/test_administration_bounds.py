"""How much one request of an administrator may be about."""

import pytest

from kproxy.errors import InvalidRequest
from kproxy.handlers.administration_bounds import AdministrationBounds, count_of_names

BOUNDS = AdministrationBounds(most_named=3, most_told=5)


def test_a_request_names_no_more_than_so_many_things() -> None:
    BOUNDS.require_few(3)
    with pytest.raises(
        InvalidRequest, match="groups, topics and partitions in one request: 4, expected 3 at most"
    ):
        BOUNDS.require_few(4)


def test_an_answer_tells_of_no_more_than_so_many_things() -> None:
    BOUNDS.require_room(4)
    with pytest.raises(InvalidRequest, match="more than 5 entries"):
        BOUNDS.require_room(5)


def test_a_long_name_counts_for_as_many_things_as_it_is_work() -> None:
    assert count_of_names(["orders", "", "g" * 99]) == 3
    assert count_of_names(["orders", "g" * 100, "g" * 32_000]) == 1 + 2 + 321
