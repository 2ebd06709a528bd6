"""What is the same each time: how many elements a request may have, and how much memory they take."""

import tracemalloc

import pytest

from kproxy.errors import MalformedMessage
from kproxy.wire import codecs
from kproxy.wire.decode_emitter import LARGEST_REQUEST_ELEMENTS
from tests.hostile.hostile_requests import (
    SPARE_ELEMENTS,
    Hostile,
    hostile_requests,
    looked_into,
    most_memory_of,
)

FEW_ELEMENTS = 500

every_api = pytest.mark.parametrize(("api_key", "version"), looked_into())
"""Every API of which a request is held, in its newest version."""


def memory_of(hostile: Hostile) -> int:
    """Return how much memory it takes at most to decode it."""
    frame = memoryview(hostile.frame)[4:]
    codecs.decode_request(frame)
    tracemalloc.start()
    codecs.decode_request(frame)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


@every_api
def test_a_request_takes_four_times_its_size_and_so_much_for_each_element(api_key: int, version: int) -> None:
    for hostile in hostile_requests(api_key, version, most_elements=FEW_ELEMENTS):
        assert memory_of(hostile) <= most_memory_of(hostile), hostile.name


@every_api
def test_a_request_with_more_elements_than_50_000_is_refused(api_key: int, version: int) -> None:
    largest = LARGEST_REQUEST_ELEMENTS + SPARE_ELEMENTS + 1
    for hostile in hostile_requests(api_key, version, most_elements=largest):
        if hostile.element_count < LARGEST_REQUEST_ELEMENTS:
            continue  # a long string
        with pytest.raises(MalformedMessage, match="elements"):
            codecs.decode_request(memoryview(hostile.frame)[4:])
        return


def test_there_are_requests_of_every_api_that_is_looked_into() -> None:
    examined_or_guarded = {3, 8, 10, 11, 16, 28, 32, 33, 42, 44, 68, 74, 88}
    served = {*range(76, 80), *range(83, 88), 90, 91, 92}

    assert {api_key for api_key, _ in looked_into()} >= examined_or_guarded | served
