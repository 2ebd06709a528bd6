"""What a script makes of a stream: all of it passes until a fault strikes, and garbage is never taken for a frame."""

from collections.abc import Iterator, Sequence
from itertools import islice
from random import Random
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.faults.kinds import WEIGHTS, Fault, Kind, Link, Way, faults_of
from tests.faults.script import ConnectionScript, End, Send, Step, Struck, Wait

SEEDS = st.integers(0, 2**31)
LINKS = st.sampled_from(Link)
FRAMES = st.lists(st.binary(min_size=8, max_size=3_000), min_size=1, max_size=40)
"""Contents: a frame of Kafka's has eight bytes at least."""
LARGEST_LENGTH: Final = 100 * 1024 * 1024
KNOWN_KEYS: Final = 1_000


def requests(contents: Sequence[bytes], *, client_id: str = "member") -> list[bytes]:
    """Frames with API key 1, version 12 and the client id in the header."""
    head = len(client_id).to_bytes(2) + client_id.encode()
    bodies = [b"\0\x01\0\x0c" + number.to_bytes(4) + head + body for number, body in enumerate(contents)]
    return [len(body).to_bytes(4) + body for body in bodies]


def responses(contents: Sequence[bytes]) -> list[bytes]:
    bodies = [number.to_bytes(4) + body for number, body in enumerate(contents)]
    return [len(body).to_bytes(4) + body for body in bodies]


def chunks(data: bytes, seed: int) -> Iterator[bytes]:
    chance = Random(seed)
    while data:
        size = chance.choice([1, 3, 7, 100, 1_000, 16_384])
        yield data[:size]
        data = data[size:]


def played(script: ConnectionScript, way: Way, stream: bytes, seed: int) -> list[Step]:
    return [step for chunk in chunks(stream, seed) for step in script.receive(way, chunk)]


def sent(steps: Sequence[Step]) -> bytes:
    return b"".join(step.data for step in steps if isinstance(step, Send))


def frames_taken(stream: bytes, way: Way) -> list[bytes]:
    """The frames that a receiver acts on: whole ones, up to one that it must refuse."""
    taken = []
    while len(stream) >= 8:
        length = int.from_bytes(stream[:4], signed=True)
        second = int.from_bytes(stream[4:6] if way is Way.REQUESTS else stream[4:8], signed=True)
        if not 0 <= length <= LARGEST_LENGTH or second < 0 or len(stream) < 4 + length:
            break
        if way is Way.REQUESTS and second >= KNOWN_KEYS:
            break
        taken.append(stream[: 4 + length])
        stream = stream[4 + length :]
    return taken


@given(SEEDS, LINKS, st.sampled_from(Way), FRAMES)
def test_a_receiver_takes_no_frame_that_was_not_sent_as_it_is(
    seed: int, link: Link, way: Way, contents: list[bytes]
) -> None:
    # Given
    frames = requests(contents) if way is Way.REQUESTS else responses(contents)
    script = ConnectionScript(seed, link, "door", 0)

    # When
    steps = played(script, way, b"".join(frames), seed)

    # Then
    taken = frames_taken(sent(steps), way)
    assert taken == frames[: len(taken)]


@given(SEEDS, LINKS, FRAMES, st.integers(1, 20))
def test_what_is_garbled_never_becomes_whole_even_when_faults_end_meanwhile(
    seed: int, link: Link, contents: list[bytes], calm_after: int
) -> None:
    # Given
    frames = requests(contents)
    script = ConnectionScript(seed, link, "door", 0)

    # When
    steps: list[Step] = []
    for number, chunk in enumerate(chunks(b"".join(frames), seed)):
        script.set_calm(is_calm=number >= calm_after)
        steps += script.receive(Way.REQUESTS, chunk)

    # Then
    taken = frames_taken(sent(steps), Way.REQUESTS)
    assert taken == frames[: len(taken)]


@given(SEEDS, LINKS, st.sampled_from(Way), FRAMES)
def test_in_calm_everything_passes_at_once(seed: int, link: Link, way: Way, contents: list[bytes]) -> None:
    script = ConnectionScript(seed, link, "door", 0)
    script.set_calm(is_calm=True)
    steps = played(script, way, b"".join(requests(contents)), seed)
    assert sent(steps) == b"".join(requests(contents))
    assert all(isinstance(step, Send) for step in steps)


@given(SEEDS, LINKS, st.sampled_from(Way), FRAMES, SEEDS)
def test_faults_are_the_same_however_the_stream_is_cut(
    seed: int, link: Link, way: Way, contents: list[bytes], other_cut: int
) -> None:
    stream = b"".join(requests(contents))
    one, other = (
        played(ConnectionScript(seed, link, "door", 0), way, stream, cut) for cut in (seed, other_cut)
    )
    kinds = (Struck, End)
    assert sent(one) == sent(other)
    assert [step for step in one if isinstance(step, kinds)] == [
        step for step in other if isinstance(step, kinds)
    ]


@given(SEEDS)
def test_a_seed_decides_everything(seed: int) -> None:
    args = (seed, Link.CLIENTS, "door", 3, Way.REQUESTS)
    assert list(islice(faults_of(*args), 20)) == list(islice(faults_of(*args), 20))
    assert list(islice(faults_of(*args), 20)) != list(
        islice(faults_of(seed + 1, Link.CLIENTS, "door", 3, Way.REQUESTS), 20)
    )


