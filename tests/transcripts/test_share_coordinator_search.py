"""A request whose answer is known before anybody has looked at the rights of its sender."""

from typing import Final

from kproxy.handlers.request_context import UNLIMITED_ANSWERS, RequestContext
from kproxy.interception.calls import Call
from kproxy.interception.response_slots import ResponseSlot, SlotKind
from kproxy.interception.routing import Disposition
from kproxy.net.relay.answering import answer_call
from kproxy.wire import codecs
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from tests.unit.net.relay.test_answering import Connection

KEY: Final = "g:AAAAAAAAAAAAAAAAAAAAAQ:0"
FOUND: Final = FindCoordinatorResponse(coordinators=[Coordinator(KEY, 1, "kproxy", 9092)])


class AllowingApis:
    """Whoever asks may have the answer."""

    async def serve(self, _request: DecodedRequest, context: RequestContext) -> Message:
        assert context.answer_if_allowed is not None
        return context.answer_if_allowed

    def forsake(self, connection_id: int) -> None: ...

    async def connection_closed(self, connection_id: int) -> None: ...

    def more_arrived(self, connection_id: int) -> None: ...


async def test_it_is_given_to_whoever_knows_what_the_sender_may_do() -> None:
    # Given
    connection, slot = Connection(), ResponseSlot(SlotKind.LOCAL, 10, 6, 7)
    connection.session.slots.append(slot)
    request = DecodedRequest(10, 6, 7, "client", FindCoordinatorRequest(key_type=2, coordinator_keys=[KEY]))

    # When
    call = Call(slot, request, Disposition.SERVE, answer=FOUND)
    await answer_call(connection, call, AllowingApis(), UNLIMITED_ANSWERS)

    # Then
    sent = b"".join(connection.session.take_for_client())
    assert sent == b"".join(codecs.encode_response(10, 6, 7, FOUND))
