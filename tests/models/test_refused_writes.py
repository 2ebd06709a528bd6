"""Writes that are refused for certain, and what was answered before and after them.

Whatever was refused: what a member was told to have accepted is never delivered again, not after a restart either.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hypothesis import example, given, settings
from hypothesis import strategies as st

from kproxy.error_codes import ErrorCode
from kproxy.errors import StateNotWritten
from tests.in_memory.ordered_state_log import OrderedStateLog
from tests.worlds.share_group_world import ORDERS, Member, ShareGroupWorld, acknowledge_errors, acquired
from tests.worlds.waiting import until_all_wait

ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4
RECORDS = 6
NAMES = ("alice", "bob")
PLACE = (ORDERS, 0)


@dataclass(frozen=True)
class Fetches:
    """A member asks for so many records."""

    name: str
    count: int


@dataclass(frozen=True)
class Says:
    """A member acknowledges records that were delivered to it, from the first of these places to the last."""

    name: str
    first: int
    more: int
    acknowledge_type: int


@dataclass(frozen=True)
class Passes:
    """So much time passes, and locks end."""

    duration_ms: int


@dataclass(frozen=True)
class Refused:
    """What happens is not written, and that is certain."""

    steps: tuple["Step", ...]


@dataclass(frozen=True)
class Waits:
    """What happens is written, but later than all of it happened."""

    steps: tuple["Step", ...]


@dataclass(frozen=True)
class Full:
    """What happens is refused at once, for the queue of the log is full."""

    steps: tuple["Step", ...]


Step: TypeAlias = Fetches | Says | Passes | Refused | Waits | Full
HAPPENS = (
    st.builds(Fetches, st.sampled_from(NAMES), st.integers(1, RECORDS))
    | st.builds(
        Says,
        st.sampled_from(NAMES),
        st.integers(0, RECORDS - 1),
        st.integers(0, 3),
        st.sampled_from([ACCEPT, ACCEPT, RELEASE, REJECT, RENEW]),
    )
    | st.builds(Passes, st.sampled_from([11_000, 20_000, 31_000]))
)
FULL = st.builds(Full, st.lists(HAPPENS, min_size=1, max_size=3).map(tuple))
SOME = st.lists(HAPPENS | FULL, min_size=1, max_size=3).map(tuple)
STEPS = st.lists(HAPPENS | FULL | st.builds(Refused, SOME) | st.builds(Waits, SOME), min_size=3, max_size=20)


class Scene:
    """Two members of a group with a partition of six records, each of which is delivered twice at most."""

    def __init__(self) -> None:
        self.world = ShareGroupWorld(passes_time=False)
        self.log = OrderedStateLog()
        self.world.state_log = self.log
        self.world.groups = self.world.new_process()
        self.members: dict[str, Member] = {}
        self.delivered: dict[str, set[int]] = {name: set() for name in NAMES}
        self.accepted: set[int] = set()
        self.under_way: list[asyncio.Task[object]] = []

    async def begin(self) -> None:
        """Let both members open their sessions."""
        await self.world.initialize()
        self.world.configure("share.delivery.count.limit", "2")
        for _ in range(RECORDS):
            self.world.produce(1)
        for name in NAMES:
            self.members[name] = self.world.member(name)
            await self.members[name].open(max_records=0)

    async def take(self, steps: Sequence[Step]) -> None:
        """Let `steps` happen one after the other; nobody waits for what the log holds back."""
        for step in steps:
            match step:
                case Fetches(name, count):
                    self._begin(self._fetch(name, count))
                case Says():
                    self._begin(self._say(step))
                case Passes(duration_ms):
                    self.world.clock.advance(duration_ms)
                    self._begin(self.world.expire())
                case Refused(refused):
                    self.log.hold()
                    await self.take(refused)
                    self.log.refuse(StateNotWritten("broker 1 is down"))
                case Waits(late):
                    self.log.hold()
                    await self.take(late)
                    self.log.go_on()
                case Full(full):
                    self.log.is_full = True
                    await self.take(full)
                    self.log.is_full = False
            await until_all_wait()

    def _begin(self, what: Coroutine[object, object, object]) -> None:
        self.under_way.append(asyncio.get_running_loop().create_task(what))

    async def _fetch(self, name: str, count: int) -> None:
        answer = await self.members[name].fetch(max_wait_ms=0, max_records=count)
        for first, last, _ in acquired(answer):
            assert not self.accepted & set(range(first, last + 1))
            self.delivered[name] |= set(range(first, last + 1))

    async def _say(self, said: Says) -> None:
        first, last = said.first, min(said.first + said.more, RECORDS - 1)
        offsets = set(range(first, last + 1))
        if not offsets <= self.delivered[said.name]:
            return
        answer = await self.members[said.name].acknowledge(
            {PLACE: [(first, last, [said.acknowledge_type])]}, is_renew_ack=said.acknowledge_type == RENEW
        )
        if said.acknowledge_type == ACCEPT and acknowledge_errors(answer).get(PLACE) == ErrorCode.NONE:
            self.accepted |= offsets

    async def delivered_after_a_restart(self) -> set[int]:
        """Return what a member of a new process gets, which knows only what is durable."""
        await asyncio.gather(*self.under_way)
        self.world.restart()
        late = self.world.member("late")
        answers = [await late.open(max_records=RECORDS)]
        answers += [await late.fetch(max_wait_ms=0, max_records=RECORDS) for _ in range(2)]
        return {
            offset
            for answer in answers
            for first, last, _ in acquired(answer)
            for offset in range(first, last + 1)
        }


@settings(max_examples=4 * settings().max_examples)
@given(STEPS)
@example(
    [
        Fetches("alice", 3),
        Says("alice", 0, 2, RELEASE),
        Fetches("alice", 3),
        Passes(20_000),
        Says("alice", 0, 0, RENEW),
        Refused((Passes(11_000),)),
        Says("alice", 0, 0, ACCEPT),
        Says("alice", 1, 1, ACCEPT),
    ]
)
def test_what_a_member_was_told_to_have_accepted_is_never_delivered_again(steps: list[Step]) -> None:
    async def run() -> tuple[set[int], set[int]]:
        scene = Scene()
        await scene.begin()
        await scene.take(steps)
        return scene.accepted, await scene.delivered_after_a_restart()

    # When
    accepted, delivered = asyncio.run(run())

    # Then
    assert not accepted & delivered
