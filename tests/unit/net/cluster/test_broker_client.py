import asyncio

import pytest

from kproxy.errors import BrokerUnavailable
from kproxy.net.broker_failures import AuthenticationExpected, BrokerFailure
from kproxy.net.cluster.broker_client import ConnectionLimits, dial
from kproxy.net.cluster.throttle import LONGEST_THROTTLE_MS, THROTTLED
from kproxy.settings.addresses import HostPort
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest
from kproxy.wire.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from kproxy.wire.messages.metadata_request import MetadataRequest
from kproxy.wire.messages.metadata_response import MetadataResponse
from tests.event_loops import BOTH_LOOPS
from tests.in_memory.answering_broker import AnsweringBroker, Reply, response_bytes
from tests.worlds.backing import ask, broker_that, cluster_named, never

pytestmark = pytest.mark.parametrize("loop_kind", BOTH_LOOPS)

LIMITS = ConnectionLimits(connect_timeout_ms=2_000, request_timeout_ms=2_000, frame_max_bytes=10_000)
IMPATIENT = ConnectionLimits(connect_timeout_ms=50, request_timeout_ms=600_000)


async def test_the_broker_learns_who_asks_and_kproxy_what_it_serves() -> None:
    async with broker_that(lambda _: cluster_named("c")) as broker:
        # When
        client = await dial(broker.address, LIMITS)

        # Then
        asked = broker.requests[0]
        assert (asked.api_key, asked.api_version, asked.client_id) == (ApiKey.API_VERSIONS, 3, "kproxy")
        assert client.version_ranges == {ApiKey.API_VERSIONS: (0, 3), ApiKey.METADATA: (0, 12)}
        assert client.is_open


async def test_requests_go_out_in_the_highest_version_that_both_sides_know() -> None:
    # Given
    async with broker_that(lambda _: cluster_named("c")) as broker:
        broker.version_ranges[ApiKey.METADATA] = (0, 99)
        newer = await dial(broker.address, LIMITS)
        broker.version_ranges[ApiKey.METADATA] = (0, 9)
        older = await dial(broker.address, LIMITS)

        # When
        answers = [await ask(newer), await ask(older)]

        # Then
        assert answers == ["c", "c"]
        assert [request.api_version for request in broker.asked(ApiKey.METADATA)] == [13, 9]


async def test_an_api_without_a_common_version_is_refused_before_anything_is_sent() -> None:
    # Given
    async with AnsweringBroker(version_ranges={ApiKey.METADATA: (90, 99)}) as broker:
        client = await dial(broker.address, LIMITS)

        # When
        with pytest.raises(
            BrokerUnavailable, match="serves versions \\(90, 99\\) of METADATA, expected one of"
        ):
            await ask(client)

        # Then
        assert broker.asked(ApiKey.METADATA) == []
        assert client.is_open
        with pytest.raises(BrokerUnavailable, match="serves versions none of FETCH"):
            client.version_for(ApiKey.FETCH)


async def test_a_broker_too_old_for_version_3_is_asked_again_in_version_0() -> None:
    # Given
    def answer(request: DecodedRequest) -> Reply:
        if request.api_version > 0:
            return response_bytes(request, ApiVersionsResponse(error_code=35), version=0)
        return ApiVersionsResponse(api_keys=[ApiVersion(api_key=3, min_version=0, max_version=5)])

    async with AnsweringBroker({ApiKey.API_VERSIONS: answer}) as broker:
        # When
        client = await dial(broker.address, LIMITS)

        # Then
        assert [request.api_version for request in broker.requests] == [3, 0]
        assert client.version_ranges == {ApiKey.METADATA: (0, 5)}


async def test_a_broker_that_refuses_api_versions_is_not_used() -> None:
    # Given
    async with AnsweringBroker({ApiKey.API_VERSIONS: lambda _: ApiVersionsResponse(error_code=42)}) as broker:
        # When
        with pytest.raises(BrokerFailure) as failure:
            await dial(broker.address, LIMITS)

        # Then
        assert failure.value.reason == "api_versions_refused"
        await broker.until_connected(0)


async def test_pipelined_requests_get_their_own_answers() -> None:
    # Given
    async with broker_that(lambda request: cluster_named(str(request.correlation_id))) as broker:
        client = await dial(broker.address, LIMITS)

        # When
        answers = await asyncio.gather(*(ask(client) for _ in range(50)))

        # Then
        sent = [str(request.correlation_id) for request in broker.asked(ApiKey.METADATA)]
        assert answers == sent
        assert len(set(sent)) == 50
        assert client.in_flight_count == 0


