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


def going_on(
    shares: TurnShares, gone_on: list[str], name: str, work: int, *, again: int = 0, is_little: bool = False
) -> Callable[[], None]:
    """Return what spends `work`, and then waits as often `again`."""
    left = [again]

    def go_on() -> None:
        gone_on.append(name)
        shares.spend(work)
        if left[0] > 0:
            left[0] -= 1
            shares.wait(go_on, is_little=is_little)

    return go_on


async def test_what_was_spent_counts_until_the_turn_is_over() -> None:
    shares = TurnShares()

    shares.spend(WORK_A_TURN)
    left = [shares.left]
    await turns(2)
    left.append(shares.left)

    assert left == [0, WORK_A_TURN]


@pytest.mark.parametrize("is_little", [True, False])
async def test_those_who_wait_alike_go_on_first_come_first_served_as_far_as_a_turn_goes(
    is_little: bool,  # noqa: FBT001 - a parameter of pytest
) -> None:
    # Given
    shares, gone_on = TurnShares(), list[str]()
    shares.spend(2 * WORK_A_TURN)
    for number in range(7):
        shares.wait(going_on(shares, gone_on, str(number), WORK_A_TURN // 2), is_little=is_little)

    # When
    seen = []
    for _ in range(5):
        seen.append(len(gone_on))
        await turns(1)

    # Then
    assert "".join(gone_on) == "0123456"
    assert seen[:4] == [0, 2, 4, 6]
    assert len(shares) == 0


async def test_who_has_little_to_do_goes_on_before_others_who_came_first_and_these_have_half_of_each_turn() -> (
    None
):
    # Given
    shares, gone_on = TurnShares(), list[str]()
    for name in "abc":
        shares.wait(going_on(shares, gone_on, name, WORK_A_TURN // 4, again=1), is_little=False)
    for number in range(3):
        go_on = going_on(shares, gone_on, str(number), WORK_A_TURN, again=1, is_little=True)
        shares.wait(go_on, is_little=True)

    # When
    await turns(7)

    # Then
    assert "".join(gone_on) == "0ab1ca2bc012"


async def test_who_waits_again_has_had_its_turn() -> None:
    # Given
    shares, gone_on = TurnShares(), list[str]()
    shares.wait(going_on(shares, gone_on, "a", 1, again=1), is_little=True)
    shares.wait(going_on(shares, gone_on, "b", 1, again=1), is_little=False)

    # When
    seen = []
    for _ in range(3):
        await turns(1)
        seen.append("".join(gone_on))

    # Then
    assert seen == ["ab", "abab", "abab"]


async def test_who_is_alone_and_does_little_costs_the_loop_nothing() -> None:
    shares = TurnShares()

    shares.spend(WORK_A_TURN // 2)
    await turns(3)

    assert shares.left == WORK_A_TURN // 2
