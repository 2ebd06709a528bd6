"""Who changed what: the header, and the rule that each offset has exactly one actor."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import CorruptStateRecord, UnsupportedStateRecord
from kproxy.share.record_state import AcknowledgeType
from kproxy.statelog.actors import (
    MAX_TEXT_LENGTH,
    Actor,
    Cause,
    RecordEnd,
    decode_actor,
    encode_actor,
    without_overlaps,
)

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
types = st.sampled_from([None, *(each for each in AcknowledgeType if each is not AcknowledgeType.RENEW)])
actors = st.builds(
    Actor,
    *(
        st.sampled_from(Cause),
        texts,
        texts,
        texts,
        offset_ranges,
        types,
        st.booleans(),
        st.integers(0, 1),
        texts,
    ),
)

ALICE = Actor(Cause.ACKNOWLEDGE, "alice", "app-1", "10.0.0.1")


def test_what_an_operator_said_stands_in_the_header_and_is_cut() -> None:
    # Given
    actor = Actor(Cause.OPERATOR, "alice", offset_ranges=((5, 5),), reason="archive by root: " + "x" * 400)

    # When
    header = encode_actor(actor)

    # Then
    assert json.loads(header)["reason"].startswith("archive by root: xxx")
    assert len(decode_actor(header).reason) == MAX_TEXT_LENGTH


def test_a_person_can_read_the_header() -> None:
    ranges = ((100, 109), (111, 111))
    actor = Actor(
        *(Cause.ACKNOWLEDGE, "alice", "app-1", "10.0.0.1", ranges),
        acknowledge_type=AcknowledgeType.RELEASE,
        is_at_delivery_limit=True,
    )
    assert encode_actor(actor) == (
        b'{"version":1,"cause":"acknowledge","type":"release","end":"delivery-limit","member":"alice",'
        b'"client":"app-1","host":"10.0.0.1","offsets":[[100,109],[111,111]]}'
    )


def test_the_first_form_is_read_and_says_neither_type_nor_end() -> None:
    # Given
    header = b'{"cause":"acknowledge","member":"alice","client":"app-1","host":"10.0.0.1","offsets":[[5,9]]}'

    # When
    actor = decode_actor(header)

    # Then
    assert actor == Actor(Cause.ACKNOWLEDGE, "alice", "app-1", "10.0.0.1", ((5, 9),), version=0)
    assert actor.end is None
    assert encode_actor(actor) == header


def test_of_the_first_form_the_delivery_limit_is_a_cause_of_its_own() -> None:
    assert decode_actor(b'{"cause":"delivery-limit","member":"bob"}').end is RecordEnd.DELIVERY_LIMIT


@pytest.mark.parametrize(
    ("cause", "acknowledge_type", "is_at_limit", "end"),
    [
        (Cause.ACKNOWLEDGE, AcknowledgeType.ACCEPT, False, "accept"),
        (Cause.ACKNOWLEDGE, AcknowledgeType.REJECT, False, "reject"),
        (Cause.ACKNOWLEDGE, AcknowledgeType.GAP, False, "gap"),
        (Cause.ACKNOWLEDGE, AcknowledgeType.RELEASE, False, None),
        (Cause.ACKNOWLEDGE, AcknowledgeType.RELEASE, True, "delivery-limit"),
        (Cause.LOCK_TIMEOUT, None, False, None),
        (Cause.LOCK_TIMEOUT, None, True, "delivery-limit"),
        (Cause.SESSION_CLOSE, None, True, "delivery-limit"),
        (Cause.LOG_START_MOVED, None, False, "log-start"),
        (Cause.SNAPSHOT, None, False, None),
    ],
)
def test_what_ended_records_is_told_apart(
    cause: Cause, acknowledge_type: AcknowledgeType | None, end: str | None, *, is_at_limit: bool
) -> None:
    # Given
    actor = Actor(cause, acknowledge_type=acknowledge_type, is_at_delivery_limit=is_at_limit)

    # When
    read = decode_actor(encode_actor(actor))

    # Then
    assert read.end == end


def test_texts_that_clients_choose_take_little_room() -> None:
    # Given
    long = "\U0001f600" * 30_000

    # When
    header = encode_actor(Actor(Cause.ACKNOWLEDGE, long, long, long))

    # Then
    assert len(header) < 3 * 12 * MAX_TEXT_LENGTH + 100
    assert decode_actor(header).member_id == "\U0001f600" * (MAX_TEXT_LENGTH - 1) + "…"


def test_a_form_that_is_newer_than_this_kproxy_is_not_guessed_at() -> None:
    with pytest.raises(UnsupportedStateRecord, match=r"version 2; .* up to 1: run the kproxy that wrote"):
        decode_actor(b'{"version":2,"cause":"acknowledge"}')


def test_what_is_empty_is_left_out() -> None:
    assert encode_actor(Actor(Cause.LOCK_TIMEOUT)) == b'{"version":1,"cause":"lock-timeout"}'


@given(actors)
def test_an_actor_is_read_back(actor: Actor) -> None:
    header = encode_actor(actor)
    assert decode_actor(header) == actor
    assert header.isascii()
    assert json.loads(header)["cause"] == actor.cause.value


def test_fields_that_nobody_knows_are_ignored() -> None:
    assert decode_actor(b'{"version":1,"cause":"load","mood":{"deep":[1]}}') == Actor(Cause.LOAD)


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
        b'{"cause":"load","version":"1"}',
        b'{"cause":"load","version":true}',
        b'{"cause":"load","version":-1}',
        b'{"cause":"acknowledge","type":"renew"}',
        b'{"cause":"acknowledge","type":2}',
        b'{"cause":"acknowledge","end":"reject"}',
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
