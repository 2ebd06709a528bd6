"""A group that is made late, of what a log says, goes on as one that was made at once, of its own picture.

What is alike in a log is one object in the group that is made of it. So no change of one member may show in another.
"""

from dataclasses import dataclass, field, replace

from hypothesis import given
from hypothesis import strategies as st

from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.heartbeat import Heartbeat, HeartbeatAnswer, HeldHeartbeat, TopicPartitions
from kproxy.share.identifiers import GroupId, MemberId, TopicId, TopicIdPartition
from kproxy.share.limits import GroupLimits
from kproxy.share.share_group import ShareGroup
from kproxy.share.share_group_image import ShareGroupImage
from kproxy.statelog.group_queue import ImageWrite
from tests.worlds.group_queue_log import GroupQueueLog

GROUP = GroupId("g")
NAMES = ("paid", "sent", "void")
TOPICS = {name: TopicPartitions(TopicId(name.encode().ljust(16)), 2) for name in NAMES}
MEMBERS = [MemberId(f"m{number}") for number in range(6)]
LIMITS = GroupLimits(assignment_interval_ms=0)

subscriptions = st.sets(st.sampled_from(NAMES), min_size=1).map(lambda names: tuple(sorted(names)))
joins = st.dictionaries(st.sampled_from(MEMBERS), subscriptions, min_size=1)
steps = st.lists(
    st.tuples(st.sampled_from(["stay", "leave", "lose", "join"]), st.sampled_from(MEMBERS), subscriptions),
    max_size=12,
)


@dataclass
class World:
    """A coordinator with one group, and what it told."""

    coordinator: GroupCoordinator = field(default_factory=GroupCoordinator)
    now_ms: int = 0
    told: list[HeartbeatAnswer | HeldHeartbeat] = field(default_factory=list)

    @property
    def group(self) -> ShareGroup:
        group = self.coordinator.find(GROUP)
        assert group is not None
        return group

    def hear(self, member_id: MemberId, epoch: int, names: tuple[str, ...] | None) -> None:
        heartbeat = Heartbeat(GROUP, member_id, epoch, None, names, "client", "/127.0.0.1")
        asked = {name: TOPICS[name] for name in self.coordinator.topic_names(heartbeat)}
        begun = self.coordinator.admit(heartbeat, topics=asked, limits=LIMITS, now_ms=self.now_ms)
        self.coordinator.initialized(GROUP, [key for each in begun for key in each.share_partitions()])
        self.told.append(
            self.coordinator.answer(heartbeat, limits=LIMITS, now_ms=self.now_ms, is_hurried=True)
        )

    def take(self, step: str, member_id: MemberId, names: tuple[str, ...]) -> None:
        self.now_ms += 1_000
        member = self.group.members.get(member_id)
        if step == "join":
            self.hear(member_id, 0, names)
        elif member is None:
            return
        elif step == "stay":
            self.hear(member_id, member.member_epoch, None)
        elif step == "leave":
            leaving = Heartbeat(GROUP, member_id, -1, None, None, "client", "/127.0.0.1")
            self.coordinator.leave(leaving, now_ms=self.now_ms)
        else:
            self.coordinator.lose(GROUP, member_id, now_ms=self.now_ms)
        self.coordinator.assign(self.now_ms)


def read_from_a_log(image: ShareGroupImage) -> ShareGroupImage:
    log = GroupQueueLog()
    log.write(ImageWrite(image))
    read = log.replayed().durable_image(GROUP)
    assert read is not None
    return read


def with_sets_of_its_own(image: ShareGroupImage) -> ShareGroupImage:
    """Return an equal picture in which nothing is shared by two members."""
    return replace(
        image,
        members={
            member_id: replace(member, assigned=_copied(member.assigned))
            for member_id, member in image.members.items()
        },
        target={member_id: _copied(target) for member_id, target in image.target.items()},
    )


def _copied(partitions: frozenset[TopicIdPartition]) -> frozenset[TopicIdPartition]:
    return frozenset([TopicIdPartition(*each) for each in partitions])


def made_late(image: ShareGroupImage, now_ms: int) -> World:
    late = World(now_ms=now_ms)
    pictures = {GROUP: image}

    def make(picture: ShareGroupImage) -> None:
        late.coordinator.restore(picture, limits=LIMITS, now_ms=now_ms)

    late.coordinator.known.restore(pictures, make, place=0)
    return late


@given(joined=joins, before=steps, after=steps)
def test_a_group_made_late_of_its_log_goes_on_as_one_made_of_its_picture(
    joined: dict[MemberId, tuple[str, ...]],
    before: list[tuple[str, MemberId, tuple[str, ...]]],
    after: list[tuple[str, MemberId, tuple[str, ...]]],
) -> None:
    # Given
    lived = World()
    for member_id, names in joined.items():
        lived.hear(member_id, 0, names)
    for step in before:
        lived.take(*step)
    image = lived.group.image()
    at_once = World(now_ms=lived.now_ms)
    at_once.coordinator.restore(with_sets_of_its_own(image), limits=LIMITS, now_ms=lived.now_ms)
    late = made_late(read_from_a_log(image), lived.now_ms)

    # When
    for step in after:
        at_once.take(*step)
        late.take(*step)

        # Then
        assert late.told == at_once.told
        assert late.group.image() == at_once.group.image()
        assert late.group.topics.known == at_once.group.topics.known
    assert late.group.topics.subscribed_names == at_once.group.topics.subscribed_names
    assert late.coordinator.names.count == at_once.coordinator.names.count
    assert made_late(read_from_a_log(image), 0).group.image() == image
