"""Signals that come while a fetch is awake: heard by those who listen, forgotten with each look."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.handlers.live.fetch_signals import HeardAvailability
from kproxy.share.identifiers import GroupId, MemberId, SharePartitionKey, TopicId
from kproxy.share.share_session import ShareSessionKey
from tests.in_memory.in_memory_availability import InMemoryAvailability
from tests.in_memory.manual_clock import ManualClock
from tests.worlds.share_group_world import Member, world_with_orders
from tests.worlds.waiting import until_all_wait

HERE, THERE = (
    SharePartitionKey(GroupId("g"), TopicId(b"topic-id-orders."), partition) for partition in range(2)
)

SESSION = ShareSessionKey(1, GroupId("g"), MemberId("alice"))


def an_availability() -> tuple[HeardAvailability, InMemoryAvailability]:
    port = InMemoryAvailability(ManualClock(now_ms=0))
    return HeardAvailability(port), port


def test_a_signal_is_news_to_whoever_listens_and_goes_on_to_the_sleepers() -> None:
    # Given
    availability, port = an_availability()
    here, there = availability.listen([HERE], SESSION), availability.listen([THERE], SESSION)

    # When
    availability.signal(HERE)

    # Then
    assert (here.is_news, there.is_news) == (True, False)
    assert port.signalled == [HERE]


def test_a_look_makes_old_what_was_signalled_before_of_that_share_partition_only() -> None:
    # Given
    availability, _ = an_availability()
    signals = availability.listen([HERE, THERE], SESSION)
    availability.signal(HERE)
    availability.signal(THERE)

    # When
    signals.look_at(HERE)
    is_news = signals.is_news
    signals.look_at(THERE)

    # Then
    assert (is_news, signals.is_news) == (True, False)


def test_who_listens_no_more_hears_nothing_and_leaves_nothing_behind() -> None:
    # Given
    availability, _ = an_availability()
    gone, still_there = availability.listen([HERE], SESSION), availability.listen([HERE], SESSION)

    # When
    availability.silence(gone, [HERE], SESSION)
    availability.signal(HERE)
    availability.silence(still_there, [HERE], SESSION)

    # Then
    assert (gone.is_news, still_there.is_news) == (False, True)
    assert not availability._listeners


def test_what_is_altered_of_a_group_is_one_signal_for_each_of_its_fetches_and_costs_others_nothing() -> None:
    # Given
    availability, port = an_availability()
    bob = ShareSessionKey(1, GroupId("g"), MemberId("bob"))
    of_group = [availability.listen([HERE, THERE], session_key) for session_key in (SESSION, bob)]
    elsewhere = HERE._replace(group_id=GroupId("h"))
    of_other = availability.listen([elsewhere], ShareSessionKey(1, GroupId("h"), MemberId("alice")))

    # When
    availability.look_again(["g", "unheard of"])

    # Then
    assert ([signals.is_news for signals in of_group], of_other.is_news) == ([True, True], False)
    assert port.signalled == [signals.own_key for signals in of_group]
    assert set(of_group[0].look_at_all()) == {HERE, THERE}
    assert not of_group[0].is_news


def test_those_who_listen_are_known_by_their_group() -> None:
    # Given
    availability, _ = an_availability()
    elsewhere = HERE._replace(group_id=GroupId("h"))
    availability.listen([HERE, THERE], SESSION)
    availability.listen([elsewhere], ShareSessionKey(1, GroupId("h"), MemberId("alice")))

    # When
    keys = set(availability.listened_keys())

    # Then
    assert keys == {HERE, THERE, elsewhere}
    assert set(availability.listened_group_ids()) == {"g", "h"}
    assert availability.listened_keys_of(GroupId("g")) == (HERE, THERE)
    assert availability.listened_keys_of(GroupId("unheard of")) == ()


def test_a_look_at_everything_makes_old_whatever_was_signalled() -> None:
    # Given
    availability, _ = an_availability()
    signals = availability.listen([HERE, THERE], SESSION)
    availability.signal(HERE)

    # When
    signals.look_at_all()

    # Then
    assert not signals.is_news


# ---- calls


def test_a_call_wakes_the_first_sleeper_alone_which_owes_the_next_a_call() -> None:
    # Given
    availability, port = an_availability()
    caller, first, second = (availability.listen([HERE], SESSION) for _ in range(3))
    first.is_asleep = second.is_asleep = True
    caller.owe_call(HERE, first, second)

    # When
    availability.call_next(caller, HERE)

    # Then
    assert (caller.is_news, first.is_news, second.is_news) == (False, True, False)
    assert port.signalled == [first.own_key]
    assert (caller.owed_keys, first.owed_keys) == ((), (HERE,))


def test_a_call_does_not_wait_for_a_fetch_that_is_awake_and_may_read_elsewhere_for_long() -> None:
    # Given
    availability, port = an_availability()
    caller, awake, sleeper = (availability.listen([HERE], SESSION) for _ in range(3))
    sleeper.is_asleep = True
    caller.owe_call(HERE, awake, sleeper)

    # When
    availability.call_next(caller, HERE)

    # Then
    assert (awake.is_news, sleeper.is_news) == (True, True)
    assert sleeper.own_key in port.signalled


def test_a_fetch_that_is_over_is_not_called_and_calls_whom_it_owes() -> None:
    # Given
    availability, port = an_availability()
    caller, gone, sleeper = (availability.listen([HERE], SESSION) for _ in range(3))
    sleeper.is_asleep = True
    caller.owe_call(HERE, gone, sleeper)
    availability.silence(gone, [HERE], SESSION)

    # When
    availability.silence(caller, [HERE], SESSION)

    # Then
    assert (gone.is_news, sleeper.is_news) == (False, True)
    assert port.signalled == [sleeper.own_key]


# ---- sessions that end


async def begins_anew(member: Member) -> None:
    """Open the session again, as a client does that lost an answer; on another connection, for this one is busy."""
    member.connection_id = member.world.new_connection()
    await member.open()


async def closes(member: Member) -> None:
    """End the session from another connection."""
    member.connection_id = member.world.new_connection()
    await member.fetch(epoch=-1, max_records=0)


async def disconnects(member: Member) -> None:
    await member.disconnect()


@pytest.mark.parametrize("ends", [begins_anew, closes, disconnects])
async def test_a_session_that_ends_without_records_wakes_its_own_fetch_and_no_other(
    ends: Callable[[Member], Awaitable[None]],
) -> None:
    # Given
    world = await world_with_orders(passes_time=False)
    alice, bob = world.member("alice"), world.member("bob")
    await alice.open()
    await bob.open()

    # When
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(bob.fetch(max_wait_ms=500))
        fetch = tasks.create_task(alice.fetch(max_wait_ms=500))
        await until_all_wait()
        wait_count = len(world.availability.waits)
        await ends(alice)
        await until_all_wait()
        is_answered, woken_count = fetch.done(), len(world.availability.waits) - wait_count
        world.clock.advance(500)

    # Then
    assert is_answered
    assert fetch.result().error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert woken_count == 0


def test_who_found_the_same_records_too_few_is_called_for_others_only() -> None:
    # Given
    availability, port = an_availability()
    reader, patient = availability.listen([HERE], SESSION), availability.listen([HERE], SESSION)
    patient.is_asleep = True
    patient.too_few[HERE] = (0, 5)
    reader.owe_call(HERE, patient)

    # When
    availability.leave_too_few(reader, HERE, 0, 5)
    called_for_the_same = patient.own_key in port.signalled
    availability.leave_too_few(reader, HERE, 0, 6)

    # Then
    assert not called_for_the_same
    assert port.signalled == [patient.own_key]


@pytest.mark.parametrize(("too_few", "call_count"), [({THERE: (0, 1)}, 3), ({}, 9)])
def test_who_waits_for_more_bytes_is_called_for_the_same_records_a_few_times(
    too_few: dict[SharePartitionKey, tuple[int, int]], call_count: int
) -> None:
    # Given
    availability, port = an_availability()
    reader, asker = availability.listen([HERE], SESSION), availability.listen([HERE], SESSION)
    asker.is_asleep = True
    asker.too_few.update(too_few)

    # When
    for _ in range(9):
        reader.owe_call(HERE, asker)
        availability.leave_too_few(reader, HERE, 0, 5)

    # Then
    assert port.signalled.count(asker.own_key) == call_count
