"""`ClientSession` between peers that lie: nothing but PeerViolation ever escapes, and nothing is held that never came.

Both peers send what honest ones would, the same with bytes changed, cut, doubled or left out, and plain noise, in any
order and cut anywhere. After a violation the shell still calls what it may call then.
"""

import struct
from collections.abc import Callable
from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kproxy.errors import PeerViolation
from kproxy.interception.broker_addresses import AdvertisedAddress
from kproxy.interception.calls import AnyCall
from kproxy.interception.response_slots import ResponseSlot
from kproxy.interception.routing import Disposition, RoutingTable
from kproxy.wire import codecs
from kproxy.wire.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from tests.worlds.conversing import SERVED, Conversation, request, response
from tests.worlds.message_values import messages_of

DECODED: Final = sorted(
    route
    for route, disposition in RoutingTable(SERVED).rows().items()
    if disposition in {Disposition.REWRITE, Disposition.EXAMINE, Disposition.SERVE, Disposition.NEUTRALISE}
)
"""What kproxy looks into; what it does not cannot hurt it."""

CHUNKS = st.integers(1, 30) | st.just(1 << 20)
VERSION_RANGES = st.dictionaries(
    st.sampled_from([3, 10, 12, 16, 18, 32, 42, 44, 78]),
    st.tuples(st.integers(-2, 8), st.integers(-2, 15)),
    max_size=9,
)


def damaged(honest: bytes) -> st.SearchStrategy[bytes]:
    """Return `honest` as it is, or something close to it, or nothing like it."""
    places = st.integers(0, len(honest) - 1)
    strange = st.sampled_from([b"", b"\0", b"\xff" * 5, b"\x80\x80\x01"])
    return st.one_of(
        st.just(honest),
        st.just(honest * 2),
        places.map(lambda at: honest[:at]),
        st.tuples(places, strange).map(lambda drawn: honest[: drawn[0]] + drawn[1] + honest[drawn[0] :]),
        st.tuples(places, st.binary(min_size=1, max_size=1)).map(
            lambda drawn: honest[: drawn[0]] + drawn[1] + honest[drawn[0] + 1 :]
        ),
        st.integers(-1, 300).map(lambda length: struct.pack(">i", length) + honest[4:]),
        st.binary(min_size=1, max_size=40),
    )


def _answers_to(slot: ResponseSlot) -> st.SearchStrategy[bytes]:
    """Return answers that a broker could give, or something with the right id where no schema says what that is."""
    number = slot.correlation_id
    oldest, newest = codecs.valid_versions(slot.api_key)
    if not oldest <= slot.api_version <= newest:
        return st.binary(max_size=20).map(lambda body: struct.pack(">ii", 4 + len(body), number) + body)
    messages = messages_of(codecs.response_class(slot.api_key), slot.api_version, short=True)
    return messages.map(lambda message: response(slot.api_key, slot.api_version, number, message))