@pytest.mark.parametrize("link", Link)
def test_every_fault_befalls_every_side(link: Link) -> None:
    drawn = {fault.kind for fault in islice(faults_of(1, link, "door", 0, Way.REQUESTS), 1_000)}
    assert drawn == set(WEIGHTS) == set(Kind)


@pytest.mark.parametrize(
    ("client_id", "link", "way", "is_anywhere"),
    [
        ("stranger-7", Link.CLIENTS, Way.REQUESTS, True),
        ("stranger-7", Link.CLIENTS, Way.RESPONSES, True),
        ("stranger-7", Link.BROKERS, Way.REQUESTS, True),
        ("stranger-7", Link.BROKERS, Way.RESPONSES, False),
        ("kproxy", Link.BROKERS, Way.REQUESTS, False),
        ("rdkafka", Link.CLIENTS, Way.REQUESTS, False),
    ],
)
def test_garbage_without_a_rule_is_for_strangers_and_never_in_what_brokers_say(
    client_id: str, link: Link, way: Way, *, is_anywhere: bool
) -> None:
    # When
    struck = all_that_strike(client_id, link, way)

    # Then
    assert (Kind.JUNK_ANYWHERE in struck) is is_anywhere
    assert (Kind.JUNK_LENGTH in struck) is not is_anywhere
    assert {Kind.JUNK_FRAME, Kind.STALL, Kind.CUT} <= struck


@pytest.mark.parametrize(
    ("link", "way", "is_garbled"),
    [
        (Link.CLIENTS, Way.RESPONSES, False),
        (Link.CLIENTS, Way.REQUESTS, True),
        (Link.BROKERS, Way.RESPONSES, True),
    ],
)
def test_a_producer_is_told_no_impossible_length(link: Link, way: Way, *, is_garbled: bool) -> None:
    struck = all_that_strike("producer", link, way)
    assert (Kind.JUNK_LENGTH in struck) is is_garbled
    assert Kind.JUNK_FRAME in struck


def all_that_strike(client_id: str, link: Link, way: Way) -> set[Kind]:
    """What befalls one direction of many connections of a client."""
    struck: set[Kind] = set()
    contents = [Random(7).randbytes(500)] * 200
    for number in range(300):
        script = ConnectionScript(1, link, "door", number)
        list(script.receive(Way.REQUESTS, requests(contents[:1], client_id=client_id)[0]))
        for step in played(script, way, b"".join(requests(contents, client_id=client_id)), number):
            if isinstance(step, Struck):
                struck.add(step.kind)
    return struck


def only(fault: Fault, stream: bytes, way: Way = Way.REQUESTS) -> list[Step]:
    """What one fault, and none after it, makes of a stream that comes in one piece."""
    script = ConnectionScript(1, Link.CLIENTS, "door", 0)
    direction = script._ways[way]
    direction._faults = iter([Fault(Kind.STALL, 1 << 40)] * 3)
    direction._go_on_to(fault)
    return list(script.receive(way, stream))


@pytest.mark.parametrize("kind", [Kind.CUT, Kind.RESET, Kind.HALF_CLOSE, Kind.VANISH])
def test_what_comes_behind_an_ending_is_lost(kind: Kind) -> None:
    assert only(Fault(kind, 5), bytes(range(20))) == [Send(bytes(range(5))), Struck(kind, 5), End(kind)]


def test_a_stalled_direction_goes_on_where_it_was() -> None:
    steps = only(Fault(Kind.STALL, 5, seconds=3.0), bytes(range(20)))
    assert steps == [Send(bytes(range(5))), Struck(Kind.STALL, 5), Wait(3.0), Send(bytes(range(5, 20)))]


def test_bytes_drip_one_a_second_and_then_flow() -> None:
    steps = only(Fault(Kind.DRIP, 2, count=2), b"abcdef")
    assert steps == [
        Send(b"ab"),
        Struck(Kind.DRIP, 2),
        Send(b"c"),
        Wait(1.0),
        Send(b"d"),
        Wait(1.0),
        Send(b"ef"),
    ]


def test_garbage_for_a_length_waits_for_the_end_of_the_frame() -> None:
    steps = only(Fault(Kind.JUNK_LENGTH, 2, junk=b"\xff\0\0\0\7"), b"\0\0\0\4abcd\0\0\0\1e")
    assert sent(steps) == b"\0\0\0\4abcd" + b"\xff\0\0\0\7" + b"\0\0\0\1e"


def test_garbage_in_a_header_leaves_the_length_as_it_is() -> None:
    steps = only(Fault(Kind.JUNK_HEADER, 2, junk=b"\x40JKL"), b"\0\0\0\4abcd\0\0\0\6efghij")
    assert sent(steps) == b"\0\0\0\4abcd" + b"\0\0\0\6" + b"\x40JKL" + b"ij"


def test_a_frame_with_garbage_is_reset_before_its_last_byte() -> None:
    steps = only(Fault(Kind.JUNK_FRAME, 5, junk=b"JUNKJUNKJUNK"), b"\0\0\0\4abcd\0\0\0\1e")
    assert sent(steps) == b"\0\0\0\4a" + b"JU"
    assert steps[-1] == End(Kind.RESET)
