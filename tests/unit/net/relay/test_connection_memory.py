"""`ConnectionMemory`: what one connection holds, as the budget of all hears of it."""

import tracemalloc
from collections.abc import Iterable
from functools import partial
from typing import Final, cast

from hypothesis import given
from hypothesis import strategies as st

from kproxy.interception.broker_addresses import BrokerAddresses
from kproxy.interception.client_session import ClientSession
from kproxy.interception.rewrites.responses import ResponseRewriter
from kproxy.interception.routing import RoutingTable
from kproxy.net.relay.connection_memory import ConnectionMemory
from kproxy.net.relay.memory.budget_account import BudgetAccount
from kproxy.net.relay.memory.buffer_budget import BufferBudget
from kproxy.net.relay.relay import WRITE_HIGH_WATER_BYTES
from kproxy.net.relay.upstream_twin import UpstreamTwin
from kproxy.security.principal import ANONYMOUS, Principal
from kproxy.wire import codecs
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from kproxy.wire.messages.share_group_describe_request import ShareGroupDescribeRequest
from tests.unit.net.relaying import SERVED, request, response, share_fetch, share_search
from tests.unit.net.slow_peers import Held, SlowClient, SlowTwin

MIB: Final = 1 << 20
IDLE: Final = 500
MOST_IDLE_BYTES: Final = 2_750
"""Of the rules and the accounts; sockets and protocols are measured with real brokers."""


SEARCH: Final = codecs.encode_request(
    10, 4, 1, "client", FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])
)
FOUND: Final = FindCoordinatorResponse(coordinators=[Coordinator(key="g" * 30_000, node_id=-1)] * 4)


