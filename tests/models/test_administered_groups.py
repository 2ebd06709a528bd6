"""Whatever is asked of groups at once, and whatever befalls the state log: memory and log agree once all is quiet.

Members join, leave, and look for records; offsets are altered and deleted, groups are deleted, partitions are added. In
between appends land, are refused, or leave doubt, slots are lost and loaded again, and the process is killed. Chance
decides, by a seed of Hypothesis's. When all is quiet each group is in memory what it is in the log, no state is left of
a share-partition that no group knows, what was answered last still holds, and who joins is assigned everything.
"""

import asyncio
import random
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import cast

from hypothesis import given, settings
from hypothesis import strategies as st

from kproxy.application.slot_contents import SlotContents
from kproxy.error_codes import ErrorCode
from kproxy.net.state_log.durable_state_log import DurableGroupLog, DurableStateLog, SlotDirectory
from kproxy.share.identifiers import GroupId, SharePartitionKey, TopicId, TopicIdPartition
from kproxy.share.share_group_image import ShareGroupImage
from kproxy.statelog.durable_state import DurableShareState
from tests.in_memory.breakable_group_log import BreakableGroupLog
from tests.in_memory.breakable_state_log import BreakableStateLog
from tests.worlds.share_group_world import ORDERS, PAYMENTS, ShareGroupWorld, assigned
from tests.worlds.share_offset_requests import alter, delete
from tests.worlds.stepwise_slots import StepwiseSlots
from tests.worlds.waiting import until_all_wait

TOPICS = {"orders": ORDERS, "payments": PAYMENTS}
GROUPS = [GroupId("g0"), GroupId("g1")]
SLOT_COUNT = 5
STEP_COUNT = 80


@dataclass
class Answered:
    """What was asked of a group by an administrator, and what became of it: key and start offset, or None if gone."""

    group_ids: list[GroupId]
    is_over: bool = False
    is_alone: bool = True
    """Whether nothing else was asked of these groups meanwhile, or since."""
    promised: dict[SharePartitionKey, int | None] | None = None
    is_gone: bool = False


