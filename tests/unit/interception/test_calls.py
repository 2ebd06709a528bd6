"""Requests about groups that another process serves: told from their first bytes, and kept in order."""

import tracemalloc
from typing import Final

import pytest

from kproxy.errors import PeerViolation
from kproxy.interception.broker_addresses import BrokerAddresses
from kproxy.interception.calls import Call, PeerCall, UndecodedCall, decoded_bytes, peer_call
from kproxy.interception.client_session import ClientSession
from kproxy.interception.response_slots import ResponseSlot, SlotKind
from kproxy.interception.rewrites.responses import ResponseRewriter
from kproxy.interception.routing import Disposition, RoutingTable
from kproxy.wire import codecs
from kproxy.wire.codecs import Message
from kproxy.wire.frames import RequestHead
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kproxy.wire.messages.describe_share_group_offsets_request import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.join_group_request import JoinGroupRequest
from kproxy.wire.messages.share_acknowledge_request import ShareAcknowledgeRequest
from kproxy.wire.messages.share_fetch_request import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ForgottenTopic,
    ShareFetchRequest,
)
from kproxy.wire.messages.share_group_describe_request import ShareGroupDescribeRequest
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest

SERVED = {76: (1, 1), 77: (1, 1), 78: (1, 2), 79: (1, 2)}
MESSAGES = {
    76: ShareGroupHeartbeatRequest(group_id="far"),
    77: ShareGroupDescribeRequest(group_ids=["far"]),
    78: ShareFetchRequest(group_id="far"),
    79: ShareAcknowledgeRequest(group_id="far"),
}


def routes(*, elsewhere: str | None = "far") -> RoutingTable:
    table = RoutingTable(SERVED)
    if elsewhere is not None:
        table.is_elsewhere = lambda group_id: group_id == elsewhere
    return table


def frame_of(api_key: int) -> memoryview:
    return memoryview(b"".join(codecs.encode_request(api_key, 1, 7, "client", MESSAGES[api_key])))


def session(table: RoutingTable) -> ClientSession:
    rewriter = ResponseRewriter(BrokerAddresses({}), lambda: table.served)
    return ClientSession(table, rewriter, max_request_bytes=1 << 20, request_counts={})


@pytest.mark.parametrize(("api_key", "is_relayed"), [(76, True), (77, False), (78, True), (79, True)])
def test_what_members_send_is_relayed_as_it_came(api_key: int, is_relayed: bool) -> None:  # noqa: FBT001 - parametrized
    conversation = session(routes())

    conversation.receive_from_client(bytes(frame_of(api_key)))
    call = conversation.take_call()

    assert isinstance(call, PeerCall) is is_relayed
    if isinstance(call, PeerCall):
        assert (call.group_id, bytes(call.frame)) == ("far", bytes(frame_of(api_key)[4:]))
        assert call.decoded().message == MESSAGES[api_key]


@pytest.mark.parametrize("elsewhere", [None, "another"])
def test_a_group_of_this_process_is_served_here(elsewhere: str | None) -> None:
    conversation = session(routes(elsewhere=elsewhere))

    conversation.receive_from_client(bytes(frame_of(78)))

    assert isinstance(conversation.take_call(), Call)


def test_while_share_groups_are_off_nothing_is_relayed() -> None:
    table = routes()
    table.serve({})

    assert peer_call(RequestHead(78, 1, 7), frame_of(78)[4:], table) is None


def test_a_request_without_a_group_is_served_here() -> None:
    frame = memoryview(b"".join(codecs.encode_request(78, 1, 7, "client", ShareFetchRequest())))
    table = routes()
    table.is_elsewhere = lambda _: True

    assert peer_call(RequestHead(78, 1, 7), frame[4:], table) is None


def test_a_request_to_be_relayed_does_not_keep_the_large_read_that_it_came_in() -> None:
    frame = bytes(frame_of(78)[4:])
    read = memoryview(bytes(100_000) + frame)

    call = peer_call(RequestHead(78, 1, 7), read[100_000:], routes())

    assert call is not None
    assert call.frame == frame
    assert call.frame.obj == frame


def test_a_request_that_turns_out_to_be_malformed_is_one_of_its_client() -> None:
    conversation = session(routes())
    whole = bytes(frame_of(78))
    conversation.receive_from_client((len(whole) - 5).to_bytes(4, "big") + whole[4:-1])
    call = conversation.take_call()

    assert isinstance(call, PeerCall)
    with pytest.raises(PeerViolation, match="API key 78 version 1"):
        call.decoded()


def test_the_parts_of_an_answer_leave_as_they_come_and_then_what_stands_behind_them() -> None:
    conversation = session(routes())
    conversation.receive_from_client(bytes(frame_of(78)) + bytes(frame_of(77)))
    call = conversation.take_call()
    assert call is not None

    conversation.answer_part(b"first ")
    first = conversation.take_for_client()
    conversation.answer_part(b"second")
    behind_too_early = conversation.take_call()
    conversation.answer(call.slot, [])

    assert (first, conversation.take_for_client()) == ([b"first "], [b"second"])
    assert behind_too_early is None
    assert isinstance(conversation.take_call(), Call)


