"""What all connections do in one turn of the loop, and who goes on in the next."""

import asyncio
from collections.abc import Callable

import pytest

from kproxy.interception.turns.turn_share import WORK_A_TURN
from kproxy.net.relay.limits.turn_shares import TurnShares
from tests.event_loops import BOTH_LOOPS

pytestmark = pytest.mark.parametrize("loop_kind", BOTH_LOOPS)


async def turns(count: int) -> None:
    """Return when so many turns of the loop are over."""
    for _ in range(count):
        await asyncio.sleep(0)


async def test_what_was_spent_counts_until_the_turn_is_over() -> None:
    shares = TurnShares()

    shares.spend(WORK_A_TURN)
    shares.enter()
    left = [shares.left]
    await turns(2)
    left.append(shares.left)

    assert left == [0, WORK_A_TURN]


async def test_who_waits_goes_on_first_come_first_served_as_far_as_a_turn_goes() -> None:
    # Given
    shares, gone_on = TurnShares(), []

    def spend(number: int, work: int) -> Callable[[], None]:
        def go_on() -> None:
            gone_on.append(number)
            shares.spend(work)

        return go_on

    shares.spend(2 * WORK_A_TURN)
    for number in range(7):
        shares.wait(spend(number, WORK_A_TURN // 2))

    # When
    seen = []
    for _ in range(5):
        seen.append(len(gone_on))
        await turns(1)

    # Then
    assert gone_on == [0, 1, 2, 3, 4, 5, 6]
    assert seen[:4] == [0, 2, 4, 6]
    assert len(shares) == 0


async def test_who_waits_again_stands_behind_all_others() -> None:
    # Given
    shares, gone_on = TurnShares(), []

    def much() -> None:
        gone_on.append("much")
        shares.spend(WORK_A_TURN)
        if len(gone_on) < 4:
            shares.wait(much)

    def little() -> None:
        gone_on.append("little")
        shares.spend(10)

    shares.wait(much)
    shares.wait(little)

    # When
    await turns(6)

    # Then
    assert gone_on == ["much", "little", "much", "much"]


async def test_who_is_alone_and_does_little_costs_the_loop_nothing() -> None:
    shares = TurnShares()

    shares.spend(WORK_A_TURN // 2)
    await turns(3)

    assert shares.left == WORK_A_TURN // 2