class DishonestPeers(RuleBasedStateMachine):
    """A session whose both ends do what they like."""

    def __init__(self) -> None:
        super().__init__()
        self.conversation = Conversation()
        self.session = self.conversation.session
        self.call: AnyCall | None = None
        self.is_over = False
        self.violations: list[PeerViolation] = []
        self.arrived_bytes = 0
        self.answers_bytes = 0

    @precondition(lambda self: not self.is_over)
    @rule(route=st.sampled_from(DECODED), data=st.data(), chunk_bytes=CHUNKS)
    def client_sends(self, route: tuple[int, int], data: st.DataObject, chunk_bytes: int) -> None:
        api_key, version = route
        message = data.draw(messages_of(codecs.request_class(api_key), version, short=True))
        sent = data.draw(damaged(request(api_key, version, data.draw(st.integers(0, 3)), message)))
        self._receive(self.session.receive_from_client, sent, chunk_bytes)

    @precondition(lambda self: not self.is_over)
    @rule(data=st.data(), chunk_bytes=CHUNKS)
    def broker_answers(self, data: st.DataObject, chunk_bytes: int) -> None:
        slot = self._head()
        if slot is None:
            return
        answer = data.draw(damaged(data.draw(_answers_to(slot))))
        self._receive(self.session.receive_from_broker, answer, chunk_bytes)

    @precondition(lambda self: not self.is_over)
    @rule(ranges=VERSION_RANGES, version=st.integers(0, 4), error_code=st.sampled_from([0, 0, 0, 35, 42]))
    def broker_tells_its_versions(
        self, ranges: dict[int, tuple[int, int]], version: int, error_code: int
    ) -> None:
        """Say any versions, senseless ones too."""
        if (
            self._head() is not None
            or self.session.requests.is_mid_frame
            or self.session.responses.is_mid_frame
        ):
            return
        entries = [
            ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in ranges.items()
        ]
        told = ApiVersionsResponse(error_code=error_code, api_keys=entries)
        asked = struct.pack(">ihhi", 11, 18, version, 9) + b"\xff\xff\x00"
        self._receive(self.session.receive_from_client, asked, 1 << 20)
        if not self.is_over and not self.session.is_barred:
            answer = response(18, 0 if error_code == 35 else version, 9, told)
            self._receive(self.session.receive_from_broker, answer, 1 << 20)

    @precondition(lambda self: not self.is_over)
    @rule(noise=st.binary(min_size=1, max_size=30))
    def broker_sends_noise(self, noise: bytes) -> None:
        self._receive(self.session.receive_from_broker, noise, 1 << 20)

    @precondition(lambda self: self.call is not None)
    @rule(passes_on=st.booleans())
    def answer_call(self, *, passes_on: bool) -> None:
        """Also when it is over: the shell does not know which of its tasks ends when."""
        assert self.call is not None
        slot, self.call = self.call.slot, None
        self.answers_bytes += 10
        if passes_on:
            self._attempt(lambda: self.session.pass_on(slot, [b"passed on."], lambda frame: [frame]))
        else:
            self._attempt(lambda: self.session.answer(slot, [b"answered.."]))

    @rule()
    def bind_ports(self) -> None:
        brokers = self.session.take_new_brokers()
        for broker in brokers:
            assert broker.node_id >= 0
            self.conversation.addresses.advertise(broker.node_id, AdvertisedAddress("kproxy", 1))
        if brokers:
            self._attempt(self.session.brokers_are_bound)

    @rule()
    def keep_alive(self) -> None:
        self.answers_bytes += 100
        self._attempt(self.session.inject_keepalive)

    @rule(is_on=st.booleans())
    def switch_share_groups(self, *, is_on: bool) -> None:
        self.conversation.routes.serve(SERVED if is_on else {})

    def _head(self) -> ResponseSlot | None:
        slots = self.session.slots
        return slots[0] if slots else None

    def _receive(self, receive: Callable[[bytes], None], data: bytes, chunk_bytes: int) -> None:
        for start in range(0, len(data), chunk_bytes):
            if not self.is_over:
                chunk = data[start : start + chunk_bytes]
                self.arrived_bytes += len(chunk)
                self._attempt(lambda chunk=chunk: receive(chunk))  # type: ignore[misc]  # bound at once

    def _attempt(self, act: Callable[[], object]) -> None:
        try:
            act()
        except PeerViolation as violation:
            self.violations.append(violation)
            self.is_over = True
        self.session.take_for_broker()
        self.session.take_for_client()
        if not self.is_over:
            self.call = self.call or self.session.take_call()

    @invariant()
    def every_violation_has_a_reason_and_says_more(self) -> None:
        assert all(violation.reason and violation.detail for violation in self.violations)

    @invariant()
    def nothing_is_held_that_did_not_come(self) -> None:
        assert self.session.buffered_bytes <= self.arrived_bytes + self.answers_bytes
        assert self.session.owed_responses <= self.arrived_bytes + self.answers_bytes


TestDishonestPeers = DishonestPeers.TestCase
