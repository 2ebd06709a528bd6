"""An answer that a peer gives, on its way to a client. On real sockets: tests/unit/net/peers/test_peer_twins.py."""

import asyncio
from collections.abc import Callable
from typing import ClassVar, cast

import pytest

from kproxy.handlers.refusal_streaks import RefusalStreaks
from kproxy.handlers.request_context import UNLIMITED_ANSWERS
from kproxy.interception.broker_addresses import BrokerAddresses
from kproxy.interception.calls import PeerCall
from kproxy.interception.client_session import ClientSession
from kproxy.interception.rewrites.responses import ResponseRewriter
from kproxy.interception.routing import RoutingTable
from kproxy.net.broker_failures import PeerFailure
from kproxy.net.relay.relayed_answers import NO_ANSWER, NoPeers, RelayedAnswer, UnderWay, answer_from_peer
from tests.unit.net.peering import fetch_of
from tests.unit.net.relaying import SERVED, ParkedApis


class OpenTransport:
    """One that is open, or not."""

    is_closed = False

    def is_closing(self) -> bool:
        """Whether it is closed."""
        return self.is_closed


class Client:
    """A client connection without sockets, whose request of group `far` has its turn."""

    is_relayed: ClassVar = False
    rights: ClassVar = None

    def __init__(self) -> None:
        routes = RoutingTable(SERVED)
        routes.is_elsewhere = lambda _: True
        rewriter = ResponseRewriter(BrokerAddresses({}), lambda: routes.served)
        self.session = ClientSession(routes, rewriter, max_request_bytes=1 << 20, request_counts={})
        self.connection_id, self.node_id, self.peer = 5, 1, "10.0.0.1:4711"
        self.refusals = RefusalStreaks()
        self.is_gone = self.is_over = False
        self.relayed: UnderWay = NO_ANSWER
        self.closable = OpenTransport()
        self.transport: asyncio.Transport | None = cast("asyncio.Transport", self.closable)
        self.session.receive_from_client(fetch_of("far", 7))
        call = self.session.take_call()
        assert isinstance(call, PeerCall)
        self.call = call

    def receive_from_peer(self, data: bytes | memoryview) -> None:
        """Pass it on."""
        self.session.answer_part(data)


class ScriptedLink:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def read(self, *, is_wanted: bool) -> None:
        """Note it."""
        self.told.append(f"read {is_wanted}")

    def say_more(self) -> None:
        """Note it."""
        self.told.append("more")

    def forsake(self) -> None:
        """Note it."""
        self.told.append("forsake")


class ScriptedPeers:
    """A peer that does with an answer what the test says, on its own link."""

    def __init__(self, script: Callable[[RelayedAnswer], None]) -> None:
        self.link = ScriptedLink()
        self._script = script

    async def relay(self, _call: PeerCall, answer: RelayedAnswer) -> bool:
        """Answer as the script says."""
        asyncio.get_running_loop().call_soon(self._script, answer)
        await answer.wait(self.link)
        return True

    def close(self, connection_id: int) -> None:
        """Nothing is open."""


async def answered(
    client: Client, script: Callable[[RelayedAnswer], None]
) -> tuple[ParkedApis, ScriptedPeers]:
    """Answer the client's request; return what was asked here instead, and the peer."""
    apis, peers = ParkedApis(), ScriptedPeers(script)
    apis.may_answer.set()
    await answer_from_peer(client, client.call, apis, peers, UNLIMITED_ANSWERS)
    return apis, peers


async def test_the_parts_go_to_the_client_as_they_come() -> None:
    client = Client()

    def script(answer: RelayedAnswer) -> None:
        answer.receive(b"first")
        answer.receive(b"second")
        answer.end()

    apis, _ = await answered(client, script)

    assert client.session.take_for_client() == [b"first", b"second"]
    assert client.session.owed_responses == 0
    assert client.relayed is NO_ANSWER
    assert not apis.requests


async def test_without_any_part_of_it_the_request_is_refused_here() -> None:
    client = Client()

    apis, _ = await answered(client, lambda answer: answer.lose(PeerFailure("lost", "b is gone")))

    assert apis.contexts[0].refusal == "b is gone"
    assert client.session.owed_responses == 0


async def test_behind_a_part_of_it_nothing_else_can_be_said() -> None:
    client = Client()

    def script(answer: RelayedAnswer) -> None:
        answer.receive(b"first")
        answer.lose(PeerFailure("lost", "b is gone"))

    with pytest.raises(PeerFailure, match="b is gone"):
        await answered(client, script)

    assert client.session.owed_responses == 1


async def test_what_the_client_connection_says_reaches_the_peer_while_there_is_an_answer() -> None:
    client = Client()

    def script(answer: RelayedAnswer) -> None:
        client.relayed.read(is_wanted=False)
        client.relayed.more_arrived()
        answer.end()
        client.relayed.read(is_wanted=True)

    _, peers = await answered(client, script)

    assert peers.link.told == ["read False", "more"]


async def test_what_stood_behind_the_request_before_is_told_at_once() -> None:
    client = Client()
    client.session.receive_from_client(fetch_of("far", 8))

    _, peers = await answered(client, RelayedAnswer.end)

    assert peers.link.told == ["more"]


async def test_a_client_that_is_gone_is_waited_for_no_longer() -> None:
    client = Client()

    _, peers = await answered(client, lambda _: client.relayed.forsake())

    assert peers.link.told == ["forsake"]
    assert client.session.owed_responses == 0


async def test_a_connection_that_is_over_hears_of_nothing() -> None:
    client = Client()

    def script(answer: RelayedAnswer) -> None:
        client.is_over = True
        answer.lose(PeerFailure("given_up", "nobody waits"))

    apis, _ = await answered(client, script)

    assert not apis.requests
    assert client.session.owed_responses == 1


async def test_a_client_that_is_being_closed_is_given_nothing_more_to_keep() -> None:
    client = Client()

    def script(answer: RelayedAnswer) -> None:
        client.closable.is_closed = True
        answer.receive(b"first")
        answer.end()

    await answered(client, script)

    assert client.session.take_for_client() == []


async def test_what_is_answered_here_after_all_keeps_no_more_than_its_bytes() -> None:
    client, apis = Client(), ParkedApis()
    apis.may_answer.set()
    apis.records = memoryview(bytes(1 << 20))[:100]

    surplus_bytes = await answer_from_peer(client, client.call, apis, NoPeers(), UNLIMITED_ANSWERS)

    assert surplus_bytes == 0
    kept = [each.obj for each in client.session.take_for_client() if isinstance(each, memoryview)]
    assert all(memoryview(each).nbytes < 1 << 20 for each in kept)


async def test_a_process_that_is_alone_serves_everything() -> None:
    client, apis = Client(), ParkedApis()
    apis.may_answer.set()

    await answer_from_peer(client, client.call, apis, NoPeers(), UNLIMITED_ANSWERS)

    assert apis.contexts[0].refusal == ""
    assert client.session.owed_responses == 0
    NoPeers().close(5)
    NO_ANSWER.more_arrived()
    NO_ANSWER.forsake()
    NO_ANSWER.read(is_wanted=True)
