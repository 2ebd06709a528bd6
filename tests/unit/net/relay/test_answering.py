"""The way of a request that kproxy answers, alone or together with the broker."""

import asyncio
from dataclasses import dataclass, field
from typing import ClassVar

import pytest

from kproxy.handlers.groups.group_configs import MOST_GROUPS_PER_REQUEST
from kproxy.handlers.refusal_streaks import RefusalStreaks
from kproxy.handlers.request_context import UNLIMITED_ANSWERS, RequestContext
from kproxy.interception.broker_addresses import BrokerAddresses
from kproxy.interception.calls import Call
from kproxy.interception.client_session import ClientSession
from kproxy.interception.response_slots import ResponseSlot, SlotKind
from kproxy.interception.rewrites.responses import ResponseRewriter
from kproxy.interception.routing import Disposition, RoutingTable
from kproxy.net.relay.answering import TimedApis, answer_call, context_of
from kproxy.telemetry.metrics import Metrics
from kproxy.wire import codecs
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages.delete_groups_request import DeleteGroupsRequest
from kproxy.wire.messages.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kproxy.wire.messages.describe_configs_response import DescribeConfigsResponse, DescribeConfigsResult
from kproxy.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kproxy.wire.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from kproxy.wire.messages.share_fetch_request import ShareFetchRequest
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse
from kproxy.wire.messages.share_group_describe_request import ShareGroupDescribeRequest
from kproxy.wire.messages.share_group_describe_response import ShareGroupDescribeResponse
from tests.unit.net.relaying import SERVED

GROUP, TOPIC = 32, 2
INVALID_REQUEST, UNSUPPORTED_VERSION = 42, 35


def a_session() -> ClientSession:
    routes = RoutingTable(SERVED)
    rewriter = ResponseRewriter(BrokerAddresses(), lambda: routes.served)
    return ClientSession(routes, rewriter, max_request_bytes=1 << 20, request_counts={})


@dataclass
class Connection:
    """A client that waits for its answer."""

    connection_id: int = 1
    node_id: int = 1
    peer: str = "127.0.0.1:5000"
    session: ClientSession = field(default_factory=a_session)
    refusals: RefusalStreaks = field(default_factory=RefusalStreaks)
    is_gone: bool = False
    is_over: bool = False
    is_relayed: ClassVar = False
    rights: ClassVar = None


