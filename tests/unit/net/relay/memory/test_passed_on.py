"""`PassedOn`: whose frames are ended where those that were passed on hold too much together."""

from collections.abc import Hashable
from functools import partial

from kproxy.net.relay.memory.budget_account import BudgetAccount
from kproxy.net.relay.memory.buffer_budget import BufferBudget
from kproxy.net.relay.memory.holder import Holder
from kproxy.net.relay.memory.passed_on import LEAST_BYTES, PassedOn

KIB = 1024
MIB = 1024 * KIB


def never() -> None:
    raise AssertionError("nobody waited for this")


class Connection(Holder):
    """One of a client's."""

    def __init__(self, client: Hashable) -> None:
        self._client = client

    @property
    def client(self) -> Hashable:
        return self._client


def passed_on(*owners: Hashable, limit_bytes: int = 80 * MIB) -> PassedOn:
    several = PassedOn(limit_bytes)
    for owner in owners:
        several.add(owner)
    return several


def test_nobody_is_ended_while_all_hold_no_more_than_an_eighth_of_the_limit() -> None:
    several = passed_on("a", "b", "c")

    told = [several.too_many({"a": 5 * MIB, "b": 3 * MIB, "c": 2 * MIB + more}) for more in (0, 1)]

    assert told == [[], ["a"]]


def test_where_the_limit_is_small_they_may_hold_a_mebibyte() -> None:
    several = passed_on("a", limit_bytes=KIB)

    assert [several.too_many({"a": LEAST_BYTES + more}) for more in (0, 1)] == [[], ["a"]]


def test_those_of_the_client_that_holds_most_are_ended_and_of_these_the_first() -> None:
    """However long ago others were passed on, who hold little each."""
    honest, greedy = [Connection(f"honest {n}") for n in range(4)], [Connection("greedy") for _ in range(3)]
    several = passed_on(*honest, *greedy)

    held: dict[Hashable, int] = {**dict.fromkeys(honest, MIB), **dict.fromkeys(greedy, 4 * MIB)}
    told = several.too_many(held)

    assert told == greedy[:2]


def test_who_is_forgotten_counts_no_more_and_is_not_ended() -> None:
    several = passed_on("a", "b")

    several.discard("a")

    assert several.too_many({"a": 50 * MIB, "b": 10 * MIB}) == []
    assert [each in several for each in "ab"] == [False, True]


def looked(budget: BufferBudget, until_ms: int, *, from_ms: int = 0) -> None:
    """Look each tenth of a second, as kproxy does."""
    for now_ms in range(from_ms, until_ms, 100):
        budget.look_at_place(now_ms, 30_000)


def test_a_client_that_brings_much_and_falls_silent_ends_nobody_else_who_waits_for_another_turn() -> None:
    # Given an honest client that is slow and was passed on
    budget, ended = BufferBudget(32 * MIB), list[str]()
    budget.note_waiting("slow peers", 32 * MIB)
    accounts = {name: BudgetAccount(budget) for name in ("honest", "greedy", "greedy too", "greedy last")}
    for name, account in accounts.items():
        account.client = name[:6]
        account.on_overstayed = partial(ended.append, name)
    accounts["honest"].hold(200 * KIB, 300 * KIB, 1, lambda: None)
    for name in ("greedy", "greedy too", "greedy last"):
        accounts[name].hold(2 * MIB, 6 * MIB, 1, lambda: None)

    # When
    looked(budget, 1_600)

    # Then
    assert ended == ["greedy"]


def test_who_alone_holds_more_than_may_be_passed_on_has_the_time_that_its_bytes_are_worth() -> None:
    # Given
    budget, ended = BufferBudget(8 * MIB), list[str]()
    budget.note_waiting("slow peers", 8 * MIB)
    first, second = BudgetAccount(budget), BudgetAccount(budget)
    first.on_overstayed = partial(ended.append, "first")
    first.hold(MIB + 1, 2 * MIB, 1, lambda: None)
    second.hold(MIB, MIB, 1, lambda: None)

    # When
    looked(budget, 3_000)
    before = list(ended), second.awaits_grant
    looked(budget, 3_200, from_ms=3_000)

    # Then
    assert (before, ended, second.awaits_grant) == (([], True), ["first"], False)