def describing(size: int) -> bytes:
    """Return a request that kproxy answers, and that is a little longer."""
    message = ShareGroupDescribeRequest(group_ids=["g" * 10] * (size // 11))
    return b"".join(codecs.encode_request(77, 1, 2, "client", message))


def whole(frame: Iterable[bytes | memoryview]) -> bytes:
    return b"".join(frame)


def test_what_an_answer_keeps_beside_its_bytes_counts_until_the_client_has_taken_all() -> None:
    held = Held(1 << 20)
    held.client.unwritten_bytes = 100
    held.memory.note_written(100)
    held.memory.note_surplus(5_000)

    while_it_waits = held.tell()
    held.client.unwritten_bytes = 0
    when_it_left = held.tell()
    held.client.unwritten_bytes = 70

    assert (while_it_waits, when_it_left, held.tell()) == (5_100, 0, 70)


def test_requests_behind_an_answer_count() -> None:
    held = Held(1 << 20)

    held.session.receive_from_client(share_fetch(1) + request(2, bytes(1000)))
    held.session.take_call()

    assert held.tell() == len(request(2, bytes(1000)))


def test_a_request_that_kproxy_answers_counts_while_it_waits_for_the_broker_and_while_it_is_answered() -> (
    None
):
    # Given
    held = Held(1 << 20)
    held.session.receive_from_client(request(1) + share_fetch(2))
    held.session.take_for_broker()

    # When
    counted = [held.tell()]
    held.session.receive_from_broker(response(1))
    call = held.session.take_call()
    assert call is not None
    with held.memory.answer(call):
        counted += [held.budget.held_bytes, held.tell()]

    # Then
    assert counted == [call.memory_bytes] * 3
    assert held.tell() == 0


def test_a_request_that_takes_much_decoded_takes_its_own_bytes_while_a_broker_owes_the_answer_before_it() -> (
    None
):
    """One broker answers late, and each of a thousand clients has 38 times what it sent of the budget."""
    # Given
    held, described = Held(1 << 20), describing(12_000)
    held.session.receive_from_client(request(1) + described)
    held.session.take_for_broker()

    # When
    counted = [held.tell()]
    held.session.receive_from_broker(response(1))
    held.session.take_for_client()
    counted.append(held.tell())
    call = held.session.take_call()
    assert call is not None
    with held.memory.answer(call):
        counted += [held.budget.held_bytes, held.tell()]

    # Then
    own_bytes = len(described) - 4
    assert counted == [own_bytes, own_bytes, 39 * own_bytes, 39 * own_bytes]
    assert held.tell() == 0


def test_answers_that_wait_for_a_broker_count_until_it_has_answered() -> None:
    held = Held(1 << 20)
    held.session.receive_from_client(request(1) + share_search(2, key_count=1, key_bytes=5_000))
    held.session.take_for_broker()

    while_it_waits = held.tell(), held.session.buffered_bytes
    held.session.receive_from_broker(response(1))

    assert while_it_waits[0] == while_it_waits[1] > 5_000
    assert held.tell() == held.session.buffered_bytes == 0


def test_a_whole_answer_that_waits_for_its_turn_counts_until_it_was_changed() -> None:
    # Given
    held = Held(1 << 20)
    held.session.receive_from_client(whole(SEARCH))
    held.session.take_for_broker()
    answer = whole(codecs.encode_response(10, 4, 1, FOUND))

    # When
    held.session.receive_from_broker(answer[:-1])
    counted = [held.tell()]
    held.session.receive_from_broker(answer[-1:])
    counted.append(held.tell())
    held.session.go_on()

    # Then
    assert counted == [len(answer) - 1 + 1, len(answer)]
    assert held.tell() == 0


def test_the_time_of_a_large_request_begins_when_it_is_read_on_but_not_for_a_client_that_takes_no_answers() -> (
    None
):
    # Given
    held, begins_anew = Held(MIB), list[bool]()
    held.session.receive_from_client(request(1) + share_search(2)[:100_000])
    held.session.take_for_broker()

    # When
    for is_client_full in (False, False, True, True, False):
        held.session.responses.is_client_full = is_client_full
        begins_anew.append(held.memory.tell(held.client, None))
    held.session.receive_from_broker(response(1))
    held.session.take_for_client()
    begins_anew += [held.memory.tell(held.client, None) for _ in range(2)]

    # Then
    assert begins_anew == [True, True, False, False, True, False, False]


def test_no_room_is_made_for_a_request_of_a_connection_that_is_being_closed() -> None:
    """It would wait beyond the limit for what nobody reads, and others for it."""
    # Given
    held, begun = Held(1), share_search(2)[:100_000]
    held.session.receive_from_client(request(1) + begun)
    held.session.take_for_broker()
    held.tell()

    # When
    held.client.has_been_closed = True
    held.session.receive_from_broker(response(1))
    held.session.take_for_client()

    # Then
    assert held.tell() == len(begun)


def test_who_holds_its_share_of_too_much_has_to_let_its_client_take_all_before_more_is_read() -> None:
    held = Held(1_000)
    limits = []

    for unwritten_bytes in (900, 1_100, 0):
        held.client.unwritten_bytes = unwritten_bytes
        held.tell()
        limits.append(held.client.high_bytes)

    assert limits == [WRITE_HIGH_WATER_BYTES, 0, WRITE_HIGH_WATER_BYTES]


def test_a_broker_that_is_connected_when_too_much_is_held_already_has_to_take_all_as_well() -> None:
    # Given
    held, twin = Held(1_000), SlowTwin()
    held.client.unwritten_bytes = 1_100
    held.tell()

    # When
    held.memory.tell(held.client, cast("UpstreamTwin", twin))

    # Then
    assert twin.high_bytes == 0


def test_what_is_given_back_stays_given_back() -> None:
    held = Held(1_000)
    held.client.unwritten_bytes = 500
    held.tell()

    held.memory.give_back()

    assert (held.budget.held_bytes, held.tell()) == (0, 0)


def test_what_an_answer_keeps_counts_no_more_when_the_client_has_taken_it_and_others_wait() -> None:
    held = Held(1 << 20)
    counted = []

    for _ in range(3):
        held.memory.note_written(100)
        held.memory.note_surplus(5_000)
    for unwritten_bytes in (300, 201, 200, 100, 0):
        held.client.unwritten_bytes = unwritten_bytes
        counted.append(held.tell() - unwritten_bytes)

    assert counted == [15_000, 15_000, 10_000, 5_000, 0]


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 100), st.integers(0, 200))))
def test_a_client_that_always_has_something_to_take_is_counted_what_waits_for_it(
    answers: list[tuple[int, int, int]],
) -> None:
    held = Held(1 << 20)
    waiting: list[tuple[int, int]] = []  # bytes that are left of each answer, and what it keeps beside them

    for size, surplus, most_taken in answers:
        taken = most_taken
        waiting.append((size, surplus))
        held.memory.note_written(size)
        held.memory.note_surplus(surplus)
        while waiting and taken:
            left, kept = waiting.pop(0)
            step = min(left, taken)
            taken -= step
            if left > step:
                waiting.insert(0, (left - step, kept))
        held.client.unwritten_bytes = sum(left for left, _ in waiting)

        assert held.tell() == sum(left + kept for left, kept in waiting)


