"""Every answer of a served API is observed, with the time it took."""

import asyncio

import pytest

from kproxy.handlers.ports import RequestContext
from kproxy.net.relay.timed_apis import TimedApis
from kproxy.telemetry.metrics import Metrics
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages.share_fetch_request import ShareFetchRequest
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse

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
