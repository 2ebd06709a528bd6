"""Looks are taken one after the other, of what is opened, and outlive a kproxy that is away."""

import asyncio

from kproxy.cli.top_looks import Looks
from kproxy.clients.top.group_looks import groups_look
from tests.in_memory.inspectable import Inspectable, serving
from tests.worlds.waiting import until


def a_group() -> Inspectable:
    inspectable = Inspectable()
    inspectable.join("alice")
    return inspectable


def test_a_look_moves_the_one_before_it_back() -> None:
    # Given
    with serving(a_group().server()) as url:
        first = groups_look(url, now_s=1.0)
        looks = Looks(url, first, interval_s=60.0, now_s=lambda: 3.0)

        # When
        looks.look()

    # Then
    assert looks.seen.before is first
    assert (looks.seen.now.taken_s, looks.seen.problem) == (3.0, "")


def test_a_kproxy_that_went_away_is_said_and_the_last_look_stays() -> None:
    # Given
    with serving(a_group().server()) as url:
        first = groups_look(url, now_s=1.0)
    looks = Looks(url, first, interval_s=60.0)

    # When
    looks.look()

    # Then
    assert looks.seen.now is first
    assert "cannot reach" in looks.seen.problem


def test_a_group_is_looked_at_as_soon_as_it_is_opened() -> None:
    # Given
    with serving(a_group().server()) as url:
        looks = Looks(url, groups_look(url, now_s=1.0), interval_s=60.0)
        looks.start()

        # When
        looks.open("workers")

        # Then
        asyncio.run(until(lambda: looks.seen.group is not None))
        looks.end()


def test_a_group_that_was_left_is_shown_no_more() -> None:
    # Given
    with serving(a_group().server()) as url:
        looks = Looks(url, groups_look(url, now_s=1.0), interval_s=60.0)
        looks.open("workers")
        looks.look()

        # When
        looks.open(None)

    # Then
    assert looks.seen.group is None
