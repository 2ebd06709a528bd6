"""What becomes of a request that is held whole: relayed, answered at once, translated for an older broker, or served.

Decides, and does nothing: `client_session` keeps the order of the answers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from kproxy.errors import MalformedMessage, PeerViolation
from kproxy.interception.broker_addresses import BrokerAddresses
from kproxy.interception.closed_groups import GROUP_KEYS, deny_group
from kproxy.interception.closed_requests import CLOSED_KEYS, deny_closed
from kproxy.interception.closed_topics import REASON
from kproxy.interception.response_slots import SlotKind
from kproxy.interception.rewrites.find_coordinator import (
    FIRST_WITH_SHARE_KEYS,
    SHARE_KEY_TYPE,
    answer_share_coordinator,
    key_type_and_count,
)
from kproxy.interception.rewrites.responses import ResponseRewriter
from kproxy.interception.rewrites.shared_apis import is_shared
from kproxy.interception.routing import Disposition, RoutingTable
from kproxy.interception.translations import FIRST_BATCHED, LOWEST_TRANSLATED, Translation, translate
from kproxy.interception.turns.turn_share import work_of_search
from kproxy.wire import codecs, group_ids
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.frames import LENGTH_BYTES, RequestHead
from kproxy.wire.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.join_group_request import JoinGroupRequest
from kproxy.wire.messages.streams_group_heartbeat_request import StreamsGroupHeartbeatRequest
from kproxy.wire.produce_acks import NO_ACKS, acks_of_produce
from kproxy.wire.request_prefixes import MAX_PREFIX_BYTES
from kproxy.wording import counted

MAX_COORDINATOR_KEYS: Final = 30_000
"""Of one FindCoordinator request that a broker answers: 45 ms to decode and encode the answer, which is one piece."""

MAX_KEYS_ONE_BY_ONE: Final = 5_000
"""Of one whose keys become requests, one by one: 10 µs each, which nobody can interrupt."""

MAX_SHARE_KEYS: Final = 2_000
"""Of one for share coordinators, which kproxy answers at once: 2 µs each. Brokers alone search for them."""

MAX_CLOSED_BYTES: Final = 256 * 1024
"""Of a request that touches a closed topic or group, or is guarded and about a share group: to decode more, and to
answer about each partition, would take up to 600 ms. A Fetch has room for 7,000 partitions in it, and one without such
a topic is as large as it likes."""
_REFUSED_BY_GROUP: Final[Mapping[int, Callable[..., Message]]] = {
    ApiKey.JOIN_GROUP: JoinGroupRequest,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: ConsumerGroupHeartbeatRequest,
    ApiKey.STREAMS_GROUP_HEARTBEAT: StreamsGroupHeartbeatRequest,
}
"""What is refused for its group, by nothing but a code, and not decoded: 50,000 subtopologies would take 90 ms."""


@dataclass(frozen=True, slots=True)
class Relayed:
    """It goes to the broker as it came; `kind` says what becomes of the response."""

    kind: SlotKind


@dataclass(frozen=True, slots=True)
class StreamedOn:
    """It goes to the broker as if it had never been held; `is_answered` tells whether that answers it."""

    disposition: Disposition
    is_answered: bool


@dataclass(frozen=True, slots=True)
class AnsweredAtOnce:
    """It has its answer already."""

    answer: Message


@dataclass(frozen=True, slots=True)
class Translated:
    """An older broker is asked in its own version, once or several times; the client is answered once, in its own."""

    client_id: str | None
    broker_version: int
    translation: Translation


@dataclass(frozen=True, slots=True)
class Served:
    """kproxy answers it, perhaps together with the broker; with `answer`, which took `work`, if its sender may know."""

    request: DecodedRequest
    disposition: Disposition
    answer: Message | None = None
    work: int = 0


HeldDecision: TypeAlias = Relayed | AnsweredAtOnce | Translated
"""What becomes of a request that had to be looked at whole, and behind which nothing has to wait."""

RequestDecision: TypeAlias = HeldDecision | Served | StreamedOn

_UNHELD: Final = frozenset(
    {
        Disposition.FORWARD,
        Disposition.NEUTRALISE,
        Disposition.REWRITE,
        Disposition.NOTICE,
        Disposition.GUARD,
    }
)
"""What is held only when it may name a topic that is closed."""


def decide_held_request(
    head: RequestHead,
    frame: memoryview,
    routes: RoutingTable,
    rewriter: ResponseRewriter,
    *,
    broker_version: int,
) -> RequestDecision:
    """Decide a held request.

    Args:
        head: its first fields.
        frame: all of it, without its length.
        routes: the table of dispositions.
        rewriter: knows addresses and topics.
        broker_version: the highest version of this API that the broker has.

    Raises:
        PeerViolation: it is malformed, or asks for more than is served.
    """
    disposition = routes.disposition(head.api_key, head.api_version)
    decided = _closed(head, frame, routes, disposition)
    if decided is not None:
        return decided
    if disposition is Disposition.GUARD:
        if head.api_key in _REFUSED_BY_GROUP:
            return Served(_request_of_group(head, frame), disposition)
        _refuse_large(head, frame, routes)
    if disposition is not Disposition.EXAMINE or routes.is_shared(head.api_key):
        request = decode_held(head, frame)
        is_served = _is_answered_here(disposition, request)
        return Served(request, disposition) if is_served else Relayed(SlotKind.FORWARD)
    if head.api_key == ApiKey.FIND_COORDINATOR:
        addresses = rewriter.addresses if ApiKey.READ_SHARE_GROUP_STATE in routes.served else None
        if (found := _share_coordinator(head, frame, addresses, broker_version)) is not None:
            return found
    if LOWEST_TRANSLATED[head.api_key] <= broker_version < head.api_version:
        return _translated(decode_held(head, frame), rewriter, broker_version)
    names_brokers = head.api_key in {ApiKey.FIND_COORDINATOR, ApiKey.METADATA}
    return Relayed(SlotKind.REWRITE if names_brokers else SlotKind.FORWARD)


def decode_held(head: RequestHead, frame: memoryview) -> DecodedRequest:
    """Return what a request is, of which `frame` is all but its length. Raises PeerViolation when it is malformed."""
    try:
        return codecs.decode_request(frame)
    except MalformedMessage as malformed:
        raise _malformed(head, malformed) from malformed


def _malformed(head: RequestHead, malformed: MalformedMessage) -> PeerViolation:
    detail = f"API key {head.api_key} version {head.api_version}: {malformed}"
    return PeerViolation("malformed_request", detail)


def _request_of_group(head: RequestHead, frame: memoryview) -> DecodedRequest:
    """Return a request with its group id and nothing else. Raises PeerViolation when it is malformed up to there."""
    group_id = _group_of(head, frame) or group_ids.NO_GROUP
    try:
        header = codecs.decode_request_header(frame)
    except MalformedMessage as malformed:
        raise _malformed(head, malformed) from malformed
    message = _REFUSED_BY_GROUP[head.api_key](group_id=group_id)
    return DecodedRequest(head.api_key, head.api_version, head.correlation_id, header.client_id, message)


def _group_of(head: RequestHead, frame: memoryview) -> str | None:
    """Return the group id among the first fields of a request; None where it is not to be found."""
    return group_ids.group_id_of(_prefix(frame), head.api_key, head.api_version)


def _prefix(frame: memoryview) -> bytes:
    """Return what the first fields stand in, behind room for the length."""
    return bytes(LENGTH_BYTES) + bytes(frame[:MAX_PREFIX_BYTES])


def _closed(
    head: RequestHead, frame: memoryview, routes: RoutingTable, disposition: Disposition
) -> RequestDecision | None:
    """Return what becomes of what may touch something of kproxy's own; None when it does not, and is held anyway."""
    if head.api_key in GROUP_KEYS:
        if head.api_key in _REFUSED_BY_GROUP:
            request = _request_of_group(head, frame)
        elif _group_of(head, frame) in routes.closed_topics.groups:
            _refuse_large(head, frame, routes)
            request = decode_held(head, frame)
        else:
            return None
        answer = deny_group(request, routes.closed_topics)
        return None if answer is None else AnsweredAtOnce(answer)
    if head.api_key in CLOSED_KEYS:
        return _open_or_closed(head, frame, routes, disposition)
    return None


