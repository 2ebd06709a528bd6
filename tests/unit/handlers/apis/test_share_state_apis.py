"""The share coordinator's APIs in the registry."""

from kproxy.handlers.apis.share_state_apis import share_state_apis
from kproxy.handlers.registry import ServedApis
from kproxy.wire.codecs import DecodedRequest
from kproxy.wire.messages.read_share_group_state_request import (
    PartitionData,
    ReadShareGroupStateRequest,
    ReadStateData,
)
from kproxy.wire.messages.read_share_group_state_response import (
    PartitionResult,
    ReadShareGroupStateResponse,
    ReadStateResult,
)
from tests.in_memory.scripted_authorizer import EVERYBODY_MAY
from tests.worlds.share_state_world import CONTEXT, GROUP, TOPIC, ShareStateWorld


async def nobody_cares(_connection_id: int) -> None:
    return


async def a_registry() -> ServedApis:
    world = await ShareStateWorld().begin()
    return ServedApis(
        share_state_apis(world.services, EVERYBODY_MAY),
        (),
        observer=world.observer,
        on_internal_error=lambda _context, _fault: None,
        on_connection_closed=nobody_cares,
    )


REQUEST = DecodedRequest(
    84, 0, 1, "broker-2", ReadShareGroupStateRequest(GROUP, [ReadStateData(TOPIC, [PartitionData(0, 1)])])
)


async def test_the_versions_are_those_of_kafka() -> None:
    # Given
    registry = await a_registry()

    # When
    registry.set_available()

    # Then
    assert registry.version_ranges() == {83: (0, 0), 84: (0, 0), 85: (0, 1), 86: (0, 0), 87: (0, 1)}


async def test_a_request_reaches_its_handler() -> None:
    # Given
    registry = await a_registry()
    registry.set_available()

    # When
    response = await registry.serve(REQUEST, CONTEXT)

    # Then
    assert response == ReadShareGroupStateResponse(
        [ReadStateResult(TOPIC, [PartitionResult(0, state_epoch=3, start_offset=10)])]
    )


async def test_a_request_is_refused_partition_by_partition_while_nothing_is_served() -> None:
    # Given
    registry = await a_registry()
    registry.set_unavailable("the cluster is away")

    # When
    response = await registry.serve(REQUEST, CONTEXT)

    # Then
    assert response == ReadShareGroupStateResponse(
        [ReadStateResult(TOPIC, [PartitionResult(0, 15, "the cluster is away")])]
    )
