"""Refusals that clients answer by asking again at once, held back like long polls.

A share consumer whose fetch is refused asks again without a pause (seen with librdkafka 2.16 and Java 4.3), and its
application hears nothing of it: a kproxy that can serve nobody would be kept busy by everybody. So such a refusal
leaves 100 ms after its request came, the next one in a row of the same connection and API 800 ms, all others 3.2 s.
What the request did, has been done by then: acknowledgements that come with a refused fetch are applied first.

A fetch that is refused in a part of its partitions, and waited its MaxWaitMs for records of the others, costs no more
than an idle one: it is not held, for records may come meanwhile. One that did not wait, for it has no MinBytes or a
very short MaxWaitMs, is held about as long as a fetch waits, and no longer.

A refusal that tells a client what to do next - where the leader is, to open a new session, to join again - is held
from the second in a row on: the first ends with the client being served.

A hold ends with its connection, with the process, and when what was wrong is over. A connection has one request at a
time in service, so there are at most as many holds as connections.
"""

from collections.abc import Iterable
from enum import Enum
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.handlers.callers import Waits
from kproxy.handlers.live.leadership import ERRORS_WITH_LEADER
from kproxy.handlers.ports import Clock
from kproxy.handlers.registry import Apis
from kproxy.handlers.request_context import RequestContext
from kproxy.share.identifiers import GroupId, MemberId
from kproxy.share.share_session import FINAL_SHARE_SESSION_EPOCH, ShareSessionCache, ShareSessionKey
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages.share_acknowledge_request import ShareAcknowledgeRequest
from kproxy.wire.messages.share_acknowledge_response import ShareAcknowledgeResponse
from kproxy.wire.messages.share_fetch_request import ShareFetchRequest
from kproxy.wire.messages.share_fetch_response import PartitionData, ShareFetchResponse
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kproxy.wire.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse

HOLDS_MS: Final = (100, 800, 3_200)
"""How long the first refusal in a row is held, the second, and so on; all after that as long as the last.

Short at first, because what is refused once, while a leader moves say, is often served the next time. Never near what
clients wait for any answer (30 s by default), or what a lock lasts (15 s at least by default).
"""
LOCK_PARTS: Final = 4
"""A hold takes at most this part of the group's lock duration: behind it the member's acknowledgements wait."""

BESIDE_OTHERS_MS: Final = 500
"""The longest hold of a fetch that was refused in a part of its partitions, or because a read of one failed: the others
of its session wait behind it, and this is what clients let a fetch wait by default (`fetch.max.wait.ms`)."""

_INSTRUCTIVE: Final = frozenset(
    {
        ErrorCode.SHARE_SESSION_NOT_FOUND,
        ErrorCode.INVALID_SHARE_SESSION_EPOCH,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_MEMBER_EPOCH,
    }
)
_RETRIED: Final = _INSTRUCTIVE | frozenset(
    {
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.FENCED_STATE_EPOCH,
        ErrorCode.SHARE_SESSION_LIMIT_REACHED,
    }
)
"""All others are answered at once: a client that is told of them gives up, or hands them to its application."""

_OF_ONE_READ: Final = frozenset(
    {
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.OFFSET_NOT_AVAILABLE,
    }
)
"""Errors of a partition that say nothing of the others."""


class Verdict(Enum):
    """What an answer is, as far as holding it goes."""

    SERVED = "served"
    INSTRUCTED = "instructed"
    """Refused, and told what to do next."""
    REFUSED = "refused"


