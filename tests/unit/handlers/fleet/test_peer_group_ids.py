"""The ids of groups that peers serve: told every second, kept while they cannot be told, forgotten in time."""

import asyncio
import tracemalloc
from collections import Counter

import pytest

from kproxy.errors import ApiError, CoordinatorLoadInProgress, CoordinatorNotAvailable
from kproxy.fleet.owners import Peer
from kproxy.handlers.fleet import peer_group_ids
from kproxy.handlers.fleet.peer_group_ids import AT_ONCE, LOOK_INTERVAL_MS, KnownGroupIds, PeerGroupIds
from kproxy.handlers.fleet.ports import OWN_CONNECTION, FleetPorts
from kproxy.handlers.request_context import RequestContext
from kproxy.net.side_by_side import TasksSideBySide
from kproxy.security.acls import AclOperation
from kproxy.share.identifiers import BOOTSTRAP_NODE_ID, GroupId
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages.list_groups_response import ListedGroup, ListGroupsResponse
from tests.in_memory.recording_observer import RecordingObserver
from tests.in_memory.scripted_authorizer import ScriptedAuthorizer
from tests.worlds.divided_fleet import DividedFleet, a_context, a_group_with_a_member

OWNERS = {"ours": 0, "theirs": 1, "others": 2}


CLIENT = a_context(ApiKey.JOIN_GROUP, 5)


class InATurn:
    """Counts what is done with ids, in all and at most in one turn of the loop, while it is followed."""

    def __init__(self) -> None:
        self.seen, self.most = Counter[str](), Counter[str]()

    async def follow(self) -> None:
        self.seen.clear()
        while True:  # until it is cancelled
            before = self.seen.copy()
            await asyncio.sleep(0)
            self.most |= self.seen - before


class CountedId(str):  # noqa: SLOT000 - its counts are an attribute
    """An id that tells when it comes into a set, and when nobody has it any more."""

    counts: InATurn

    def __hash__(self) -> int:
        self.counts.seen["taken in"] += 1
        return super().__hash__()

    def __del__(self) -> None:
        self.counts.seen["let go"] += 1


class ToldByThousands:
    """Peers that tell of 10,000 groups each. Serves as `PeerRequests`."""

    def __init__(self, counts: InATurn) -> None:
        self._counts = counts

    async def ask(self, peer: Peer, request: DecodedRequest, context: RequestContext) -> Message:
        del request, context
        answer = ListGroupsResponse()
        for number in range(10_000):
            group_id = CountedId(f"{peer.token}-{number}")
            group_id.counts = self._counts
            answer.groups.append(ListedGroup(group_id))
        return answer


async def a_fleet() -> DividedFleet:
    """Three processes with one group each."""
    fleet = DividedFleet(3, OWNERS)
    for group_id in OWNERS:
        for world in fleet.worlds_of(group_id):
            await a_group_with_a_member(world, group_id)
    return fleet


async def test_what_peers_serve_is_known_after_a_look() -> None:
    fleet = await a_fleet()
    assert await fleet.peer_ids[0].look() == LOOK_INTERVAL_MS
    assert set(fleet.peer_ids[0]) == {"theirs", "others"}
    assert len(fleet.peer_ids[0]) == 2


async def test_peers_are_asked_as_by_nobodys_connection_for_the_groups_of_every_broker() -> None:
    fleet = await a_fleet()
    await fleet.peer_ids[0].look()
    asked = {(context.connection_id, context.node_id) for context in fleet.requests.contexts}
    assert asked == {(OWN_CONNECTION, BOOTSTRAP_NODE_ID)}


async def test_peers_tell_each_other_of_groups_that_no_client_may_see() -> None:
    # Given
    authorizer = ScriptedAuthorizer()
    fleet = DividedFleet(3, OWNERS, authorizer=authorizer)
    authorizer.allow_group(AclOperation.READ, *OWNERS)
    authorizer.allow_topic(AclOperation.DESCRIBE, "orders")
    for group_id in OWNERS:
        for world in fleet.worlds_of(group_id):
            await a_group_with_a_member(world, group_id)
    for group_id in OWNERS:
        authorizer.take_away(group_id)

    # When
    await fleet.peer_ids[0].look()

    # Then
    assert set(fleet.peer_ids[0]) == {"theirs", "others"}