class RefusingApis:
    """Refuse every resource, and count the turns that others have from then on."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.turns = 0

    async def serve(self, request: DecodedRequest, _context: RequestContext) -> Message:
        message = request.message
        assert isinstance(message, DescribeConfigsRequest | IncrementalAlterConfigsRequest)
        self.asked.append(len(message.resources))
        asyncio.get_running_loop().call_soon(self._count_turn)
        if isinstance(message, DescribeConfigsRequest):
            return DescribeConfigsResponse(
                results=[
                    DescribeConfigsResult(INVALID_REQUEST, None, each.resource_type, each.resource_name)
                    for each in message.resources
                ]
            )
        return IncrementalAlterConfigsResponse(
            responses=[
                AlterConfigsResourceResponse(INVALID_REQUEST, None, each.resource_type, each.resource_name)
                for each in message.resources
            ]
        )

    def _count_turn(self) -> None:
        self.turns += 1

    def forsake(self, connection_id: int) -> None:
        raise AssertionError(connection_id)

    async def connection_closed(self, connection_id: int) -> None:
        raise AssertionError(connection_id)

    def more_arrived(self, connection_id: int) -> None:
        raise AssertionError(connection_id)


def describing(group_count: int) -> Message:
    groups = [DescribeConfigsResource(GROUP, f"g{number}", None) for number in range(group_count)]
    return DescribeConfigsRequest([DescribeConfigsResource(TOPIC, "orders", None), *groups])


def altering(group_count: int) -> Message:
    ours = AlterableConfig("share.auto.offset.reset", 0, "earliest")
    groups = [AlterConfigsResource(GROUP, f"g{number}", [ours]) for number in range(group_count)]
    return IncrementalAlterConfigsRequest([AlterConfigsResource(TOPIC, "orders", []), *groups])


@pytest.mark.parametrize(
    ("api_key", "version", "message"),
    [
        (32, 4, describing(MOST_GROUPS_PER_REQUEST + 1)),
        (44, 1, altering(MOST_GROUPS_PER_REQUEST + 1)),
    ],
)
async def test_configurations_of_too_many_groups_are_refused_as_a_whole_and_others_have_a_turn_meanwhile(
    api_key: int, version: int, message: Message
) -> None:
    # Given
    connection, apis = Connection(), RefusingApis()
    connection.session.receive_from_client(b"".join(codecs.encode_request(api_key, version, 7, "c", message)))
    connection.session.go_on()
    call = connection.session.take_call()
    assert isinstance(call, Call)

    # When
    await answer_call(connection, call, apis, UNLIMITED_ANSWERS)

    # Then
    frame = b"".join(connection.session.take_for_client())
    correlation_id, answer = codecs.decode_response(api_key, version, memoryview(frame)[4:])
    assert isinstance(answer, DescribeConfigsResponse | IncrementalAlterConfigsResponse)
    results = answer.results if isinstance(answer, DescribeConfigsResponse) else answer.responses
    assert correlation_id == 7
    assert [each.error_code for each in results] == [INVALID_REQUEST] * (MOST_GROUPS_PER_REQUEST + 2)
    assert apis.asked == [MOST_GROUPS_PER_REQUEST + 2]
    assert apis.turns == 1
    assert connection.session.take_for_broker() == []


async def test_as_many_groups_as_are_served_are_asked_for_here_and_at_the_broker() -> None:
    # Given
    connection, apis = Connection(), RefusingApis()
    request = codecs.encode_request(32, 4, 7, "c", describing(MOST_GROUPS_PER_REQUEST))
    connection.session.receive_from_client(b"".join(request))
    call = connection.session.take_call()
    assert isinstance(call, Call)

    # When
    await answer_call(connection, call, apis, UNLIMITED_ANSWERS)

    # Then
    assert apis.asked == [MOST_GROUPS_PER_REQUEST]
    assert connection.session.take_for_client() == []
    assert b"".join(connection.session.take_for_broker()) == b"".join(request)


class GroupApis(RefusingApis):
    """Has one share group, which can be deleted."""

    async def serve(self, request: DecodedRequest, _context: RequestContext) -> Message:
        assert isinstance(request.message, DeleteGroupsRequest)
        return DeleteGroupsResponse(results=[DeletableGroupResult("g")])


async def answered_with(request: bytes) -> Connection:
    """A connection on which kproxy has done its part of this request."""
    connection = Connection()
    connection.session.receive_from_client(request)
    call = connection.session.take_call()
    assert isinstance(call, Call)
    await answer_call(connection, call, GroupApis(), UNLIMITED_ANSWERS)
    return connection


async def test_share_groups_are_deleted_without_the_broker() -> None:
    # When
    connection = await answered_with(
        b"".join(codecs.encode_request(42, 2, 7, "c", DeleteGroupsRequest(["g"])))
    )

    # Then
    deleted = DeleteGroupsResponse(results=[DeletableGroupResult("g")])
    assert connection.session.take_for_broker() == []
    assert b"".join(connection.session.take_for_client()) == b"".join(
        codecs.encode_response(42, 2, 7, deleted)
    )


SHARE_FETCH = DecodedRequest(78, 1, 5, "client", ShareFetchRequest(group_id="g"))
CONTEXT = RequestContext(
    connection_id=1,
    node_id=1,
    api_key=78,
    api_version=1,
    client_id="client",
    client_host="/127.0.0.1",
    peer="127.0.0.1:5000",
)


@pytest.mark.parametrize(
    ("given", "told"),
    [("127.0.0.1", "127.0.0.1"), ("::1", "0:0:0:0:0:0:0:1"), ("::ffff:10.0.0.7", "10.0.0.7")],
)
def test_the_host_of_a_client_is_told_as_java_writes_it(given: str, told: str) -> None:
    context = context_of(Connection(peer=f"{given}:5000"), SHARE_FETCH, UNLIMITED_ANSWERS)
    assert (context.client_host, context.peer) == (f"/{told}", f"{given}:5000")


class SlowApis:
    """Takes 0.3 s for an answer, on a clock of its own."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.closed: list[int] = []
        self.forsaken: list[int] = []
        self.followed: list[int] = []

    async def serve(self, _request: DecodedRequest, _context: RequestContext) -> Message:
        self.now_s += 0.3
        return ShareFetchResponse(throttle_time_ms=7)

    def forsake(self, connection_id: int) -> None:
        self.forsaken.append(connection_id)

    async def connection_closed(self, connection_id: int) -> None:
        self.closed.append(connection_id)

    def more_arrived(self, connection_id: int) -> None:
        self.followed.append(connection_id)


