"""`StalledHolders`: who is ended where others wait for room."""

from functools import partial

from kproxy.net.relay.memory.budget_account import BudgetAccount
from kproxy.net.relay.memory.buffer_budget import BufferBudget
from kproxy.net.relay.memory.holder import Holder
from kproxy.net.relay.memory.stalled_holders import LEAST_HELD_BYTES, MOST_ENDED, StalledHolders
from tests.unit.net.relaying import request, share_search
from tests.unit.net.slow_peers import Held

KIB = 1024
MIB = 1024 * KIB


def ended(
    holders: StalledHolders, looks: list[dict[BudgetAccount, int]], patience_ms: int = 3_000
) -> list[list[Holder]]:
    """Return who was to be ended at each of `looks`, a second apart; what each holds then is all that moved."""
    return [look(holders, 1_000 * number, held, patience_ms) for number, held in enumerate(looks)]


def look(
    holders: StalledHolders, now_ms: int, held: dict[BudgetAccount, int], patience_ms: int = 3_000
) -> list[Holder]:
    for holder, held_bytes in held.items():
        holder.note_for_peers(held_bytes)
    return holders.look(now_ms, dict[Holder, int](held.items()), patience_ms=patience_ms)


def a_holder() -> BudgetAccount:
    return BudgetAccount(BufferBudget(0))


def test_who_holds_more_than_a_mebibyte_that_does_not_move_is_ended_after_the_patience_of_others() -> None:
    much, little = a_holder(), a_holder()

    told = ended(StalledHolders(), [{much: LEAST_HELD_BYTES + 1, little: LEAST_HELD_BYTES}] * 4)

    assert told == [[], [], [], [much]]


def test_who_is_quick_enough_stays_be_it_that_more_comes_or_that_it_is_taken() -> None:
    # Given
    grows, shrinks, drips = a_holder(), a_holder(), a_holder()
    looks = [
        {grows: (2 + second) * MIB, shrinks: (20 - second) * MIB, drips: 8 * MIB + second * 1_000}
        for second in range(8)
    ]

    # When
    told = ended(StalledHolders(), looks)

    # Then
    assert told == [[], [], [], *[[drips]] * 5]


def test_who_holds_as_much_as_before_stays_if_that_came_and_was_taken_meanwhile() -> None:
    """An answer grows while it comes and shrinks while its client takes it: by chance it is as large as before."""
    # Given
    quick, slow, holders, told = a_holder(), a_holder(), StalledHolders(), list[list[Holder]]()

    # When
    for second in range(8):
        for more_bytes in (128 * KIB, 0):
            quick.note_for_peers(4 * MIB + more_bytes)
            slow.note_for_peers(4 * MIB + more_bytes // 8)
        told.append(look(holders, 1_000 * second, {quick: 4 * MIB, slow: 4 * MIB}))

    # Then
    assert told == [[], [], [], *[[slow]] * 5]


def test_who_held_most_for_longest_is_ended_first_and_some_at_a_time() -> None:
    # Given
    old, new = [a_holder() for _ in range(MOST_ENDED + 2)], a_holder()
    held = {holder: (2 + number) * MIB for number, holder in enumerate(old)}

    # When
    told = ended(StalledHolders(), [held, held, held, {**held, new: 12 * MIB}, held | {new: 12 * MIB}])

    # Then
    assert told[3] == old[:1:-1]
    assert new not in told[4]


def test_time_begins_anew_for_who_held_little_meanwhile_and_when_nobody_waited() -> None:
    # Given
    holders, much = StalledHolders(), a_holder()
    ended(holders, [{much: 8 * MIB}] * 3)

    # When
    seen = [holders.look(3_000, {}, patience_ms=3_000)]
    seen += [look(holders, now_ms, {much: 8 * MIB}) for now_ms in (4_000, 6_000)]
    holders.forget()
    seen += [look(holders, now_ms, {much: 8 * MIB}) for now_ms in (7_000, 9_999, 10_000)]

    # Then
    assert seen == [[], [], [], [], [], [much]]


def test_who_holds_much_that_does_not_move_is_ended_when_others_have_waited_for_room_for_a_while() -> None:
    # Given one whose client takes nothing, one who holds little, and one who waits
    budget, told = BufferBudget(8192 * KIB), list[str]()
    much, little, waits = (BudgetAccount(budget) for _ in range(3))
    for name, account in (("much", much), ("little", little), ("waits", waits)):
        account.on_overstayed = partial(told.append, name)
    much.note_waiting(8000 * KIB)
    much.note_for_peers(8000 * KIB)
    little.note_waiting(1000 * KIB)
    little.note_for_peers(1000 * KIB)
    for account in (BudgetAccount(budget), BudgetAccount(budget), waits):
        account.hold(2000 * KIB, 50 * KIB, 1, lambda: None)

    # When
    seen = []
    for now_ms in range(0, 4_000, 1_000):
        budget.look(now_ms, 30_000)
        seen.append(list(told))

    # Then
    assert seen == [[], [], [], ["much"]]


def test_nobody_is_ended_for_what_does_not_move_while_nobody_waits_for_room() -> None:
    # Given
    budget, told = BufferBudget(KIB), list[str]()
    much = BudgetAccount(budget)
    much.on_overstayed = lambda: told.append("much")
    much.note_waiting(8000 * KIB)

    # When
    for now_ms in range(0, 100_000, 1_000):
        budget.look(now_ms, 30_000)

    # Then
    assert (budget.is_exceeded, told) == (True, [])


def ended_for_others(held: Held, *, unwritten_bytes: list[int]) -> bool:
    """Tell whether it ends where others wait for room, and its client has yet to take so much, each second."""
    told, patience_ms = list[str](), 3_000
    held.memory.let_end(lambda: told.append("ended"))
    for account in (BudgetAccount(held.budget), BudgetAccount(held.budget), BudgetAccount(held.budget)):
        account.hold(100_000, 100_000, 1, lambda: None)
    for number, each_bytes in enumerate(unwritten_bytes):
        held.client.unwritten_bytes = each_bytes
        held.tell()
        held.budget.look(1_000 * number, 10 * patience_ms)
    return bool(told)


def test_who_waits_for_nobody_but_its_broker_is_not_ended_though_others_wait_for_room_and_much_is_kept_for_it() -> (
    None
):
    # Given
    held = Held(1)
    held.session.receive_from_client(request(1) + share_search(2) + share_search(3))
    while held.session.is_paused:
        held.session.go_on()
    held.session.take_for_broker()

    # When
    is_ended = ended_for_others(held, unwritten_bytes=[0] * 10)

    # Then
    assert held.tell() > LEAST_HELD_BYTES
    assert not is_ended


def test_who_takes_nothing_of_what_waits_for_it_is_ended_where_others_wait_for_room() -> None:
    moves = [12 * MIB - number * MIB for number in range(5)]

    assert ended_for_others(Held(1), unwritten_bytes=[12 * MIB] * 5)
    assert not ended_for_others(Held(1), unwritten_bytes=moves)
