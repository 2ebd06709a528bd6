"""ShareGroupHeartbeat: joining, keeping, leaving, and what the answer carries."""

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable
from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.share.heartbeat import MAX_SUBSCRIBED_TOPICS, PartitionInitialization
from kproxy.share.identifiers import GroupId, StateEpoch
from kproxy.share.limits import GroupLimits
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kproxy.wire.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from tests.in_memory.unchecked_group_namespace import UncheckedGroupNamespace
from tests.worlds.group_coordinators import coordinate_groups_at
from tests.worlds.share_group_world import ORDERS, PAYMENTS, ShareGroupWorld, acquired, assigned


async def test_the_first_answer_already_carries_the_assignment() -> None:
    # Given
    world = ShareGroupWorld()
    world.metadata.create_topic("orders", ORDERS, partition_count=3)

    # When
    answer = await world.member().heartbeat(0, ["orders"])

    # Then
    assert answer.error_code == ErrorCode.NONE
    assert (answer.member_id, answer.member_epoch, answer.heartbeat_interval_ms) == ("alice", 1, 5_000)
    assert assigned(answer) == {ORDERS: [0, 1, 2]}


async def test_what_was_assigned_can_be_fetched() -> None:
    # Given
    world = ShareGroupWorld()
    alice = world.member()
    await alice.heartbeat(0, ["orders"])

    # When
    answer = await alice.fetch(add=[(ORDERS, 0)])

    # Then
    assert answer.responses[0].partitions[0].error_code == ErrorCode.NONE


async def test_a_steady_heartbeat_is_not_told_the_assignment_again() -> None:
    # Given
    world = ShareGroupWorld()
    alice = world.member()
    await alice.heartbeat(0, ["orders"])

    # When
    answer = await alice.heartbeat(1)

    # Then
    assert (answer.error_code, answer.member_epoch) == (ErrorCode.NONE, 1)
    assert assigned(answer) is None


async def test_two_members_divide_the_partitions() -> None:
    # Given
    world = ShareGroupWorld()
    world.metadata.create_topic("orders", ORDERS, partition_count=4)
    alice, bob = world.member("alice"), world.member("bob")
    await alice.heartbeat(0, ["orders"])
    world.clock.advance(1_000)
    of_bob = assigned(await bob.heartbeat(0, ["orders"]))

    # When
    of_alice = assigned(await alice.heartbeat(1))

    # Then
    assert of_alice is not None
    assert of_bob is not None
    assert len(of_alice[ORDERS]) == len(of_bob[ORDERS]) == 2
    assert sorted(of_alice[ORDERS] + of_bob[ORDERS]) == [0, 1, 2, 3]


async def test_a_topic_that_is_created_later_is_assigned_later() -> None:
    # Given
    world = ShareGroupWorld()
    alice = world.member()
    joined = await alice.heartbeat(0, ["payments"])
    world.metadata.create_topic("payments", PAYMENTS)
    world.clock.advance(1_000)

    # When
    answer = await alice.heartbeat(joined.member_epoch)

    # Then
    assert assigned(joined) == {}
    assert assigned(answer) == {PAYMENTS: [0]}


async def test_partitions_that_are_added_begin_at_offset_0() -> None:
    # Given
    world = ShareGroupWorld()
    alice = world.member()
    await alice.heartbeat(0, ["orders"])
    world.metadata.create_topic("orders", ORDERS, partition_count=2)
    world.clock.advance(1_000)

    # When
    answer = await alice.heartbeat(1)

    # Then
    assert assigned(answer) == {ORDERS: [0, 1]}
    first, second = [world.state_log.state(world.key(partition=partition)) for partition in (0, 1)]
    assert first is not None
    assert second is not None
    assert (first.start_offset, second.start_offset) == (-1, 0)


async def test_a_heartbeat_costs_what_it_says_and_not_what_its_group_subscribes_to() -> None:
    """A group of 200 members that name 10,000 topics each must not make 60 bytes cost a second."""
    # Given
    world = ShareGroupWorld()
    names = ["orders", *(f"to come {number}" for number in range(MAX_SUBSCRIBED_TOPICS - 1))]
    await world.member("bob").heartbeat(0, names)
    joined = await world.member().heartbeat(0, ["orders"])
    world.metadata.asked_names.clear()

    # When
    steady = await world.member().heartbeat(joined.member_epoch)

    # Then
    assert steady.error_code == ErrorCode.NONE
    assert world.metadata.asked_names == []


