"""The answer to a ShareFetch is handed on only while the peer that gives it is known to serve the group."""

import pytest

from kproxy.fleet.owners import Peer
from kproxy.net.peers.owned_answer import OwnedAnswer
from tests.unit.net.peering import TakenAnswer

OWNER, OTHER = Peer("token-b", "b", "127.0.0.1", 1), Peer("token-c", "c", "127.0.0.1", 2)


class WhatIsKnown:
    """Who serves the group, as far as a test says, and whether the process may rely on it."""

    def __init__(self) -> None:
        self.owner: Peer | None = OWNER
        self.is_sure = True

    def answer(self, taken: TakenAnswer) -> OwnedAnswer:
        """Return an answer of `OWNER` that goes to `taken`."""
        return OwnedAnswer(taken, OWNER, owner=lambda: self.owner, is_sure=lambda: self.is_sure)


def test_an_answer_of_the_owner_is_handed_on_as_it_comes() -> None:
    # Given
    known, taken = WhatIsKnown(), TakenAnswer()
    answer = known.answer(taken)

    # When
    answer.receive(b"one")
    answer.receive(b"two")
    answer.end()

    # Then
    assert (taken.data, taken.ended, taken.failure) == (b"onetwo", 1, None)


@pytest.mark.parametrize("owner", [OTHER, None])
def test_an_answer_that_begins_after_the_group_has_moved_is_lost_whole(owner: Peer | None) -> None:
    # Given
    known, taken = WhatIsKnown(), TakenAnswer()
    answer = known.answer(taken)
    known.owner = owner

    # When
    answer.receive(b"one")
    known.owner = OWNER
    answer.receive(b"two")
    answer.end()

    # Then
    assert taken.data == b""
    assert taken.failure is not None
    assert (taken.failure.reason, taken.failure.detail) == ("moved", "b serves the group no more")


def test_an_answer_that_has_begun_ends_although_the_group_moves() -> None:
    # Given
    known, taken = WhatIsKnown(), TakenAnswer()
    answer = known.answer(taken)
    answer.receive(b"one")

    # When
    known.owner = OTHER
    answer.receive(b"two")
    answer.end()

    # Then
    assert (taken.data, taken.ended, taken.failure) == (b"onetwo", 1, None)


@pytest.mark.parametrize("before", [b"", b"one"])
def test_nothing_is_handed_on_by_a_process_that_stood_still_for_longer_than_its_lease(before: bytes) -> None:
    # Given
    known, taken = WhatIsKnown(), TakenAnswer()
    answer = known.answer(taken)
    if before:
        answer.receive(before)

    # When
    known.is_sure = False
    answer.receive(b"two")
    answer.end()

    # Then
    assert taken.data == before
    assert taken.failure is not None
    assert taken.failure.reason == "lease_ended"


def test_an_answer_that_its_connection_loses_is_lost_once() -> None:
    # Given
    known, taken = WhatIsKnown(), TakenAnswer()
    answer = known.answer(taken)
    known.owner = OTHER
    answer.receive(b"one")
    assert taken.failure is not None
    first = taken.failure

    # When
    answer.lose(first.again())

    # Then
    assert taken.failure is first
