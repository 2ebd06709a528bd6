"""Groups that go while a round of theirs is under way: nothing is left of them, whoever drops them."""

import gc
from collections.abc import Callable, Iterator

import pytest

from kproxy.share import group_assignment, group_coordinator, share_group
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.heartbeat import Heartbeat, HeartbeatAnswer, TopicPartitions
from kproxy.share.identifiers import GroupId, MemberId
from kproxy.share.limits import GroupLimits
from kproxy.share.share_group import ShareGroup
from kproxy.share.share_group_image import ShareGroupImage
from tests.worlds.share_builders import TOPIC, keys_of
from tests.worlds.share_group_world import ShareGroupWorld
from tests.worlds.waiting import until_all_wait

GROUP = GroupId("group that goes in a round")
LIMITS = GroupLimits(assignment_delay_ms=50, assignment_interval_ms=0)
MEMBERS = [MemberId(f"member-{number}") for number in range(3)]
TOPICS = {"paid": TopicPartitions(TOPIC, 2)}


@pytest.fixture(autouse=True)
def nothing_is_collected(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Only what nobody refers to is freed, and each call does the least of a round that it can."""
    for module in (group_assignment, group_coordinator, share_group):
        monkeypatch.setattr(module, "PLACES_AT_ONCE", 1)
    monkeypatch.setattr(group_coordinator, "PLACES_OF_ONE", 1)
    gc.disable()
    yield
    gc.enable()


def a_world(names: tuple[str, ...]) -> ShareGroupWorld:
    """A process with one group, in slot 0, of which a round is under way; its members name these topics."""
    world = ShareGroupWorld(passes_time=False)
    coordinator, now_ms = world.groups.coordinator, world.clock.now_ms()
    for placed in (coordinator.known.placed, world.groups.configs.placed):
        placed.arrange((), lambda _: 0, lambda _: 0)
    for member_id in MEMBERS:
        answer = say(coordinator, member_id, 0, ("paid",), now_ms)
        say(coordinator, member_id, answer.member_epoch, names, now_ms)
    coordinator.assign(now_ms + LIMITS.assignment_delay_ms, at_most=1)
    coordinator.take_called()
    group = coordinator.find(GROUP)
    assert group is not None
    assert coordinator.names.count == len(names)
    assert group.next_round_ms == now_ms + LIMITS.assignment_delay_ms, "the round goes on"
    return world


def say(
    coordinator: GroupCoordinator, member_id: MemberId, epoch: int, names: tuple[str, ...], now_ms: int
) -> HeartbeatAnswer:
    """Let a member be answered at once, whatever the group has for it."""
    heartbeat = Heartbeat(GROUP, member_id, epoch, None, names, "client", "/127.0.0.1")
    topics = {name: TOPICS[name] for name in coordinator.topic_names(heartbeat)}
    begun = coordinator.admit(heartbeat, topics=topics, limits=LIMITS, now_ms=now_ms)
    coordinator.initialized(GROUP, keys_of(begun))
    answer = coordinator.answer(heartbeat, limits=LIMITS, now_ms=now_ms, is_hurried=True)
    assert isinstance(answer, HeartbeatAnswer)
    return answer


def a_picture(coordinator: GroupCoordinator) -> ShareGroupImage:
    group = coordinator.find(GROUP)
    assert group is not None
    return group.image()


def groups_in_memory() -> int:
    return sum(type(each) is ShareGroup and each.group_id == GROUP for each in gc.get_objects())


def is_forgotten(world: ShareGroupWorld) -> None:
    world.groups.coordinator.forget(GROUP)


def is_put_back(world: ShareGroupWorld) -> None:
    coordinator = world.groups.coordinator
    coordinator.restore(a_picture(coordinator), limits=LIMITS, now_ms=world.clock.now_ms())
    is_forgotten(world)


def loses_its_slot(world: ShareGroupWorld) -> None:
    world.groups.forget_slot(0)


def comes_again_with_its_slot(world: ShareGroupWorld) -> None:
    world.groups.restore_groups([a_picture(world.groups.coordinator)], {}, 0)
    is_forgotten(world)


@pytest.mark.parametrize("names", [("paid",), ()], ids=["with topics", "without topics"])
@pytest.mark.parametrize(
    "drop",
    [is_forgotten, is_put_back, loses_its_slot, comes_again_with_its_slot],
    ids=lambda drop: drop.__name__,
)
async def test_nothing_is_left_in_memory_of_a_group_that_goes_while_a_round_is_under_way(
    drop: Callable[[ShareGroupWorld], None], names: tuple[str, ...]
) -> None:
    # Given
    world = a_world(names)

    # When
    drop(world)
    await until_all_wait()

    # Then
    assert groups_in_memory() == 0
    assert world.groups.coordinator.names.count == 0
