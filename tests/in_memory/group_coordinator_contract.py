"""What a coordinator of classic groups does, as far as a fleet builds on it: for the one in memory and for real ones.

The group's first join is not held (`group.initial.rebalance.delay.ms=0`).
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from kproxy.error_codes import ErrorCode
from kproxy.fleet.group_protocol import (
    Alive,
    Answer,
    Describe,
    Described,
    Heartbeat,
    Join,
    Joined,
    Leave,
    Left,
    Refused,
    RemoveDead,
    Sync,
    Synced,
)
from kproxy.fleet.limits import FleetLimits
from kproxy.net.fleet.coordinator_link import CoordinatorLink
from tests.worlds.backing import Backing

PATIENCE_MS = 5_000
UNKNOWN = Refused(ErrorCode.UNKNOWN_MEMBER_ID)
REBALANCE = Refused(ErrorCode.REBALANCE_IN_PROGRESS)
ILLEGAL = Refused(ErrorCode.ILLEGAL_GENERATION)


@dataclass(frozen=True, slots=True)
class AProcess:
    """One that knows nobody to be dead."""

    client_id: str

    def dead_among(self, member_ids: Iterable[str]) -> frozenset[str]:  # noqa: ARG002 - the port's
        return frozenset()

    def forget(self, member_ids: Iterable[str]) -> None:
        """Nothing is kept of anybody."""


class Client:
    """One member, that asks what it is told to."""

    def __init__(self, link: CoordinatorLink) -> None:
        self.link = link
        self.member_id = ""

    async def be_given_an_id(self) -> None:
        """Ask to join; a cluster may have to create `__consumer_offsets` first."""
        async with asyncio.timeout(20):
            while not self.member_id:
                answer = await self.link.ask_step(Join("", b""))
                if isinstance(answer, Refused) and answer.error_code is ErrorCode.MEMBER_ID_REQUIRED:
                    self.member_id = answer.member_id

    async def join(self, metadata: bytes) -> Joined:
        """Join, and return what the coordinator has to say when all have joined."""
        answer = await self.link.ask_step(Join(self.member_id, metadata))
        assert isinstance(answer, Joined), answer
        return answer

    async def sync(self, generation: int, **assignments: bytes) -> Answer:
        """Ask for the assignment; the leader brings those of all, by member id."""
        return await self.link.ask_step(Sync(self.member_id, generation, assignments))

    async def heartbeat(self, generation: int, member_id: str = "") -> Answer:
        """Be alive."""
        return await self.link.ask_pulse(
            Heartbeat(member_id or self.member_id, generation), patience_ms=PATIENCE_MS
        )

    async def described(self) -> Answer:
        """Look who is there."""
        return await self.link.ask_pulse(Describe(self.member_id), patience_ms=PATIENCE_MS)

    async def until_described(self, state: str, *clients: "Client") -> None:
        """Return when the group is in `state` with these members."""
        wanted = Described(state, frozenset(client.member_id for client in clients))
        async with asyncio.timeout(10):
            while await self.described() != wanted:  # noqa: ASYNC110 - the coordinator tells nobody by itself
                await asyncio.sleep(0.01)


async def a_group_comes_changes_and_goes(backing: Backing, group_id: str) -> None:
    """The contract: each line is something that `Membership`, or its lease, relies on."""
    links = [
        CoordinatorLink(
            group_id,
            FleetLimits(),
            metadata=backing.metadata,
            connections=backing.connections,
            process=AProcess(f"kproxy-fleet-{number}"),
        )
        for number in range(2)
    ]
    try:
        first, second = map(Client, links)
        generation = await _the_first_to_join_leads(first)
        await _who_joins_is_there_before_its_join_is_answered(first, second, generation)
        await _all_get_what_the_leader_brings(first, second, generation + 1)
        await _who_says_something_else_starts_a_generation(first, second, generation + 1)
        await _who_is_removed_by_another_one_holds_up_nobody(first, second)
    finally:
        for link in links:
            link.close()


async def _the_first_to_join_leads(first: Client) -> int:
    await first.be_given_an_id()
    assert first.member_id.startswith("kproxy-fleet-0-")
    joined = await first.join(b"a")
    generation = joined.generation
    assert joined == Joined(first.member_id, generation, first.member_id, {first.member_id: b"a"})
    assert await first.sync(generation, **{first.member_id: b"one"}) == Synced(b"one")
    assert await first.heartbeat(generation) == Alive()
    assert await first.heartbeat(generation - 1) == ILLEGAL
    assert await first.heartbeat(generation, "nobody") == UNKNOWN
    return generation


async def _who_joins_is_there_before_its_join_is_answered(
    first: Client, second: Client, generation: int
) -> None:
    await second.be_given_an_id()
    await first.until_described("Stable", first)
    waiting = asyncio.ensure_future(second.join(b"b"))  # noqa: TID251 - awaited below
    await first.until_described("PreparingRebalance", first, second)
    assert await first.heartbeat(generation) == REBALANCE
    assert await first.sync(generation) == REBALANCE
    again, joined = await first.join(b"a2"), await waiting
    assert (again.generation, joined.generation) == (generation + 1, generation + 1)
    assert (again.leader_id, joined.leader_id) == (first.member_id, first.member_id)
    assert again.metadata == {first.member_id: b"a2", second.member_id: b"b"}
    assert await first.heartbeat(generation) == ILLEGAL


async def _all_get_what_the_leader_brings(first: Client, second: Client, generation: int) -> None:
    syncing = asyncio.ensure_future(second.sync(generation))  # noqa: TID251 - awaited below
    told = {first.member_id: b"one", second.member_id: b"two"}
    assert await first.sync(generation, **told) == Synced(b"one")
    assert await syncing == Synced(b"two")
    assert await second.sync(generation) == Synced(b"two")


async def _who_says_something_else_starts_a_generation(
    first: Client, second: Client, generation: int
) -> None:
    same = await second.join(b"b")
    assert (same.generation, same.metadata) == (generation, {})
    changing = asyncio.ensure_future(second.join(b"b2"))  # noqa: TID251 - awaited below
    await first.until_described("PreparingRebalance", first, second)
    assert await first.heartbeat(generation) == REBALANCE
    assert await first.link.ask_step(Leave(first.member_id)) == Left()
    alone = await changing
    assert (alone.leader_id, alone.metadata) == (second.member_id, {second.member_id: b"b2"})
    assert await first.heartbeat(generation) == UNKNOWN
    assert await second.link.ask_step(Leave(second.member_id)) == Left()
    await second.until_described("Empty")


async def _who_is_removed_by_another_one_holds_up_nobody(gone: Client, remover: Client) -> None:
    """The group is Empty; the one that is removed leads it, and asks for nothing any more."""
    gone.member_id = remover.member_id = ""
    await gone.be_given_an_id()
    generation = (await gone.join(b"c")).generation
    assert await gone.sync(generation, **{gone.member_id: b"all"}) == Synced(b"all")
    await remover.be_given_an_id()
    waiting = asyncio.ensure_future(remover.join(b"d"))  # noqa: TID251 - awaited below
    await remover.until_described("PreparingRebalance", gone, remover)
    removal = RemoveDead(remover.member_id, frozenset({gone.member_id, "somebody-who-was-there-once"}))
    assert await remover.link.ask_pulse(removal, patience_ms=PATIENCE_MS) == Left()
    async with asyncio.timeout(PATIENCE_MS / 1000):
        alone = await waiting
    assert (alone.generation, alone.leader_id) == (generation + 1, remover.member_id)
    assert await gone.heartbeat(generation) == UNKNOWN
    assert await remover.link.ask_pulse(removal, patience_ms=PATIENCE_MS) == Left()
    assert await remover.link.ask_step(Leave(remover.member_id)) == Left()
