"""One client connection and its upstream twin, as a value without sockets.

```
            receive_from_client                       take_for_broker
 client  ─────────────────────▶ ┌───────────────┐ ─────────────────────▶ broker
                                │ ClientSession │
         ◀───────────────────── └───────────────┘ ◀─────────────────────
            take_for_client         │       ▲         receive_from_broker
                          take_call ▼       │ answer, pass_on
                                  kproxy's own APIs
```

Rules, all of them Kafka's:
1. Every request but a Produce with acks=0 owes one response, and responses leave in the order of the requests.
2. A broker works on one request of a connection at a time. So a request that kproxy answers itself starts when
   everything before it was answered, and what comes behind it waits, unread, until it is answered.
3. Correlation ids pass untouched: the twin belongs to this client alone.
"""

from collections.abc import Callable, Mapping, MutableMapping
from functools import partial

from kproxy.errors import MalformedMessage, PeerViolation
from kproxy.interception.broker_addresses import BackingBroker, UnknownBrokers
from kproxy.interception.calls import AnyCall, decoded_bytes, served_call, undecoded_call
from kproxy.interception.gathering import questions
from kproxy.interception.held_frame import HeldFrame
from kproxy.interception.keepalive import keepalive_request, keepalive_slot, place_for_own
from kproxy.interception.known_versions import MAX_API_VERSIONS_VERSION
from kproxy.interception.relayed_half import Merge, RelayedHalf
from kproxy.interception.request_decisions import (
    AnsweredAtOnce,
    HeldDecision,
    Relayed,
    Served,
    StreamedOn,
    decide_held_request,
    decode_held,
)
from kproxy.interception.request_stream import RequestStream
from kproxy.interception.response_slots import Buffers, OwedResponses, ResponseSlot, Rewrite, SlotKind
from kproxy.interception.response_stream import ResponseStream
from kproxy.interception.rewrites.api_versions import unsupported_version_answer
from kproxy.interception.rewrites.described_groups import tell_share_groups
from kproxy.interception.rewrites.responses import ResponseRewriter
from kproxy.interception.routing import Disposition, RoutingTable
from kproxy.interception.sasl_watch import SASL_KEYS, SaslWatch
from kproxy.interception.topic_changes import TopicChange, pass_and_tell
from kproxy.interception.turns.turn_share import CommonShare, TurnShare, work_of_answer, work_of_questions
from kproxy.security.principal import ANONYMOUS, Principal
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.frames import RequestHead


