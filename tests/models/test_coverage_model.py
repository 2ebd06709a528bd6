"""`Coverage` against what its rules say, looked up anew for every partition: the same shares after any history."""

from collections import deque
from collections.abc import Collection, Iterable, Mapping

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kproxy.share.coverage import Coverage
from kproxy.share.identifiers import MemberId, TopicId, TopicIdPartition
from kproxy.share.share_group_member import ShareGroupMember

Partitions = frozenset[TopicIdPartition]

TOPICS = {name: TopicId(name.ljust(16).encode()) for name in ("paid", "sent", "lost", "late")}
COUNTS = {"paid": 1, "sent": 1, "lost": 3, "late": 5}
SUBSCRIPTIONS = [("paid",), ("sent", "late"), ("sent", "late"), tuple(TOPICS), ("lost", "late"), ()]
MEMBERS = [
    ShareGroupMember(MemberId(f"member-{number}"), subscribed_topic_names=frozenset(names))
    for number, names in enumerate(SUBSCRIPTIONS)
]
ALL = frozenset(
    TopicIdPartition(topic_id, number) for name, topic_id in TOPICS.items() for number in range(COUNTS[name])
)

some_partitions = st.frozensets(st.sampled_from(sorted(ALL)))
a_member = st.integers(0, len(SUBSCRIPTIONS) - 1)
some_members = st.lists(a_member, unique=True).map(sorted)


class Topics:
    """All exist, and may be assigned."""

    def permitted(self, member: ShareGroupMember, partitions: Collection[TopicIdPartition]) -> Partitions:
        ids = {TOPICS[name] for name in member.subscribed_topic_names}
        return frozenset(partition for partition in partitions if partition.topic_id in ids)

    def subscribed_among(self, member: ShareGroupMember, topic_ids: Collection[TopicId]) -> Iterable[TopicId]:
        return {TOPICS[name] for name in member.subscribed_topic_names}.intersection(topic_ids)


class NaiveCoverage:
    """What is allotted and open, by going through every partition and every member."""

    def __init__(self, members: Iterable[ShareGroupMember]) -> None:
        self.members = list(members)
        self.allotted: dict[MemberId, set[TopicIdPartition]] = {}
        self.open: Partitions = frozenset()

    def told_count(self, partition: TopicIdPartition) -> int:
        return sum(partition in member.relied_on for member in self.members)

    def share_of(self, member: ShareGroupMember, target: Partitions) -> Partitions:
        others = {each for each in member.assigned - target if not self._is_with_another(member, each)}
        free = (self.open | self.allotted.get(member.member_id, set())) - target
        taken = {each for each in free if not self.told_count(each)}
        return target | Topics().permitted(member, others | taken)

    def _is_with_another(self, member: ShareGroupMember, partition: TopicIdPartition) -> bool:
        return any(partition in each.relied_on for each in self.members if each is not member)

    def allot(
        self,
        wanted: Mapping[TopicId, Collection[int]],
        targets: Mapping[MemberId, Partitions],
        waiting: Iterable[ShareGroupMember],
    ) -> None:
        covered = frozenset[TopicIdPartition]().union(*targets.values())
        loads = {member_id: len(target) for member_id, target in targets.items()}
        self.allotted, still_open = {}, set()
        for topic_id, numbers in wanted.items():
            able = [
                member.member_id
                for member in waiting
                if Topics().permitted(member, [TopicIdPartition(topic_id, 0)])
            ]
            turn = deque(sorted(able, key=loads.__getitem__))
            for partition in (TopicIdPartition(topic_id, number) for number in sorted(numbers)):
                if partition in covered or self.told_count(partition):
                    continue
                if not turn:
                    still_open.add(partition)
                    continue
                self.allotted.setdefault(turn[0], set()).add(partition)
                loads[turn[0]] += 1
                turn.rotate(-1)
        self.open = frozenset(still_open)


class CoverageModel(RuleBasedStateMachine):
    """Members are heard, told, and lost, and rounds share what nobody has."""

    def __init__(self) -> None:
        super().__init__()
        self.members = [
            ShareGroupMember(each.member_id, subscribed_topic_names=each.subscribed_topic_names)
            for each in MEMBERS
        ]
        self.coverage, self.naive = Coverage(Topics()), NaiveCoverage(self.members)
        self.targets: dict[MemberId, Partitions] = {each.member_id: frozenset() for each in MEMBERS}

    @rule(number=a_member, is_joining=st.booleans())
    def hear(self, *, number: int, is_joining: bool) -> None:
        member = self.members[number]
        self.coverage.count_on(member, frozenset() if is_joining else member.assigned)

    @rule(number=a_member)
    def lose(self, number: int) -> None:
        member = self.members[number]
        self.coverage.discount(member)
        self.naive.allotted.pop(member.member_id, None)

    @rule(number=a_member)
    def tell(self, number: int) -> None:
        member = self.members[number]
        share = self.coverage.share_of(member, self.targets[member.member_id])
        self.coverage.tell(member, share)
        self.naive.allotted.pop(member.member_id, None)

    @rule(number=a_member, partitions=some_partitions)
    def give(self, number: int, partitions: Partitions) -> None:
        member = self.members[number]
        self.targets[member.member_id] = Topics().permitted(member, partitions)

    @rule(numbers=some_members, partitions=some_partitions)
    def hold_round(self, numbers: list[int], partitions: Partitions) -> None:
        waiting = [self.members[number] for number in numbers]
        for member in waiting:
            member.is_waiting = True
        targets = {member.member_id: self.targets[member.member_id] for member in waiting}
        wanted = {
            topic_id: {partition.partition for partition in partitions if partition.topic_id == topic_id}
            for topic_id in TOPICS.values()
        }
        self.coverage.allot(wanted, targets, waiting)
        self.naive.allot(wanted, targets, waiting)

    @invariant()
    def every_share_is_as_the_rules_have_it(self) -> None:
        for member in self.members:
            target = self.targets[member.member_id]
            assert self.coverage.share_of(member, target) == self.naive.share_of(member, target)


TestCoverage = CoverageModel.TestCase
