"""A broker is asked about its client on the connection of that client, which hears nothing of it."""

import asyncio

import pytest

from kproxy.errors import CoordinatorNotAvailable
from kproxy.handlers.asked_rights import go_on_asking
from kproxy.handlers.request_context import RequestContext
from kproxy.net.authorization.rights_questions import RIGHTS_CORRELATION_ID, Kind, questions
from kproxy.net.authorization.twin_rights import RightsTerms, TwinRights
from kproxy.net.dialing import connect
from kproxy.security.acls import AclOperation, ResourceType
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages.heartbeat_response import HeartbeatResponse
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse
from tests.event_loops import BOTH_LOOPS
from tests.in_memory.manual_clock import ManualClock
from tests.in_memory.scripted_broker import ScriptedBroker
from tests.unit.net.relaying import ParkedApis, RelayUnderTest, ended, request, response, share_fetch
from tests.worlds.waiting import until

pytestmark = pytest.mark.parametrize("loop_kind", BOTH_LOOPS)


@pytest.fixture
def may_connect(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set it to let the relay connect to its broker."""
    event = asyncio.Event()

    async def connect_late(*arguments: object, **options: object) -> object:
        await event.wait()
        return await connect(*arguments, **options)  # type: ignore[arg-type]  # what it was called with

    monkeypatch.setattr("kproxy.net.relay.upstream_twin.connect", connect_late)
    return event


class AskingApis(ParkedApis):
    """Asks the broker of each client whether that may read its group, and notes what came of it."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[bool | str] = []

    async def serve(self, _request: DecodedRequest, context: RequestContext) -> Message:
        self.was_asked.set()
        assert context.rights is not None
        await context.rights.learn(AclOperation.READ, ResourceType.GROUP, ["g"], go_on_asking)
        try:
            self.said.append(context.rights.allows(AclOperation.READ, ResourceType.GROUP, "g"))
        except CoordinatorNotAvailable as unknown:
            self.said.append(str(unknown))
        return ShareFetchResponse()


def asking(under_test: RelayUnderTest) -> AskingApis:
    """Let the relay's requests be answered by APIs that ask brokers, and return those."""
    apis = AskingApis()
    terms = RightsTerms(ManualClock(), under_test.counted, 1_000)
    under_test.relay.apis = apis
    under_test.relay.new_rights = lambda session, send: TwinRights(session, send, terms)
    return apis


def heartbeat_of_nobody() -> bytes:
    """What is asked."""
    (question,) = questions(Kind.READING, ["g"])
    return b"".join(question.frame())


async def test_a_broker_is_asked_about_its_client_as_soon_as_it_is_there_and_the_client_hears_nothing_of_it(
    may_connect: asyncio.Event,
) -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        apis = asking(under_test)
        reader, writer = await under_test.connect()
        writer.write(share_fetch(5) + request(6))
        await apis.was_asked.wait()
        may_connect.set()
        asked = await broker.until_received(len(heartbeat_of_nobody()))
        allowed = HeartbeatResponse(error_code=25)
        answer = codecs.encode_response(ApiKey.HEARTBEAT, 3, RIGHTS_CORRELATION_ID, allowed)
        broker.send(b"".join(answer))
        fetched = b"".join(codecs.encode_response(78, 1, 5, ShareFetchResponse()))

        assert asked == heartbeat_of_nobody()
        assert await reader.readexactly(len(fetched)) == fetched
        assert apis.said == [True]
        assert await broker.until_received(len(asked + request(6))) == asked + request(6)
        broker.send(response(6))
        assert await reader.readexactly(len(response(6))) == response(6)
        writer.close()


async def test_who_asks_a_broker_that_goes_away_learns_nothing_and_waits_for_nobody() -> None:
    async with ScriptedBroker() as broker, RelayUnderTest(broker.port) as under_test:
        apis = asking(under_test)
        reader, writer = await under_test.connect()
        writer.write(share_fetch(5))
        await broker.until_received(len(heartbeat_of_nobody()))
        broker.writers[-1].transport.abort()

        await ended(reader)
        writer.close()
        await until(lambda: bool(apis.said))
        assert "its connection ended" in str(apis.said)
        assert not under_test.relay.connections