class ClientSession:
    """Bytes in, bytes and calls out.

    Args:
        routes: the table of dispositions.
        rewriter: rewrites responses that name brokers or versions.
        max_request_bytes: `socket.request.max.bytes`, inclusive; also the largest response that is held.
        request_counts: counted up per (API key, version); shared by all sessions.
        on_topic_change: called when an answer passes that tells of changed topics.
        sasl: learns who the client is.
        share: what all sessions have left of a turn; used up by none where none is given.
    """

    __slots__ = (
        "_broker_versions",
        "_new_brokers",
        "_on_topic_change",
        "_request_counts",
        "_rewriter",
        "_routes",
        "_share",
        "call",
        "has_yet_to_begin",
        "is_farewell_said",
        "passes_from_broker",
        "passes_from_client",
        "principal",
        "requests",
        "responses",
        "sasl",
        "slots",
    )

    def __init__(  # noqa: PLR0913 - keyword-only collaborators
        self,
        routes: RoutingTable,
        rewriter: ResponseRewriter,
        *,
        max_request_bytes: int,
        request_counts: MutableMapping[tuple[int, int], int],
        on_topic_change: Callable[[TopicChange], None] = lambda _: None,
        sasl: SaslWatch | None = None,
        share: CommonShare | None = None,
    ) -> None:
        self._routes, self._rewriter = routes, rewriter
        self._request_counts, self._on_topic_change = request_counts, on_topic_change
        self.slots = OwedResponses()
        """The responses that are owed, oldest first; the shell changes none."""
        self._share = turn = TurnShare(share)
        self.requests = RequestStream(routes, max_request_bytes, self._owe, self._examine, turn)
        """What came of the client, for the shell to look at."""
        self.responses = ResponseStream(self.slots, max_request_bytes, self._rewrite, self._settle_head, turn)
        """What came of the broker; the shell only says whether the client takes it, and whether more will come."""
        self.passes_from_client, self.passes_from_broker = self.requests.passes, self.responses.passes
        """Tell of one side's next bytes whether they only have to be written on; if so, they count as received."""
        self.principal: Principal = ANONYMOUS
        """Who the client has proved to be so far."""
        self.sasl = SaslWatch() if sasl is None else sasl
        self._broker_versions: Mapping[int, tuple[int, int]] = {}
        self.call: AnyCall | None = None
        """The request to answer when all before it is answered, until `take_call`."""
        self._new_brokers: tuple[BackingBroker, ...] = ()
        self.is_farewell_said = False
        self.has_yet_to_begin = False
        """Whether the call that was taken last has yet to begin; the shell says when it does."""

    # ---- what the shell asks

    @property
    def owed_responses(self) -> int:
        """How many responses have not left yet."""
        return len(self.slots)

    @property
    def awaits_broker(self) -> bool:
        """Whether the response that leaves next is the broker's."""
        return bool(self.slots) and self.slots[0].kind is not SlotKind.LOCAL

    @property
    def is_busy(self) -> bool:
        """Whether somebody has yet to answer this client, or the broker to hear it."""
        return bool(self.slots or self.requests.for_broker) or self.is_paused

    @property
    def buffered_bytes(self) -> int:
        """Bytes held in both directions: what waits behind an answer, answers that wait, and frames that are held."""
        held_bytes = self.requests.held_bytes + self.responses.held_bytes
        return held_bytes + self.waiting_bytes + self.slots.kept_bytes

    @property
    def held_frames(self) -> tuple[HeldFrame, HeldFrame]:
        """What is held of a frame of the client, and of one of the broker."""
        return self.requests.held, self.responses.held

    @property
    def unsent_bytes(self) -> int:
        """Bytes for the broker that nobody has taken yet."""
        return sum(map(len, self.requests.for_broker))

    @property
    def waiting_bytes(self) -> int:
        """Bytes of requests behind one that kproxy answers, or that wait for another turn."""
        return self.requests.backlog_bytes

    @property
    def is_barred(self) -> bool:
        """Whether requests wait behind one that kproxy answers."""
        return self.requests.is_barred

    @property
    def is_paused(self) -> bool:
        """Whether requests wait for nothing but another turn, with `go_on`."""
        return self.requests.is_paused

    @property
    def awaits_long_turn(self) -> bool:
        """Whether what goes on first in another turn, a response or a request, is to have a long one."""
        if self.responses.awaits_turn:
            return self.responses.has_long_answer
        return self.requests.awaits_long_turn

    @property
    def has_little_to_do(self) -> bool:
        """Whether that is little, and what was done lately was little as well."""
        if self.responses.awaits_turn:
            return self._share.is_little(self.responses.stuck_bytes)
        waiting_bytes = self.requests.waiting_frame_bytes
        return waiting_bytes > 0 and self._share.is_little(waiting_bytes)

    @property
    def has_more_to_answer(self) -> bool:
        """Whether there is anything behind the request that is being answered, or one whose turn has yet to come."""
        has_call = self.call is not None or self.has_yet_to_begin
        return self.is_paused or (self.is_barred and (has_call or self.waiting_bytes > 0))

    def take_for_broker(self) -> list[bytes | memoryview]:
        """Return what to write to the broker, once."""
        if buffers := self.requests.for_broker:
            self.requests.for_broker = []
        return buffers

    def take_for_client(self) -> list[bytes | memoryview]:
        """Return what to write to the client, once."""
        if buffers := self.responses.for_client:
            self.responses.for_client = []
        return buffers

    def take_call(self) -> AnyCall | None:
        """Return the request to answer now, once. There is at most one; nothing before it is unanswered."""
        if self.call is None or self.slots[0] is not self.call.slot:
            return None
        call, self.call, self.has_yet_to_begin = self.call, None, True
        return call

    def take_new_brokers(self) -> tuple[BackingBroker, ...]:
        """Return brokers whose ports must be bound before the response that names them leaves, once."""
        brokers, self._new_brokers = self._new_brokers, ()
        return brokers

    # ---- what the shell tells

    def receive_from_client(self, data: bytes) -> None:
        """Take bytes of the client. Raises PeerViolation."""
        self.requests.receive(data)

    def go_on(self, *, in_long_turn: bool = True) -> None:
        """Go on with what waits for a turn, be it a long one: an answer, else requests. Raises PeerViolation."""
        if self.responses.awaits_turn:
            self.responses.release(in_long_turn=in_long_turn)
        elif self.is_paused:
            self.requests.go_on(in_long_turn=in_long_turn, for_little=self.has_little_to_do)

    def receive_from_broker(self, data: bytes) -> None:
        """Take bytes of the broker. Raises PeerViolation."""
        self.responses.receive(data)

    def brokers_are_bound(self) -> None:
        """Go on with the response that named new brokers: their addresses are known to the rewriter now."""
        self.responses.release()

    def answer(self, slot: ResponseSlot, buffers: list[bytes | memoryview]) -> None:
        """Send `buffers` (a whole frame) as the answer of a call. Raises PeerViolation by what waited behind it."""
        slot.buffers = buffers
        self._settle_head()
        self.requests.go_on()

    def answer_part(self, data: bytes | memoryview) -> None:
        """Send `data` as the next part of the answer of a call that was taken; `answer` sends the last one."""
        self.responses.for_client.append(data)

    def broker_lacks(self, api_key: int) -> bool:
        """Whether the broker has said what it serves, and this is not part of it."""
        return bool(self._broker_versions) and api_key not in self._broker_versions

    def left_half(self, request: DecodedRequest, message: Message, merge: Merge) -> RelayedHalf:
        """Return what to pass on when `message` is what is left of `request`: in the version that the broker has."""
        newest = self._broker_versions.get(request.api_key, (0, request.api_version))[1]
        version = min(request.api_version, newest)
        return RelayedHalf(request, message, version, self._rewriter.topic_name, merge)

    def pass_on(self, slot: ResponseSlot, buffers: Buffers, merge: Rewrite, *, kept_bytes: int = 0) -> None:
        """Send `buffers` (a whole request) to the broker for a call, and `merge`, which keeps much, of its answer."""
        self.slots.keep(slot, kept_bytes)
        # Made in a long turn: kproxy's own part of the answer may be large.
        slot.kind, slot.rewrite, slot.is_long = SlotKind.REWRITE, merge, True
        self.requests.for_broker.extend(buffers)
        self.requests.go_on()

    def inject_keepalive(self) -> bool:
        """Put an ApiVersions request on a silent twin; False when it is not silent."""
        is_busy = self.awaits_broker or self.responses.is_mid_frame
        return not is_busy and self.ask_broker(keepalive_slot(), keepalive_request())

    def ask_broker(self, slot: ResponseSlot, frame: Buffers) -> bool:
        """Send a request of kproxy's own, and let `slot.rewrite` alone see the answer; False if the twin is in use."""
        place = place_for_own(self.slots)
        if place is None or self.requests.is_mid_frame or self.sasl.is_under_way:
            return False
        self.slots.insert(place, slot)
        self.requests.for_broker.extend(frame)
        return True

    # ---- requests

    def _owe(self, head: RequestHead, disposition: Disposition) -> None:
        # Not a dict: hashing a member of an Enum is a call of a Python function.
        slot = ResponseSlot(SlotKind.FORWARD, *head)
        if disposition is not Disposition.FORWARD:
            slot.kind = (SlotKind.REWRITE, SlotKind.NEUTRALISE)[disposition is Disposition.NEUTRALISE]
            if disposition is Disposition.NOTICE:
                slot.rewrite = partial(pass_and_tell, self._on_topic_change, head)
            elif head.api_key == ApiKey.DESCRIBE_GROUPS:
                slot.rewrite = partial(tell_share_groups, self._routes.share_group_ids, head.api_version)
        self.slots.append(slot)
        self._count(head)

    def _examine(self, head: RequestHead, frame: memoryview) -> bool:
        """Decide a held request; whether those behind it have to wait for its answer."""
        if head.api_key == ApiKey.API_VERSIONS:
            self._refuse_version(head)
            return False
        if head.api_key in SASL_KEYS:
            self._watch(head, frame)
            return False
        _, newest = self._broker_versions.get(head.api_key, (0, head.api_version))
        routes, rewriter, is_next = self._routes, self._rewriter, self.responses.has_caught_up
        decide = partial(decide_held_request, head, routes=routes, rewriter=rewriter, broker_version=newest)
        if call := undecoded_call(head, frame, routes, decide, is_next=is_next):
            return self._owe_own(call, head)
        if isinstance(decided := decide(frame), StreamedOn):
            self.requests.for_broker += [len(frame).to_bytes(4, "big"), frame]
            if decided.is_answered:
                self._owe(head, decided.disposition)
            return False
        if isinstance(decided, Served):
            self._share.spend(decided.work)
            return self._owe_own(served_call(decided, head, frame, decide, is_next=is_next), head)
        self._count(head)
        self._follow(decided, head, frame)
        return False

    def _owe_own(self, call: AnyCall, head: RequestHead) -> bool:
        self._count(head)
        self.call = call
        self.slots.append(call.slot)
        return True

    def _follow(self, decided: HeldDecision, head: RequestHead, frame: memoryview) -> None:
        match decided:
            case Relayed(kind):
                self._relay_held(kind, head, frame)
            case AnsweredAtOnce():
                self.sasl.require_proof()
                self._answer_at_once(head, codecs.encode_response(*head, decided.answer))
            case _:
                slots, frames = questions(head, decided, self._rewriter)
                self._share.spend(work_of_questions(len(slots)))
                self.slots.owe_together(slots, decoded_bytes(len(frame)))
                self.requests.for_broker += frames

    def _refuse_version(self, head: RequestHead) -> None:
        self.is_farewell_said |= (head.api_key, head.api_version) == self._routes.farewell
        # Counted as one: version numbers that clients make up would become labels without end.
        self._count(head._replace(api_version=MAX_API_VERSIONS_VERSION + 1))
        answer = unsupported_version_answer()
        self._answer_at_once(head, codecs.encode_response(head.api_key, 0, head.correlation_id, answer))

    def _watch(self, head: RequestHead, frame: memoryview) -> None:
        """Let a request of SASL pass as it came, and its answer, and see who the client turns out to be."""
        self._count(head)
        self._relay_held(SlotKind.REWRITE, head, frame)
        learn = self.sasl.request(decode_held(head, frame).message, head.api_version)
        self.slots[-1].rewrite = partial(self._learn, learn)

    def _relay_held(self, kind: SlotKind, head: RequestHead, frame: memoryview) -> None:
        self.slots.append(ResponseSlot(kind, *head))
        self.requests.for_broker += [len(frame).to_bytes(4, "big"), frame]

    def _answer_at_once(self, head: RequestHead, buffers: list[bytes | memoryview]) -> None:
        self._share.spend(work_of_answer(buffers))
        self.slots.owe_answered(ResponseSlot(SlotKind.LOCAL, *head), buffers)
        self._settle_head()

    def _count(self, head: RequestHead) -> None:
        key = head.api_key, head.api_version
        self._request_counts[key] = self._request_counts.get(key, 0) + 1

    # ---- responses

    def _rewrite(self, slot: ResponseSlot, frame: memoryview) -> bool:
        if slot.kind is not SlotKind.SWALLOW or slot.rewrite is not None:
            try:
                self.responses.for_client.extend(self._rewritten(slot, frame))
            except UnknownBrokers as unknown:
                self._new_brokers = unknown.brokers
                return False
        self.slots.drop_first()
        self._settle_head()
        return True

    def _rewritten(self, slot: ResponseSlot, frame: memoryview) -> list[bytes | memoryview]:
        if slot.api_key == ApiKey.API_VERSIONS:
            answer = self._rewriter.rewrite_api_versions(slot.api_version, frame)
            if answer.advertised:
                self._broker_versions = answer.upstream
                self.requests.advertised = answer.advertised
            return answer.buffers
        if slot.rewrite is None:
            return self._rewriter.rewrite(slot.api_key, slot.api_version, frame, spend=self._share.spend)
        try:
            return slot.rewrite(frame)
        except MalformedMessage as malformed:
            raise PeerViolation("malformed_response", str(malformed)) from malformed

    def _learn(self, learn: Callable[[memoryview], None], frame: memoryview) -> Buffers:
        learn(frame)
        if self.sasl.proof is not None:
            self.principal = self.sasl.proof.principal
        return [len(frame).to_bytes(4, "big"), frame]

    def _settle_head(self) -> None:
        while self.slots and self.slots[0].buffers is not None:  # it is at the head of the queue, and ready
            self.responses.for_client.extend(self.slots.drop_first().buffers or ())
