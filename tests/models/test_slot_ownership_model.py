"""Whatever maps say, and whoever hears of them when: no answered write is undone, and the last map is served."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kproxy.errors import FencedLeaderEpoch, NotCoordinator
from kproxy.fleet.fleet_map import NOBODY
from kproxy.net.state_log import slot as state_slot
from kproxy.net.state_log import slots as state_slots
from kproxy.net.state_log.loading import LoadedSlot
from kproxy.share.identifiers import TopicIdPartition
from kproxy.statelog.claims import Claim
from kproxy.statelog.slot_status import SlotState
from kproxy.statelog.state_log_fold import NO_CLAIM, Outcome, StateLogFold
from kproxy.statelog.state_records import decode_state_record
from tests.event_loops import run
from tests.in_memory.scripted_state_log import Fate, ScriptedStateLog
from tests.worlds.scripted_fleets import FleetScript, ScriptedMember
from tests.worlds.state_log_process import HERE, THERE, Process, begun
from tests.worlds.state_logs import SLOT_COUNT, StateLogBacking, create_state_topics, groups_log, state_log
from tests.worlds.waiting import until, until_all_wait

KEYS = (HERE, THERE)
MOST_PROCESSES = 3
PAUSES_MS = (0, 1, 3, 10, 30)
"""Between what happens; to claim a slot and to load it takes some ten."""


class Ownership:
    """Processes of one fleet over one state log, and what clients were told."""

    def __init__(self, cluster: ScriptedStateLog) -> None:
        self.cluster = cluster
        self.script = FleetScript(SLOT_COUNT)
        self.processes: list[Process] = []
        self.answered: tuple[set[int], ...] = tuple(set() for _ in KEYS)
        """The offsets of which clients know that they are acknowledged, by slot."""
        self.refused_count = 0
        self.writes: set[asyncio.Task[None]] = set()
        self._offsets = 0

    async def begin(self, process_count: int, running: AsyncExitStack) -> None:
        """Start processes of which the first owns everything, and has begun both states."""
        create_state_topics(self.cluster)
        members = [self.script.add() for _ in range(process_count)]
        self.script.give((0,) * SLOT_COUNT)
        for number, member in enumerate(members):
            backing = await running.enter_async_context(StateLogBacking(self.cluster))
            process = Process(backing, f"process {number}", fleet=member)
            self.processes.append(await process.serves())
        await begun(self.processes[0])

    def member(self, number: int) -> ScriptedMember:
        """Return a member; numbers begin again behind the last one."""
        return self.script.members[number % len(self.script.members)]

    def give(self, owners: tuple[int, ...]) -> None:
        """Make a newer map."""
        count = len(self.processes)
        self.script.give([owner if owner == NOBODY else owner % count for owner in owners])

    def write(self, number: int, slot: int) -> None:
        """Let a client of a process acknowledge one more record; it is awaited at the end."""
        self._offsets += 2  # so that no two are one batch
        work = self._write(self.processes[number % len(self.processes)], slot, self._offsets)
        self.writes.add(asyncio.get_running_loop().create_task(work))

    async def _write(self, process: Process, slot: int, offset: int) -> None:
        if await process.acknowledge(KEYS[slot], offset) is not None:
            self.refused_count += 1
            return
        self.answered[slot].add(offset)
        self.check()

    # ------------------------------------------------ what has to hold

    def check(self) -> None:
        """See that what was answered counts, and that who serves under the claim that counts knows all that does."""
        for slot in range(SLOT_COUNT):
            fold = self.folded(slot)
            assert self.answered[slot] <= acknowledged_in(fold, slot), f"slot {slot} lost what was answered"
            served = [loaded for loaded in self._loaded(slot) if loaded.fold.claim_epoch == fold.claim_epoch]
            assert len(served) <= 1, f"slot {slot} has two owners of one claim"
            epochs = self._map_epochs(slot)
            assert not served or max(epochs) == epochs[-1], f"slot {slot} was taken from whoever knew more"
            for owner in served:
                is_writing = owner.states.waiting_count > 0
                assert is_writing or acknowledged_in(owner.fold, slot) == acknowledged_in(fold, slot)

    def folded(self, slot: int) -> StateLogFold:
        """Return what the whole log of a slot comes to, now.

        Processes fold as this does, and would be wrong in the same way. So what counts is said here once more: what was
        written under the claim that is the newest where it stands, and nothing else.
        """
        fold, newest_claim = StateLogFold(), NO_CLAIM
        for record in self.cluster.records(state_log(slot)):
            decoded, outcome = decode_state_record(record), fold.apply(record)
            if isinstance(decoded.record, Claim):
                newest_claim = record.offset
            else:
                counts = decoded.claim_epoch == newest_claim
                assert (outcome is Outcome.APPLIED) is counts, (
                    f"slot {slot}, offset {record.offset}: {outcome}"
                )
        return fold

    def _map_epochs(self, slot: int) -> list[int]:
        """Return under which maps a slot was claimed, in the order of the claims."""
        decoded = [decode_state_record(record).record for record in self.cluster.records(state_log(slot))]
        return [record.map_epoch for record in decoded if isinstance(record, Claim)]

    def _loaded(self, slot: int) -> list[LoadedSlot]:
        all_slots = [process.service.slots for process in self.processes]
        return [
            loaded
            for slots in all_slots
            if slots is not None and (loaded := slots.all()[slot].loaded()) is not None
        ]

    # ------------------------------------------------ the end

    async def come_to_rest(self, owners: tuple[int, ...]) -> None:
        """Let all hear of a last map, land what is under way, and return when everything is served that is to be."""
        self.cluster.release_held.set()
        self.cluster.land_late()
        self.give(owners)
        await until(self._is_at_rest)
        await asyncio.gather(*self.writes)

    def _is_at_rest(self) -> bool:
        for member in self.script.members:
            member.go_on()
            member.hear()
        if self.script.give_again():
            return False
        expected = [
            SlotState.READY if owner == number else SlotState.ELSEWHERE
            for number in range(len(self.processes))
            for owner in self.script.newest.owners
        ]
        return expected == [
            slot.state
            for process in self.processes
            if process.service.slots
            for slot in process.service.slots.all()
        ]

    async def require_one_server(self, owners: tuple[int, ...]) -> None:
        """See that each slot is served by the process that the last map says, with all that counts, and by no other."""
        for slot, key in enumerate(KEYS):
            owner = owners[slot] % len(self.processes)
            for number, process in enumerate(self.processes):
                if number != owner:
                    refusal = await process.acknowledge(key, 1)
                    assert isinstance(refusal, NotCoordinator | FencedLeaderEpoch), refusal
            # Whoever was outrun by a process that knew an older map hears of it by its first write, and claims again.
            async with asyncio.timeout(10):
                while await self.processes[owner].acknowledge(key, 1) is not None:  # noqa: ASYNC110 - it is asked
                    await asyncio.sleep(0.002)
            slots = self.processes[owner].service.slots
            assert slots is not None
            found = slots.all()[slot].loaded()
            assert found is not None
            assert acknowledged_in(found.fold, slot) == acknowledged_in(self.folded(slot), slot)
        self.check()


def acknowledged_in(fold: StateLogFold, slot: int) -> set[int]:
    """Return the offsets that a fold has as acknowledged."""
    batches = fold.states[KEYS[slot]].state_batches if KEYS[slot] in fold.states else ()
    return {offset for batch in batches for offset in range(batch.first_offset, batch.last_offset + 1)}


# ---------------------------------------------------- what may happen

Happening = Callable[[Ownership], object]

NUMBERS = st.integers(0, MOST_PROCESSES - 1)
SLOTS = st.integers(0, SLOT_COUNT - 1)
PARTITIONS = st.builds(lambda log, slot: log(slot), st.sampled_from([state_log, groups_log]), SLOTS)
OWNERS = st.tuples(*[st.sampled_from([NOBODY, *range(MOST_PROCESSES)])] * SLOT_COUNT)


def a_map(owners: tuple[int, ...], hearers: list[int]) -> Happening:
    """A newer map, of which some hear at once, in this order."""

    def happen(model: Ownership) -> None:
        model.give(owners)
        for number in hearers:
            model.member(number).hear()

    return happen


def a_decree(fate: Fate, partition: TopicIdPartition) -> Happening:
    """What becomes of the next append there."""
    return lambda model: model.cluster.decree(fate, partition)


def a_write(number: int, slot: int) -> Happening:
    return lambda model: model.write(number, slot)


def a_word(number: int, lag: int) -> Happening:
    """A map that comes late to a process."""
    return lambda model: model.member(number).hear(lag)


def of_member(what: Callable[[ScriptedMember], object]) -> Callable[[int], Happening]:
    """What happens to one process."""
    return lambda number: lambda model: what(model.member(number))


def a_handover(number: int, slot: int) -> Happening:
    return lambda model: model.member(number).give_up(slot)


def release_held(model: Ownership) -> None:
    model.cluster.release_held.set()
    model.cluster.release_held = asyncio.Event()


WRITES = st.builds(a_write, NUMBERS, SLOTS)
HAPPENINGS = st.one_of(
    WRITES,
    WRITES,
    st.builds(a_map, OWNERS, st.lists(NUMBERS, max_size=MOST_PROCESSES, unique=True)),
    st.builds(a_word, NUMBERS, st.integers(0, 2)),
    st.builds(of_member(ScriptedMember.stand_still), NUMBERS),
    st.builds(of_member(ScriptedMember.go_on), NUMBERS),
    st.builds(a_handover, NUMBERS, SLOTS),
    st.builds(a_decree, st.sampled_from(Fate), PARTITIONS),
    st.just(lambda model: model.cluster.land_late()),
    st.just(release_held),
    st.just(lambda model: model.cluster.expire_transactional_ids()),
)


@given(
    process_count=st.integers(2, MOST_PROCESSES),
    happenings=st.lists(st.tuples(HAPPENINGS, st.sampled_from(PAUSES_MS)), max_size=30),
    last_owners=st.tuples(*[NUMBERS] * SLOT_COUNT),
)
@example(  # the id of the former owner expires, so that no leader refuses what it writes
    process_count=2,
    happenings=[
        (lambda model: model.cluster.expire_transactional_ids(), 0),
        (a_map((1, 0), [1]), 100),
        (a_write(0, 0), 30),
        (a_write(1, 0), 30),
    ],
    last_owners=(1, 0),
)
@example(  # a map that was heard late gives a slot that was claimed under a newer one
    process_count=3,
    happenings=[
        (a_map((1, 1), []), 0),
        (a_map((2, 2), [2]), 100),
        (a_word(1, 1), 100),
        (a_write(1, 0), 0),
        (a_write(2, 0), 30),
    ],
    last_owners=(2, 2),
)
@settings(max_examples=60, deadline=None)
def test_whoever_hears_of_which_map_when_nothing_answered_is_undone_and_the_last_map_is_served(
    process_count: int, happenings: list[tuple[Happening, int]], last_owners: tuple[int, ...]
) -> None:
    async def scenario() -> None:
        async with ScriptedStateLog() as cluster, AsyncExitStack() as running:
            # Given
            model = Ownership(cluster)
            await model.begin(process_count, running)

            # When
            for happen, pause_ms in happenings:
                happen(model)
                await (asyncio.sleep(pause_ms / 1000) if pause_ms else until_all_wait())
                model.check()
            await model.come_to_rest(last_owners)

            # Then
            await model.require_one_server(last_owners)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state_slot, "FIRST_RETRY_MS", 2)
        patch.setattr(state_slot, "LAST_RETRY_MS", 10)
        patch.setattr(state_slots, "HANDING_OVER_SECONDS", 0.02)
        run(scenario())