def test_a_keepalive_in_front_of_an_answer_that_streams_emits_nothing() -> None:
    conversation = session(routes())
    conversation.receive_from_client(bytes(frame_of(78)))
    call = conversation.take_call()
    assert call is not None
    assert conversation.inject_keepalive()

    conversation.answer_part(b"answer")
    conversation.answer(call.slot, [])

    assert conversation.take_for_client() == [b"answer"]
    assert conversation.owed_responses == 2
    conversation.receive_from_broker(
        b"\x00\x00\x00\x06" + conversation.slots[0].correlation_id.to_bytes(4, "big") + b"\x00\x00"
    )
    assert conversation.owed_responses == 0


FORWARDED: Final = b"\x00\x00\x00\x0c\x00\x0c\x00\x04\x00\x00\x00\x01beat"
LONG: Final = 3_000
"""Bytes of a request that takes more than 64 KiB once it is decoded."""


def sent(api_key: int, version: int, message: Message) -> bytes:
    return b"".join(codecs.encode_request(api_key, version, 7, "client", message))


def waiting_behind_a_broker(request: bytes, table: RoutingTable) -> ClientSession:
    conversation = session(table)
    conversation.receive_from_client(FORWARDED + request)
    conversation.take_for_broker()
    return conversation


SERVED_LONG: Final = {
    "by its API": sent(78, 1, ShareFetchRequest(group_id="near", member_id="m" * LONG)),
    "by its group": sent(11, 9, JoinGroupRequest(group_id="near", member_id="m" * LONG)),
    "by what is asked": sent(
        32, 4, DescribeConfigsRequest(resources=[DescribeConfigsResource(32, "n" * LONG)])
    ),
    "as a search": sent(10, 6, FindCoordinatorRequest(key_type=2, coordinator_keys=["k" * LONG])),
}


def table_of_everything(name: str) -> RoutingTable:
    served = {**SERVED, 84: (0, 0)} if name == "as a search" else SERVED
    return RoutingTable(served, share_group_ids={"near"})


@pytest.mark.parametrize("name", SERVED_LONG)
def test_what_is_decoded_when_its_turn_has_come_is_what_it_would_have_been_before(name: str) -> None:
    # Given
    at_once = session(table_of_everything(name))
    at_once.receive_from_client(SERVED_LONG[name])
    expected = at_once.take_call()

    # When
    waits = waiting_behind_a_broker(SERVED_LONG[name], table_of_everything(name))
    early = waits.take_call()
    waits.receive_from_broker(b"\x00\x00\x00\x06\x00\x00\x00\x01ok")
    call = waits.take_call()

    # Then
    assert early is None
    assert isinstance(expected, Call)
    assert isinstance(call, UndecodedCall)
    assert (call.waiting_bytes, call.memory_bytes) == (len(SERVED_LONG[name]) - 4, expected.memory_bytes)
    decoded = call.decoded()
    assert decoded.slot is waits.slots[0]
    assert (decoded.request, decoded.disposition, decoded.answer, decoded.frame_bytes) == (
        expected.request,
        expected.disposition,
        expected.answer,
        expected.frame_bytes,
    )


def test_what_is_served_no_more_when_its_turn_comes_is_still_the_call_that_it_was_when_it_came() -> None:
    """As one that was decoded: who answers it refuses it."""
    # Given
    decoded = []
    for name in ("by what is asked", "as a search"):
        table = table_of_everything(name)
        call = waiting_behind_a_broker(SERVED_LONG[name], table).call
        assert isinstance(call, UndecodedCall)

        # When
        table.serve({})

        # Then
        decoded.append(call.decoded())
    assert [each.disposition for each in decoded] == [Disposition.EXAMINE, Disposition.SERVE]
    assert [each.answer is None for each in decoded] == [True, False]


def test_a_request_that_takes_little_decoded_is_decoded_as_it_comes() -> None:
    conversation = waiting_behind_a_broker(sent(78, 1, ShareFetchRequest(group_id="near")), routes())

    assert isinstance(conversation.call, Call)


def test_a_long_request_behind_an_answer_that_its_client_has_yet_to_take_waits_undecoded() -> None:
    conversation = session(routes())
    conversation.receive_from_client(sent(77, 1, MESSAGES[77]) + SERVED_LONG["by its API"])
    call = conversation.take_call()
    assert call is not None

    conversation.answer(call.slot, [b"answer"])

    assert isinstance(conversation.call, UndecodedCall)


