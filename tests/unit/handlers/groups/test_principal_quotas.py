"""How many members and groups one principal may have, and what counts after a restart."""

from kproxy.error_codes import ErrorCode
from kproxy.handlers.groups.principal_quotas import PrincipalLimits, PrincipalQuotas
from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.security.principal import Principal
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.heartbeat import Heartbeat
from kproxy.share.identifiers import GroupId, MemberId
from kproxy.share.limits import GroupLimits
from kproxy.share.share_session import ShareSessionLimits
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.alter_share_group_offsets_request import AlterShareGroupOffsetsRequest
from kproxy.wire.messages.alter_share_group_offsets_response import AlterShareGroupOffsetsResponse
from tests.worlds.share_group_world import Member, ShareGroupWorld

ALICE, BOB = Principal("User", "alice"), Principal("User", "bob")


def a_world(*, max_members: int = 2**31 - 1, max_groups: int = 2**31 - 1) -> ShareGroupWorld:
    return ShareGroupWorld(limits=ShareGroupLimits(principals=PrincipalLimits(max_members, max_groups)))


async def joined(
    world: ShareGroupWorld, member_id: str, principal: Principal, *, group_id: str = "g"
) -> tuple[Member, int]:
    member = world.member(member_id, group_id=group_id)
    member.principal = principal
    return member, (await member.heartbeat(0, ["orders"])).error_code


async def test_the_member_beyond_the_limit_of_its_principal_does_not_join_whatever_the_group() -> None:
    world = a_world(max_members=2)

    codes = [
        (await joined(world, str(number), who, group_id=f"g{number}"))[1]
        for number, who in enumerate((ALICE, ALICE, ALICE, BOB))
    ]

    assert codes == [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.GROUP_MAX_SIZE_REACHED, ErrorCode.NONE]
    assert world.groups.coordinator.find(GroupId("g2")) is None


async def test_a_member_that_leaves_and_one_that_expires_make_room() -> None:
    world = a_world(max_members=2)
    leaving, _ = await joined(world, "leaving", ALICE)
    await joined(world, "silent", ALICE)
    refused = (await joined(world, "third", ALICE))[1]

    await leaving.heartbeat(-1)
    after_leave = (await joined(world, "third", ALICE))[1]
    world.clock.advance(46_000)
    await world.expire()
    after_expiry = (await joined(world, "fourth", ALICE))[1]

    assert [refused, after_leave, after_expiry] == [
        ErrorCode.GROUP_MAX_SIZE_REACHED,
        ErrorCode.NONE,
        ErrorCode.NONE,
    ]


async def test_a_member_that_joins_again_is_no_other_one() -> None:
    world = a_world(max_members=1)
    await joined(world, "a", ALICE)

    assert (await joined(world, "a", ALICE))[1] == ErrorCode.NONE


async def test_after_a_restart_members_count_from_their_next_heartbeat_and_none_is_refused() -> None:
    world = a_world(max_members=1)
    kept, _ = await joined(world, "kept", ALICE)
    world.restart()
    newcomer = (await joined(world, "newcomer", ALICE))[1]

    heartbeat = await kept.heartbeat(1)

    assert (newcomer, heartbeat.error_code) == (ErrorCode.NONE, ErrorCode.NONE)
    assert (await joined(world, "third", ALICE))[1] == ErrorCode.GROUP_MAX_SIZE_REACHED


async def test_a_principal_makes_as_many_groups_as_it_may_and_joins_those_of_others() -> None:
    world = a_world(max_groups=1)
    await joined(world, "a", ALICE, group_id="of alice")
    await joined(world, "b", BOB, group_id="of bob")

    third = (await joined(world, "c", ALICE, group_id="third"))[1]

    assert third == ErrorCode.POLICY_VIOLATION
    assert world.groups.coordinator.find(GroupId("third")) is None
    assert (await joined(world, "c", ALICE, group_id="of bob"))[1] == ErrorCode.NONE


async def test_all_together_make_as_many_groups_as_there_may_be_and_join_those_that_are_there() -> None:
    # Given
    world = ShareGroupWorld(limits=ShareGroupLimits(max_groups=2))
    await joined(world, "a", ALICE, group_id="first")
    await joined(world, "b", BOB, group_id="second")
    third = world.member("c", group_id="third")

    # When
    refusal = await third.heartbeat(0, ["orders"])

    # Then
    assert refusal.error_code == ErrorCode.POLICY_VIOLATION
    assert refusal.error_message == "there are 2 share groups here; kproxy.share.groups.max=2"
    assert world.groups.coordinator.find(GroupId("third")) is None
    assert (await joined(world, "c", ALICE, group_id="second"))[1] == ErrorCode.NONE
    assert world.observer.reasons == ["policy_violation"]


async def test_offsets_make_no_group_beyond_those_that_there_may_be() -> None:
    # Given
    world = ShareGroupWorld(limits=ShareGroupLimits(max_groups=1))
    await joined(world, "a", ALICE, group_id="first")
    request = AlterShareGroupOffsetsRequest(group_id="second", topics=[])

    # When
    answer = await world.serve(request, ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0)

    # Then
    assert isinstance(answer, AlterShareGroupOffsetsResponse)
    assert answer.error_code == ErrorCode.POLICY_VIOLATION


async def test_a_group_without_members_counts_still() -> None:
    world = a_world(max_groups=1)
    member, _ = await joined(world, "a", ALICE, group_id="first")
    await member.heartbeat(-1)

    assert (await joined(world, "a", ALICE, group_id="second"))[1] == ErrorCode.POLICY_VIOLATION


async def test_offsets_make_no_group_beyond_the_limit_either() -> None:
    world = a_world(max_groups=1)
    await joined(world, "a", ALICE, group_id="first")
    request = AlterShareGroupOffsetsRequest(group_id="second", topics=[])

    answer = await world.serve(request, ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, principal=ALICE)

    assert isinstance(answer, AlterShareGroupOffsetsResponse)
    assert answer.error_code == ErrorCode.POLICY_VIOLATION


async def test_sessions_beyond_the_limit_of_a_principal_are_refused_as_a_full_cache_refuses_them() -> None:
    limits = ShareGroupLimits(sessions=ShareSessionLimits(max_of_principal=1))
    world = ShareGroupWorld(limits=limits)
    await world.initialize()
    first, second, other = (world.member(name) for name in ("a", "b", "c"))
    other.principal = BOB

    codes = [(await member.open()).error_code for member in (first, second, other)]

    assert codes == [ErrorCode.NONE, ErrorCode.SHARE_SESSION_LIMIT_REACHED, ErrorCode.NONE]


def test_what_is_gone_is_forgotten_although_nobody_meets_a_limit() -> None:
    coordinator = GroupCoordinator()
    quotas = PrincipalQuotas(coordinator, PrincipalLimits(max_members=10**6, max_groups=10**6))

    for number in range(5_000):
        heartbeat = Heartbeat(
            GroupId("g"), MemberId(str(number)), 0, None, ("orders",), "client", "/127.0.0.1"
        )
        coordinator.admit(heartbeat, topics={}, limits=GroupLimits(), now_ms=number)
        quotas.note(heartbeat, Principal("User", str(number)))
        leave = Heartbeat(GroupId("g"), MemberId(str(number)), -1, None, None, "client", "/127.0.0.1")
        coordinator.leave(leave, now_ms=number)

    assert quotas.known_count < 1_100