def _open_or_closed(
    head: RequestHead, frame: memoryview, routes: RoutingTable, disposition: Disposition
) -> RequestDecision | None:
    """Return what becomes of a request that may name a closed topic; None when it does not, and is held anyway."""
    if routes.closed_topics.may_be_in(frame, head.api_key, head.api_version):
        _refuse_large(head, frame, routes)
        request = decode_held(head, frame)
        denied = deny_closed(request, routes.closed_topics)
        if denied is not None:
            if denied.left is None:
                return AnsweredAtOnce(denied.answer)
            return Translated(request.client_id, head.api_version, denied.left)
    return StreamedOn(disposition, _is_answered(head, frame)) if disposition in _UNHELD else None


def _is_answered(head: RequestHead, frame: memoryview) -> bool:
    return head.api_key != ApiKey.PRODUCE or acks_of_produce(_prefix(frame), head.api_version) != NO_ACKS


def _refuse_large(head: RequestHead, frame: memoryview, routes: RoutingTable) -> None:
    if len(frame) > MAX_CLOSED_BYTES:
        routes.closed_topics.on_refused(head.api_key)
        detail = (
            f"a request (API key {head.api_key} version {head.api_version}) of {counted(len(frame), 'byte')} has the "
            "name or id of a topic in which kproxy keeps its state, of its fleet's group or of a share group; "
            f"up to {MAX_CLOSED_BYTES} are looked into"
        )
        raise PeerViolation(REASON, detail)


