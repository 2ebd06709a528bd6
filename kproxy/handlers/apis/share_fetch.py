"""ShareFetch (78), versions 1-2, KIP-932.

Behaviour: the session is checked first, then acknowledgements take effect, then records are read and
acquired while the acknowledgements become durable; the answer waits for both. An opening request names
every partition it could look at, later ones those with something to say. Errors of fetching and of
acknowledging are independent. Version notes: 2 adds ShareAcquireMode (KIP-1206) and IsRenewAck (KIP-1222).
Known differences from a stock broker: the bootstrap port serves every partition; see also
`fetch_partitions`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    GroupAuthorizationFailed,
    InvalidRequest,
    NotCoordinator,
    SharePartitionElsewhere,
    ShareSessionLimitReached,
    ShareSessionNotFound,
)
from kproxy.handlers.apis.share_fetch_answer import ShareFetchAnswer
from kproxy.handlers.authorization import GROUP_DENIED, ReadableTopics
from kproxy.handlers.fetching.fetch_partitions import PartitionFetch
from kproxy.handlers.fetching.fetch_starts import FetchEnds, FetchStarts, batch_looks
from kproxy.handlers.fetching.fetch_terms import FetchedPartition, FetchTerms
from kproxy.handlers.groups.effective_limits import EffectiveLimits
from kproxy.handlers.live.acknowledgements import (
    Acknowledgements,
    Acknowledger,
    Applied,
    Requested,
    requested_partitions,
)
from kproxy.handlers.live.leadership import UNAUTHORIZED, PartitionRefusal
from kproxy.handlers.live.share_services import ShareServices
from kproxy.handlers.live.share_session_requests import (
    SessionClaim,
    is_open,
    require_own_session,
    require_readable_group,
    session_claim,
)
from kproxy.handlers.request_context import RequestContext
from kproxy.share.acquisition import AcquiredRange
from kproxy.share.identifiers import TopicId, TopicIdPartition
from kproxy.share.offset_ranges import AcquisitionLock
from kproxy.share.share_session import ShareSession
from kproxy.wire.messages.share_fetch_request import ShareFetchRequest
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse

LONGEST_WAIT_MS: Final = 60_000
"""No fetch waits longer, whatever its MaxWaitMs (an int32: 24.8 days): its connection may be gone by then."""

_RECORD_LIMIT_MODE = 1
"""ShareAcquireMode (KIP-1206): never more than MaxRecords."""


_LOST: Final = PartitionRefusal(
    SharePartitionElsewhere.error_code, "the records were lost again before they could be delivered"
)


class ShareFetchHandler:
    """Serves ShareFetch. `fetch_max_bytes` bounds what any request may ask for (Kafka's `fetch.max.bytes`)."""

    __slots__ = (
        "_acknowledgements",
        "_batch_looks",
        "_ends",
        "_fetch_max_bytes",
        "_limits",
        "_looks",
        "_services",
        "_starts",
    )

    def __init__(
        self,
        services: ShareServices,
        acknowledgements: Acknowledgements,
        *,
        limits: EffectiveLimits,
        fetch_max_bytes: int,
    ) -> None:
        self._services = services
        self._acknowledgements = acknowledgements
        self._limits = limits
        self._fetch_max_bytes = fetch_max_bytes
        self._starts, self._looks, self._ends = FetchStarts(), FetchStarts(), FetchEnds()
        self._batch_looks = batch_looks()

    async def serve(self, request: ShareFetchRequest, context: RequestContext) -> ShareFetchResponse:
        """Answer with records, or without them when MaxWaitMs is over.

        Raises:
            GroupAuthorizationFailed: the sender may not read the group, or not any more when it was to be answered.
            CoordinatorNotAvailable: it cannot be told what the sender may do.
            InvalidRequest: no group id, no usable member id, a renewal that asks for records, an opening
                request that acknowledges, or more partitions to forget than a session may have.
            ShareSessionNotFound: the session is not open, or is of another connection and the client is gone.
            InvalidShareSessionEpoch: the epoch is not the expected one.
            ShareSessionLimitReached: there is no room for another session; raised when MaxWaitMs is over.
        """
        await require_readable_group(self._services.authorization, request, context)
        claim = session_claim(request, context)
        _require_renewal_alone(request)
        deadline_ms = self._services.clock.now_ms() + _wait_ms(request, context)
        requested = requested_partitions(request.topics)
        session = await self._admit(request, context, claim, requested, deadline_ms)
        session.use(self._services.clock.now_ms())
        readable = await self._services.authorization.readable_topics(
            context, lambda: (each.topic_id for each in (*session.partitions, *requested)), claim.key.group_id
        )
        acknowledger = Acknowledger(
            claim.key, is_renew_ack=request.is_renew_ack, context=context, readable=readable
        )
        applied = await self._acknowledgements.apply(
            acknowledger,
            {partition: batches for partition, batches in requested.items() if batches},
            closing=session if claim.closes else None,
        )
        fetched: Mapping[TopicIdPartition, FetchedPartition] = {}
        fetches = not claim.closes and not request.is_renew_ack
        try:
            if fetches:
                await self._starts.begin(len(session))
            terms = self._terms(request, context, session, readable=readable, deadline_ms=deadline_ms)
            answer = ShareFetchAnswer(session, terms.partitions, self._services.leadership)
            if fetches:
                fetched = await self._fetched(session, terms, answer, tells_more=bool(applied.partitions))
        except ShareSessionNotFound as ending:
            # Its connection is gone, or it is of no use to anybody: it is no news.
            return ShareFetchResponse(error_code=ending.error_code, error_message=str(ending))
        finally:
            refusals = await self._settled(applied, fetched)
        answer.add_acknowledged(applied.partitions, refusals)
        if not claim.closes:
            self._withdraw_lost(answer, session, fetched)
            self._withdraw_forbidden(answer, readable, context)
        lock_ms = self._limits.of(claim.key.group_id).record_lock_duration_ms
        return answer.response(lock_ms, names_endpoints=not context.is_relayed)

    async def _settled(
        self, applied: Applied, fetched: Mapping[TopicIdPartition, FetchedPartition]
    ) -> Mapping[TopicIdPartition, PartitionRefusal]:
        """Wait until what was acknowledged is durable, and until the answer may go on: one append may be for many."""
        refusals = await applied.settle()
        if applied.partitions:
            await self._ends.answer(_range_count(fetched))
        return refusals

    async def _fetched(
        self, session: ShareSession, terms: FetchTerms, answer: ShareFetchAnswer, *, tells_more: bool
    ) -> Mapping[TopicIdPartition, FetchedPartition]:
        """Return what was fetched: nothing if that was refused, where the answer has to tell more than that.

        Stock clients take all acknowledgements of an answer that has an error of its own for failed. That the session
        ended, by an operator or because its group moved, is heard with the next request.

        Raises:
            ShareSessionNotFound: it ended, and there is nothing else to tell, or nobody.
            CoordinatorNotAvailable: it cannot be told what the sender may do, and there is nothing else to tell.
        """
        try:
            return await self._fetch(session, terms, answer)
        except ShareSessionNotFound:
            if not tells_more or terms.context.caller.is_gone:
                raise
        except CoordinatorNotAvailable as unknown:
            if not tells_more:
                raise
            reason = ErrorCode.COORDINATOR_NOT_AVAILABLE.name.lower()
            self._services.observer.refused(terms.context, reason=reason, detail=str(unknown))
        return {}

    async def _fetch(
        self, session: ShareSession, terms: FetchTerms, answer: ShareFetchAnswer
    ) -> Mapping[TopicIdPartition, FetchedPartition]:
        fetch = PartitionFetch(self._services, terms)
        session.begin_fetch()
        try:
            fetched = await fetch.run()
            await self._ends.answer(len(fetched) + _range_count(fetched))
        finally:
            session.end_fetch(self._services.clock.now_ms())
        self._count_fetched(terms, fetched)
        answer.add_fetched(fetched, throttle_ms=fetch.throttled.remaining_ms)
        return fetched

    def _count_fetched(self, terms: FetchTerms, fetched: Mapping[TopicIdPartition, FetchedPartition]) -> None:
        if terms.partitions and not terms.wants_nothing:
            acquired = sum(1 for each in fetched.values() if each.acquired)
            group_id = terms.session_key.group_id
            self._services.counters.fetched(group_id, asked=len(terms.partitions), acquired=acquired)

    def _withdraw_lost(
        self,
        answer: ShareFetchAnswer,
        session: ShareSession,
        fetched: Mapping[TopicIdPartition, FetchedPartition],
    ) -> None:
        """Deliver nothing that others may get, too: acquisitions are in memory, and no log fences them.

        That may be members of another process: a session ends with its group's stay in this one, even if the group is
        back by now. Or other members here: what was acquired while writes were awaited is lost with the share-partition
        that it was acquired from, which a doubt about the log discards while sessions stay, and when its lock ends. And
        what an operator settled meanwhile is held no more: it was released, or is done with.
        """
        if not is_open(self._services.sessions, session):
            answer.withdraw_records(_elsewhere("the share session has ended"))
            return
        try:
            self._services.group_log.require_ready(session.key.group_id)
        except (NotCoordinator, CoordinatorLoadInProgress, CoordinatorNotAvailable) as unready:
            answer.withdraw_records(_elsewhere(str(unready)))
            return
        now_ms, key = self._services.clock.now_ms(), session.key

        def is_owner(lock: AcquisitionLock) -> bool:
            return lock.belongs_to(key.member_id, key.node_id, session.number)

        answer.withdraw_records(_LOST, lambda partition: not self._is_there(fetched[partition], now_ms))
        answer.keep_records(lambda partition: _held(fetched[partition], is_owner))

    def _withdraw_forbidden(
        self, answer: ShareFetchAnswer, readable: ReadableTopics, context: RequestContext
    ) -> None:
        """Deliver nothing that the sender may not read by now: its rights may have ended while writes were awaited.

        What was acquired stays locked until the lock ends. Of a group it hears with its next request where this answer
        has acknowledgements to tell of: stock clients would take all of these for failed.

        Raises:
            GroupAuthorizationFailed: the sender may not read the group any more, and there is nothing else to tell.
        """
        try:
            if readable.may_read_group():
                answer.withdraw_records(UNAUTHORIZED, lambda each: not readable.may_read(each.topic_id))
                return
        except CoordinatorNotAvailable as unknown:
            answer.withdraw_records(_elsewhere(str(unknown)))
            return
        if not answer.has_acknowledgements:
            raise GroupAuthorizationFailed(GROUP_DENIED)
        answer.withhold_records()
        reason = ErrorCode.GROUP_AUTHORIZATION_FAILED.name.lower()
        self._services.observer.refused(context, reason=reason, detail=GROUP_DENIED)

    def _is_there(self, found: FetchedPartition, now_ms: int) -> bool:
        """Tell whether the share-partition is live that was acquired from, and the time of the lock has not ended."""
        source = found.acquired_from
        if source is None or now_ms >= found.locked_until_ms:
            return False
        return self._services.directory.find(source.key) is source

    async def _admit(
        self,
        request: ShareFetchRequest,
        context: RequestContext,
        claim: SessionClaim,
        requested: Requested,
        deadline_ms: int,
    ) -> ShareSession:
        """Open the session, find it for the last time, or move it on to the next epoch."""
        require_own_session(self._services.sessions, claim, context)
        if claim.closes:
            return self._services.sessions.find(claim.key)
        if not claim.opens:
            self._services.sessions.require_possible(
                sum(len(topic.partitions) for topic in request.forgotten_topics_data)
            )
            forgotten = [
                TopicIdPartition(TopicId(topic.topic_id), partition)
                for topic in request.forgotten_topics_data
                for partition in topic.partitions
            ]
            return self._services.sessions.advance(
                claim.key, claim.share_session_epoch, added=requested, forgotten=forgotten
            )
        replaced = self._services.sessions.get(claim.key)
        try:
            session = self._services.sessions.open(
                claim.key,
                connection_id=context.connection_id,
                principal=str(context.principal),
                partitions=requested,
                has_acknowledgements=any(requested.values()),
            )
        except ShareSessionLimitReached:
            # An answer at once would make the client ask again at once.
            await self._services.parked.wait({}, deadline_ms, context)
            raise
        if replaced is not None:
            # A fetch of it may be asleep, and has to notice that nobody waits for it any more.
            self._services.availability.end_session(claim.key)
        return session

    def _terms(
        self,
        request: ShareFetchRequest,
        context: RequestContext,
        session: ShareSession,
        *,
        readable: ReadableTopics,
        deadline_ms: int,
    ) -> FetchTerms:
        max_bytes = min(request.max_bytes, self._fetch_max_bytes)
        wants_records = request.max_records > 0 and max_bytes > 0
        return FetchTerms(
            session_key=session.key,
            session_number=session.number,
            partitions=session.next_turn() if wants_records else session.partitions,
            deadline_ms=deadline_ms,
            min_bytes=min(request.min_bytes, max_bytes),
            max_bytes=max_bytes,
            max_records=request.max_records,
            batch_size=request.batch_size,
            is_record_limit=request.share_acquire_mode == _RECORD_LIMIT_MODE,
            is_session_open=lambda: not context.caller.is_gone and is_open(self._services.sessions, session),
            context=context,
            readable=readable,
            looks=self._looks,
            ends=self._ends,
            batch_looks=self._batch_looks,
        )


def _held(found: FetchedPartition, is_owner: Callable[[AcquisitionLock], bool]) -> Sequence[AcquiredRange]:
    assert found.acquired_from is not None, "it is looked up before"
    return found.acquired_from.still_held(found.acquired, is_owner)


def _range_count(fetched: Mapping[TopicIdPartition, FetchedPartition]) -> int:
    return sum(len(found.acquired) for found in fetched.values())


def _wait_ms(request: ShareFetchRequest, context: RequestContext) -> int:
    """Return how much of MaxWaitMs the fetch may wait yet; nothing if it takes too much memory for that."""
    if not context.answer_budget.may_wait:
        return 0
    return max(min(request.max_wait_ms, LONGEST_WAIT_MS) - context.waited_ms, 0)


def _elsewhere(reason: str) -> PartitionRefusal:
    return PartitionRefusal(SharePartitionElsewhere.error_code, reason)


def _require_renewal_alone(request: ShareFetchRequest) -> None:
    """Raise InvalidRequest when a request that renews locks also asks for records (KIP-1222)."""
    bounds = {
        "MaxBytes": request.max_bytes,
        "MinBytes": request.min_bytes,
        "MaxRecords": request.max_records,
        "MaxWaitMs": request.max_wait_ms,
    }
    wanted = [name for name, value in bounds.items() if value]
    if request.is_renew_ack and wanted:
        raise InvalidRequest(f"a request that renews locks must have 0 for {', '.join(wanted)}")
