"""However what ended sessions held is released, and whatever happens in between: each attempt ends once, and rightly.

Two members consume ten partitions, and others have a turn after every share-partition that is released. A test of
Hypothesis's making lets them fetch, acknowledge, close their sessions, open them anew beside what is still being
released, and lose their connections; locks end. Whatever ends an attempt to deliver a record is written, so the
log tells: the attempts of a record end one after the other, 1, 2, 3, each once. No record is delivered twice in one
attempt, and none is taken from a session that did not end. When all is quiet nobody holds anything whose session ended.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Coroutine
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.handlers.live import held_records, pauses
from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.share.identifiers import TopicId
from kproxy.share.limits import ShareLimits
from kproxy.share.share_partition import SharePartition
from kproxy.share.share_session import ShareSession
from kproxy.statelog.actors import Cause
from tests.worlds.share_group_world import (
    ORDERS,
    Member,
    ShareGroupWorld,
    acquired,
    world_with_orders,
)
from tests.worlds.waiting import until_all_wait

PARTITIONS = range(10)
NAMES = ("alice", "bob")
PARTITIONS_OF = {
    "alice": [[*PARTITIONS], [*reversed(PARTITIONS)]],
    "bob": [[0, 9], [9, 0]],
}
"""What the sessions of each member have, in turn: who begins anew looks first at what is released last."""
UNLIMITED = ShareGroupLimits(share=ShareLimits(delivery_count_limit=10_000))
LOCK_MS = 30_000

Record = tuple[int, int]
"""Partition and offset."""

name = st.sampled_from(NAMES)
turns = st.integers(0, 6)
step = st.one_of(
    st.tuples(st.just("produce"), st.sampled_from(NAMES), turns),
    st.tuples(st.just("fetch"), name, turns),
    st.tuples(st.just("accept"), name, turns),
    st.tuples(st.just("release"), name, turns),
    st.tuples(st.just("renew"), name, turns),
    st.tuples(st.just("close"), name, turns),
    st.tuples(st.just("accept and close"), name, turns),
    st.tuples(st.just("reopen"), name, turns),
    st.tuples(st.just("lose"), name, turns),
    st.tuples(st.just("lose"), name, st.just(0)),
    st.tuples(st.just("pass time"), name, turns),
)


@dataclass
class Consumers:
    """Two members, what they have under way, and what was seen turn by turn."""

    world: ShareGroupWorld
    members: dict[str, Member] = field(default_factory=dict)
    under_way: list[asyncio.Task[object]] = field(default_factory=list)
    turn: int = 0
    answered: set[tuple[int, int, int]] = field(default_factory=set)
    """Partition, offset and delivery count of what fetches were answered with."""
    held: dict[str, list[tuple[int, int, int]]] = field(default_factory=lambda: defaultdict(list))
    """Partition, first and last offset of what a member was told that it has."""
    acquired_in: dict[tuple[Record, int], tuple[str, int]] = field(default_factory=dict)
    """By record and delivery count: by whom it was seen to be held, and in which turn first."""
    changed_in: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NAMES, -1))
    """In which turn a session of a member ended last, or was replaced."""
    gone_in: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NAMES, -1))
    """In which turn a member was seen last without a session, after it had one."""
    opened_counts: Counter[str] = field(default_factory=Counter)
    open_sessions: dict[str, ShareSession] = field(default_factory=dict)
    delivery_counts: dict[Record, int] = field(default_factory=dict)
    """Of each record, how many attempts have ended."""
    seen_delta_count: int = 0

    async def take(self, action: str, member: str, turn_count: int) -> None:
        work: Coroutine[object, object, object] = {
            "produce": self.produce,
            "fetch": self.fetch,
            "accept": self.accept,
            "release": self.release,
            "renew": self.renew,
            "close": self.close,
            "accept and close": self.accept_and_close,
            "reopen": self.reopen,
            "lose": self.lose,
            "pass time": self.pass_time,
        }[action](member)
        self.under_way.append(asyncio.get_running_loop().create_task(work))
        for _ in range(turn_count):
            await self.look()

    async def look(self) -> None:
        """Let everybody have a turn, then look at what has changed."""
        await asyncio.sleep(0)
        self.turn += 1
        self._look_at_sessions()
        self._look_at_ends()
        self._look_at_holders()

    async def settle(self) -> None:
        """Go on until nothing is under way."""
        while not all(task.done() for task in self.under_way):
            await self.look()
        for task in self.under_way:
            await task
        await until_all_wait()
        await self.look()

    async def accept_all(self) -> None:
        """End all sessions, then let one member accept everything: what was forgotten of an attempt shows there."""
        for name in NAMES:
            await self.lose(name)
        self.world.clock.advance(2 * LOCK_MS)
        await self.world.expire()
        self.opened_counts["alice"] = 0
        for _ in PARTITIONS:
            await self.fetch("alice")
            await self.accept("alice")
        await self.look()

    # ---- what members do

    async def produce(self, _: str) -> None:
        for number in PARTITIONS:
            self.world.produce(2, partition=number)

    async def fetch(self, name: str) -> None:
        member = self.members[name]
        add: list[tuple[TopicId, int]] = []
        if member.session_epoch == 0:
            add = [(ORDERS, number) for number in PARTITIONS_OF[name][self.opened_counts[name] % 2]]
            self.opened_counts[name] += 1
        answer = await member.fetch(add=add, max_wait_ms=0, max_records=500)
        for number in PARTITIONS:
            for first_offset, last_offset, delivery_count in acquired(answer, partition=number):
                for offset in range(first_offset, last_offset + 1):
                    delivery = (number, offset, delivery_count)
                    assert delivery not in self.answered, f"delivered twice in one attempt: {delivery}"
                    self.answered.add(delivery)
                self.held[name].append((number, first_offset, last_offset))

    async def accept(self, name: str) -> None:
        await self._settle_some(name, 1)

    async def release(self, name: str) -> None:
        await self._settle_some(name, 2)

    async def renew(self, name: str) -> None:
        held = self.held[name]
        acks = {(ORDERS, number): [(first, last, [4])] for number, first, last in held}
        await self.members[name].acknowledge(acks, is_renew_ack=True)

    async def close(self, name: str) -> None:
        await self.members[name].fetch(epoch=-1)
        self.members[name].session_epoch = 0

    async def accept_and_close(self, name: str) -> None:
        await self._settle_some(name, 1, epoch=-1)
        self.members[name].session_epoch = 0

    async def reopen(self, name: str) -> None:
        """Begin anew on another connection, whatever becomes of what is on the first one."""
        self.members[name] = self.world.member(name)
        await self.fetch(name)

    async def lose(self, name: str) -> None:
        member, self.members[name] = self.members[name], self.world.member(name)
        await member.disconnect()

    async def pass_time(self, _: str) -> None:
        self.world.clock.advance(LOCK_MS // 2)
        await self.world.expire()

    async def _settle_some(self, name: str, acknowledge_type: int, *, epoch: int | None = None) -> None:
        """What the member was told last of each partition, which may not be its own any more."""
        held, self.held[name] = self.held[name], []
        acks = {(ORDERS, number): [(first, last, [acknowledge_type])] for number, first, last in held}
        await self.members[name].acknowledge(acks, epoch=epoch)

    # ---- what is seen

    def _look_at_sessions(self) -> None:
        now_open = {str(session.key.member_id): session for session in self.world.groups.sessions.sessions()}
        for name, session in self.open_sessions.items():
            if now_open.get(name) is not session:
                self.changed_in[name] = self.turn
            if name not in now_open:
                self.gone_in[name] = self.turn
        self.open_sessions = now_open

    def _look_at_ends(self) -> None:
        """Each attempt ends once, and a session's end ends no attempt of a session that goes on."""
        log = self.world.state_log
        for (key, delta), actors in zip(
            log.deltas[self.seen_delta_count :], log.actors[self.seen_delta_count :], strict=True
        ):
            for batch in delta.batches:
                for offset in range(batch.first_offset, batch.last_offset + 1):
                    record = (key.partition, offset)
                    assert batch.delivery_count == self.delivery_counts.get(record, 0) + 1, record
                    self.delivery_counts[record] = batch.delivery_count
                    if actors[0].cause is Cause.SESSION_CLOSE:
                        self._require_ended(record, batch.delivery_count)
        self.seen_delta_count = len(log.deltas)

    def _require_ended(self, record: Record, delivery_count: int) -> None:
        if (record, delivery_count) in self.acquired_in:  # else it was held for less than a turn
            name, acquired_in = self.acquired_in[record, delivery_count]
            assert self.changed_in[name] >= acquired_in, (
                f"{record} was taken from a session of {name}'s that goes on"
            )

    def _look_at_holders(self) -> None:
        for record, delivery_count, name in self._held_records():
            self.acquired_in.setdefault((record, delivery_count), (name, self.turn))

    def _held_records(self) -> list[tuple[Record, int, str]]:
        return [
            ((live.key.partition, offset), run.delivery_count, run.member_id)
            for live in self._live()
            for run in live.view().ranges
            if run.member_id is not None
            for offset in range(run.first_offset, run.last_offset + 1)
        ]

    def _live(self) -> list[SharePartition]:
        find, key = self.world.groups.directory.find, self.world.key
        return [live for number in PARTITIONS if (live := find(key(partition=number))) is not None]

    def require_that_nothing_is_left(self) -> None:
        """What is held is held in sessions that are open, and was acquired after the ones before them ended."""
        for record, delivery_count, name in self._held_records():
            assert name in self.open_sessions, f"{record} is held by {name}, who has no session"
            _, acquired_in = self.acquired_in[record, delivery_count]
            assert acquired_in > self.gone_in[name], f"{record} is held by a session of {name}'s that is gone"


class TinyPace(pauses.Pace):
    """A pause after each share-partition."""

    def is_pause_due(self, work: int = 1) -> bool:
        return work > 0


@given(st.lists(step, max_size=40), st.sampled_from([1, 20]))
def test_each_attempt_ends_once_and_only_with_its_own_session(
    steps: list[tuple[str, str, int]], most_at_once: int
) -> None:
    """Others than releases pause as often or seldom, so that each may overtake the other."""

    async def run() -> None:
        consumers = Consumers(await world_with_orders(partition_count=len(PARTITIONS), limits=UNLIMITED))
        consumers.members = {name: consumers.world.member(name) for name in NAMES}
        await consumers.produce("")
        for name in NAMES:
            await consumers.fetch(name)
            await consumers.look()
        for each in steps:
            await consumers.take(*each)
        await consumers.settle()
        consumers.require_that_nothing_is_left()
        await consumers.accept_all()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pauses, "MOST_AT_ONCE", most_at_once)
        patch.setattr(held_records, "Pace", TinyPace)
        asyncio.run(run())