class Administered:
    """Groups, who asks something of them, and the chance by which all that happens."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.directory, self.slots = SlotDirectory(), StepwiseSlots(SLOT_COUNT)
        self.world = ShareGroupWorld()
        # One object implements both ports, as in the process.
        self.world.state_log = cast("BreakableStateLog", DurableStateLog(self.directory))
        self.world.group_log = cast("BreakableGroupLog", DurableGroupLog(self.directory))
        self.counts = dict.fromkeys(TOPICS, 2)
        self._hesitate(self.world.metadata, "topics_named")
        self._hesitate(self.world.namespace, "is_foreign")
        for name, topic_id in TOPICS.items():
            self.world.metadata.create_topic(name, topic_id, partition_count=2)
        self.under_way: set[asyncio.Task[None]] = set()
        self.answered: list[Answered] = []
        self.begin()

    def _hesitate(self, port: object, name: str) -> None:
        """Let the answers of a port take some turns of the loop."""
        ask = getattr(port, name)

        async def answer_later(question: object) -> object:
            await until_all_wait(self.chance.randrange(4))
            return await ask(question)

        setattr(port, name, answer_later)

    def begin(self) -> None:
        """Begin a process that finds what is in the log."""
        self.world.groups = self.world.new_process()
        self.contents = SlotContents(self.directory, lambda: self.world.groups)
        self.directory.open(self.slots.as_state_slots())
        for slot in self.slots.all():
            slot.load(self.contents)

    async def run(self) -> None:
        for _ in range(STEP_COUNT):
            self.act()
            self.let_appends_go_on(self.chance.choice([0, 0.1, 0.2, 0.5]))
            await until_all_wait(self.chance.choice([0, 0, 1, 2]))
            if self.chance.random() < 0.02:
                await self.be_killed()
            if self.chance.random() < 0.04:
                await self.rest()
        await self.rest()
        await self.require_that_all_is_assigned()

    def act(self) -> None:
        ask = self.chance.choices(
            [self.member_does, self.alter, self.delete_offsets, self.delete_groups, self.happen],
            [6, 2, 2, 2, 3],
        )[0]
        ask()

    # ---- what is asked

    def member_does(self) -> None:
        group_id, name = self.chance.choice(GROUPS), self.chance.choice(["a", "b"])
        member = self.world.member(name, group_id=group_id)
        topics = self.chance.sample(sorted(TOPICS), self.chance.choice([1, 2]))
        match self.chance.randrange(4):
            case 0:
                self.ask([group_id], self._drop(member.heartbeat(0, topics)))
            case 1 | 2:
                self.ask([group_id], self._drop(member.heartbeat(-1)))
            case _:
                self.spawn(self.look(group_id, name))

    async def look(self, group_id: GroupId, name: str) -> None:
        """Open a share session, member or not, and leave."""
        member = self.world.member(name, group_id=group_id)
        await member.fetch(add=[(topic_id, 0) for topic_id in TOPICS.values()], max_wait_ms=0)
        await until_all_wait(self.chance.randrange(5))
        await member.disconnect()

    def alter(self) -> None:
        group_id, name = self.chance.choice(GROUPS), self.chance.choice(sorted(TOPICS))
        offsets = {number: self.chance.choice([0, 3, 7]) for number in range(self.chance.choice([1, 2]))}
        answered = Answered([group_id])

        async def ask() -> None:
            answer = await alter(self.world, {name: offsets}, group_id=group_id)
            moved = [each for topic in answer.responses for each in topic.partitions if not each.error_code]
            answered.promised = {
                SharePartitionKey(group_id, TOPICS[name], each.partition_index): offsets[each.partition_index]
                for each in moved
            }

        self.ask([group_id], ask(), answered)

    def delete_offsets(self) -> None:
        group_id = self.chance.choice(GROUPS)
        names = self.chance.sample(sorted(TOPICS), self.chance.choice([1, 2]))
        answered = Answered([group_id])

        async def ask() -> None:
            answer = await delete(self.world, *names, group_id=group_id)
            answered.promised = {
                SharePartitionKey(group_id, TopicId(topic.topic_id), number): None
                for topic in answer.responses
                if not answer.error_code and not topic.error_code
                for number in range(max(self.counts.values()))
            }

        self.ask([group_id], ask(), answered)

    def delete_groups(self) -> None:
        group_ids = self.chance.sample(GROUPS, self.chance.choice([1, 1, 2]))
        answered = Answered(group_ids)

        async def ask() -> None:
            refusals = await self.world.groups._group_deletions.delete(group_ids)
            answered.is_gone = not refusals

        self.ask(group_ids, ask(), answered)

    def ask(
        self,
        group_ids: list[GroupId],
        asking: Coroutine[object, object, None],
        answered: Answered | None = None,
    ) -> None:
        answered = answered or Answered(group_ids)
        for other in self.answered:
            if not set(other.group_ids).isdisjoint(group_ids):
                answered.is_alone &= other.is_over
                other.is_alone = False
        self.answered.append(answered)

        async def until_over() -> None:
            await asking
            answered.is_over = True

        self.spawn(until_over())

    def spawn(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self.under_way.add(task)
        task.add_done_callback(self.under_way.discard)

    async def _drop(self, asking: Coroutine[object, object, object]) -> None:
        await asking

    # ---- what happens

    def happen(self) -> None:
        slot = self.chance.choice(self.slots.all())
        match self.chance.randrange(6):
            case 0 if slot.logs:
                self.chance.choice(slot.logs).refuse()
            case 1:
                slot.lose(self.contents, has_landed=self.chance.random() < 0.5)
            case 2 | 3:
                slot.load(self.contents)
            case 4:
                self.world.clock.advance(self.chance.choice([10, 1_000, 31_000, 46_000]))
                self.spawn(self.world.expire())
            case _:
                self.add_partition()

    def add_partition(self) -> None:
        name = self.chance.choice(sorted(TOPICS))
        if self.counts[name] < 4:
            self.counts[name] += 1
            self.world.metadata.create_topic(name, TOPICS[name], partition_count=self.counts[name])

    def let_appends_go_on(self, share: float) -> bool:
        """Take a step with this share of the logs; tell whether any went on."""
        logs = [log for slot in self.slots.all() for log in slot.logs]
        steps = [log.step() for log in logs if self.chance.random() < share]
        return any(steps)

    async def be_killed(self) -> None:
        await until_all_wait(2)  # a task that never began would be a warning
        for slot in self.slots.all():
            slot.lose(None, has_landed=self.chance.random() < 0.5)
        for task in self.under_way:
            task.cancel()
        await until_all_wait()
        self.answered.clear()
        self.begin()

    # ---- what must be so

    async def rest(self) -> None:
        """Let all be quiet, and look."""
        for slot in self.slots.all():
            slot.load(self.contents)
        async with asyncio.timeout(30):
            while self.let_appends_go_on(1.0) or self.under_way:
                await until_all_wait(2)
        states = {key: state for slot in self.slots.all() for key, state in slot.states.items()}
        known = set[SharePartitionKey]()
        for group_id in GROUPS:
            known |= self.require_that_it_is_as_in_the_log(group_id)
        assert states.keys() <= known, "a state of which no group knows"
        for answered in self.answered:
            if answered.is_alone:
                self.require_that_it_holds(answered, states)

    def require_that_it_holds(
        self, answered: Answered, states: Mapping[SharePartitionKey, DurableShareState]
    ) -> None:
        for key, start_offset in (answered.promised or {}).items():
            if start_offset is not None:
                assert key in self.initialized(key.group_id), f"{key} is not called initialized"
            assert (states[key].start_offset if key in states else None) == start_offset, key
        for group_id in answered.group_ids if answered.is_gone else ():
            assert self.world.groups.coordinator.find(group_id) is None, f"{group_id} is back"

    def initialized(self, group_id: GroupId) -> set[SharePartitionKey]:
        group = self.world.groups.coordinator.find(group_id)
        return set() if group is None else {each.in_group(group_id) for each in _stages(group.image())[1]}

    def require_that_it_is_as_in_the_log(self, group_id: GroupId) -> set[SharePartitionKey]:
        """Return its share-partitions."""
        group = self.world.groups.coordinator.find(group_id)
        durable = self.slots.slot_of_group(group_id).groups.durable_image(group_id)
        if group is None or durable is None:
            assert (group, durable) == (None, None)
            return set()
        image = group.image()
        assert _stages(image)[-2:] == _stages(durable)[-2:]
        assert group.has_undurable_changes or _stages(image) == _stages(durable)
        assert image.members.keys() == durable.members.keys()
        assert image.is_being_deleted == durable.is_being_deleted
        assert not group.topics.state_partitions.is_under_way
        return {place.in_group(group_id) for stage in _stages(image) for place in stage}

    async def require_that_all_is_assigned(self) -> None:
        """Nothing that was interrupted keeps a share-partition from whoever joins."""
        for _ in range(3):
            self.world.clock.advance(46_000)
            for work in (self.world.expire(), self._drop(self.world.groups.tend_topics())):
                self.spawn(work)
                await self.rest()
        for group_id in GROUPS:
            answers: list[dict[bytes, list[int]] | None] = []

            async def join(group_id: GroupId, told: list[dict[bytes, list[int]] | None]) -> None:
                answer = await self.world.member("last", group_id=group_id).heartbeat(0, sorted(TOPICS))
                assert answer.error_code == ErrorCode.NONE
                told.append(assigned(answer))

            self.ask([group_id], join(group_id, answers))
            await self.rest()
            wanted = {TOPICS[name]: set(range(count)) for name, count in self.counts.items()}
            assert [{topic: set(numbers) for topic, numbers in (told or {}).items()} for told in answers] == [
                wanted
            ]


def _stages(image: ShareGroupImage) -> list[set[TopicIdPartition]]:
    """What is being initialized, what is initialized, then both together and what is being deleted."""
    initializing, initialized, deleting = (
        {
            TopicIdPartition(topic_id, number)
            for topic_id, state in stage.items()
            for number in state.partitions
        }
        for stage in (image.initializing, image.initialized, image.deleting)
    )
    # That a state is there is written with the next change: until then it would be initialized again.
    return [initializing, initialized, initializing | initialized, deleting]


@settings(max_examples=4 * settings().max_examples)
@given(seed=st.integers(0, 2**32))
def test_memory_and_log_agree_once_all_is_quiet(seed: int) -> None:
    async def run() -> None:
        await Administered(seed).run()

    asyncio.run(run())