class HeldRefusals:
    """Implements `Apis` with `apis`. What is held waits at `waits`, which is nobody else's.

    `sessions` tell how many partitions a fetch is about: its answer names those alone of which there is news.
    """

    __slots__ = ("_apis", "_clock", "_held", "_is_ending", "_sessions", "_waits")

    def __init__(self, apis: Apis, waits: Waits, *, sessions: ShareSessionCache, clock: Clock) -> None:
        self._apis = apis
        self._waits = waits
        self._sessions = sessions
        self._clock = clock
        self._held: set[int] = set()
        self._is_ending = False

    async def serve(self, request: DecodedRequest, context: RequestContext) -> Message:
        """Answer `request`; later, if the answer is a refusal that its client would answer by asking again at once."""
        began_ms = self._clock.now_ms()
        answer = await self._apis.serve(request, context)
        hold_ms = self._hold_ms(request, context, answer, waited_ms=self._clock.now_ms() - began_ms)
        if hold_ms and not self._is_ending and not context.caller.is_gone:
            context.answer_budget.give_back()  # a refusal has no records, though some may have been read
            await self._hold(context.connection_id, began_ms + hold_ms)
        return answer

    def forsake(self, connection_id: int) -> None:
        """End what is held for a connection that went away, and what else waits for it."""
        self._waits.call(connection_id)
        self._apis.forsake(connection_id)

    async def connection_closed(self, connection_id: int) -> None:
        """Release what the clients of a connection that went away hold."""
        await self._apis.connection_closed(connection_id)

    def more_arrived(self, connection_id: int) -> None:
        """Pass it on. It ends no hold: a refused client asks for metadata behind its next fetch, and for both again."""
        self._apis.more_arrived(connection_id)

    def release(self) -> None:
        """Let everything go that is held: what was wrong is over, so those who ask again are served."""
        for connection_id in self._held:
            self._waits.call(connection_id)

    def end(self) -> None:
        """Do the same, and hold nothing any more: the process is about to end."""
        self._is_ending = True
        self.release()

    async def _hold(self, connection_id: int, until_ms: int) -> None:
        self._held.add(connection_id)
        try:
            await self._waits.wait(connection_id, until_ms)
        finally:
            self._held.discard(connection_id)

    def _hold_ms(
        self, request: DecodedRequest, context: RequestContext, answer: Message, *, waited_ms: int
    ) -> int:
        """Return how long after its request `answer`, which is there after `waited_ms`, may leave; 0 for at once."""
        is_idle = _has_waited_for_records(request.message, answer, waited_ms)
        verdict = Verdict.SERVED if is_idle else _verdict(answer, context.node_id)
        streaks, api_key = context.refusals, request.api_key
        length = streaks.length(api_key)
        if verdict is Verdict.SERVED:
            streaks.answered(api_key)
            return 0
        streaks.refused(api_key)
        if _is_last(request.message):
            return 0
        steps = length - 1 if verdict is Verdict.INSTRUCTED else length
        if steps < 0:
            return 0
        hold_ms = min(HOLDS_MS[min(steps, len(HOLDS_MS) - 1)], _most_ms(answer))
        return min(hold_ms, self._most_beside_others_ms(request.message, context, answer))

    def _most_beside_others_ms(self, message: Message, context: RequestContext, answer: Message) -> int:
        """Return how long other partitions of the session, which were not refused, may wait behind a refusal."""
        longest_ms = HOLDS_MS[-1]
        if not isinstance(message, ShareFetchRequest) or not isinstance(answer, ShareFetchResponse):
            return longest_ms
        group_id, member_id = GroupId(message.group_id or ""), MemberId(message.member_id or "")
        session = self._sessions.get(ShareSessionKey(context.node_id, group_id, member_id))
        refused = [each for topic in answer.responses for each in topic.partitions if each.error_code]
        if not refused or session is None or len(refused) >= len(session):
            return longest_ms
        return min(max(message.max_wait_ms, HOLDS_MS[0]), BESIDE_OTHERS_MS)


def _has_waited_for_records(message: Message, answer: Message, waited_ms: int) -> bool:
    """Whether a fetch came to the end of its MaxWaitMs, which only one does that has partitions to wait for."""
    if not isinstance(message, ShareFetchRequest) or not isinstance(answer, ShareFetchResponse):
        return False
    return answer.error_code == ErrorCode.NONE and waited_ms >= message.max_wait_ms >= HOLDS_MS[0]


def _verdict(answer: Message, node_id: int) -> Verdict:
    match answer:
        case ShareFetchResponse():
            return _of_code(answer.error_code) or _of_fetched(answer, node_id)
        case ShareAcknowledgeResponse():
            codes = [part.error_code for topic in answer.responses for part in topic.partitions]
            verdicts = {_of_code(code) for code in codes}
            all_refused = Verdict.REFUSED if verdicts == {Verdict.REFUSED} else Verdict.SERVED
            return _of_code(answer.error_code) or all_refused
        case ShareGroupHeartbeatResponse():
            return _of_code(answer.error_code) or Verdict.SERVED
        case _:
            return Verdict.SERVED


def _of_fetched(answer: ShareFetchResponse, node_id: int) -> Verdict:
    """Records are never held, and a refusal beside them comes with them."""
    partitions = [partition for topic in answer.responses for partition in topic.partitions]
    if any(partition.acquired_records for partition in partitions):
        return Verdict.SERVED
    refused = [partition for partition in partitions if _of_code(partition.error_code)]
    if not refused:
        return Verdict.SERVED
    return Verdict.INSTRUCTED if _are_led_elsewhere(refused, node_id) else Verdict.REFUSED


def _are_led_elsewhere(refused: Iterable[PartitionData], node_id: int) -> bool:
    """Whether the client was told another leader of each, and will ask there."""
    return all(
        partition.error_code in ERRORS_WITH_LEADER and partition.current_leader.leader_id not in {-1, node_id}
        for partition in refused
    )


def _of_code(error_code: int) -> Verdict | None:
    """Return what a client makes of an error; None for none, and for one that ends its asking."""
    if error_code in _INSTRUCTIVE:
        return Verdict.INSTRUCTED
    return Verdict.REFUSED if error_code in _RETRIED else None


def _is_last(message: Message) -> bool:
    """Whether the member is leaving: it does not come again."""
    match message:
        case ShareFetchRequest() | ShareAcknowledgeRequest():
            return message.share_session_epoch == FINAL_SHARE_SESSION_EPOCH
        case ShareGroupHeartbeatRequest():
            return message.member_epoch < 0
        case _:
            return False


def _most_ms(answer: Message) -> int:
    lock_ms = getattr(answer, "acquisition_lock_timeout_ms", 0)
    most_ms = lock_ms // LOCK_PARTS if lock_ms > 0 else HOLDS_MS[-1]
    return min(most_ms, BESIDE_OTHERS_MS) if _is_of_one_read(answer) else most_ms


def _is_of_one_read(answer: Message) -> bool:
    """Whether a fetch was refused for the sake of partitions that cannot be read, and of no other reason."""
    if not isinstance(answer, ShareFetchResponse) or answer.error_code != ErrorCode.NONE:
        return False
    codes = {partition.error_code for topic in answer.responses for partition in topic.partitions}
    return codes <= _OF_ONE_READ | {ErrorCode.NONE}
