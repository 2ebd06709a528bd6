"""How many connections to one address may be in the making at a time."""

import asyncio

import pytest

from kproxy.net.broker_failures import PeerFailure
from kproxy.net.peers.dial_turns import DialTurns
from kproxy.settings import HostPort
from tests.worlds.waiting import until_all_wait

HERE, THERE = HostPort("127.0.0.1", 1), HostPort("127.0.0.1", 2)


class Holder:
    """Has its turn until `may_end` is set."""

    def __init__(self, turns: DialTurns) -> None:
        self._turns = turns
        self.may_end = asyncio.Event()
        self.under_way = 0
        self.most = 0

    async def hold(self, address: HostPort) -> None:
        """Take a turn."""
        async with self._turns.turn(address, 5_000) as left_ms:
            assert 0 < left_ms <= 5_000
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            await self.may_end.wait()
            self.under_way -= 1


async def test_no_more_than_so_many_have_a_turn_at_a_time_and_all_have_one_in_the_end() -> None:
    holder = Holder(DialTurns(2))
    async with asyncio.TaskGroup() as group:
        for _ in range(5):
            group.create_task(holder.hold(HERE))
        await until_all_wait()
        at_first = holder.under_way

        holder.may_end.set()

    assert (at_first, holder.under_way, holder.most) == (2, 0, 2)


async def test_another_address_has_turns_of_its_own() -> None:
    holder = Holder(DialTurns(1))
    async with asyncio.TaskGroup() as group:
        group.create_task(holder.hold(HERE))
        group.create_task(holder.hold(THERE))
        await until_all_wait()

        assert holder.under_way == 2
        holder.may_end.set()


async def test_who_has_no_turn_in_time_hears_why_and_takes_none() -> None:
    turns = DialTurns(1)
    async with turns.turn(HERE, 5_000):
        with pytest.raises(PeerFailure, match=r"1 other dial of 127.0.0.1:1 .* within 10 ms") as failed:
            async with turns.turn(HERE, 10):
                pass

    assert failed.value.reason == "crowded"
    async with turns.turn(HERE, 10):
        pass


async def test_addresses_that_nobody_dials_are_forgotten() -> None:
    turns = DialTurns(1)
    async with turns.turn(HERE, 10):
        pass

    assert not len(turns)