async def test_what_waits_behind_an_answer_has_as_much_time_as_that() -> None:
    # Given
    async with broker_that(never) as broker, asyncio.TaskGroup() as callers:
        client = await dial(broker.address, LIMITS)
        owed = [client.owed_within_ms]
        poll = client.request(ApiKey.METADATA, MetadataRequest(), broker_wait_ms=600_000)
        waiting = callers.create_task(poll)
        await broker.until_asked(ApiKey.METADATA)

        # When
        owed.append(client.owed_within_ms)

        # Then
        assert owed[0] == 0
        assert 500_000 < owed[1] < 603_000
        waiting.cancel()


async def test_a_caller_that_gives_up_leaves_the_connection_to_the_others() -> None:
    # Given
    may_answer = asyncio.Event()

    async def answer(request: DecodedRequest) -> Reply:
        await may_answer.wait()
        return cluster_named(str(request.correlation_id))

    async with broker_that(answer) as broker:
        client = await dial(broker.address, LIMITS)
        async with asyncio.TaskGroup() as callers:
            impatient = callers.create_task(ask(client))
            patient = callers.create_task(ask(client))
            await broker.until_asked(ApiKey.METADATA)

            # When
            impatient.cancel()
            may_answer.set()

        # Then
        second = await broker.until_asked(ApiKey.METADATA, 2)
        assert patient.result() == str(second.correlation_id)
        assert client.is_open


async def test_an_answer_that_does_not_come_in_time_ends_the_connection() -> None:
    # Given
    async with broker_that(never) as broker:
        client = await dial(broker.address, ConnectionLimits(request_timeout_ms=300))

        # When
        with pytest.raises(BrokerFailure) as failure:
            await ask(client)

        # Then
        assert str(failure.value) == f"{broker.address} did not answer METADATA within 300 ms"
        assert not client.is_open
        with pytest.raises(BrokerFailure, match="did not answer METADATA"):
            await ask(client)


async def test_a_long_poll_may_take_as_long_as_the_broker_was_allowed_to_wait() -> None:
    # Given
    async with broker_that(never) as broker:
        client = await dial(broker.address, ConnectionLimits(request_timeout_ms=300))

        # When
        with pytest.raises(BrokerFailure) as failure:
            await client.request(ApiKey.METADATA, MetadataRequest(), broker_wait_ms=30)

        # Then
        assert str(failure.value) == f"{broker.address} did not answer METADATA within 330 ms"


async def test_a_broker_that_throttles_is_sent_nothing_until_the_time_is_over() -> None:
    """KIP-219: it answers at once, and reads nothing more from the connection meanwhile."""
    # Given
    answers = iter([MetadataResponse(throttle_time_ms=60), cluster_named("c")])
    async with broker_that(lambda _: next(answers)) as broker:
        client = await dial(broker.address, LIMITS)
        throttles: list[int] = []
        client.on_throttled = throttles.append
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        await ask(client)

        # When
        answer = await ask(client)

        # Then
        assert answer == "c"
        assert loop.time() - began_s >= 0.05
        assert throttles == [60]
        assert client.throttled_ms == 0


async def test_a_request_that_would_wait_too_long_for_the_end_of_a_throttle_time_is_not_sent() -> None:
    # Given
    async with broker_that(lambda _: MetadataResponse(throttle_time_ms=2**31 - 1)) as broker:
        client = await dial(broker.address, ConnectionLimits(request_timeout_ms=300))
        await ask(client)

        # When
        with pytest.raises(BrokerFailure, match="the quotas of client id 'kproxy' are exceeded") as failure:
            await ask(client)

        # Then
        assert failure.value.reason == THROTTLED
        assert len(broker.asked(ApiKey.METADATA)) == 1
        assert client.is_open
        assert 0 < client.throttled_ms <= LONGEST_THROTTLE_MS


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (b"\x00\x00\x00\x10" + bytes(16), "malformed_response"),
        (b"\x00\x00\x00\x06\x7f\xff\xff\xff\x00\x00", "malformed_response"),
        (b"\x00\x00\xff\xff", "frame_too_large"),
        (b"\xff\xff\xff\xff", "frame_too_short"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "http_on_kafka_port"),
    ],
)
async def test_garbage_ends_the_connection_and_reaches_everybody_who_waits(reply: bytes, reason: str) -> None:
    # Given
    async with broker_that(lambda _: reply) as broker:
        client = await dial(broker.address, LIMITS)
        ended: list[BrokerFailure] = []
        client.on_end = ended.append

        # When
        outcomes = await asyncio.gather(*(ask(client) for _ in range(3)), return_exceptions=True)

        # Then
        assert [outcome.reason for outcome in outcomes if isinstance(outcome, BrokerFailure)] == [reason] * 3
        assert len({id(outcome) for outcome in outcomes}) == 3
        assert [failure.reason for failure in ended] == [reason]
        assert not client.is_open
        await broker.until_connected(0)


