"""What is the same each time: how many elements a request may have, and how much memory they take."""

import gc
import tracemalloc
from contextlib import suppress

import pytest

from kproxy.errors import MalformedMessage, PeerViolation
from kproxy.interception.calls import Call
from kproxy.wire import codecs
from kproxy.wire.decode_emitter import FEWER_REQUEST_ELEMENTS, LARGEST_REQUEST_ELEMENTS
from tests.hostile.hostile_requests import (
    SERVED,
    SPARE_ELEMENTS,
    Hostile,
    hostile_requests,
    looked_into,
)
from tests.hostile.known_costs import DECODED_BYTES, most_decoded_bytes
from tests.worlds.conversing import Conversation

FEW_ELEMENTS = 5_000

every_api = pytest.mark.parametrize(("api_key", "version"), looked_into())
"""Every API of which a request is held, in its newest version."""


def take(frame: bytes) -> object:
    """Let a client send `frame`; return what is kept of it."""
    talk = Conversation(served=dict(SERVED), share_group_ids=("workers",), max_request_bytes=1 << 26)
    with suppress(PeerViolation):
        passed = talk.client_sends(frame)
        return talk, passed, talk.session.take_call()
    return talk


def memory_of(hostile: Hostile) -> int:
    """Return how much memory it takes at most until it is passed on, refused, or decoded."""
    frame = hostile.frame
    take(frame)
    gc.collect()
    tracemalloc.start()
    kept = take(frame)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return peak


@every_api
def test_a_request_takes_four_times_its_size_and_what_is_known_of_its_elements(
    api_key: int, version: int
) -> None:
    for hostile in hostile_requests(api_key, version, most_elements=FEW_ELEMENTS):
        assert memory_of(hostile) <= most_decoded_bytes(hostile), hostile.name


def test_nothing_is_known_to_cost_more_that_does_not() -> None:
    made = {
        (each.api_key, each.name)
        for api in looked_into()
        for each in hostile_requests(*api, most_elements=100)
    }

    assert set(DECODED_BYTES) <= made


@every_api
def test_a_decoded_request_takes_no_more_than_its_connection_is_charged_for(
    api_key: int, version: int
) -> None:
    for hostile in hostile_requests(api_key, version, most_elements=FEW_ELEMENTS):
        frame = hostile.frame
        talk = Conversation(served=dict(SERVED), share_group_ids=("workers",), max_request_bytes=1 << 26)
        with suppress(PeerViolation):
            talk.client_sends(frame)
        call = talk.session.take_call()
        if isinstance(call, Call):
            assert memory_of(hostile) <= call.memory_bytes + 2 * len(frame) + 64 * 1024, hostile.name


@every_api
def test_a_request_with_more_elements_than_are_allowed_is_refused(api_key: int, version: int) -> None:
    most = FEWER_REQUEST_ELEMENTS.get(api_key, LARGEST_REQUEST_ELEMENTS)
    for hostile in hostile_requests(
        api_key, version, most_elements=most + SPARE_ELEMENTS + 1, is_bounded=False
    ):
        if hostile.element_count < most:
            continue  # a long string
        with pytest.raises(MalformedMessage, match="elements"):
            codecs.decode_request(memoryview(hostile.frame)[4:])
        return


def test_there_are_requests_of_every_api_that_is_looked_into() -> None:
    examined_or_guarded = {3, 8, 10, 11, 16, 28, 32, 33, 42, 44, 68, 74, 88}
    served = {*range(76, 80), *range(83, 88), 90, 91, 92}

    assert {api_key for api_key, _ in looked_into()} >= examined_or_guarded | served
