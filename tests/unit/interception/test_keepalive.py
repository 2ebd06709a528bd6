"""The request on a silent twin, and the places of what kproxy asks there."""

import pytest

from kproxy.interception.keepalive import (
    KEEPALIVE_CORRELATION_ID,
    keepalive_request,
    keepalive_slot,
    place_for_own,
)
from kproxy.interception.response_slots import ResponseSlot, SlotKind
from kproxy.wire import codecs


def test_what_comes_back_has_the_place_of_what_was_asked() -> None:
    # When
    asked = codecs.decode_request(memoryview(b"".join(keepalive_request()))[4:])

    # Then
    slot = keepalive_slot()
    assert (asked.api_key, asked.api_version) == (slot.api_key, slot.api_version)
    assert asked.correlation_id == slot.correlation_id == KEEPALIVE_CORRELATION_ID


@pytest.mark.parametrize(
    ("kinds", "place"),
    [
        ((), 0),
        ((SlotKind.LOCAL,), 0),
        ((SlotKind.SWALLOW, SlotKind.LOCAL), 1),
        ((SlotKind.SWALLOW, SlotKind.SWALLOW), 2),
        ((SlotKind.FORWARD,), None),
        ((SlotKind.SWALLOW, SlotKind.REWRITE, SlotKind.LOCAL), None),
        ((SlotKind.SWALLOW, SlotKind.LOCAL, SlotKind.FORWARD), None),
    ],
)
def test_own_answers_stand_behind_each_other_in_front_of_what_is_answered_here(
    kinds: tuple[SlotKind, ...], place: int | None
) -> None:
    # When
    found = place_for_own([ResponseSlot(kind, 18, 0, number) for number, kind in enumerate(kinds)])

    # Then
    assert found == place
