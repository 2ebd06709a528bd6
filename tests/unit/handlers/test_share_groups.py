"""Share groups as the shell sees them: ranges, gauges, deadlines, configurations."""

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import StateLogUnavailable
from kproxy.handlers.groups.group_config_keys import GROUP_CONFIG_DEFINITIONS, RECORD_LOCK_DURATION_MS
from kproxy.share.identifiers import GroupId
from kproxy.share.share_group_image import ShareGroupState
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages import (
    delete_share_group_state_request,
    initialize_share_group_state_request,
    write_share_group_state_request,
)
from kproxy.wire.messages.delete_share_group_state_request import DeleteShareGroupStateRequest
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kproxy.wire.messages.describe_configs_response import DescribeConfigsResponse
from kproxy.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kproxy.wire.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from kproxy.wire.messages.initialize_share_group_state_request import InitializeShareGroupStateRequest
from kproxy.wire.messages.write_share_group_state_request import WriteShareGroupStateRequest
from tests.in_memory.in_memory_share_state_store import InMemoryShareStateStore
from tests.worlds.group_states import groups_by_state
from tests.worlds.lost_slots import lose_groups
from tests.worlds.share_group_world import ORDERS, ShareGroupWorld, acquired

GROUP = GroupId("g")


def test_the_share_apis_are_advertised_and_those_for_configurations_are_not() -> None:
    # When
    world = ShareGroupWorld()

    # Then
    assert world.groups.apis.version_ranges() == {
        ApiKey.SHARE_GROUP_HEARTBEAT: (1, 1),
        ApiKey.SHARE_GROUP_DESCRIBE: (1, 1),
        ApiKey.SHARE_FETCH: (1, 2),
        ApiKey.SHARE_ACKNOWLEDGE: (1, 2),
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: (0, 1),
        ApiKey.ALTER_SHARE_GROUP_OFFSETS: (0, 0),
        ApiKey.DELETE_SHARE_GROUP_OFFSETS: (0, 0),
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
    assert groups_by_state(world) == {ShareGroupState.STABLE: 1}
    assert (groups.session_count, groups.share_partition_count, groups.in_flight_count) == (1, 1, 7)


async def test_ends_of_locks_that_were_settled_are_forgotten_and_so_are_the_keys_of_requests() -> None:
    # Given
    world = ShareGroupWorld()
    await world.initialize()
    alice = world.member()
    await alice.open()

    # When
    world.produce(200)
    for number in range(200):
        await alice.fetch(max_records=1, mode=1)
        await alice.acknowledge({(ORDERS, 0): [(number, number, [1])]})

    # Then
    key_ids = [id(key) for _, _, key in world.groups.directory._deadlines._heap]
    assert (len(key_ids) <= 65, len(set(key_ids))) == (True, 1)


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
    assert groups_by_state(world) == {ShareGroupState.EMPTY: 1}
    assert acquired(await bob.fetch(max_wait_ms=0)) == []


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
    values = {entry.name: entry.value for entry in described.results[0].configs}
    assert values["share.record.lock.duration.ms"] == "20000"
    assert set(values) == set(GROUP_CONFIG_DEFINITIONS)
    assert world.groups.coordinator.group_ids == ()
    await world.initialize()
    assert (await world.member().open()).acquisition_lock_timeout_ms == 20_000


# ---- the share coordinator on the wire


@pytest.mark.parametrize(
    ("api_key", "request_of_others", "durable"),
    [
        (
            ApiKey.INITIALIZE_SHARE_GROUP_STATE,
            InitializeShareGroupStateRequest(
                "g",
                [
                    initialize_share_group_state_request.InitializeStateData(
                        ORDERS, [initialize_share_group_state_request.PartitionData(0, 1, 3)]
                    )
                ],
            ),
            (3, ()),
        ),
        (
            ApiKey.WRITE_SHARE_GROUP_STATE,
            WriteShareGroupStateRequest(
                "g",
                [
                    write_share_group_state_request.WriteStateData(
                        ORDERS, [write_share_group_state_request.PartitionData(0, 1, 1, 4)]
                    )
                ],
            ),
            (4, ()),
        ),
        (
            ApiKey.DELETE_SHARE_GROUP_STATE,
            DeleteShareGroupStateRequest(
                "g",
                [
                    delete_share_group_state_request.DeleteStateData(
                        ORDERS, [delete_share_group_state_request.PartitionData(0)]
                    )
                ],
            ),
            None,
        ),
    ],
)
async def test_a_state_that_others_change_is_not_undone_by_what_was_live_of_it(
    api_key: ApiKey, request_of_others: Message, durable: tuple[int, tuple[object, ...]] | None
) -> None:
    # Given
    world = ShareGroupWorld()
    world.share_state_store = InMemoryShareStateStore(world.state_log.memory)
    world.groups = world.new_process()
    key = await world.initialize()
    world.produce(5)
    alice = world.member()
    await alice.open(max_records=5)

    # When
    await world.serve(request_of_others, api_key, 0)
    await alice.acknowledge({(ORDERS, 0): [(0, 4, [1])]})

    # Then
    state = world.state_log.state(key)
    assert (None if state is None else (state.start_offset, state.state_batches)) == durable


# ---- slots


async def test_groups_of_a_slot_are_forgotten_and_restored_with_their_configurations() -> None:
    # Given
    world = ShareGroupWorld()
    await world.member().heartbeat(0, ["orders"])
    world.configure("share.record.lock.duration.ms", "20000")
    images = world.group_log.replayed().durable_images().values()

    # When
    lose_groups(world.groups, [GROUP])
    forgotten = world.groups.coordinator.group_ids
    lock_duration_ms = world.groups.configs.number("g", RECORD_LOCK_DURATION_MS)
    configs = {"g": {"share.record.lock.duration.ms": "15000"}}
    world.groups.restore_groups(images, configs)

    # Then
    assert forgotten == ()
    assert lock_duration_ms == 30_000
    assert world.groups.coordinator.group_ids == ("g",)
    assert world.groups.configs.number("g", RECORD_LOCK_DURATION_MS) == 15_000


def test_what_other_groups_have_configured_stays_when_one_is_forgotten() -> None:
    # Given
    world = ShareGroupWorld()
    for group_id in ("here", "elsewhere"):
        world.configure(RECORD_LOCK_DURATION_MS, "20000", group_id=group_id)

    # When
    lose_groups(world.groups, ["here"])

    # Then
    assert world.groups.configs.own_values("here") == {}
    assert world.groups.configs.number("elsewhere", RECORD_LOCK_DURATION_MS) == 20_000


async def test_sessions_that_were_restored_are_looked_at_in_time() -> None:
    # Given
    world = ShareGroupWorld()
    await world.member().heartbeat(0, ["orders"])
    world.clock.advance(40_000)

    # When
    world.restart()

    # Then
    assert (
        world.alarm.deadlines_ms[-1] == 46_000
    )  # whoever is not heard within a heartbeat interval is not counted on
    world.clock.advance(5_000)
    await world.expire()
    assert world.groups.next_deadline_ms() == 86_000


async def test_an_assignment_epoch_that_nobody_was_told_goes_back_with_a_restart_and_is_told_once() -> None:
    """The timer computes for whom it may call. It becomes durable with the answer that tells of it, not before."""
    # Given
    world = ShareGroupWorld()
    await world.member("alice").heartbeat(0, ["orders"])
    told = await world.member("bob").heartbeat(0, ["orders"])
    await world.member("alice").heartbeat(-1)
    world.clock.advance(10_000)
    await world.expire()
    computed = world.groups.coordinator.describe(GROUP)

    # When
    world.restart()
    restored = world.groups.coordinator.describe(GROUP)
    answer = await world.member("bob").heartbeat(told.member_epoch)

    # Then
    assert restored.group_epoch == computed.group_epoch
    assert told.member_epoch <= restored.assignment_epoch < computed.assignment_epoch
    assert answer.member_epoch == computed.assignment_epoch
    image = world.group_log.replayed().durable_images()[GROUP]
    assert image.assignment_epoch == answer.member_epoch


async def test_only_the_share_partitions_of_a_slot_are_discarded() -> None:
    # Given
    world = ShareGroupWorld()
    world.metadata.create_topic("orders", ORDERS, partition_count=2)
    first, second = [await world.initialize(partition=partition) for partition in (0, 1)]
    await world.member().open((ORDERS, 0), (ORDERS, 1), max_records=1)
    live = world.groups.directory.find(first)

    # When
    world.discard([first])

    # Then
    assert world.groups.directory.find(first) is None
    assert world.groups.directory.find(second) is not None
    assert live is not None
    assert live.is_fenced


async def test_what_expired_has_happened_before_anybody_waits_for_it() -> None:
    # Given
    world = ShareGroupWorld()
    await world.member().heartbeat(0, ["orders"])
    world.clock.advance(45_000)

    # When
    waiting = world.groups.expire(world.clock.now_ms())

    # Then
    assert groups_by_state(world) == {ShareGroupState.EMPTY: 1}
    assert len(world.group_log.images[-1].members) == 0
    await waiting


async def test_an_expiry_that_cannot_be_written_forgets_the_group() -> None:
    # Given
    world = ShareGroupWorld()
    await world.member().heartbeat(0, ["orders"])
    world.clock.advance(45_000)
    world.group_log.persist_failure = StateLogUnavailable("no quorum")

    # When
    await world.expire()

    # Then
    assert world.groups.coordinator.group_ids == ()
