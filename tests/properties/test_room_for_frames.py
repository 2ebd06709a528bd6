"""Whoever holds, waits, answers or stands still: somebody goes on while anybody waits, and all is given back."""

from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from kproxy.net.relay.memory.budget_account import BudgetAccount
from kproxy.net.relay.memory.buffer_budget import SMALL_FRAME_BYTES, BufferBudget

DEADLINE_MS = 30_000
LIMIT_BYTES = 4 * SMALL_FRAME_BYTES

KIB = 1024


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(1, 120), st.booleans(), st.integers(0, 300)), max_size=60
    )
)
def test_whatever_happens_somebody_goes_on_while_anybody_waits_and_nothing_is_left_in_the_end(
    steps: list[tuple[int, int, bool, int]],
) -> None:
    budget = BufferBudget(100)
    waits, goes_on = set[int](), set[int]()

    def grant(owner: int) -> Callable[[], None]:
        def granted() -> None:
            waits.discard(owner)
            goes_on.add(owner)

        return granted

    for owner, amount, is_release, peers_bytes in steps:
        for each in (waits, goes_on):
            each.discard(owner)
        if is_release:
            budget.release(owner)
        else:
            (goes_on if budget.hold(owner, amount, amount, grant(owner)) else waits).add(owner)
        budget.note_waiting("peers", peers_bytes)
        assert goes_on or not waits
    budget.note_waiting("peers", 0)
    for owner in range(6):
        budget.release(owner)

    assert budget.held_bytes == 0


class Peer:
    """A connection whose frames wait to be whole, to be answered and to be taken; it is ended when it is told to."""

    def __init__(self, budget: BufferBudget, client: str) -> None:
        self.account = BudgetAccount(budget)
        self.account.client = client
        self.account.on_overstayed = self.account.close
        self.number = 0
        self.taken_bytes = 0

    def do(self, deed: str, amount: int) -> None:
        match deed:
            case "begin":
                self.number += 1
                self.account.hold(amount + 1, amount, self.number, lambda: None)
            case "end":
                self.account.hold(0, 0, self.number, lambda: None)
            case "wait":
                self.account.note_waiting(amount)
            case "take":
                self._take(amount)
            case _:
                self.account.close()
                self._take(0)

    def _take(self, amount: int) -> None:
        self.account.take(amount - self.taken_bytes)
        self.taken_bytes = amount


@dataclass(frozen=True)
class Step:
    """What one of the peers does, with so many KiB."""

    peer: int
    deed: str
    amount: int


STEPS = st.builds(
    Step,
    st.integers(0, 4),
    st.sampled_from(["begin", "end", "wait", "take", "leave"]),
    st.integers(0, 400),
)


@given(st.lists(STEPS, max_size=60))
def test_whatever_was_let_in_beyond_the_limit_nobody_waits_for_ever_and_all_is_given_back(
    steps: list[Step],
) -> None:
    # Given
    budget = BufferBudget(LIMIT_BYTES)
    peers = [Peer(budget, client) for client in "aaabc"]
    for step in steps:
        peers[step.peer].do(step.deed, step.amount * 1024)
        if step.deed == "leave":
            peers[step.peer] = Peer(budget, "a")

    # When nobody does anything any more
    for turn in range(40 * len(peers)):
        budget.look(turn * DEADLINE_MS // 20, DEADLINE_MS)
    waits = [peer.account.awaits_grant for peer in peers]

    # Then
    assert not any(waits)
    for peer in peers:
        peer.do("leave", 0)
    assert budget.held_bytes == 0


def test_an_answer_of_a_broker_keeps_nobody_out_beyond_the_limit_once_it_is_whole_however_slow_its_client_is() -> (
    None
):
    # Given
    budget = BufferBudget(100 * KIB)
    first, second = BudgetAccount(budget), BudgetAccount(budget)
    budget.note_waiting("slow peers", 200 * KIB)
    first.hold(50 * KIB, 50 * KIB, 1, lambda: None, is_answer=True)
    second.hold(50 * KIB, 50 * KIB, 1, lambda: None, is_answer=True)
    was_kept_out = second.awaits_grant

    # When
    first.note_waiting(100 * KIB)
    first.hold(0, 0, 1, lambda: None)

    # Then
    assert was_kept_out
    assert not second.awaits_grant


def test_whose_request_is_whole_is_not_ended_for_what_takes_long_behind_it() -> None:
    # Given
    budget = BufferBudget(100 * KIB)
    ended: list[str] = []
    first, second = BudgetAccount(budget), BudgetAccount(budget)
    first.on_overstayed = lambda: ended.append("first")
    budget.note_waiting("slow peers", 200 * KIB)
    first.hold(50 * KIB, 50 * KIB, 1, lambda: None)
    second.hold(50 * KIB, 50 * KIB, 1, lambda: None)
    first.note_waiting(100 * KIB)
    first.hold(0, 0, 1, lambda: None)

    # When
    for now_ms in range(0, 31_000, 1_000):
        budget.look(now_ms, 30_000)

    # Then
    assert not second.awaits_grant
    assert ended == []
