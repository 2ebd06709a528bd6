"""The way of a list of groups, or of resources: the broker's half first, then kproxy's in its turn, in portions."""

import asyncio

import pytest

from kproxy.handlers.request_context import UNLIMITED_ANSWERS, RequestContext
from kproxy.interception.calls import Call
from kproxy.interception.response_slots import ResponseSlot, SlotKind
from kproxy.interception.routing import Disposition
from kproxy.net.broker_failures import BrokerFailure
from kproxy.net.relay.limits.listing_turns import ListingTurns
from kproxy.net.relay.listings import PORTION, answer_listing
from kproxy.net.relay.memory.answer_budget import AnswerBudget
from kproxy.net.relay.memory.buffer_budget import BufferBudget
from kproxy.security.principal import UNKNOWN
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages.api_versions_request import ApiVersionsRequest
from kproxy.wire.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from kproxy.wire.messages.list_config_resources_request import ListConfigResourcesRequest
from kproxy.wire.messages.list_config_resources_response import ConfigResource, ListConfigResourcesResponse
from kproxy.wire.messages.list_groups_request import ListGroupsRequest
from kproxy.wire.messages.list_groups_response import ListedGroup, ListGroupsResponse
from kproxy.wire.messages.metadata_request import MetadataRequest
from tests.unit.net.relay.test_answering import Connection
from tests.worlds.waiting import turns_during

GROUP, TOPIC = 32, 2
LOADING, UNSUPPORTED_VERSION = 14, 35
MIB = 1024 * 1024

PLAIN = ListedGroup("plain", "consumer", "Empty", "classic")
OURS = ListedGroup("g", "share", "Empty", "share")
RESOURCE = ConfigResource("g", GROUP)


class ListingApis:
    """Lists what it is given; once it is told to wait, not before `may_go_on`."""

    def __init__(self, answer: Message) -> None:
        self.answer = answer
        self.asked_count = 0
        self.may_go_on = asyncio.Event()
        self.may_go_on.set()

    async def serve(self, _request: DecodedRequest, _context: RequestContext) -> Message:
        self.asked_count += 1
        await self.may_go_on.wait()
        return self.answer

    def forsake(self, connection_id: int) -> None:
        raise AssertionError(connection_id)

    async def connection_closed(self, connection_id: int) -> None:
        raise AssertionError(connection_id)

    def more_arrived(self, connection_id: int) -> None:
        raise AssertionError(connection_id)


class Client:
    """One connection, its broker, and kproxy's half of what it asks."""

    def __init__(self, ours: Message, *, connection_id: int = 1, turns: ListingTurns | None = None) -> None:
        self.apis = ListingApis(ours)
        self.budget = BufferBudget(8 * MIB)
        self.turns = ListingTurns(self.budget) if turns is None else turns
        self.connection = Connection(connection_id=connection_id)
        self.session = self.connection.session

    def send(self, api_key: int, version: int, message: Message, number: int = 7) -> bytes:
        frame = b"".join(codecs.encode_request(api_key, version, number, "c", message))
        self.session.receive_from_client(frame)
        return frame

    async def serve_next(self) -> None:
        """Let kproxy work on the request whose turn it is."""
        call = self.session.take_call()
        assert isinstance(call, Call)
        with AnswerBudget(self.budget, call.memory_bytes) as budget:
            await answer_listing(self.connection, call, self.apis, budget, self.turns)

    def tell(self, api_key: int, version: int, answer: Message, number: int = 7) -> None:
        """Let the broker answer."""
        self.session.receive_from_broker(b"".join(codecs.encode_response(api_key, version, number, answer)))
        while self.session.responses.awaits_turn:
            self.session.go_on()

    def asked(self) -> bytes:
        return b"".join(self.session.take_for_broker())

    def heard(self) -> bytes:
        return b"".join(self.session.take_for_client())


def frame_of(api_key: int, version: int, answer: Message, number: int = 7) -> bytes:
    return b"".join(codecs.encode_response(api_key, version, number, answer))