async def test_the_members_of_a_group_together_subscribe_to_10_000_topics_at_most() -> None:
    # Given
    world = ShareGroupWorld()
    names = [f"to come {number}" for number in range(MAX_SUBSCRIBED_TOPICS)]
    await world.member("bob").heartbeat(0, names)

    # When
    answer = await world.member().heartbeat(0, ["orders"])

    # Then
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert answer.error_message is not None
    assert "10001 topics together, expected 10000 at most" in answer.error_message
    view = world.groups.coordinator.describe(GroupId("g"))
    assert {*view.members[0].subscribed_topic_names} == set(names)


# ---- refusals


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(ShareGroupHeartbeatRequest("g", "", 0, None, ["orders"]), id="no_member_id"),
        pytest.param(ShareGroupHeartbeatRequest("g", "m" * 37, 0, None, ["orders"]), id="long_member_id"),
        pytest.param(ShareGroupHeartbeatRequest("", "alice", 0, None, ["orders"]), id="no_group_id"),
        pytest.param(ShareGroupHeartbeatRequest("g", "alice", 0, "", ["orders"]), id="empty_rack"),
        pytest.param(ShareGroupHeartbeatRequest("g", "alice", 0, None, None), id="join_without_topics"),
        pytest.param(ShareGroupHeartbeatRequest("g", "alice", 0, None, []), id="join_with_no_topic"),
        pytest.param(ShareGroupHeartbeatRequest("g", "alice", -2, None, ["orders"]), id="epoch_below_-1"),
    ],
)
async def test_a_heartbeat_that_contradicts_itself_is_refused_and_makes_no_group(
    request_: ShareGroupHeartbeatRequest,
) -> None:
    # Given
    world = ShareGroupWorld()

    # When
    answer = await world.serve(request_, ApiKey.SHARE_GROUP_HEARTBEAT, 1)

    # Then
    assert isinstance(answer, ShareGroupHeartbeatResponse)
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert answer.error_message
    assert world.groups.coordinator.group_ids == ()
    assert world.observer.reasons == ["invalid_request"]


@pytest.mark.parametrize("epoch", [1, -1])
async def test_a_group_that_does_not_exist_cannot_be_kept_or_left(epoch: int) -> None:
    # Given
    world = ShareGroupWorld()

    # When
    answer = await world.member().heartbeat(epoch, ["orders"])

    # Then
    assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize("epoch", [1, -1])
async def test_a_member_that_never_joined_is_unknown(epoch: int) -> None:
    # Given
    world = ShareGroupWorld()
    await world.member("alice").heartbeat(0, ["orders"])

    # When
    answer = await world.member("bob").heartbeat(epoch, ["orders"])

    # Then
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID


async def test_a_wrong_epoch_is_fenced_and_the_member_may_join_again_under_its_id() -> None:
    # Given
    world = ShareGroupWorld()
    alice = world.member()
    await alice.heartbeat(0, ["orders"])

    # When
    fenced = await alice.heartbeat(7)
    rejoined = await alice.heartbeat(0, ["orders"])

    # Then
    assert fenced.error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert (rejoined.error_code, assigned(rejoined)) == (ErrorCode.NONE, {ORDERS: [0]})


async def test_a_full_group_takes_no_more_members() -> None:
    # Given
    world = ShareGroupWorld(limits=ShareGroupLimits(group=GroupLimits(max_size=1)))
    await world.member("alice").heartbeat(0, ["orders"])

    # When
    answer = await world.member("bob").heartbeat(0, ["orders"])

    # Then
    assert answer.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED


async def test_a_heartbeat_on_the_port_of_another_broker_has_to_look_for_its_coordinator() -> None:
    world = ShareGroupWorld(node_ids=(1, 2))
    coordinate_groups_at(world, 2)

    assert (await world.member(node_id=1).heartbeat(0, ["orders"])).error_code == ErrorCode.NOT_COORDINATOR
    assert (await world.member(node_id=2).heartbeat(0, ["orders"])).error_code == ErrorCode.NONE


# ---- leaving and expiring


async def test_leaving_is_answered_with_the_leaving_epoch_and_frees_the_partitions() -> None:
    # Given
    world = ShareGroupWorld()
    world.metadata.create_topic("orders", ORDERS, partition_count=2)
    alice, bob = world.member("alice"), world.member("bob")
    await alice.heartbeat(0, ["orders"])
    world.clock.advance(1_000)
    joined = await bob.heartbeat(0, ["orders"])

    # When
    answer = await alice.heartbeat(-1)

    # Then
    assert (answer.error_code, answer.member_epoch, answer.heartbeat_interval_ms) == (0, -1, 0)
    assert assigned(answer) is None
    world.clock.advance(1_000)
    assert assigned(await bob.heartbeat(joined.member_epoch)) == {ORDERS: [0, 1]}


