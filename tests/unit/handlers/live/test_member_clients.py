"""Who stands behind a lock, also when its member is gone."""

import tracemalloc

from kproxy.handlers.live import member_clients
from kproxy.handlers.live.member_clients import MemberClients, clients_in_heartbeats
from kproxy.handlers.live.write_actors import UNKNOWN_CLIENT, Client
from kproxy.handlers.request_context import RequestContext
from kproxy.share.identifiers import GroupId, MemberId
from kproxy.statelog.actors import MAX_TEXT_LENGTH
from tests.in_memory.inspectable import Inspectable

ORDERS, ALICE = GroupId("orders"), MemberId("alice")


def a_request(client_id: str) -> RequestContext:
    return RequestContext(
        connection_id=1,
        node_id=1,
        api_key=78,
        api_version=2,
        client_id=client_id,
        client_host="/10.0.0.7",
    )


def nobody(_group_id: GroupId, _member_id: MemberId) -> Client:
    return UNKNOWN_CLIENT


def test_a_member_that_has_not_acquired_yet_is_known_by_its_heartbeat() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.join("alice", group_id="orders", client_id="app-1")

    # When
    clients = MemberClients(clients_in_heartbeats(inspectable.coordinator))

    # Then
    assert clients.of(ORDERS, ALICE) == Client("app-1", "/10.0.0.7")
    assert clients.of(ORDERS, MemberId("bob")) == UNKNOWN_CLIENT
    assert clients.of(GroupId("payments"), ALICE) == UNKNOWN_CLIENT


def test_a_member_that_acquired_is_known_by_what_it_asked_with_last() -> None:
    # Given
    clients = MemberClients(nobody)
    clients.note(ORDERS, ALICE, a_request("before"))

    # When
    clients.note(ORDERS, ALICE, a_request("app-1"))

    # Then
    assert clients.of(ORDERS, ALICE) == Client("app-1", "/10.0.0.7")


def test_a_member_that_acquired_nothing_is_known_by_its_heartbeats() -> None:
    # Given
    shown = Client("app-2", "/10.0.0.8")
    clients = MemberClients(lambda *_: shown)

    # When
    known = clients.of(ORDERS, ALICE)

    # Then
    assert known == shown


def test_the_member_that_acquired_nothing_for_longest_is_forgotten_first() -> None:
    # Given
    clients = MemberClients(nobody)
    members = [MemberId(f"member-{number}") for number in range(member_clients.MOST_HOLDERS + 1)]
    for member_id in members[:-1]:
        clients.note(ORDERS, member_id, a_request("app"))
    clients.note(ORDERS, members[0], a_request("app"))

    # When
    clients.note(ORDERS, members[-1], a_request("app"))

    # Then
    forgotten = [member_id for member_id in members if clients.of(ORDERS, member_id) is UNKNOWN_CLIENT]
    assert forgotten == [members[1]]


def test_no_more_is_remembered_of_a_text_than_the_log_has_room_for() -> None:
    # Given
    clients = MemberClients(nobody)

    # When
    clients.note(ORDERS, ALICE, a_request("x" * 30_000))

    # Then
    assert len(clients.of(ORDERS, ALICE).client_id) == MAX_TEXT_LENGTH


def test_members_of_groups_with_long_ids_cost_no_more_than_others() -> None:
    # Given
    clients = MemberClients(nobody)
    tracemalloc.start()

    # When
    for number in range(100):
        clients.note(GroupId(f"{number:032000}"), ALICE, a_request(f"app-{number}"))
    kept_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    # Then
    assert kept_bytes < 100_000
    assert clients.of(GroupId(f"{7:032000}"), ALICE).client_id == "app-7"