@pytest.mark.parametrize("version", range(6))
async def test_groups_are_listed_by_the_broker_and_kproxy_together(version: int) -> None:
    # Given
    client = Client(ListGroupsResponse(groups=[OURS]))
    states = ["Empty"] if version >= 4 else []
    listing = client.send(16, version, ListGroupsRequest(states, []))
    await client.serve_next()
    asked = client.asked()
    theirs = ListGroupsResponse(
        throttle_time_ms=5 if version >= 1 else 0, groups=[ListedGroup("g", "consumer"), PLAIN]
    )

    # When
    client.tell(16, version, theirs)
    await client.serve_next()

    # Then
    whole = ListGroupsResponse(throttle_time_ms=theirs.throttle_time_ms, groups=[PLAIN, OURS])
    assert asked == listing
    assert client.heard() == frame_of(16, version, whole)
    assert client.budget.held_bytes == 0
    assert not client.session.is_busy


async def test_nothing_of_kproxys_half_is_made_before_the_broker_has_told_its_own() -> None:
    # Given
    client = Client(ListGroupsResponse(groups=[OURS]))
    client.send(16, 5, ListGroupsRequest())

    # When
    await client.serve_next()

    # Then
    assert client.apis.asked_count == 0
    assert client.heard() == b""


async def test_what_a_client_sends_behind_a_list_waits_until_it_is_told() -> None:
    # Given
    client = Client(ListGroupsResponse(groups=[OURS]))
    listing = client.send(16, 5, ListGroupsRequest())
    behind = client.send(3, 12, MetadataRequest(topics=[]), number=8)
    await client.serve_next()
    asked_first = client.asked()

    # When
    client.tell(16, 5, ListGroupsResponse())
    asked_then = client.asked()
    await client.serve_next()

    # Then
    assert (asked_first, asked_then, client.asked()) == (listing, b"", behind)


async def test_an_error_of_kproxys_half_is_that_of_the_list() -> None:
    client = Client(ListGroupsResponse(error_code=LOADING))
    client.send(16, 5, ListGroupsRequest())
    await client.serve_next()

    client.tell(16, 5, ListGroupsResponse(groups=[PLAIN]))
    await client.serve_next()

    assert client.heard() == frame_of(16, 5, ListGroupsResponse(error_code=LOADING))


async def test_an_error_of_the_brokers_half_is_that_of_the_list() -> None:
    client = Client(ListGroupsResponse(groups=[OURS]))
    client.send(16, 5, ListGroupsRequest())
    await client.serve_next()

    client.tell(16, 5, ListGroupsResponse(error_code=LOADING))
    await client.serve_next()

    assert client.heard() == frame_of(16, 5, ListGroupsResponse(error_code=LOADING))


async def test_a_broker_whose_half_cannot_be_read_has_failed() -> None:
    client = Client(ListGroupsResponse(groups=[OURS]))
    client.send(16, 5, ListGroupsRequest())
    await client.serve_next()
    client.session.receive_from_broker(b"\x00\x00\x00\x06" + b"\x00\x00\x00\x07" + b"\x00\xff")

    with pytest.raises(BrokerFailure, match="ListGroupsResponse") as failed:
        await client.serve_next()

    assert failed.value.reason == "malformed_response"
    assert client.budget.held_bytes == 0


@pytest.mark.parametrize(
    ("principal", "types"), [(UNKNOWN, []), (None, ["classic"])], ids=["nobody known", "no share groups"]
)
async def test_a_list_that_is_the_brokers_alone_is_its_answer(principal: object, types: list[str]) -> None:
    # Given
    client = Client(ListGroupsResponse(groups=[OURS]))
    if principal is UNKNOWN:
        client.session.principal = UNKNOWN
    client.send(16, 5, ListGroupsRequest([], types))

    # When
    await client.serve_next()
    client.tell(16, 5, ListGroupsResponse(groups=[PLAIN]))

    # Then
    assert client.apis.asked_count == 0
    assert client.heard() == frame_of(16, 5, ListGroupsResponse(groups=[PLAIN]))