async def test_a_silent_member_is_removed_when_its_session_times_out() -> None:
    # Given
    world = ShareGroupWorld()
    alice = world.member()
    await alice.heartbeat(0, ["orders"])
    assert world.alarm.deadlines_ms[-1] == 46_000

    # When
    world.clock.advance(45_000)
    await world.expire()

    # Then
    assert (await alice.heartbeat(1)).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.groups.coordinator.require_empty(GroupId("g")).group_epoch > 1


# ---- the outside is away


async def test_heartbeats_go_on_while_the_cluster_cannot_be_asked() -> None:
    # Given
    world = ShareGroupWorld()
    alice = world.member()
    await alice.heartbeat(0, ["orders"])

    # When
    world.metadata.is_unavailable = True
    answer = await alice.heartbeat(1, ["orders"])

    # Then
    assert (answer.error_code, assigned(answer)) == (ErrorCode.NONE, {ORDERS: [0]})


async def test_what_could_not_be_initialized_is_assigned_by_a_later_heartbeat() -> None:
    # Given
    world = ShareGroupWorld()
    alice = world.member()
    world.state_log.is_away = True
    joined = await alice.heartbeat(0, ["orders"])

    # When
    world.state_log.is_away = False
    answer = await alice.heartbeat(joined.member_epoch)

    # Then
    assert (joined.error_code, assigned(joined)) == (ErrorCode.NONE, {})
    assert assigned(answer) == {ORDERS: [0]}


# ---- one namespace for all groups


class ScriptedNamespace(UncheckedGroupNamespace):
    """Answers, or raises, what a test says; counts how often it is asked."""

    def __init__(self, *, is_foreign: bool = False, is_away: bool = False) -> None:
        super().__init__()
        self.asked: list[str] = []
        self._is_foreign = is_foreign
        self._is_away = is_away

    async def is_foreign(self, group_id: str) -> bool:
        self.asked.append(group_id)
        if self._is_away:
            raise BrokerUnavailable("no broker")
        return self._is_foreign


async def join(namespace: ScriptedNamespace, *, times: int = 1) -> list[int]:
    """Return the error codes of `times` heartbeats that join, over ports with `namespace`."""
    world = ShareGroupWorld()
    world.groups = world.new_process(namespace)
    return [(await world.member().heartbeat(0, ["orders"])).error_code for _ in range(times)]


async def test_an_id_that_is_a_group_of_another_type_is_no_share_group() -> None:
    # When
    codes = await join(ScriptedNamespace(is_foreign=True))

    # Then
    assert codes == [ErrorCode.GROUP_ID_NOT_FOUND]


async def test_the_namespace_is_asked_once_for_a_new_group() -> None:
    # Given
    namespace = ScriptedNamespace()

    # When
    codes = await join(namespace, times=3)

    # Then
    assert codes == [ErrorCode.NONE] * 3
    assert namespace.asked == ["g"]


async def test_while_it_cannot_be_told_whether_the_id_is_free_nobody_joins() -> None:
    # When
    codes = await join(ScriptedNamespace(is_away=True))

    # Then
    assert codes == [ErrorCode.COORDINATOR_NOT_AVAILABLE]


# ---- share-partitions that cannot begin, or have begun already


async def test_a_group_whose_records_are_lost_goes_on_where_its_durable_state_is() -> None:
    """The state epochs are those of the group that is forgotten, above those that the new one begins with."""
    # Given
    world = ShareGroupWorld()
    world.metadata.create_topic("orders", ORDERS, partition_count=2)
    for partition in range(2):
        world.produce(9, partition=partition)
        key = world.key(partition=partition)
        await world.state_log.initialize([PartitionInitialization(key, StateEpoch(7 * partition), 4)])
    alice = world.member()

    # When
    answer = await alice.heartbeat(0, ["orders"])
    fetched = await alice.fetch(add=[(ORDERS, 0), (ORDERS, 1)])

    # Then
    assert assigned(answer) == {ORDERS: [0, 1]}
    assert [acquired(fetched, partition=partition) for partition in range(2)] == [[(4, 8, 1)]] * 2


async def test_a_heartbeat_reports_once_why_share_partitions_could_not_begin() -> None:
    # Given
    world = ShareGroupWorld()
    world.metadata.create_topic("orders", ORDERS, partition_count=3)
    world.state_log.is_away = True

    # When
    answer = await world.member().heartbeat(0, ["orders"])

    # Then
    assert answer.error_code == ErrorCode.NONE
    assert world.observer.reasons == ["coordinator_not_available"]
    assert world.observer.refusals[0][1].endswith("was told to be away (and 2 more)")