def test_nobody_is_ended_any_more_when_the_end_of_another_one_has_made_room() -> None:
    # Given three of one client that were passed on, two of which hold more than they may when more has come
    budget, ended = BufferBudget(8 * MIB), list[int]()
    budget.note_waiting("slow peers", 8 * MIB)
    accounts = [BudgetAccount(budget) for _ in range(5)]

    def end(number: int) -> None:
        ended.append(number)
        budget.note_waiting("slow peers", MIB)  # what its connection held besides
        accounts[number].close()

    for number, account in enumerate(accounts):
        account.client = "several" if number < 3 else None
        account.on_overstayed = partial(end, number)
        account.hold(100 * KIB, 900 * KIB, 1, lambda: None)
    looked(budget, 2_000)
    for account in accounts[:3]:
        account.hold(600 * KIB, 400 * KIB, 1, lambda: None)

    # When another one is passed on
    last = BudgetAccount(budget)
    last.hold(100 * KIB, 900 * KIB, 1, lambda: None)
    looked(budget, 6_000, from_ms=2_000)

    # Then
    assert ended == [1]


def test_of_those_who_were_passed_on_the_first_ones_are_ended_when_all_hold_too_much() -> None:
    # Given a budget of which passed on frames may hold 2 MiB, each with 800 KiB that came
    budget, ended = BufferBudget(16384 * KIB), list[int]()
    budget.note_waiting("slow peers", 16384 * KIB)
    accounts = [BudgetAccount(budget) for _ in range(5)]
    for number, account in enumerate(accounts):
        account.on_overstayed = partial(ended.append, number)
        account.hold(800 * KIB, 16 * KIB, 1, lambda: None)

    # When
    for now_ms in range(0, 1_800, 100):
        budget.look_at_place(now_ms, 30_000)

    # Then
    assert ended == [0, 1]


def test_who_was_passed_on_and_has_found_room_since_is_not_ended_for_it() -> None:
    # Given
    budget, ended = BufferBudget(8192 * KIB), list[int]()
    budget.note_waiting("slow peers", 8192 * KIB)
    first, *others = accounts = [BudgetAccount(budget) for _ in range(4)]
    for number, account in enumerate(accounts):
        account.on_overstayed = partial(ended.append, number)
        account.hold(600 * KIB, 100 * KIB, 1, lambda: None)
    for now_ms in range(0, 400, 100):
        budget.look_at_place(now_ms, 30_000)

    # When
    budget.note_waiting("slow peers", 5000 * KIB)
    first.hold(610 * KIB, 90 * KIB, 1, never)
    found_room = not first.awaits_grant
    budget.note_waiting("slow peers", 8192 * KIB)
    last = BudgetAccount(budget)
    last.hold(50 * KIB, 50 * KIB, 1, lambda: None)
    for account in others:
        account.hold(620 * KIB, 80 * KIB, 1, lambda: None)
    for now_ms in range(400, 2_400, 100):
        budget.look_at_place(now_ms, 30_000)

    # Then
    assert found_room
    assert (0 in ended, len(ended) > 0) == (False, True)


def test_who_was_passed_on_and_ended_its_frame_is_not_ended_for_that_when_it_has_begun_another() -> None:
    # Given
    budget, ended = BufferBudget(8192 * KIB), list[int]()
    budget.note_waiting("slow peers", 8192 * KIB)
    first, *_ = accounts = [BudgetAccount(budget) for _ in range(4)]
    for number, account in enumerate(accounts):
        account.on_overstayed = partial(ended.append, number)
        account.hold(600 * KIB, 100 * KIB, 1, lambda: None)
    for now_ms in range(0, 400, 100):
        budget.look_at_place(now_ms, 30_000)

    # When
    first.hold(0, 0, 1, never)
    first.hold(600 * KIB, 100 * KIB, 2, lambda: None)
    for now_ms in range(400, 1_200, 100):
        budget.look_at_place(now_ms, 30_000)

    # Then
    assert (first.awaits_grant, ended) == (True, [1])