def test_a_connection_of_which_nothing_waits_takes_little_memory() -> None:
    # Given
    routes, budget = RoutingTable(SERVED), BufferBudget(1 << 20)
    rewriter = ResponseRewriter(BrokerAddresses(), lambda: routes.served)
    kept: list[ConnectionMemory] = []

    def keep_one() -> None:
        session = ClientSession(routes, rewriter, max_request_bytes=1 << 20, request_counts={})
        kept.append(ConnectionMemory(budget, session, on_granted=print))

    keep_one()  # what is made once is no connection's

    # When
    tracemalloc.start()
    for _ in range(IDLE):
        keep_one()
    taken_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    # Then
    assert taken_bytes / IDLE < MOST_IDLE_BYTES


def test_a_connection_that_ends_lets_go_of_all_that_came_though_it_is_kept_itself() -> None:
    # Given halves of frames, what waits behind a request, and answers
    first, second = Held(1 << 20), Held(1 << 20)
    first.session.receive_from_client(share_fetch(1) + request(2, bytes(40_000)))
    second.session.receive_from_client(request(1) + share_search(2)[:90_000])
    second.session.receive_from_broker(response(1))
    before = [held.session.buffered_bytes for held in (first, second)]

    # When
    for held in (first, second):
        held.memory.give_back()

    # Then
    assert min(before) > 40_000
    for held in (first, second):
        session = held.session
        assert (session.buffered_bytes, session.call, len(session.slots)) == (0, None, 0)
        assert (session.take_for_broker(), session.take_for_client()) == ([], [])


def test_a_large_request_that_would_not_be_answered_next_asks_for_no_room_until_it_would() -> None:
    # Given a budget that has room for its rest, and none for more
    held, came_bytes = Held(1 << 20), 100_000
    held.session.receive_from_client(request(1) + share_search(2)[:came_bytes])
    held.session.take_for_broker()

    # When
    seen = [(held.tell(), held.memory.awaits_grant)]
    held.session.receive_from_broker(response(1))
    held.session.take_for_client()
    seen.append((held.tell(), held.memory.awaits_grant))
    held.session.responses.is_client_full = True
    seen.append((held.tell(), held.memory.awaits_grant))

    # Then
    assert seen == [(came_bytes, False), (2 * came_bytes, False), (came_bytes, False)]


def test_a_large_request_leaves_the_place_beyond_the_limit_when_its_client_takes_no_answers() -> None:
    # Given
    held, other = Held(1_000), BudgetAccount(budget := BufferBudget(1_000))
    held.memory = ConnectionMemory(budget, held.session, on_granted=lambda: None)
    budget.note_waiting("slow peers", 2_000)
    held.session.receive_from_client(share_search(2)[:100_000])
    held.memory.tell(held.client, None)
    other.hold(100_000, 100_000, 1, lambda: None)
    waited = other.awaits_grant

    # When
    held.session.responses.is_client_full = True
    held.memory.tell(held.client, None)

    # Then
    assert (waited, other.awaits_grant) == (True, False)


def test_who_comes_from_one_host_and_is_one_principal_waits_for_room_as_one_client() -> None:
    # Given
    budget, let_in = BufferBudget(1_000), list[str]()
    places = BudgetAccount(budget)
    places.hold(100_000, 100_000, 1, lambda: None)
    held = {name: Held(1_000) for name in ("a1", "a2", "a3", "alice", "b")}
    for name, each in held.items():
        each.memory = ConnectionMemory(budget, each.session, on_granted=partial(let_in.append, name))
        each.memory.host = name[0]
        each.session.principal = Principal("User", name) if name == "alice" else ANONYMOUS
        each.session.receive_from_client(share_search(2)[:100_000])
        each.memory.tell(each.client, None)

    # When
    places.close()
    while len(let_in) < len(held):
        held[let_in[-1]].memory.give_back()

    # Then
    assert let_in == ["a1", "alice", "b", "a2", "a3"]


def test_a_twin_is_not_called_full_when_its_client_is_found_full_and_there_is_room_again_by_that() -> None:
    # Given
    held, twin = Held(1_000), SlowTwin()

    class FoundFull(SlowClient):
        def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
            super().set_write_buffer_limits(high, low)
            if high == 0:
                held.budget.note_waiting("others", 0)
                held.memory.tell(held.client, cast("UpstreamTwin", twin))

    held.client = FoundFull()
    held.client.unwritten_bytes = 600
    held.budget.note_waiting("others", 1_000)

    # When
    held.memory.tell(held.client, cast("UpstreamTwin", twin))

    # Then
    assert held.client.high_bytes == twin.high_bytes == WRITE_HIGH_WATER_BYTES