def test_a_long_request_that_is_malformed_ends_its_client_when_its_turn_comes() -> None:
    whole = SERVED_LONG["by its API"]
    conversation = waiting_behind_a_broker((len(whole) - 5).to_bytes(4, "big") + whole[4:-1], routes())

    assert isinstance(conversation.call, UndecodedCall)
    with pytest.raises(PeerViolation, match="API key 78 version 1"):
        conversation.call.decoded()


@pytest.mark.parametrize(
    ("frame_bytes", "memory_bytes"),
    [(0, 0), (1_000, 39_000), (8 * 1024 * 1024, 50 * 1024 * 1024)],
)
def test_a_decoded_request_counts_many_times_its_bytes_up_to_what_its_elements_and_their_content_take(
    frame_bytes: int, memory_bytes: int
) -> None:
    slot = ResponseSlot(SlotKind.LOCAL, 78, 1, 7)
    request = codecs.decode_request(frame_of(78)[4:])

    assert Call(slot, request, Disposition.SERVE, frame_bytes=frame_bytes).memory_bytes == memory_bytes


TIMES_LESS: Final = 20
"""Of the elements that a request may have so many times less are decoded here: to trace each allocation takes long."""


def taken_when_decoded(frame: bytes) -> int:
    """Return how many bytes of memory the request takes, once somebody has decoded such a one before."""
    codecs.decode_request(frame)
    tracemalloc.start()
    try:
        request = codecs.decode_request(frame)
        taken_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert request.message is not None
    return taken_bytes


def describing(topic: DescribeShareGroupOffsetsRequestTopic, count: int) -> bytes:
    group = DescribeShareGroupOffsetsRequestGroup("g", [topic] * count)
    request = DescribeShareGroupOffsetsRequest(groups=[group])
    return b"".join(codecs.encode_request(90, 0, 1, "client", request))[4:]


def fetching(topics: list[FetchTopic], forgotten: list[ForgottenTopic]) -> bytes:
    request = ShareFetchRequest("g", "m", topics=topics, forgotten_topics_data=forgotten)
    return b"".join(codecs.encode_request(78, 1, 1, "client", request))[4:]


@pytest.mark.parametrize(
    ("array_count", "number_count"),
    [(49_900, 0), (49_900, 1), (49_900, 2), (49_900, 19), (24_900, 39), (960, 1_000)],
)
def test_arrays_of_numbers_take_no_more_than_is_accounted_for(array_count: int, number_count: int) -> None:
    """Of up to nineteen numbers in an array none counts for an element."""
    # Given
    numbers, count = list(range(1_000, 1_000 + number_count)), array_count // TIMES_LESS
    batch = AcknowledgementBatch(1 << 40, (1 << 40) + 9, [1] * number_count)
    partition = FetchPartition(partition_index=0, acknowledgement_batches=[batch] * count)
    frames = {
        "described": describing(DescribeShareGroupOffsetsRequestTopic("t", numbers), count),
        "acknowledged": fetching([FetchTopic(bytes(16), [partition])], []),
        "forgotten": fetching([], [ForgottenTopic(bytes(16), numbers)] * count),
    }

    # When
    taken = {name: TIMES_LESS * taken_when_decoded(frame) for name, frame in frames.items()}

    # Then
    counted = {name: decoded_bytes(TIMES_LESS * len(frame)) for name, frame in frames.items()}
    assert {name: most for name, most in taken.items() if most > counted[name]} == {}


@pytest.mark.parametrize("tag_count", [1, 2, 4, 16])
def test_tagged_fields_take_no_more_than_is_accounted_for(tag_count: int) -> None:
    topic = DescribeShareGroupOffsetsRequestTopic("t", [])
    topic.unknown_tagged_fields = tuple((number, b"") for number in range(tag_count))
    frame = describing(topic, 49_900 // (1 + 2 * tag_count) // TIMES_LESS)

    assert TIMES_LESS * taken_when_decoded(frame) <= decoded_bytes(TIMES_LESS * len(frame))


def test_long_strings_take_no_more_than_is_accounted_for() -> None:
    """Python keeps a string at the width of its widest character."""
    frame = describing(DescribeShareGroupOffsetsRequestTopic("\N{GRINNING FACE}" + "x" * 32_000, []), 250)

    assert taken_when_decoded(frame) <= decoded_bytes(len(frame))


def test_what_a_request_of_tiny_partitions_takes_is_not_underestimated() -> None:
    partitions = [
        FetchPartition(partition_index=number, acknowledgement_batches=[]) for number in range(8_000)
    ]
    message = ShareFetchRequest(group_id="far", member_id="m", topics=[FetchTopic(bytes(16), partitions)])
    frame = b"".join(codecs.encode_request(78, 1, 7, "client", message))[4:]
    request = codecs.decode_request(frame)

    call = Call(ResponseSlot(SlotKind.LOCAL, 78, 1, 7), request, Disposition.SERVE, frame_bytes=len(frame))

    assert taken_when_decoded(frame) <= call.memory_bytes
