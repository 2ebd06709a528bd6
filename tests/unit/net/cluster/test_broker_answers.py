"""Error codes of brokers, for whoever needed a success, and answers of any length."""

from threading import get_ident

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable
from kproxy.net.cluster.broker_answers import (
    LONG_ANSWER_BYTES,
    BrokerRefusal,
    answer_of_any_length,
    require_success,
)
from kproxy.net.cluster.broker_client import BrokerClient, dial
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message, encode_response
from kproxy.wire.messages.list_groups_request import ListGroupsRequest
from kproxy.wire.messages.list_groups_response import ListedGroup, ListGroupsResponse
from tests.in_memory.answering_broker import AnsweringBroker
from tests.worlds.backing import LIMITS

LISTED = ApiKey.LIST_GROUPS


def test_a_success_is_no_refusal() -> None:
    require_success(0, "FindCoordinator of g at 127.0.0.1:9092")


def test_a_refusal_says_what_was_asked_of_whom_and_what_was_answered() -> None:
    # When
    with pytest.raises(BrokerRefusal) as caught:
        require_success(15, "FindCoordinator of g at 127.0.0.1:9092")

    # Then
    assert caught.value.error_code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert str(caught.value) == "FindCoordinator of g at 127.0.0.1:9092: COORDINATOR_NOT_AVAILABLE (15)"


def test_a_code_without_a_name_is_told_as_it_came() -> None:
    # When / Then
    with pytest.raises(BrokerRefusal, match=r"ListGroups: UNKNOWN_SERVER_ERROR \(999\)"):
        require_success(999, "ListGroups")


def groups(frame_bytes: int, throttle_time_ms: int = 0) -> ListGroupsResponse:
    """As many groups as a frame of about so many bytes has."""
    listed = [ListedGroup(group_id=f"group-{number:054}") for number in range(frame_bytes // 64)]
    return ListGroupsResponse(throttle_time_ms=throttle_time_ms, groups=listed)


async def found_in(client: BrokerClient, version: int) -> tuple[int, int]:
    """Return how many groups the broker has, and which thread counted them."""

    def find(response: Message) -> tuple[int, int]:
        assert isinstance(response, ListGroupsResponse)
        return len(response.groups), get_ident()

    return await answer_of_any_length(client, LISTED, ListGroupsRequest(), version, find)


@pytest.mark.parametrize("version", range(6))
async def test_a_long_answer_is_read_beside_the_event_loop_and_a_short_one_is_not(version: int) -> None:
    # Given
    answers = [groups(LONG_ANSWER_BYTES // 2), groups(2 * LONG_ANSWER_BYTES)]
    async with AnsweringBroker({LISTED: lambda _: answers.pop(0)}, version_ranges={LISTED: (0, 5)}) as broker:
        client = await dial(broker.address, LIMITS)

        # When
        (few, few_in), (many, many_in) = [await found_in(client, version) for _ in range(2)]

    # Then
    assert (few, many) == (LONG_ANSWER_BYTES // 128, LONG_ANSWER_BYTES // 32)
    assert few_in == get_ident() != many_in


@pytest.mark.parametrize("frame_bytes", [1_000, 2 * LONG_ANSWER_BYTES])
@pytest.mark.parametrize(("version", "throttled_ms"), [(0, 0), (1, 500), (3, 500), (5, 500)])
async def test_an_answer_mutes_its_connection_for_its_throttle_time_however_long_it_is(
    version: int, throttled_ms: int, frame_bytes: int
) -> None:
    # Given
    throttled: list[int] = []
    answer = groups(frame_bytes, throttle_time_ms=500)
    async with AnsweringBroker({LISTED: lambda _: answer}, version_ranges={LISTED: (0, 5)}) as broker:
        client = await dial(broker.address, LIMITS)
        client.on_throttled = throttled.append

        # When
        await found_in(client, version)

    # Then
    assert sum(throttled) == throttled_ms


async def test_a_long_answer_that_cannot_be_read_ends_its_connection() -> None:
    # Given: one that ends in the middle of a group
    def answer(request: object) -> bytes:
        correlation_id = getattr(request, "correlation_id", 0)
        whole = b"".join(encode_response(LISTED, 5, correlation_id, groups(2 * LONG_ANSWER_BYTES)))[4:-10]
        return len(whole).to_bytes(4) + whole

    async with AnsweringBroker({LISTED: answer}, version_ranges={LISTED: (0, 5)}) as broker:
        client = await dial(broker.address, LIMITS)

        # When
        with pytest.raises(BrokerUnavailable, match="an answer that cannot be read"):
            await found_in(client, 5)

    # Then
    assert not client.is_open
