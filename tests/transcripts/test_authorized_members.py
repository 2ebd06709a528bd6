"""Which rights members of share groups need, and what they are answered without.

tests/kafka/test_authorization.py asks Kafka itself.
"""

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.delete_groups_request import DeleteGroupsRequest
from tests.worlds.authorized_world import BOTH, DESCRIBE, NO_GROUP, NO_TOPIC, READ, a_world, ask
from tests.worlds.share_group_world import (
    ORDERS,
    PAYMENTS,
    acknowledge_errors,
    acquired,
    partitions_of,
)
from tests.worlds.waiting import until_all_wait


async def test_a_heartbeat_wants_read_on_the_group_and_describe_on_every_topic() -> None:
    # Given
    world, authorizer = await a_world()
    member = world.member()

    # When
    codes = [(await member.heartbeat(0, ["orders", "payments"])).error_code]
    authorizer.allow_group(READ, "g")
    authorizer.allow_topic(DESCRIBE, "orders")
    codes.append((await member.heartbeat(0, ["orders", "payments"])).error_code)
    codes.append((await member.heartbeat(0, ["orders"])).error_code)

    # Then
    assert codes == [NO_GROUP, NO_TOPIC, ErrorCode.NONE]
    assert world.observer.reasons == ["group_authorization_failed", "topic_authorization_failed"]


async def test_a_fetch_wants_read_on_the_group_before_anything_else_is_looked_at() -> None:
    world, _ = await a_world()
    assert (await world.member("").fetch(epoch=7)).error_code == NO_GROUP
    assert (await world.member("").acknowledge(epoch=7)).error_code == NO_GROUP


async def test_only_records_of_topics_that_may_be_read_are_delivered_and_acknowledged() -> None:
    # Given
    world, authorizer = await a_world()
    authorizer.allow_group(READ, "g")
    authorizer.allow_topic(READ, "orders")
    member = world.member()

    # When
    fetched = await member.open(*BOTH, max_records=10, max_wait_ms=500)
    acknowledged = await member.acknowledge({(ORDERS, 0): [(0, 2, [1])], (PAYMENTS, 0): [(0, 2, [1])]})

    # Then
    assert acquired(fetched) == [(0, 2, 1)]
    assert partitions_of(fetched)[PAYMENTS, 0].error_code == NO_TOPIC
    assert not acquired(fetched, PAYMENTS)
    assert acknowledge_errors(acknowledged) == {(ORDERS, 0): ErrorCode.NONE, (PAYMENTS, 0): NO_TOPIC}


async def test_a_right_taken_away_ends_what_an_open_session_is_given() -> None:
    # Given
    world, authorizer = await a_world()
    authorizer.allow_group(READ, "g")
    authorizer.allow_topic(READ, "orders", "payments")
    member = world.member()
    await member.open(*BOTH)

    # When
    authorizer.take_away("payments")
    fetched = await member.fetch()

    # Then
    assert acquired(fetched) == [(0, 2, 1)]
    assert partitions_of(fetched)[PAYMENTS, 0].error_code == NO_TOPIC


async def test_a_right_taken_away_while_a_fetch_reads_keeps_its_records_from_it() -> None:
    # Given
    world, authorizer = await a_world()
    authorizer.allow_group(READ, "g")
    authorizer.allow_topic(READ, "orders")
    member = world.member()
    await member.open((ORDERS, 0))

    # When
    async def take_away() -> None:
        authorizer.take_away("orders")

    world.reader.before_read = take_away
    fetched = await member.fetch()

    # Then
    assert partitions_of(fetched)[ORDERS, 0].error_code == NO_TOPIC
    assert not acquired(fetched)
    assert world.groups.in_flight_count == 0


