"""The ports of the state log over its slots, and what it means to await one of their promises."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from kproxy.errors import (
    ApiError,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    InvalidRequest,
    StateLogUnavailable,
)
from kproxy.handlers.live.pauses import MOST_AT_FIRST, MOST_AT_ONCE
from kproxy.net.state_log.durable_state_log import DurableGroupLog, DurableStateLog, Settlement, SlotDirectory
from kproxy.net.state_log.slots import StateSlots
from kproxy.share.heartbeat import PartitionInitialization
from kproxy.share.identifiers import (
    AssignmentEpoch,
    GroupEpoch,
    GroupId,
    LeaderEpoch,
    SharePartitionKey,
    StateEpoch,
)
from kproxy.share.record_state import RecordState
from kproxy.share.share_group_image import ShareGroupImage
from kproxy.share.state_batches import StateBatch, StateDelta
from kproxy.statelog.actors import Actor, Cause
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.state_records import decode_state_record
from kproxy.statelog.tickets import Ticket
from tests.event_loops import async_fixture
from tests.in_memory.scripted_state_log import Fate, ScriptedStateLog
from tests.worlds.state_logs import StateLogBacking, drained, key_of_slot, state_log
from tests.worlds.waiting import turns_during

HERE, THERE = key_of_slot(0), key_of_slot(1)
DELTA = StateDelta(0, 5, (StateBatch(0, 4, RecordState.ACKNOWLEDGED, 1),))
IMAGE = ShareGroupImage(GroupId("workers"), GroupEpoch(1), AssignmentEpoch(1), {}, {}, {}, {}, {})


class Ports:
    """The ports over slots that are all loaded."""

    def __init__(self, backing: StateLogBacking, slots: StateSlots) -> None:
        self.backing = backing
        self.slots = slots
        self.directory = SlotDirectory()
        self.directory.open(slots)
        self.states = DurableStateLog(self.directory)
        self.groups = DurableGroupLog(self.directory)

    async def initialize(self, *keys: SharePartitionKey, state_epoch: int = 0) -> None:
        """Begin these states."""
        wanted = [PartitionInitialization(key, StateEpoch(state_epoch), 0) for key in keys]
        assert await self.states.initialize(wanted) == {}


@async_fixture
async def ports(backing: StateLogBacking) -> AsyncIterator[Ports]:
    """The ports over slots that are loaded."""
    yield Ports(backing, await backing.ready_slots())


def promised() -> tuple[Ticket, Settlement[object]]:
    """Return a ticket, and the promise over it."""
    ticket = Ticket()
    return ticket, Settlement[object](ticket)


async def awaited(settlement: Settlement[object]) -> object:
    """Await in a coroutine, as a task needs it."""
    return await settlement


# ---------------------------------------------------- settlements


def test_a_promise_that_is_kept_already_needs_no_waiting() -> None:
    # Given
    ticket, settlement = promised()
    ticket.settle("done")

    # When / Then
    assert asyncio.run(awaited(settlement)) == "done"
    assert asyncio.run(awaited(settlement)) == "done"


async def test_everybody_who_waits_is_told_and_so_is_who_was_to_be_told_before() -> None:
    # Given
    ticket, settlement = promised()
    told: list[Ticket] = []
    ticket.on_done = told.append

    async def settle() -> None:
        ticket.settle("done")

    # When
    responses = await asyncio.gather(*(awaited(settlement) for _ in range(3)), settle())

    # Then
    assert responses == ["done"] * 3 + [None]
    assert told == [ticket]


async def test_a_waiter_that_is_cancelled_takes_nothing_with_it() -> None:
    # Given
    ticket, settlement = promised()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.001):
            await settlement

    async def settle() -> None:
        ticket.settle("done")

    # When
    response, _ = await asyncio.gather(awaited(settlement), settle())

    # Then
    assert response == "done"


async def test_a_refusal_is_raised_anew_in_each_wait() -> None:
    # Given
    ticket, settlement = promised()

    async def refuse() -> None:
        ticket.refuse(StateLogUnavailable("nobody knows"))

    # When
    first, second, _ = await asyncio.gather(
        awaited(settlement), awaited(settlement), refuse(), return_exceptions=True
    )

    # Then
    assert [(type(each), str(each)) for each in (first, second)] == [
        (StateLogUnavailable, "nobody knows")
    ] * 2
    assert len({id(each) for each in (first, second, ticket.refusal)}) == 3


async def test_what_is_never_awaited_becomes_durable_all_the_same(
    cluster: ScriptedStateLog, ports: Ports
) -> None:
    # When
    ports.groups.persist_configs("workers", {"share.auto.offset.reset": "earliest"})
    slot = ports.slots.slot_of_group("workers")
    await drained(slot)

    # Then
    loaded = slot.loaded()
    assert loaded is not None
    assert loaded.groups.configs() == {"workers": {"share.auto.offset.reset": "earliest"}}


async def test_a_group_that_is_removed_is_durably_gone(ports: Ports) -> None:
    # Given
    await ports.groups.persist(IMAGE)
    before = ports.groups.durable_image(IMAGE.group_id)

    # When
    await ports.groups.remove(IMAGE.group_id)

    # Then
    ports.groups.require_all_ready()
    assert (before, ports.groups.durable_image(IMAGE.group_id)) == (IMAGE, None)


# ---------------------------------------------------- before there are slots


async def test_without_slots_everything_is_refused_with_the_reason() -> None:
    # Given
    directory = SlotDirectory()
    directory.close("kproxy may not create topic __kproxy_share_state")
    states, groups = DurableStateLog(directory), DurableGroupLog(directory)

    told: list[ApiError] = []

    # When
    writes = [
        groups.persist(IMAGE, on_refused=told.append),
        groups.persist_configs("workers", {}, on_refused=told.append),
        states.persist(
            HERE,
            DELTA,
            state_epoch=StateEpoch(0),
            leader_epoch=LeaderEpoch(0),
            actors=(),
            on_refused=told.append,
        ),
    ]

    # Then
    assert len(told) == len(writes), "each was told of in the turn of the call, and the call raised nothing"
    reason = "may not create topic __kproxy_share_state"
    for write in writes:
        with pytest.raises(CoordinatorNotAvailable, match=reason):
            await write
    moves = [PartitionInitialization(HERE, StateEpoch(0), 0)]
    moved, seen = await states.move(moves, Actor(Cause.ALTER_OFFSETS)), await states.summaries([HERE])
    assert reason in str(moved[HERE])
    assert reason in str(seen[HERE])
    with pytest.raises(CoordinatorNotAvailable, match=reason):
        groups.require_ready("workers")
    with pytest.raises(CoordinatorNotAvailable, match=reason):
        groups.require_all_ready()
    with pytest.raises(CoordinatorNotAvailable):
        await states.load(HERE)
    failures = await states.delete([HERE])
    assert [type(failure) for failure in failures.values()] == [CoordinatorNotAvailable]


# ---------------------------------------------------- StateLog


async def test_states_are_begun_in_all_slots_at_once(cluster: ScriptedStateLog, ports: Ports) -> None:
    # Given
    before = len(cluster.produced())

    # When
    await ports.initialize(HERE, key_of_slot(0, skip=1), THERE)

    # Then
    assert len(cluster.produced()) == before + 1
    assert [slot.status().key_count for slot in ports.slots.all()] == [2, 1]


async def test_what_cannot_begin_is_told_and_the_rest_begins_or_goes_on(ports: Ports) -> None:
    # Given
    wanted = [PartitionInitialization(key, StateEpoch(epoch), 0) for key, epoch in ((HERE, -1), (THERE, 2))]

    # When
    failures = await ports.states.initialize(wanted)

    # Then
    assert {key: type(failure) for key, failure in failures.items()} == {HERE: InvalidRequest}
    assert await ports.states.read_summary(THERE) is not None


async def test_a_load_raises_the_leader_epoch_and_finds_nothing_where_nothing_is(ports: Ports) -> None:
    # Given
    await ports.initialize(HERE)

    # When
    loads = [await ports.states.load(key) for key in (HERE, HERE, THERE)]

    # Then
    assert [None if state is None else state.leader_epoch for state in loads] == [1, 2, None]


async def test_a_delta_is_durable_when_its_promise_is_kept(ports: Ports) -> None:
    # Given
    await ports.initialize(HERE)

    # When
    await ports.states.persist(HERE, DELTA, state_epoch=StateEpoch(0), leader_epoch=LeaderEpoch(0), actors=())

    # Then
    state = await ports.states.read_summary(HERE)
    assert state is not None
    assert state.state_batches == DELTA.batches


async def test_a_delta_whose_outcome_is_unknown_raises(cluster: ScriptedStateLog, ports: Ports) -> None:
    # Given
    await ports.initialize(HERE)
    cluster.decree(Fate.LOST, state_log())
    promise = ports.states.persist(
        HERE, DELTA, state_epoch=StateEpoch(0), leader_epoch=LeaderEpoch(0), actors=()
    )

    # When / Then
    with pytest.raises(StateLogUnavailable):
        await promise
    with pytest.raises(CoordinatorLoadInProgress):
        ports.groups.require_ready(HERE.group_id)
    ports.groups.require_ready(THERE.group_id)


async def test_a_load_waits_for_a_slot_that_is_being_loaded(cluster: ScriptedStateLog, ports: Ports) -> None:
    # Given
    await ports.initialize(HERE)
    cluster.decree(Fate.LOST, state_log())
    with pytest.raises(StateLogUnavailable):
        await ports.states.load(HERE)

    # When
    state = await ports.states.load(HERE)

    # Then
    assert state is not None
    assert state.leader_epoch == 1


async def test_deleted_states_are_gone_and_those_that_never_were_are_no_failure(ports: Ports) -> None:
    # Given
    await ports.initialize(HERE)

    # When
    failures = await ports.states.delete([HERE, THERE])

    # Then
    assert failures == {}
    assert await ports.states.load(HERE) is None


# ---------------------------------------------------- ShareStateStore


async def test_the_coordinator_operations_read_and_write_under_the_epochs_they_are_given(
    cluster: ScriptedStateLog, ports: Ports
) -> None:
    # Given
    store = ports.states
    await store.initialize_state(HERE, state_epoch=2, start_offset=10)
    await store.read_state(HERE, leader_epoch=4)

    # When
    await store.write_state(
        HERE,
        state_epoch=2,
        leader_epoch=4,
        start_offset=10,
        delivery_complete_count=2,
        batches=[
            StateBatch(14, 14, RecordState.ARCHIVED, 5),
            StateBatch(8, 11, RecordState.ACKNOWLEDGED, 1),
        ],
    )

    # Then
    state = await store.read_summary(HERE)
    assert state is not None
    assert (state.state_epoch, state.leader_epoch, state.start_offset) == (2, 4, 10)
    assert [batch.first_offset for batch in state.state_batches] == [10, 14]
    (actor,) = decode_state_record(cluster.records(state_log())[-1]).actors
    assert (actor.cause, actor.offset_ranges) == (Cause.OPERATOR, ((10, 11), (14, 14)))


async def test_the_coordinator_refuses_as_its_rules_say_and_deletes_what_is_there(ports: Ports) -> None:
    # Given
    await ports.states.initialize_state(HERE, state_epoch=1, start_offset=0)

    # When
    with pytest.raises(InvalidRequest):
        await ports.states.read_state(THERE, leader_epoch=0)
    await ports.states.delete_state(HERE)

    # Then
    assert await ports.states.read_summary(HERE) is None


# ---------------------------------------------------- GroupLog


async def test_a_group_is_durable_as_it_was_last(ports: Ports) -> None:
    # Given
    loaded = ports.slots.slot_of_group(IMAGE.group_id).loaded()
    assert loaded is not None
    ports.groups.require_ready(IMAGE.group_id)
    before = ports.groups.durable_image(IMAGE.group_id)

    # When
    await ports.groups.persist(IMAGE)

    # Then
    assert before is None
    assert ports.groups.durable_image(IMAGE.group_id) == IMAGE
    assert loaded.groups.durable_images() == {IMAGE.group_id: IMAGE}


async def test_offsets_are_moved_in_all_slots_and_seen_without_taking_anything_over(ports: Ports) -> None:
    # Given
    await ports.initialize(HERE, state_epoch=4)
    moves = [PartitionInitialization(key, StateEpoch(2), 7) for key in (HERE, THERE)]

    # When
    failures = await ports.states.move(moves, Actor(Cause.ALTER_OFFSETS))

    # Then
    missing = SharePartitionKey(GroupId("nobody"), HERE.topic_id, 0)
    states = await ports.states.summaries([HERE, THERE, missing])
    epochs = [
        (each.state_epoch, each.leader_epoch)
        for each in states.values()
        if isinstance(each, DurableShareState)
    ]
    assert (failures, epochs, states[missing]) == ({}, [(5, 0), (2, 0)], None)


async def test_others_have_turns_while_the_outcomes_of_very_many_are_gathered(ports: Ports) -> None:
    keys = [HERE._replace(partition=number) for number in range(MOST_AT_FIRST + 2 * MOST_AT_ONCE)]

    assert await turns_during(ports.states.summaries(keys)) >= 3