async def test_a_group_that_is_deleted_is_forgotten_with_the_next_look() -> None:
    # Given
    fleet = await a_fleet()
    await fleet.peer_ids[0].look()
    fleet.processes[1].groups.coordinator.forget(GroupId("theirs"))

    # When
    await fleet.peer_ids[0].look()

    # Then
    assert set(fleet.peer_ids[0]) == {"others"}


@pytest.mark.parametrize(
    "trouble", [CoordinatorLoadInProgress("it is loaded"), CoordinatorNotAvailable("no state log"), None]
)
async def test_a_peer_that_does_not_say_keeps_what_it_said(trouble: ApiError | None) -> None:
    """With a trouble of its own it answers with an error; without, it cannot be asked."""
    # Given
    fleet = await a_fleet()
    await fleet.peer_ids[0].look()
    fleet.processes[1].groups.coordinator.forget(GroupId("theirs"))
    fleet.processes[1].group_log.unreadiness = trouble
    if trouble is None:
        fleet.requests.unreachable.add("token-1")

    # When
    await fleet.peer_ids[0].look()

    # Then
    assert set(fleet.peer_ids[0]) == {"theirs", "others"}


async def test_what_a_peer_said_is_forgotten_when_it_serves_nothing_any_more() -> None:
    # Given
    fleet = await a_fleet()
    await fleet.peer_ids[0].look()

    # When
    fleet.owners[0].gone |= {"kproxy-1"}
    await fleet.peer_ids[0].look()

    # Then
    assert set(fleet.peer_ids[0]) == {"others"}


async def test_the_last_peer_that_goes_takes_its_ids_with_it() -> None:
    # Given
    fleet = await a_fleet()
    await fleet.peer_ids[0].look()

    # When
    fleet.owners[0].gone |= {"kproxy-1", "kproxy-2"}
    await fleet.peer_ids[0].look()

    # Then
    assert not len(fleet.peer_ids[0])


@pytest.mark.parametrize(("most_ids", "most_characters", "kept"), [(2, 100, 2), (9, 6, 3), (9, 5, 2)])
async def test_no_more_is_kept_of_a_peer_than_the_bounds_allow(
    monkeypatch: pytest.MonkeyPatch, most_ids: int, most_characters: int, kept: int
) -> None:
    # Given
    monkeypatch.setattr(peer_group_ids, "MOST_IDS", most_ids)
    monkeypatch.setattr(peer_group_ids, "MOST_CHARACTERS", most_characters)
    fleet = await a_fleet()
    fleet.owners[0].gone.add("kproxy-2")
    fleet.requests.altered = lambda _: ListGroupsResponse(
        groups=[ListedGroup(group_id) for group_id in ("g1", "g2", "g3", "g4")]
    )

    # When
    await fleet.peer_ids[0].look()

    # Then
    assert len(fleet.peer_ids[0]) == kept


async def test_long_lists_are_asked_for_less_often() -> None:
    # Given
    def long(_: Message) -> Message:
        return ListGroupsResponse(groups=[ListedGroup(f"g{number}") for number in range(30_000)])

    fleet = await a_fleet()
    fleet.owners[0].gone.add("kproxy-2")
    fleet.requests.altered = long

    # When
    pause_ms = await fleet.peer_ids[0].look()

    # Then
    assert pause_ms == 3_000


async def test_an_id_is_gone_when_its_owner_says_so_and_then_it_is_forgotten() -> None:
    # Given
    fleet = await a_fleet()
    await fleet.peer_ids[0].look()
    fleet.processes[1].groups.coordinator.forget(GroupId("theirs"))

    # When
    is_gone = await fleet.peer_ids[0].is_gone("theirs", CLIENT)

    # Then
    assert is_gone
    assert set(fleet.peer_ids[0]) == {"others"}
    assert fleet.requests.contexts[-1].connection_id == CLIENT.connection_id


@pytest.mark.parametrize("group_id", ["theirs", "ours", "unheard of"])
async def test_an_id_is_not_gone_while_its_group_is_there_or_no_peer_told_of_it(group_id: str) -> None:
    fleet = await a_fleet()
    await fleet.peer_ids[0].look()
    assert not await fleet.peer_ids[0].is_gone(group_id, CLIENT)


