"""What falls due for very many groups in the same moment is done in several turns."""

from itertools import product

import pytest

from kproxy.handlers import share_groups
from kproxy.handlers.live.pauses import MOST_AT_ONCE
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.heartbeat import JOIN_EPOCH, Heartbeat, TopicPartitions
from kproxy.share.identifiers import GroupId, MemberId
from kproxy.share.limits import GroupLimits
from kproxy.share.share_group_image import ShareGroupState
from tests.worlds.group_states import groups_by_state
from tests.worlds.share_builders import ALICE, TOPIC, keys_of
from tests.worlds.share_group_world import ORDERS, ShareGroupWorld

GROUPS = [GroupId(f"g{number}") for number in range(5)]


def of_members(
    coordinator: GroupCoordinator, *, partition_count: int = 1, member_count: int = 1, name_count: int = 1
) -> GroupCoordinator:
    """Let members join each group, who all name so many topics, of which one exists."""
    names = ("orders", *(f"none {number}" for number in range(1, name_count)))
    topics = {"orders": TopicPartitions(TOPIC, partition_count)}
    member_ids = (ALICE, *(MemberId(f"member {number}") for number in range(1, member_count)))
    for group_id, member_id in product(GROUPS, member_ids):
        heartbeat = Heartbeat(group_id, member_id, JOIN_EPOCH, None, names, "app", "/127.0.0.1")
        wanted = coordinator.admit(heartbeat, topics=topics, limits=GroupLimits(), now_ms=0)
        coordinator.initialized(group_id, keys_of(wanted))
    return coordinator


@pytest.mark.parametrize(
    ("sizes", "assigned_counts"),
    [
        pytest.param({}, [2, 4, 5], id="small"),
        pytest.param({"partition_count": 1_000}, [1, 2, 3, 4, 5], id="many partitions"),
        pytest.param({"member_count": 100}, [1, 2, 3, 4, 5], id="many members"),
        pytest.param({"name_count": 1_000}, [1, 2, 3, 4, 5], id="many names"),
    ],
)
def test_assignments_that_are_due_at_once_are_looked_at_some_at_a_time(
    sizes: dict[str, int], assigned_counts: list[int]
) -> None:
    # Given
    coordinator = of_members(GroupCoordinator(), **sizes)
    counts: list[int] = []

    # When
    while (due_ms := coordinator.next_deadline_ms()) is not None and due_ms <= 100:
        coordinator.assign(100, at_most=2)
        counts.append(sum(coordinator.describe(group_id).assignment_epoch > 0 for group_id in GROUPS))

    # Then
    assert counts == assigned_counts


def test_sessions_that_run_out_at_once_end_some_at_a_time() -> None:
    # Given
    coordinator = of_members(GroupCoordinator())
    counts: list[int] = []

    # When
    while (due_ms := coordinator.next_deadline_ms()) is not None and due_ms <= 45_000:
        counts.append(len(coordinator.expire_sessions(45_000, at_most=2)))
        coordinator.assign(45_000)

    # Then
    assert counts == [2, 2, 1]


async def test_one_ring_of_the_alarm_ends_no_more_than_there_is_time_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(share_groups, "MOST_AT_ONCE", 2)
    world = ShareGroupWorld()
    world.metadata.create_topic("orders", ORDERS, partition_count=1)
    for group_id in GROUPS:
        await world.member(group_id=group_id).heartbeat(0, ["orders"])
    world.clock.advance(45_000)
    empty_counts: list[int] = []

    # When
    while empty_counts[-1:] != [len(GROUPS)]:
        await world.expire()
        empty_counts.append(groups_by_state(world)[ShareGroupState.EMPTY])

    # Then
    assert empty_counts == [2, 4, 5]
    assert len(GROUPS) < MOST_AT_ONCE, "what is little is done at once"
