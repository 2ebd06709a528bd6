"""The gate in front of the served APIs: on, unavailable, off; refusals and faults become answers."""

from collections.abc import Callable
from dataclasses import replace

from kproxy.error_codes import ErrorCode
from kproxy.errors import CoordinatorNotAvailable, FencedMemberEpoch
from kproxy.handlers.readiness import Readiness, StateNeed
from kproxy.handlers.registry import ServedApi, ServedApis, Service
from kproxy.handlers.request_context import RequestContext
from kproxy.security.principal import UNKNOWN
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages.share_acknowledge_request import ShareAcknowledgeRequest
from kproxy.wire.messages.share_acknowledge_response import ShareAcknowledgeResponse
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kproxy.wire.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from tests.in_memory.recording_observer import RecordingObserver
from tests.worlds.answer_budgets import NoRoomToWait

CONTEXT = RequestContext(7, 1, 76, 1, "client", "/127.0.0.1")


class Gate:
    """A `ServedApis` with two share APIs and one for configurations; each answers, or raises, what `outcome` is."""

    def __init__(self, outcome: Message | Exception, readiness: Readiness | None = None) -> None:
        self.contexts: list[RequestContext] = []
        self.observer = RecordingObserver()
        self.faults: list[tuple[RequestContext, Exception]] = []
        self.closed: list[int] = []
        self.followed: list[int] = []
        self.apis = ServedApis(
            [
                ServedApi(76, 1, 1, self._serve, ShareGroupHeartbeatResponse),
                ServedApi(79, 1, 2, self._serve, ShareAcknowledgeResponse),
            ],
            [ServedApi(32, 1, 4, self._serve, ShareGroupHeartbeatResponse)],
            observer=self.observer,
            on_internal_error=lambda context, fault: self.faults.append((context, fault)),
            on_connection_closed=self._close,
            readiness=readiness,
        )
        self.apis.on_more_arrived = self.followed.append
        self._outcome = outcome

    async def heartbeat(self, context: RequestContext = CONTEXT) -> ShareGroupHeartbeatResponse:
        request = DecodedRequest(76, 1, 1, "client", ShareGroupHeartbeatRequest())
        answer = await self.apis.serve(request, context)
        assert isinstance(answer, ShareGroupHeartbeatResponse)
        return answer

    async def _serve(self, _request: Message, context: RequestContext) -> Message:
        self.contexts.append(context)
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome

    async def _close(self, connection_id: int) -> None:
        self.closed.append(connection_id)


