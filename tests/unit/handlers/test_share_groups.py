"""Share groups as the shell sees them: ranges, gauges, deadlines, configurations."""

from kproxy.error_codes import ErrorCode
from kproxy.handlers.ports import RequestContext
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kproxy.wire.messages.describe_configs_response import DescribeConfigsResponse
from kproxy.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kproxy.wire.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from tests.unit.handlers.share_group_world import ORDERS, ShareGroupWorld, acquired


def test_the_share_apis_are_advertised_and_those_for_configurations_are_not() -> None:
    # When
    world = ShareGroupWorld()

    # Then
    assert world.groups.apis.version_ranges() == {
        ApiKey.SHARE_GROUP_HEARTBEAT: (1, 1),
        ApiKey.SHARE_FETCH: (1, 2),
        ApiKey.SHARE_ACKNOWLEDGE: (1, 2),
    }


async def test_gauges_are_read_from_what_is_there() -> None:
    # Given
    world = ShareGroupWorld()
    world.produce(7)
    alice = world.member()
    world.configure("share.auto.offset.reset", "earliest")
    await alice.heartbeat(0, ["orders"])

    # When
    await alice.fetch(add=[(ORDERS, 0)])

    # Then
    groups = world.groups
    assert groups.groups_by_state() == {("Empty",): 0, ("Stable",): 1}
    assert (groups.session_count, groups.share_partition_count, groups.in_flight_count) == (1, 1, 7)


async def test_the_next_deadline_is_the_earliest_of_locks_and_memberships() -> None:
    # Given
    world = ShareGroupWorld()
    nothing = world.groups.next_deadline_ms()
    alice = world.member()
    world.configure("share.auto.offset.reset", "earliest")
    await alice.heartbeat(0, ["orders"])
    of_membership = world.groups.next_deadline_ms()
    world.produce(1)

    # When
    await alice.fetch(add=[(ORDERS, 0)])

    # Then
    assert nothing is None
    assert of_membership == 46_000
    assert world.groups.next_deadline_ms() == 31_000


async def test_a_membership_that_expires_releases_no_records() -> None:
    # Given
    world = ShareGroupWorld()
    world.configure("share.record.lock.duration.ms", "60000")
    world.configure("share.auto.offset.reset", "earliest")
    world.produce(5)
    alice, bob = world.member("alice"), world.member("bob")
    await alice.heartbeat(0, ["orders"])
    await alice.fetch(add=[(ORDERS, 0)])
    await bob.open()

    # When
    world.clock.advance(45_000)
    await world.expire()

    # Then
    assert world.groups.groups_by_state()["Empty",] == 1
    assert acquired(await bob.fetch(max_wait_ms=0)) == []


async def test_a_fault_in_an_api_for_configurations_is_an_answer_without_results() -> None:
    # Given
    world = ShareGroupWorld()
    context = RequestContext(1, 1, 44, 1, "client", "/127.0.0.1")
    requests: list[tuple[int, Message]] = [
        (ApiKey.INCREMENTAL_ALTER_CONFIGS, IncrementalAlterConfigsRequest([None])),  # type: ignore[list-item]  # on purpose
        (ApiKey.DESCRIBE_CONFIGS, DescribeConfigsRequest([None])),  # type: ignore[list-item]  # on purpose
    ]

    # When
    answers = [
        await world.groups.apis.serve(DecodedRequest(api_key, 1, 1, "client", request), context)
        for api_key, request in requests
    ]

    # Then
    assert answers == [IncrementalAlterConfigsResponse(), DescribeConfigsResponse()]
    assert [type(fault) for fault in world.faults] == [AttributeError, AttributeError]


async def test_a_configuration_set_over_the_wire_is_what_the_group_gets() -> None:
    # Given
    world = ShareGroupWorld()
    config = AlterableConfig("share.record.lock.duration.ms", 0, "20000")
    alter = IncrementalAlterConfigsRequest(resources=[AlterConfigsResource(32, "g", [config])])
    altered = await world.serve(alter, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1)

    # When
    described = await world.serve(
        DescribeConfigsRequest(resources=[DescribeConfigsResource(32, "g")]), ApiKey.DESCRIBE_CONFIGS, 4
    )

    # Then
    assert isinstance(altered, IncrementalAlterConfigsResponse)
    assert altered.responses[0].error_code == ErrorCode.NONE
    assert isinstance(described, DescribeConfigsResponse)
    assert {entry.name: entry.value for entry in described.results[0].configs} == {
        "share.auto.offset.reset": "latest",
        "share.record.lock.duration.ms": "20000",
    }
    assert world.groups.coordinator.group_ids == ()
    await world.initialize()
    assert (await world.member().open()).acquisition_lock_timeout_ms == 20_000
