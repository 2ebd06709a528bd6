"""Who changed what: the header, and the rule that each offset has exactly one actor."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import CorruptStateRecord
from kproxy.statelog.actors import Actor, Cause, decode_actor, encode_actor, without_overlaps

texts = st.text(max_size=6)


def ranges_of(offsets: set[int]) -> tuple[tuple[int, int], ...]:
    """The runs of `offsets`, ascending."""
    runs: list[tuple[int, int]] = []
    for offset in sorted(offsets):
        if runs and runs[-1][1] == offset - 1:
            runs[-1] = (runs[-1][0], offset)
        else:
            runs.append((offset, offset))
    return tuple(runs)


def offsets_of(actor: Actor) -> set[int]:
    return {offset for first, last in actor.offset_ranges for offset in range(first, last + 1)}


offset_ranges = st.sets(st.integers(0, 30), max_size=12).map(ranges_of)
actors = st.builds(Actor, st.sampled_from(Cause), texts, texts, texts, offset_ranges)

ALICE = Actor(Cause.ACKNOWLEDGE, "alice", "app-1", "10.0.0.1")


def test_a_person_can_read_the_header() -> None:
    actor = Actor(Cause.ACKNOWLEDGE, "alice", "app-1", "10.0.0.1", ((100, 109), (111, 111)))
    assert encode_actor(actor) == (
        b'{"cause":"acknowledge","member":"alice","client":"app-1","host":"10.0.0.1",'
        b'"offsets":[[100,109],[111,111]]}'
    )


def test_what_is_empty_is_left_out() -> None:
    assert encode_actor(Actor(Cause.LOCK_TIMEOUT)) == b'{"cause":"lock-timeout"}'


@given(actors)
def test_an_actor_is_read_back(actor: Actor) -> None:
    header = encode_actor(actor)
    assert decode_actor(header) == actor
    assert header.isascii()
    assert json.loads(header)["cause"] == actor.cause.value


def test_fields_that_nobody_knows_are_ignored() -> None:
    assert decode_actor(b'{"cause":"load","reason":{"deep":[1]}}') == Actor(Cause.LOAD)


@pytest.mark.parametrize(
    "header",
    [
        None,
        b"",
        b"[]",
        b"{",
        b"\xff\xfe\xfd",
        b"[" * 100_000,
        b"{}",
        b'{"cause":"whim"}',
        b'{"cause":3}',
        b'{"cause":["load"]}',
        b'{"cause":"load","member":1}',
        b'{"cause":"load","offsets":1}',
        b'{"cause":"load","offsets":[1]}',
        b'{"cause":"load","offsets":[[1]]}',
        b'{"cause":"load","offsets":[[1,2,3]]}',
        b'{"cause":"load","offsets":[[2,1]]}',
        b'{"cause":"load","offsets":[[-1,1]]}',
        b'{"cause":"load","offsets":[[false,true]]}',
        b'{"cause":"load","offsets":[[1.0,2.0]]}',
        b'{"cause":"load","offsets":[[5,6],[1,2]]}',
        b'{"cause":"load","offsets":[[1,5],[5,6]]}',
    ],
)
def test_a_header_that_names_no_actor_is_refused(header: bytes | None) -> None:
    with pytest.raises(CorruptStateRecord):
        decode_actor(header)


@given(actors, st.integers(0), st.integers(0, 7))
def test_a_flipped_bit_is_refused_or_names_another_actor(actor: Actor, position: int, bit: int) -> None:
    header = bytearray(encode_actor(actor))
    header[position % len(header)] ^= 1 << bit
    try:
        decoded = decode_actor(bytes(header))
    except CorruptStateRecord:
        return
    assert isinstance(decoded, Actor)


def test_the_later_actor_keeps_what_two_have_changed() -> None:
    # Given
    bob = Actor(Cause.LOCK_TIMEOUT, "bob", offset_ranges=((103, 104), (109, 120)))

    # When
    alone = without_overlaps([Actor(Cause.ACKNOWLEDGE, "alice", offset_ranges=((100, 110),)), bob])

    # Then
    assert alone == (Actor(Cause.ACKNOWLEDGE, "alice", offset_ranges=((100, 102), (105, 108))), bob)


def test_an_actor_whose_ranges_are_all_taken_stays_with_none() -> None:
    first = Actor(Cause.ACKNOWLEDGE, "alice", offset_ranges=((5, 6),))
    second = Actor(Cause.SESSION_CLOSE, "alice", offset_ranges=((0, 9),))
    assert without_overlaps([first, second]) == (Actor(Cause.ACKNOWLEDGE, "alice"), second)


@given(st.lists(actors, max_size=5))
def test_every_offset_has_exactly_the_last_actor_that_changed_it(given_actors: list[Actor]) -> None:
    # Given
    last_actor = {offset: n for n, actor in enumerate(given_actors) for offset in offsets_of(actor)}

    # When
    alone = without_overlaps(given_actors)

    # Then
    for number, (before, after) in enumerate(zip(given_actors, alone, strict=True)):
        assert offsets_of(after) == {offset for offset, owner in last_actor.items() if owner == number}
        assert sorted(after.offset_ranges) == list(after.offset_ranges)
        assert (after.cause, after.member_id) == (before.cause, before.member_id)
