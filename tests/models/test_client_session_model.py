"""`ClientSession` against a naive picture of two honest peers.

The model knows of every request what the broker has to get for it and what the client has to get, and nothing
about streams, slots or chunks. Whatever the interleaving: the client sees exactly the right responses in the order of
its requests, and the broker exactly the right requests.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kproxy.interception.broker_addresses import AdvertisedAddress
from kproxy.interception.calls import AnyCall
from kproxy.interception.keepalive import KEEPALIVE_CORRELATION_ID
from kproxy.interception.turns.turn_share import WORK_A_TURN
from kproxy.wire import codecs
from kproxy.wire.codecs import Message
from kproxy.wire.messages.api_versions_request import ApiVersionsRequest
from kproxy.wire.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kproxy.wire.messages.fetch_request import FetchRequest
from kproxy.wire.messages.fetch_response import (
    FetchableTopicResponse,
    FetchResponse,
    NodeEndpoint,
    PartitionData,
)
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from kproxy.wire.messages.metadata_request import MetadataRequest
from kproxy.wire.messages.metadata_response import MetadataResponse, MetadataResponseBroker
from kproxy.wire.messages.produce_request import ProduceRequest
from kproxy.wire.messages.share_fetch_request import ShareFetchRequest
from tests.transcripts.transcript import own_slot
from tests.worlds.conversing import (
    Conversation,
    joined,
    opaque_request,
    opaque_response,
    request,
    response,
)
from tests.worlds.heard_requests import TurnOfMany

NODE_IDS = [1, 2, 3]
QUESTION = 0x6B70787A
"""The correlation id of what kproxy asks for itself."""
CHUNKS = st.integers(1, 40) | st.integers(1, 4000)
OLD_BROKER = {0: (0, 13), 1: (0, 17), 3: (0, 9), 10: (0, 2), 12: (0, 4), 18: (0, 4), 32: (0, 4)}


@dataclass
class Exchange:
    """One request: what the broker gets for it, and what the client gets, as far as that is known yet."""

    sent: bytes
    broker_gets: list[bytes] | None
    """None while kproxy has not decided; empty when the broker is not asked."""
    client_gets: bytes | None
    """None while it is not known; empty when nothing is owed."""
    is_call: bool = False
    respond: "Callable[[Exchange, int], bytes] | None" = None
    """Makes one answer of the broker and notes what becomes of it for the client."""
    answers_left: int = 0


class HonestPeers(RuleBasedStateMachine):
    """A client that pipelines, a broker that answers in order, and a network that cuts both anywhere."""

    def __init__(self) -> None:
        super().__init__()
        self.share = TurnOfMany()
        self.conversation = Conversation(share=self.share)
        self.session = self.conversation.session
        self.exchanges: list[Exchange] = []
        self.numbers = count(1)
        self.client_wire = b""
        self.broker_wire = b""
        self.broker_received, self.broker_parsed = b"", 0
        self.broker_frames: list[bytes] = []
        self.broker_owes: deque[Exchange | None] = deque()
        self.client_received = b""
        self.call: AnyCall | None = None
        self.asked_count = 0
        self.heard: list[bytes] = []
        self._learn_versions()

    def _learn_versions(self) -> None:
        """Begin as clients do; the broker is so old that coordinators are sought one by one."""
        entries = [
            ApiVersion(api_key=key, min_version=low, max_version=high)
            for key, (low, high) in OLD_BROKER.items()
        ]
        self.conversation.client_sends(request(18, 3, 0, ApiVersionsRequest()))
        self.conversation.broker_sends(response(18, 3, 0, ApiVersionsResponse(api_keys=entries)))

    # ---- the client speaks

    def _send(self, exchange: Exchange) -> None:
        self.exchanges.append(exchange)
        self.client_wire += exchange.sent

    def _send_forwarded(self, sent: bytes, respond: "Callable[[Exchange, int], bytes]") -> None:
        self._send(Exchange(sent, [sent], None, respond=respond, answers_left=1))

    @rule()
    def send_heartbeat(self) -> None:
        number = next(self.numbers)

        def respond(exchange: Exchange, _: int) -> bytes:
            exchange.client_gets = opaque_response(number)
            return exchange.client_gets

        self._send_forwarded(opaque_request(number), respond)

    @rule(size=st.integers(0, 300))
    def send_unanswered_produce(self, size: int) -> None:
        message = ProduceRequest(acks=0, transactional_id="t" * (size % 50))
        sent = request(0, 9, next(self.numbers), message)
        self._send(Exchange(sent, [sent], b""))

    @rule(endpoints=st.integers(0, 2), records=st.binary(max_size=300), version=st.sampled_from([12, 16, 17]))
    def send_fetch(self, endpoints: int, records: bytes, version: int) -> None:
        number = next(self.numbers)
        fetched = FetchResponse(
            responses=[FetchableTopicResponse(partitions=[PartitionData(records=records)])],
            node_endpoints=[NodeEndpoint(node_id=1, host="broker", port=9092)] * endpoints
            if version > 15
            else [],
        )

        def respond(exchange: Exchange, _: int) -> bytes:
            answer = response(1, version, number, fetched)
            exchange.client_gets = answer
            if fetched.node_endpoints:
                # The tags stand last: their number, then tag 0, which becomes 127.
                tag_at = len(response(1, version, number, FetchResponse(responses=fetched.responses)))
                exchange.client_gets = answer[:tag_at] + b"\x7f" + answer[tag_at + 1 :]
            return answer

        self._send_forwarded(request(1, version, number, FetchRequest()), respond)

    @rule(node_ids=st.lists(st.sampled_from(NODE_IDS), max_size=3), version=st.integers(0, 9))
    def send_metadata(self, node_ids: list[int], version: int) -> None:
        number = next(self.numbers)

        def metadata(name: Callable[[int], tuple[str, int]]) -> bytes:
            brokers = [
                MetadataResponseBroker(node_id=node_id, host=name(node_id)[0], port=name(node_id)[1])
                for node_id in node_ids
            ]
            return response(3, version, number, MetadataResponse(brokers=brokers))

        def respond(exchange: Exchange, _: int) -> bytes:
            exchange.client_gets = metadata(lambda node_id: ("kproxy", 19100 + node_id))
            return metadata(lambda node_id: (f"b{node_id}", 9092))

        self._send_forwarded(request(3, version, number, MetadataRequest(topics=[])), respond)

    @rule(keys=st.lists(st.sampled_from("abc"), max_size=3), node_id=st.sampled_from(NODE_IDS))
    def seek_coordinators_of_several_groups(self, keys: list[str], node_id: int) -> None:
        number = next(self.numbers)
        sent = request(10, 4, number, FindCoordinatorRequest(coordinator_keys=keys))
        asked = [request(10, 2, number, FindCoordinatorRequest(key=key)) for key in keys]
        found = [Coordinator(key=key, node_id=node_id, host="kproxy", port=19100 + node_id) for key in keys]
        answer = response(10, 4, number, FindCoordinatorResponse(coordinators=found))

        def respond(exchange: Exchange, answers_left: int) -> bytes:
            if answers_left == 0:
                exchange.client_gets = answer
            return response(10, 2, number, FindCoordinatorResponse(node_id=node_id, host="b", port=1))

        exchange = Exchange(sent, asked, None if keys else answer, respond=respond, answers_left=len(keys))
        self._send(exchange)

    @rule(version=st.sampled_from([2, 4]))
    def seek_share_coordinator(self, version: int) -> None:
        number = next(self.numbers)
        wrong = "key type 2 (SHARE) needs version 6, this is version "
        message: Message = FindCoordinatorRequest(key="k", key_type=2)
        refusal: Message = FindCoordinatorResponse(
            error_code=42, error_message=f"{wrong}2", node_id=-1, host="", port=-1
        )
        if version == 4:
            message = FindCoordinatorRequest(coordinator_keys=["k"], key_type=2)
            nobody = Coordinator(
                key="k", error_code=42, error_message=f"{wrong}4", node_id=-1, host="", port=-1
            )
            refusal = FindCoordinatorResponse(coordinators=[nobody])
        answer = response(10, version, number, refusal)
        self._send(Exchange(request(10, version, number, message), [], answer))

    @rule(size=st.sampled_from([0, 3_000]))
    def send_share_fetch(self, size: int) -> None:
        sent = request(78, 1, next(self.numbers), ShareFetchRequest(group_id="g", member_id="m" * size))
        self._send(Exchange(sent, None, None, is_call=True))

    @rule()
    def describe_group(self) -> None:
        resources = [DescribeConfigsResource(resource_type=32)]
        sent = request(32, 4, next(self.numbers), DescribeConfigsRequest(resources=resources))
        self._send(Exchange(sent, None, None, is_call=True))

    # ---- the network delivers

    @precondition(lambda self: self.client_wire)
    @rule(size=CHUNKS)
    def deliver_to_kproxy_from_client(self, size: int) -> None:
        chunk, self.client_wire = self.client_wire[:size], self.client_wire[size:]
        self.session.receive_from_client(chunk)
        self._collect()

    @precondition(lambda self: self.broker_wire)
    @rule(size=CHUNKS)
    def deliver_to_kproxy_from_broker(self, size: int) -> None:
        chunk, self.broker_wire = self.broker_wire[:size], self.broker_wire[size:]
        self.session.receive_from_broker(chunk)
        self._collect()

    @precondition(lambda self: self.broker_owes)
    @rule()
    def broker_answers(self) -> None:
        exchange = self.broker_owes.popleft()
        if exchange is None:
            self.broker_wire += response(18, 0, KEEPALIVE_CORRELATION_ID, ApiVersionsResponse())
            return
        assert exchange.respond is not None
        exchange.answers_left -= 1
        self.broker_wire += exchange.respond(exchange, exchange.answers_left)

    # ---- kproxy's shell acts

    @precondition(lambda self: self.call is not None)
    @rule(size=st.integers(1, 200))
    def answer_call(self, size: int) -> None:
        assert self.call is not None
        exchange = self._called()
        exchange.broker_gets, exchange.client_gets = [], b"a" * size
        slot, self.call = self.call.slot, None
        self.session.answer(slot, [exchange.client_gets])
        self._collect()

    @precondition(lambda self: self.call is not None)
    @rule()
    def pass_call_on(self) -> None:
        assert self.call is not None
        exchange = self._called()
        number = self.call.slot.correlation_id

        def respond(exchange: Exchange, _: int) -> bytes:
            exchange.client_gets = b"[" + opaque_response(number)[4:] + b"]"
            return opaque_response(number)

        exchange.broker_gets, exchange.respond, exchange.answers_left = [opaque_request(number)], respond, 1
        slot, self.call = self.call.slot, None
        self.session.pass_on(slot, [opaque_request(number)], lambda frame: [b"[", frame, b"]"])
        self._collect()

    @rule(left=st.sampled_from([-WORK_A_TURN, 0, 1, WORK_A_TURN]))
    def others_use_the_turn_up_or_another_begins(self, left: int) -> None:
        self.share.left = left

    @precondition(lambda self: self.session.responses.awaits_turn or self.session.is_paused)
    @rule()
    def have_a_turn(self) -> None:
        self.share.left = max(self.share.left, 1)
        self.session.go_on(in_long_turn=self.session.awaits_long_turn)
        self._collect()

    @rule()
    def fill_the_client(self) -> None:
        self.session.responses.is_client_full = True

    @rule()
    def let_the_client_read(self) -> None:
        self.session.responses.resume()
        self._collect()

    @rule()
    def keep_alive(self) -> None:
        self.session.inject_keepalive()
        self._collect()

    @rule()
    def ask_the_broker(self) -> None:
        slot = own_slot(QUESTION, self.heard)
        self.asked_count += self.session.ask_broker(slot, [opaque_request(QUESTION)])
        self._collect()

    @rule()
    def bind_ports(self) -> None:
        for broker in self.session.take_new_brokers():
            self.conversation.addresses.advertise(
                broker.node_id, AdvertisedAddress("kproxy", 19100 + broker.node_id)
            )
            self.session.brokers_are_bound()
        self._collect()

    def _collect(self) -> None:
        self.broker_received += joined(self.session.take_for_broker())
        self.client_received += joined(self.session.take_for_client())
        self.call = self.call or self.session.take_call()
        self._broker_reads()

    def _called(self) -> Exchange:
        """Return the first request that kproxy has to answer and has not: there is never another at work."""
        return next(each for each in self.exchanges if each.is_call and each.broker_gets is None)

    # ---- what has to be so

    def _broker_reads(self) -> None:
        """Cut what came for the broker into requests and match each with the next that may come."""
        while len(self.broker_received) - self.broker_parsed >= 4:
            length = int.from_bytes(self.broker_received[self.broker_parsed : self.broker_parsed + 4], "big")
            end = self.broker_parsed + 4 + length
            if end > len(self.broker_received):
                return
            frame = self.broker_received[self.broker_parsed : end]
            self.broker_parsed = end
            if int.from_bytes(frame[8:12], "big") == QUESTION:
                answered = Exchange(
                    b"", [], b"", respond=lambda *_: opaque_response(QUESTION), answers_left=1
                )
                self.broker_owes.append(answered)
                continue
            if int.from_bytes(frame[8:12], "big") == KEEPALIVE_CORRELATION_ID:
                assert codecs.decode_request(frame[4:]).client_id == "kproxy-keepalive"
                self.broker_owes.append(None)
                continue
            exchange, expected = self._allowed()[len(self.broker_frames)]
            assert frame == expected
            self.broker_frames.append(frame)
            if exchange.respond is not None:
                self.broker_owes.append(exchange)

    def _allowed(self) -> list[tuple[Exchange, bytes]]:
        """Return what the broker may have got by now: nothing behind a request that kproxy is answering."""
        allowed: list[tuple[Exchange, bytes]] = []
        for exchange in self.exchanges:
            if exchange.broker_gets is None:
                break
            allowed += [(exchange, each) for each in exchange.broker_gets]
        return allowed

    def _expected_by_client(self) -> bytes:
        answers = [exchange.client_gets for exchange in self.exchanges]
        told = answers.index(None) if None in answers else len(answers)
        return b"".join(each or b"" for each in answers[:told])

    @invariant()
    def the_client_saw_nothing_but_its_answers_in_order(self) -> None:
        assert self._expected_by_client().startswith(self.client_received)

    @invariant()
    def nothing_that_was_looked_at_waits_for_a_turn_behind_half_a_request(self) -> None:
        requests = self.session.requests
        assert not (requests.is_paused and requests.is_mid_frame) or requests.is_put_off

    @invariant()
    def the_broker_sees_the_beginning_of_what_it_has_to_get(self) -> None:
        rest = self.broker_received[self.broker_parsed :]
        if rest:
            _, expected = self._allowed()[len(self.broker_frames)]
            assert expected.startswith(rest)

    def teardown(self) -> None:
        """Let everything arrive and everybody answer: then nothing is left anywhere."""
        self.let_the_client_read()
        for _ in range(10_000):
            if self.client_wire:
                self.deliver_to_kproxy_from_client(1 << 20)
            elif self.broker_wire:
                self.deliver_to_kproxy_from_broker(1 << 20)
            elif self.session.responses.awaits_turn or self.session.is_paused:
                self.have_a_turn()
            elif self.broker_owes:
                self.broker_answers()
            elif self.call is not None:
                self.answer_call(10)
            elif self.session.owed_responses:
                self.bind_ports()
            else:
                break
        assert self.client_received == self._expected_by_client()
        assert [frame for _, frame in self._allowed()] == self.broker_frames
        assert all(exchange.client_gets is not None for exchange in self.exchanges)
        assert self.heard == [opaque_response(QUESTION)[4:]] * self.asked_count
        assert self.session.buffered_bytes == 0
        assert not self.session.requests.is_mid_frame
        assert not self.session.responses.is_mid_frame
        assert not self.session.is_barred


TestHonestPeers = HonestPeers.TestCase