class SlowReadiness:
    """A `Readiness` that takes 30 ms, during which `meanwhile` happens."""

    def __init__(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        self.meanwhile = meanwhile
        self.needs: list[StateNeed] = []
        self.forsaken: list[int] = []
        self.has_ended = False

    async def wait(self, need: StateNeed, _connection_id: int) -> int:
        self.needs.append(need)
        self.meanwhile()
        return 30

    def forsake(self, connection_id: int) -> None:
        self.forsaken.append(connection_id)

    def end(self) -> None:
        self.has_ended = True


async def test_while_on_everything_is_advertised_and_served() -> None:
    # Given
    answer = ShareGroupHeartbeatResponse(member_epoch=3)
    gate = Gate(answer)

    # When
    gate.apis.set_available()

    # Then
    assert gate.apis.version_ranges() == {76: (1, 1), 79: (1, 2)}
    assert await gate.heartbeat() is answer
    assert (gate.apis.service, gate.apis.reason) == (Service.ON, "")


async def test_before_it_is_turned_on_nothing_is_advertised_or_served() -> None:
    # Given
    gate = Gate(ShareGroupHeartbeatResponse())

    # When
    answer = await gate.heartbeat()

    # Then
    assert gate.apis.version_ranges() == {}
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert gate.observer.reasons == ["share_groups_off"]


async def test_while_unavailable_clients_are_told_to_try_again_and_why() -> None:
    # Given
    gate = Gate(ShareGroupHeartbeatResponse())

    # When
    gate.apis.set_unavailable("the state log is being read")

    # Then
    answer = await gate.heartbeat()
    assert gate.apis.version_ranges() == {76: (1, 1), 79: (1, 2)}
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert answer.error_message == "the state log is being read"
    assert gate.observer.refusals == [("share_groups_unavailable", "the state log is being read")]


async def test_what_the_owner_of_its_group_did_not_answer_is_refused_without_being_served() -> None:
    # Given
    gate = Gate(ShareGroupHeartbeatResponse())
    gate.apis.set_available()
    context = replace(CONTEXT, refusal="b closed the connection before it had answered")

    # When
    answer = await gate.apis.serve(DecodedRequest(76, 1, 5, "client", ShareGroupHeartbeatRequest()), context)

    # Then
    assert isinstance(answer, ShareGroupHeartbeatResponse)
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert answer.error_message == "b closed the connection before it had answered"
    assert gate.observer.refusals == [("peer_unavailable", "b closed the connection before it had answered")]
    assert not gate.contexts


async def test_turning_off_takes_the_apis_away_again() -> None:
    # Given
    gate = Gate(ShareGroupHeartbeatResponse())
    gate.apis.set_available()

    # When
    gate.apis.turn_off("the cluster serves share groups itself")

    # Then
    assert gate.apis.version_ranges() == {}
    assert (await gate.heartbeat()).error_message == "the cluster serves share groups itself"


async def test_while_disabled_the_apis_stay_advertised_and_are_answered_unsupported_version() -> None:
    # Given
    gate = Gate(ShareGroupHeartbeatResponse())
    gate.apis.set_available()

    # When
    gate.apis.disable("the operator does not want them")

    # Then
    answer = await gate.heartbeat()
    assert gate.apis.version_ranges() == {76: (1, 1), 79: (1, 2)}
    assert (gate.apis.service, gate.apis.is_off) == (Service.DISABLED, True)
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert answer.error_message == "the operator does not want them"
    assert gate.observer.refusals == [("share_groups_disabled", "the operator does not want them")]


async def test_while_disabled_no_request_waits_for_the_state_log() -> None:
    # Given
    readiness = SlowReadiness()
    gate = Gate(ShareGroupHeartbeatResponse(), readiness)

    # When
    gate.apis.disable("the operator does not want them")

    # Then
    await gate.heartbeat()
    assert readiness.needs == []


async def test_a_refusal_becomes_an_answer_of_its_api_and_is_reported() -> None:
    # Given
    gate = Gate(FencedMemberEpoch("member epoch 7 is not 3"))
    gate.apis.set_available()

    # When
    request = DecodedRequest(79, 2, 1, "client", ShareAcknowledgeRequest())
    answer = await gate.apis.serve(request, CONTEXT)

    # Then
    assert answer == ShareAcknowledgeResponse(error_code=110, error_message="member epoch 7 is not 3")
    assert gate.observer.refusals == [("fenced_member_epoch", "member epoch 7 is not 3")]
    assert gate.observer.contexts == [CONTEXT]


async def test_a_fault_becomes_an_answer_and_the_shell_is_told_once() -> None:
    # Given
    fault = AssertionError("a broken invariant")
    gate = Gate(fault)
    gate.apis.set_available()

    # When
    answer = await gate.heartbeat()

    # Then
    assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert "invariant" not in (answer.error_message or "")
    assert gate.faults == [(CONTEXT, fault)]


async def test_configurations_are_served_while_share_groups_are_unavailable() -> None:
    # Given
    served = ShareGroupHeartbeatResponse(member_epoch=5)
    gate = Gate(served)
    gate.apis.set_unavailable("for a moment")

    # When
    answer = await gate.apis.serve(DecodedRequest(32, 4, 1, "client", ShareGroupHeartbeatRequest()), CONTEXT)

    # Then
    assert answer is served


async def test_a_closed_connection_is_handed_on_whether_or_not_anything_is_served() -> None:
    # Given
    gate = Gate(ShareGroupHeartbeatResponse())

    # When
    await gate.apis.connection_closed(7)

    # Then
    assert gate.closed == [7]


async def test_a_request_is_served_when_the_state_log_is_there_and_is_told_how_long_that_took() -> None:
    # Given
    answer = ShareGroupHeartbeatResponse(member_epoch=3)
    readiness = SlowReadiness()
    gate = Gate(answer, readiness)
    readiness.meanwhile = gate.apis.set_available
    gate.apis.set_unavailable("the state topics were not looked for yet")

    # When
    served = await gate.heartbeat()

    # Then
    assert served is answer
    assert readiness.needs == [StateNeed(("",))]
    assert gate.contexts == [replace(CONTEXT, waited_ms=30)]


async def test_a_request_that_takes_too_much_memory_does_not_wait_for_the_state_log() -> None:
    # Given
    readiness = SlowReadiness()
    gate = Gate(ShareGroupHeartbeatResponse(), readiness)
    gate.apis.set_unavailable("the state topics were not looked for yet")
    request = DecodedRequest(76, 1, 1, "client", ShareGroupHeartbeatRequest())

    # When
    answer = await gate.apis.serve(request, replace(CONTEXT, answer_budget=NoRoomToWait()))

    # Then
    assert readiness.needs == []
    assert isinstance(answer, ShareGroupHeartbeatResponse)
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_what_did_not_come_in_time_is_refused() -> None:
    # Given
    gate = Gate(ShareGroupHeartbeatResponse(), SlowReadiness())
    gate.apis.set_unavailable("the state topics cannot be created")

    # When
    answer = await gate.heartbeat()

    # Then
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert answer.error_message == "the state topics cannot be created"
    assert gate.contexts == []


async def test_while_share_groups_are_off_nobody_waits() -> None:
    # Given
    gate = Gate(ShareGroupHeartbeatResponse(), readiness := SlowReadiness())

    # When
    await gate.heartbeat()

    # Then
    assert readiness.needs == []


async def test_a_request_that_nobody_waits_for_any_more_is_not_served() -> None:
    # Given
    def leave() -> None:
        raise CoordinatorNotAvailable("the connection closed")

    gate = Gate(ShareGroupHeartbeatResponse(), SlowReadiness(leave))
    gate.apis.set_available()

    # When
    await gate.heartbeat()

    # Then
    assert gate.contexts == []
    assert gate.observer.refusals == [("coordinator_not_available", "the connection closed")]


async def test_who_waits_hears_that_a_connection_went_away_and_that_the_process_ends() -> None:
    # Given
    gate = Gate(ShareGroupHeartbeatResponse(), readiness := SlowReadiness())

    woken: list[int] = []
    gate.apis.on_forsaken = woken.append

    # When
    gate.apis.forsake(7)
    gate.apis.end_waits()

    # Then
    assert (readiness.forsaken, woken, readiness.has_ended) == ([7], [7], True)


def test_bytes_behind_a_request_are_handed_on() -> None:
    # Given
    gate = Gate(ShareGroupHeartbeatResponse())

    # When
    gate.apis.more_arrived(7)

    # Then
    assert gate.followed == [7]


async def test_a_client_that_nobody_knows_may_do_nothing() -> None:
    # Given
    gate = Gate(ShareGroupHeartbeatResponse(member_id="m"))
    gate.apis.set_available()

    # When
    answer = await gate.heartbeat(replace(CONTEXT, principal=UNKNOWN))

    # Then
    assert answer.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert "SASL mechanism" in (answer.error_message or "")
    assert gate.contexts == []
    assert gate.observer.reasons == ["principal_unknown"]