async def test_an_answer_with_bytes_left_over_is_refused() -> None:
    # Given
    def too_long(request: DecodedRequest) -> Reply:
        frame = response_bytes(request, cluster_named("c"))[4:] + b"\x00"
        return len(frame).to_bytes(4) + frame

    async with broker_that(too_long) as broker:
        client = await dial(broker.address, LIMITS)

        # When
        with pytest.raises(BrokerFailure) as failure:
            await ask(client)

        # Then
        assert failure.value.reason == "malformed_response"


async def test_an_answer_that_nobody_asked_for_ends_the_connection() -> None:
    # Given
    async with broker_that(lambda _: cluster_named("c")) as broker:
        client = await dial(broker.address, LIMITS)
        ended = asyncio.get_running_loop().create_future()
        client.on_end = ended.set_result

        # When
        broker.send(b"\x00\x00\x00\x04\x00\x00\x00\x01")

        # Then
        assert (await ended).reason == "malformed_response"


@pytest.mark.parametrize(
    ("begun", "reason"), [(b"\x00\x00\x00\x20\x00", "dropped_mid_frame"), (b"", "dropped_owing_answers")]
)
async def test_a_broker_that_goes_away_owing_an_answer_is_named(begun: bytes, reason: str) -> None:
    # Given
    def answer_once(request: DecodedRequest) -> Reply:
        return response_bytes(request, cluster_named("c")) + begun if len(broker.asked(3)) == 1 else None

    async with broker_that(answer_once) as broker:
        client = await dial(broker.address, LIMITS)
        await ask(client)

        # When
        with pytest.raises(BrokerFailure, match=f"{broker.address} closed the connection") as failure:
            await ask(client)

        # Then
        assert failure.value.reason == reason


async def test_a_broker_that_closes_an_idle_connection_does_nothing_wrong() -> None:
    # Given
    async with broker_that(lambda _: cluster_named("c")) as broker:
        client = await dial(broker.address, LIMITS)
        ended = asyncio.get_running_loop().create_future()
        client.on_end = ended.set_result

        # When
        broker.drop_connections()

        # Then
        assert (await ended).reason == "closed_by_broker"


@pytest.mark.parametrize(
    ("closes_at", "detail"),
    [
        (ApiKey.API_VERSIONS, "closed the connection before it answered ApiVersions: it may expect TLS"),
        (ApiKey.METADATA, "closed the connection at the first request: it may expect SASL authentication"),
    ],
)
async def test_a_port_that_closes_on_a_stranger_may_expect_authentication(
    closes_at: ApiKey, detail: str
) -> None:
    # Given
    async with broker_that(lambda _: cluster_named("c")) as broker:
        broker.answers[closes_at] = lambda _: None

        # When
        with pytest.raises(AuthenticationExpected) as refusal:
            await ask(await dial(broker.address, LIMITS))

        # Then
        assert str(refusal.value).startswith(f"{broker.address} {detail}")


async def test_a_tls_alert_is_recognised() -> None:
    # Given
    async with AnsweringBroker({ApiKey.API_VERSIONS: lambda _: b"\x15\x03\x03\x00\x02\x02\x50"}) as broker:
        # When
        with pytest.raises(AuthenticationExpected, match="its port speaks TLS") as refusal:
            await dial(broker.address, LIMITS)

        # Then
        assert refusal.value.reason == "tls_on_plaintext"


async def test_a_port_that_accepts_and_says_nothing_costs_the_timeout_and_is_left() -> None:
    # Given
    async def read_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        was_left.set()

    was_left = asyncio.Event()
    async with await asyncio.start_server(read_on, "127.0.0.1", 0) as server:
        address = HostPort("127.0.0.1", server.sockets[0].getsockname()[1])

        # When
        with pytest.raises(BrokerFailure, match=f"{address} did not answer"):
            await dial(address, IMPATIENT)

        # Then
        await was_left.wait()


async def test_closing_tells_those_who_wait() -> None:
    # Given
    async with broker_that(never) as broker:
        client = await dial(broker.address, LIMITS)

        async def close() -> None:
            await broker.until_asked(ApiKey.METADATA)
            client.close()

        # When
        outcome, _ = await asyncio.gather(ask(client), close(), return_exceptions=True)

        # Then
        assert str(outcome) == f"the connection to {broker.address} was closed by kproxy"
