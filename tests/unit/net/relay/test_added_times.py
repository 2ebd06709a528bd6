"""How long kproxy itself holds up what it passes on."""

from collections.abc import Sequence
from itertools import count
from random import Random

import pytest

from kproxy.interception.response_slots import ResponseSlot, SlotKind
from kproxy.net.relay.added_times import ONE_IN, AddedTimes
from kproxy.wire.api_keys import ApiKey
from tests.in_memory.recording_observer import RecordingObserver

PRODUCE, FETCH = (ResponseSlot(SlotKind.FORWARD, key, 12, 1) for key in (ApiKey.PRODUCE, ApiKey.FETCH))


class Measured:
    def __init__(self) -> None:
        self.observer = RecordingObserver()
        times_s = (number / 1000 for number in count())
        self.added = AddedTimes(
            self.observer.observe, seconds=lambda: next(times_s), chance=Random(20261124).random
        )

    def take(self, side: str, before: Sequence[ResponseSlot], after: Sequence[ResponseSlot]) -> list[str]:
        """Take something in; return the labels of what was observed by that."""
        self.observer.observations.clear()
        self.added.begin(before)
        self.added.end(side, after)
        return [label for labels in self.observer.observations for label in labels[1:]]


def test_a_part_of_a_request_counts_for_the_newest_request() -> None:
    assert Measured().take("client", [PRODUCE], [PRODUCE, FETCH]) == ["Fetch", "client"]


def test_a_part_of_a_response_counts_for_the_oldest_request() -> None:
    assert Measured().take("broker", [PRODUCE, FETCH], [FETCH]) == ["Produce", "broker"]


def test_what_begins_no_request_and_ends_no_response_is_not_measured_but_the_next_part_that_does() -> None:
    # Given
    measured = Measured()

    # When
    taken = [
        measured.take("client", [FETCH], [FETCH]),
        measured.take("broker", [PRODUCE, FETCH], [PRODUCE, FETCH]),
        measured.take("broker", [PRODUCE, FETCH], [FETCH]),
    ]

    # Then
    assert taken == [[], [], ["Produce", "broker"]]


def test_what_is_owed_no_answer_is_not_measured() -> None:
    assert Measured().take("client", [], []) == []
    assert Measured().take("broker", [], []) == []


@pytest.mark.parametrize("parts", [1, 2, 7, 13, 14, 91])
def test_one_part_in_seven_is_measured_whichever_it_is_of_those_that_come_again_and_again(parts: int) -> None:
    # Given
    measured = Measured()
    rounds = 200 * ONE_IN

    # When
    taken = [bool(measured.take("client", [], [FETCH])) for _ in range(rounds * parts)]

    # Then
    assert all(sum(taken[part::parts]) == pytest.approx(200, rel=0.3) for part in range(parts))


def test_what_passes_is_measured_from_its_arrival_until_it_was_written() -> None:
    # Given
    measured = Measured()

    # When
    measured.take("client", [], [FETCH])

    # Then
    assert measured.observer.observations["relay_added_seconds", "Fetch", "client"] == [0.001]


def test_a_part_that_is_never_passed_on_ends_no_measuring() -> None:
    # Given: what came broke the connection, or brought more of it in the same turn
    measured = Measured()
    measured.added.begin([PRODUCE])

    # When
    taken = measured.take("broker", [FETCH], [])

    # Then
    assert taken == ["Fetch", "broker"]