class CutOffApis(SlowApis):
    """Never comes to an answer."""

    async def serve(self, _request: DecodedRequest, _context: RequestContext) -> Message:
        raise asyncio.CancelledError


def exposed(metrics: Metrics) -> str:
    return metrics.exposition().body.decode()


def test_an_answer_is_observed_under_the_name_of_its_api_with_the_time_it_took() -> None:
    # Given
    metrics, apis = Metrics(), SlowApis()
    timed = TimedApis(apis, metrics, seconds=lambda: apis.now_s)

    # When
    answer = asyncio.run(timed.serve(SHARE_FETCH, CONTEXT))

    # Then
    text = exposed(metrics)
    assert answer == ShareFetchResponse(throttle_time_ms=7)
    assert 'kproxy_request_duration_seconds_count{api="ShareFetch"} 1.0' in text
    assert 'kproxy_request_duration_seconds_bucket{api="ShareFetch",le="0.1"} 0.0' in text
    assert 'kproxy_request_duration_seconds_bucket{api="ShareFetch",le="0.5"} 1.0' in text


def test_a_request_that_is_cut_off_is_not_observed() -> None:
    # Given
    metrics = Metrics()
    timed = TimedApis(CutOffApis(), metrics)

    # When
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(timed.serve(SHARE_FETCH, CONTEXT))

    # Then
    assert "kproxy_request_duration_seconds_count" not in exposed(metrics)


def test_a_connection_that_went_away_is_handed_on() -> None:
    # Given
    apis = SlowApis()

    # When
    asyncio.run(TimedApis(apis, Metrics()).connection_closed(3))

    # Then
    assert apis.closed == [3]


def test_requests_of_a_connection_that_went_away_are_let_go_of() -> None:
    # Given
    apis = SlowApis()

    # When
    TimedApis(apis, Metrics()).forsake(3)

    # Then
    assert apis.forsaken == [3]


def test_bytes_behind_a_request_are_handed_on() -> None:
    # Given
    apis = SlowApis()

    # When
    TimedApis(apis, Metrics()).more_arrived(3)

    # Then
    assert apis.followed == [3]


class DescribingApis(RefusingApis):
    """Answer a ShareGroupDescribe."""

    async def serve(self, _request: DecodedRequest, _context: RequestContext) -> Message:
        asyncio.get_running_loop().call_soon(self._count_turn)
        return ShareGroupDescribeResponse(groups=[])


async def test_others_have_a_turn_between_an_answer_for_administrators_and_its_encoding() -> None:
    """It may be about a hundred thousand groups."""
    # Given
    connection, apis = Connection(), DescribingApis()
    slot = ResponseSlot(SlotKind.LOCAL, 77, 1, 7)
    connection.session.slots.append(slot)
    request = DecodedRequest(77, 1, 7, "c", ShareGroupDescribeRequest(group_ids=["g"]))

    # When
    await answer_call(connection, Call(slot, request, Disposition.SERVE), apis, UNLIMITED_ANSWERS)

    # Then
    assert connection.session.take_for_client()
    assert apis.turns == 1
