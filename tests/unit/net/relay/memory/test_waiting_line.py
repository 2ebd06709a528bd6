"""`WaitingLine`: the turns of clients that wait for room."""

from collections.abc import Hashable

from hypothesis import given
from hypothesis import strategies as st

from kproxy.net.relay.memory.holder import Holder
from kproxy.net.relay.memory.waiting_line import WaitingLine, Wish


class Connection(Holder):
    """One of a client's."""

    def __init__(self, client: Hashable) -> None:
        self._client = client

    @property
    def client(self) -> Hashable:
        return self._client


def wish(frame_bytes: int = 1) -> Wish:
    return Wish(1, lambda: None, is_answer=False, frame_bytes=frame_bytes)


def line_of(*owners: Hashable) -> WaitingLine:
    line = WaitingLine()
    for owner in owners:
        line.add(owner, wish())
    return line


def served(line: WaitingLine) -> list[Hashable]:
    """Return who is served one behind the other."""
    order = []
    while line:
        order.append(line.oldest())
        line.serve(order[-1])
    return order


def test_clients_have_turns_however_many_connections_each_has() -> None:
    many, one = [Connection("many") for _ in range(3)], Connection("one")

    order = served(line_of(*many, one, "nobody's"))

    assert order == [many[0], one, "nobody's", many[1], many[2]]


def test_who_is_nobodys_is_a_client_by_itself() -> None:
    first, second, other = Connection(None), Connection(None), Connection("other")

    assert served(line_of(first, second, other)) == [first, second, other]


def test_who_gives_up_costs_its_client_no_turn() -> None:
    gives_up, stays, other = Connection("a"), Connection("a"), Connection("b")
    line = line_of(gives_up, stays, other)

    line.discard(gives_up)

    assert served(line) == [stays, other]


def test_a_client_that_comes_again_has_its_turn_after_those_who_wait() -> None:
    again, other = Connection("a"), Connection("b")
    line = line_of(again, other)

    line.serve(again)
    line.add(again, wish())

    assert served(line) == [other, again]


def test_who_waits_already_keeps_its_turn_whatever_it_waits_for_now() -> None:
    first, second = Connection("a"), Connection("b")
    line = line_of(first, second)

    line.add(first, wish(7))

    found = line.get(first)
    assert (served(line), found and found.frame_bytes) == ([first, second], 7)


def test_the_smallest_frame_is_found_among_that_half_of_the_clients_whose_turn_comes_first() -> None:
    line = WaitingLine()
    of_a = [Connection("a") for _ in range(2)]
    for owner, frame_bytes in (("first", 4), (of_a[0], 5), (of_a[1], 3), ("third", 2), ("fourth", 1)):
        line.add(owner, wish(frame_bytes))

    found = []
    while line:
        found.append(line.smallest())
        line.serve(found[-1])

    assert found == [of_a[1], "third", "fourth", "first", of_a[0]]


def test_a_client_that_always_has_the_smallest_frame_is_chosen_once_while_half_of_the_others_are() -> None:
    line, others = line_of(*range(10)), 0
    small = Connection("small")
    line.add(small, wish(0))

    for _ in range(60):
        chosen = line.smallest()
        others += chosen is not small
        line.serve(chosen)
        line.add(chosen, wish(0 if chosen is small else 1))

    assert others >= 48


def test_of_the_first_there_is_one_of_each_client_before_there_is_another_one_of_any() -> None:
    a, b = [Connection("a") for _ in range(3)], [Connection("b") for _ in range(2)]
    line = line_of(*a, *b, "c")

    assert [line.first(most) for most in (2, 4, 9)] == [
        [a[0], b[0]],
        [a[0], b[0], "c", a[1]],
        [a[0], b[0], "c", a[1], b[1], a[2]],
    ]


def test_a_connection_waits_once_whoever_its_client_turns_out_to_be_meanwhile() -> None:
    connection = Connection("unknown")
    line = line_of(connection)

    connection._client = "alice"
    line.add(connection, wish(7))

    found = line.get(connection)
    assert (len(line), list(line), found and found.frame_bytes) == (1, [connection], 7)
    line.discard(connection)
    assert (len(line), line.get(connection), connection in line, line.first(9)) == (0, None, False, [])


@given(st.lists(st.tuples(st.sampled_from("asd"), st.integers(0, 5)), max_size=40))
def test_nobody_is_passed_over_by_a_client_that_was_served_since(steps: list[tuple[str, int]]) -> None:
    """Each connection is served before any client that is not its own is served a second time."""
    line, overtaken = WaitingLine(), dict[Hashable, list[Hashable]]()
    owners = [Connection(number // 2) for number in range(6)]

    for step, number in steps:
        owner = owners[number]
        if step == "a" and owner not in line:
            line.add(owner, wish())
            if not any(
                other in line for other in owners if other.client == owner.client and other is not owner
            ):
                overtaken[owner.client] = []
        elif step == "d":
            line.discard(owner)
        elif step == "s" and line:
            oldest = line.oldest()
            assert isinstance(oldest, Connection)
            for client, seen in overtaken.items():
                if client != oldest.client:
                    seen.append(oldest.client)
            line.serve(oldest)
            overtaken[oldest.client] = []
        waiting = {each.client for each in owners if each in line}
        overtaken = {client: seen for client, seen in overtaken.items() if client in waiting}
        assert all(len(seen) == len(set(seen)) for seen in overtaken.values())