def _share_coordinator(
    head: RequestHead, frame: memoryview, addresses: BrokerAddresses | None, broker_version: int
) -> Served | AnsweredAtOnce | None:
    """Return what becomes of who seeks a share coordinator, None of everybody else.

    `addresses` is where it is found, None when it is not served on the wire. That everybody may know, and which
    versions have no such key type.
    """
    if not _may_seek_share_coordinator(head, frame, broker_version):
        return None
    request = decode_held(head, frame)
    sought = request.message
    assert isinstance(sought, FindCoordinatorRequest)
    _refuse_many_keys(sought, broker_version)
    answer = answer_share_coordinator(sought, head.api_version, addresses)
    if answer is None or addresses is None or head.api_version < FIRST_WITH_SHARE_KEYS:
        return None if answer is None else AnsweredAtOnce(answer)
    return Served(request, Disposition.SERVE, answer, work_of_search(len(sought.coordinator_keys)))


def _may_seek_share_coordinator(head: RequestHead, frame: memoryview, broker_version: int) -> bool:
    """Tell whether it must be decoded to know; not if it goes to the broker as it came, however many keys it has."""
    if min(head.api_version, broker_version) < FIRST_BATCHED:
        return True
    sought = key_type_and_count(frame)
    if sought is None or sought[0] == SHARE_KEY_TYPE:
        return True
    _require_few_keys(sought[1], MAX_COORDINATOR_KEYS)
    return False


def _refuse_many_keys(sought: FindCoordinatorRequest, broker_version: int) -> None:
    most = MAX_COORDINATOR_KEYS if broker_version >= FIRST_BATCHED else MAX_KEYS_ONE_BY_ONE
    if sought.key_type == SHARE_KEY_TYPE:
        most = MAX_SHARE_KEYS
    _require_few_keys(len(sought.coordinator_keys), most)


def _require_few_keys(count: int, most: int) -> None:
    if count > most:
        raise PeerViolation("malformed_request", f"coordinators searched for: {count}; {most} are served")


def _translated(
    request: DecodedRequest, rewriter: ResponseRewriter, broker_version: int
) -> Translated | AnsweredAtOnce:
    translation = translate(request.message, broker_version, rewriter.topic_name)
    if not translation.requests:
        return AnsweredAtOnce(translation.merge([]))
    return Translated(request.client_id, broker_version, translation)


def _is_answered_here(disposition: Disposition, request: DecodedRequest) -> bool:
    """Share groups may have been turned off since the frame began: then it is FORWARD."""
    if disposition is Disposition.EXAMINE:
        return is_shared(request.message)
    return disposition is not Disposition.FORWARD
