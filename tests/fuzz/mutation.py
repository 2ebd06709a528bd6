"""Bytes that are nearly those of a seed: between random ones, which nobody reads far into, and valid ones."""

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Final

from tests.fuzz.execution import MOST_BYTES

INTERESTING: Final = (
    b"\x00", b"\x01", b"\x7f", b"\x80", b"\xff",
    b"\x7f\xff", b"\x80\x00", b"\xff\xff",
    b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff\xff\xff\xff", b"\x00\x00\x00\x00", b"\x00\x10\x00\x00",
    b"\xff\xff\xff\xff\x07", b"\xff\xff\xff\xff\x0f", b"\x80\x80\x80\x80\x80\x01",
    b"\x7f" + b"\xff" * 7, b"\x80" + bytes(7), b"\xff" * 8,
)  # fmt: skip
"""Ends of the ranges of numbers, lengths and varints."""


def inputs(seeds: Sequence[bytes], count: int, *, seed: int) -> Iterator[bytes]:
    """Yield `count` inputs, the same for the same `seed`: seeds mutated one to four times."""
    random = Random(seed)
    for _ in range(count):
        data = bytearray(random.choice(seeds))
        for _ in range(random.randint(1, 4)):
            random.choice(_MUTATIONS)(data, random, seeds)
        yield bytes(data[:MOST_BYTES])


def _flip_a_bit(data: bytearray, random: Random, _seeds: Sequence[bytes]) -> None:
    if data:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def _put_a_byte(data: bytearray, random: Random, _seeds: Sequence[bytes]) -> None:
    if data:
        data[random.randrange(len(data))] = random.randrange(256)


def _put_an_end_of_a_range(data: bytearray, random: Random, _seeds: Sequence[bytes]) -> None:
    value, position = random.choice(INTERESTING), random.randint(0, len(data))
    replaced = len(value) if random.random() < 0.8 else 0
    data[position : position + replaced] = value


def _count_one_more_or_less(data: bytearray, random: Random, _seeds: Sequence[bytes]) -> None:
    if data:
        position = random.randrange(len(data))
        data[position] = (data[position] + random.choice((-1, 1))) % 256


def _cut(data: bytearray, random: Random, _seeds: Sequence[bytes]) -> None:
    first = random.randint(0, len(data))
    del data[first : first + random.randint(1, 16)]


def _end_early(data: bytearray, random: Random, _seeds: Sequence[bytes]) -> None:
    del data[random.randint(0, len(data)) :]


def _repeat(data: bytearray, random: Random, _seeds: Sequence[bytes]) -> None:
    first = random.randint(0, len(data))
    part = bytes(data[first : first + random.randint(1, 64)])
    data[first:first] = part * random.randint(1, 8)


def _splice(data: bytearray, random: Random, seeds: Sequence[bytes]) -> None:
    other, position = random.choice(seeds), random.randint(0, len(data))
    first = random.randint(0, len(other))
    data[position : position + random.randint(0, 32)] = other[first : first + random.randint(1, 64)]


_MUTATIONS: Final[Sequence[Callable[[bytearray, Random, Sequence[bytes]], None]]] = (
    _flip_a_bit,
    _put_a_byte,
    _put_an_end_of_a_range,
    _count_one_more_or_less,
    _cut,
    _end_early,
    _repeat,
    _splice,
)