async def test_an_id_whose_owner_does_not_answer_is_not_gone() -> None:
    # Given
    fleet = await a_fleet()
    await fleet.peer_ids[0].look()
    fleet.requests.unreachable.add("token-1")

    # When
    is_gone = await fleet.peer_ids[0].is_gone("theirs", CLIENT)

    # Then
    assert not is_gone


@pytest.mark.parametrize("is_here", [True, False])
async def test_an_id_that_moved_here_is_gone_unless_its_group_came_along(*, is_here: bool) -> None:
    # Given
    owner_of = dict(OWNERS)
    fleet = DividedFleet(3, owner_of)
    await a_group_with_a_member(fleet.processes[1], "theirs")
    await fleet.peer_ids[0].look()
    owner_of["theirs"] = 0
    if is_here:
        await a_group_with_a_member(fleet.processes[0], "theirs")

    # When
    is_gone = await fleet.peer_ids[0].is_gone("theirs", CLIENT)

    # Then
    assert is_gone is not is_here


async def test_an_id_that_two_peers_told_is_forgotten_of_both_when_it_is_gone() -> None:
    """One told of it before its slot moved, the other one after that."""
    # Given
    fleet = await a_fleet()
    await a_group_with_a_member(fleet.processes[2], "theirs")
    await fleet.peer_ids[0].look()
    counted = len(fleet.peer_ids[0])
    fleet.processes[1].groups.coordinator.forget(GroupId("theirs"))

    # When
    await fleet.peer_ids[0].is_gone("theirs", CLIENT)

    # Then
    assert counted == 2
    assert "theirs" not in fleet.peer_ids[0]


async def test_to_find_one_id_gone_is_no_more_work_where_peers_told_of_very_many() -> None:
    # Given
    fleet = await a_fleet()
    ids = ["theirs", *(f"g{number}" for number in range(20_000))]
    fleet.requests.altered = lambda _: ListGroupsResponse(groups=[ListedGroup(each) for each in ids])
    await fleet.peer_ids[0].look()
    fleet.requests.altered = lambda answer: answer
    # The codecs of this API are made when it is asked first, in this process: once, and not for this question.
    assert not await fleet.peer_ids[0].is_gone("theirs", CLIENT)
    fleet.processes[1].groups.coordinator.forget(GroupId("theirs"))
    tracemalloc.start()

    # When
    is_gone = await fleet.peer_ids[0].is_gone("theirs", CLIENT)
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    # Then
    assert is_gone
    assert most_bytes < 200_000  # a set of 20,000 has a million


async def test_what_peers_tell_is_taken_in_and_what_they_told_before_let_go_bit_by_bit() -> None:
    # Given
    fleet = await a_fleet()
    counts = InATurn()
    ports = FleetPorts(fleet.owners[0], ToldByThousands(counts), TasksSideBySide(), RecordingObserver())
    peer_ids = PeerGroupIds((), ports)
    await peer_ids.look()

    # When
    async with asyncio.TaskGroup() as tasks:
        counting = tasks.create_task(counts.follow())
        await peer_ids.look()
        counting.cancel()

    # Then
    assert len(peer_ids) == 20_000
    assert counts.seen == {"taken in": 20_000, "let go": 20_000}
    assert max(counts.most.values()) <= 2 * AT_ONCE


def test_known_ids_are_ones_own_and_those_of_peers_and_follow_both() -> None:
    own, of_peers = {"a": 1, "both": 1}, {"b", "both"}
    known = KnownGroupIds(own.keys(), of_peers)
    assert sorted(known) == ["a", "b", "both"]
    assert len(known) == 3
    own["c"] = 1
    of_peers.discard("b")
    assert "c" in known
    assert "b" not in known


@pytest.mark.parametrize(("own", "of_peers", "expected"), [("", "", False), ("a", "", True), ("", "b", True)])
def test_known_ids_say_whether_there_are_any(own: str, of_peers: str, *, expected: bool) -> None:
    assert bool(KnownGroupIds(own, of_peers)) is expected