async def test_what_cannot_be_told_any_more_while_a_fetch_reads_is_not_delivered() -> None:
    # Given
    world, authorizer = await a_world()
    authorizer.allow_group(READ, "g")
    authorizer.allow_topic(READ, "orders")
    member = world.member()
    await member.open((ORDERS, 0))

    # When
    async def grow_old() -> None:
        authorizer.problem = "the lists are too old"

    world.reader.before_read = grow_old
    fetched = await member.fetch()

    # Then
    assert partitions_of(fetched)[ORDERS, 0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert world.groups.in_flight_count == 0


async def test_a_group_taken_away_while_a_fetch_reads_keeps_its_records_from_it() -> None:
    # Given
    world, authorizer = await a_world()
    authorizer.allow_group(READ, "g")
    authorizer.allow_topic(READ, "orders")
    member = world.member()
    await member.open((ORDERS, 0))

    # When
    async def take_away() -> None:
        authorizer.take_away("g")

    world.reader.before_read = take_away
    fetched = await member.fetch()

    # Then
    assert fetched.error_code == NO_GROUP
    assert not acquired(fetched)
    assert world.groups.in_flight_count == 0
    assert world.observer.reasons == ["group_authorization_failed"]


async def test_what_was_acknowledged_is_told_though_nobody_knows_any_more_who_may_read_the_group() -> None:
    # Given
    world, authorizer = await a_world()
    authorizer.allow_group(READ, "g")
    authorizer.allow_topic(READ, "orders")
    member = world.member()
    await member.open((ORDERS, 0), max_records=10, max_wait_ms=500)
    world.produce(3)

    # When
    async def forget() -> None:
        authorizer.group_problem = "the group's coordinator does not answer"

    world.reader.before_read = forget
    fetched = await member.fetch(acks={(ORDERS, 0): [(0, 2, [1])]})

    # Then
    told = partitions_of(fetched)[ORDERS, 0]
    assert (fetched.error_code, told.acknowledge_error_code) == (ErrorCode.NONE, ErrorCode.NONE)
    assert (told.error_code, acquired(fetched)) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, [])


async def test_what_was_acknowledged_is_told_though_nobody_can_say_any_more_what_may_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    world, authorizer = await a_world()
    authorizer.allow_group(READ, "g")
    authorizer.allow_topic(READ, "orders")
    member = world.member()
    await member.open((ORDERS, 0), max_records=10, max_wait_ms=500)
    persist = world.state_log.persist

    # When
    def grow_old(*args: Any, **kwargs: Any) -> Awaitable[None]:
        authorizer.problem = "the lists are too old"
        return persist(*args, **kwargs)

    monkeypatch.setattr(world.state_log, "persist", grow_old)
    fetched = await member.fetch(acks={(ORDERS, 0): [(0, 2, [1])]})

    # Then
    told = partitions_of(fetched)[ORDERS, 0]
    assert (fetched.error_code, told.acknowledge_error_code) == (ErrorCode.NONE, ErrorCode.NONE)
    assert world.observer.reasons == ["coordinator_not_available"]


async def test_a_fetch_whose_group_was_taken_away_still_tells_what_became_of_its_acknowledgements() -> None:
    # Given
    world, authorizer = await a_world()
    authorizer.allow_group(READ, "g")
    authorizer.allow_topic(READ, "orders")
    member = world.member()
    await member.open((ORDERS, 0), max_records=10, max_wait_ms=500)
    world.produce(3)

    # When
    async def take_away() -> None:
        authorizer.take_away("g")

    world.reader.before_read = take_away
    fetched = await member.fetch(acks={(ORDERS, 0): [(0, 2, [1])]})

    # Then
    assert fetched.error_code == ErrorCode.NONE
    assert partitions_of(fetched)[ORDERS, 0].acknowledge_error_code == ErrorCode.NONE
    assert not acquired(fetched)
    assert world.observer.reasons == ["group_authorization_failed"]
    assert (await member.fetch()).error_code == NO_GROUP


@pytest.mark.parametrize(("taken", "told"), [("g", ErrorCode.NONE), ("orders", NO_TOPIC)])
async def test_a_right_taken_away_while_a_fetch_awaits_its_writes_keeps_its_records_from_it(
    taken: str, told: ErrorCode
) -> None:
    # Given
    world, authorizer = await a_world(passes_time=False)
    authorizer.allow_group(READ, "g")
    authorizer.allow_topic(READ, "orders")
    member = world.member()
    await member.open((ORDERS, 0), max_records=10)
    world.produce(3)
    world.state_log.hold_writes = asyncio.Event()

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(member.fetch(acks={(ORDERS, 0): [(0, 2, [1])]}))
        await until_all_wait()
        authorizer.take_away(taken)
        world.state_log.hold_writes.set()

    # Then
    fetched = fetch.result()
    assert partitions_of(fetched)[ORDERS, 0].acknowledge_error_code == ErrorCode.NONE
    assert partitions_of(fetched)[ORDERS, 0].error_code == told
    assert not acquired(fetched)


async def test_while_nobody_knows_what_anybody_may_do_every_api_says_so_and_asks_to_come_again() -> None:
    # Given
    world, authorizer = await a_world()
    authorizer.problem = "kproxy may not see the lists"

    # When
    fetched = await world.member().fetch(epoch=0)
    deleted = await ask(world, ApiKey.DELETE_GROUPS, 2, DeleteGroupsRequest(["g"]))

    # Then
    assert fetched.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert fetched.error_message == "kproxy may not see the lists"
    assert not deleted.results
    assert authorizer.waits == 2