@pytest.mark.parametrize(
    ("types", "answer"),
    [
        ([GROUP], ListConfigResourcesResponse(config_resources=[RESOURCE])),
        ([TOPIC], ListConfigResourcesResponse(error_code=UNSUPPORTED_VERSION)),
    ],
    ids=["groups", "topics"],
)
async def test_a_broker_that_lists_no_resources_is_not_asked_for_them(
    types: list[int], answer: Message
) -> None:
    # Given
    client = Client(ListConfigResourcesResponse(config_resources=[RESOURCE]))
    client.send(18, 3, ApiVersionsRequest(), number=1)
    client.tell(18, 3, ApiVersionsResponse(api_keys=[ApiVersion(18, 0, 3)]), number=1)
    client.asked()
    client.heard()
    client.send(74, 1, ListConfigResourcesRequest(types))

    # When
    await client.serve_next()

    # Then
    assert client.asked() == b""
    assert client.heard() == frame_of(74, 1, answer)


async def test_resources_of_the_broker_stand_behind_kproxys() -> None:
    # Given
    client = Client(ListConfigResourcesResponse(config_resources=[RESOURCE]))
    client.send(74, 1, ListConfigResourcesRequest([]))
    await client.serve_next()

    # When
    topic = ConfigResource("g", TOPIC)
    client.tell(74, 1, ListConfigResourcesResponse(config_resources=[topic, ConfigResource("g", GROUP)]))
    await client.serve_next()

    # Then
    whole = ListConfigResourcesResponse(config_resources=[RESOURCE, topic])
    assert client.heard() == frame_of(74, 1, whole)


async def test_what_another_process_asks_for_is_told_without_a_broker() -> None:
    # Given
    client = Client(ListGroupsResponse(groups=[OURS]))
    slot = ResponseSlot(SlotKind.LOCAL, ApiKey.LIST_GROUPS, 5, 7)
    client.session.slots.append(slot)
    call = Call(slot, DecodedRequest(16, 5, 7, "c", ListGroupsRequest()), Disposition.SERVE)

    # When
    await answer_listing(client.connection, call, client.apis, UNLIMITED_ANSWERS, client.turns)

    # Then
    assert client.asked() == b""
    assert client.heard() == frame_of(16, 5, ListGroupsResponse(groups=[OURS]))


@pytest.mark.parametrize("version", [4, 5])
async def test_others_have_turns_while_a_long_list_is_merged_and_encoded(version: int) -> None:
    # Given
    ours = [ListedGroup(f"g{number}", "share", "Empty", "share") for number in range(6 * PORTION + 1)]
    theirs = [ListedGroup(f"g{number}", "consumer", "Empty") for number in range(0, 4 * PORTION, 2)]
    client = Client(ListGroupsResponse(groups=ours))
    client.send(16, version, ListGroupsRequest())
    await client.serve_next()
    client.tell(16, version, ListGroupsResponse(groups=[*theirs, PLAIN]))

    # When
    turn_count = await turns_during(client.serve_next())

    # Then
    assert turn_count >= 7 + 7  # the names of each portion, and the bytes of each
    assert client.heard() == frame_of(16, version, ListGroupsResponse(groups=[PLAIN, *ours]))


async def test_few_lists_are_made_at_a_time_and_a_client_that_leaves_waits_for_none() -> None:
    # Given
    turns = ListingTurns(BufferBudget(8 * MIB), most_at_once=2)
    clients = [
        Client(ListGroupsResponse(groups=[OURS]), connection_id=number, turns=turns) for number in range(4)
    ]
    async with asyncio.TaskGroup() as tasks:
        for client in clients:
            client.apis.may_go_on.clear()
            client.send(16, 5, ListGroupsRequest())
            await client.serve_next()
            client.tell(16, 5, ListGroupsResponse())
            tasks.create_task(client.serve_next())
        for _ in range(5):
            await asyncio.sleep(0)
        asked_at_once = [client.apis.asked_count for client in clients]

        # When
        clients[2].connection.is_gone = clients[2].connection.is_over = True
        turns.forsake(2)
        for client in clients:
            client.apis.may_go_on.set()

    # Then
    assert asked_at_once == [1, 1, 0, 0]
    assert [client.apis.asked_count for client in clients] == [1, 1, 0, 1]
    assert [bool(client.heard()) for client in clients] == [True, True, False, True]
