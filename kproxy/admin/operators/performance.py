"""`Performance`: operators' requests done by the process that serves the group, whichever one was asked."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Protocol

from kproxy.admin.json_chunks import TooLong, gathered
from kproxy.admin.local_answers import LocalAnswers
from kproxy.admin.operators.requests import (
    END_SESSION,
    OperatorRequest,
    asked_by_peer,
    path_for_peer,
    request_of,
)
from kproxy.admin.peer_views import MOST_ANSWER_BYTES, PeerAnswer, PeerSilent, PeerViews, SlotOwners
from kproxy.admin.queries import NothingThere, RefusedQuery
from kproxy.admin.questions import Endpoint, Question
from kproxy.admin.views import envelope, envelope_of_texts, item
from kproxy.errors import (
    ApiError,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    InvalidRequest,
    KproxyError,
    NotCoordinator,
    SharePartitionNotLoaded,
    ShareSessionNotFound,
)
from kproxy.fleet.owners import Peer
from kproxy.handlers.operator_actions import SettledRun
from kproxy.handlers.ports import Clock
from kproxy.share.identifiers import GroupId, MemberId, SharePartitionKey, topic_id_text
from kproxy.share.operators.settlement import OperatorAction
from kproxy.share.share_session import ShareSession
from kproxy.telemetry import logs
from kproxy.telemetry.metrics import Metrics

PATIENCE_MS: Final = 12_000
"""How long another process is waited for: it answers when what it did is durable."""

_BUSY: Final = (CoordinatorNotAvailable, CoordinatorLoadInProgress, NotCoordinator)

log = logs.logger("admin.operators")


class Operators(Protocol):
    """Does it: `OperatorActions`."""

    def plan(
        self,
        key: SharePartitionKey,
        action: OperatorAction,
        spans: Sequence[tuple[int, int]],
        holder: MemberId | None = None,
    ) -> "_Runs":
        """Return what would change. Raises ApiError."""
        ...

    async def settle(
        self,
        key: SharePartitionKey,
        action: OperatorAction,
        spans: Sequence[tuple[int, int]],
        holder: MemberId | None = None,
        *,
        reason: str,
    ) -> "_Runs":
        """Change it; return what has changed, durably. Raises ApiError."""
        ...

    def sessions_of(
        self, group_id: GroupId, member_id: MemberId, node_id: int | None = None
    ) -> Sequence[ShareSession]:
        """Return the share sessions of a member. Raises ApiError."""
        ...

    async def held_count(self, session: ShareSession) -> int:
        """Return how many records the member holds of the partitions of a session."""
        ...

    async def end(self, sessions: Sequence[ShareSession], *, reason: str) -> None:
        """End sessions."""
        ...


@dataclass(frozen=True, slots=True)
class SettledView:
    """A run of records before and after an action; both offsets inclusive."""

    group_id: str
    topic_id: str
    topic_name: str | None
    partition: int
    first_offset: int
    last_offset: int
    delivery_count: int
    state_before: str
    state_after: str
    member_id: str | None
    client_id: str | None


@dataclass(frozen=True, slots=True)
class EndedSessionView:
    """A share session that is ended; `held_count` is how many records of its partitions its member holds."""

    group_id: str
    member_id: str
    node_id: int
    connection_id: int
    partition_count: int
    held_count: int


class Performance:
    """Performs requests, or passes them on to the owner of the group; it asks nobody further when a peer asks.

    Args:
        local: finds share-partitions by their names.
        operators: does it.
        owners: who serves which group.
        peer_views: asks other processes.
        wall_clock: for `asOf`.
        metrics: counts actions and refusals.
    """

    def __init__(
        self,
        local: LocalAnswers,
        operators: Operators,
        *,
        owners: SlotOwners,
        peer_views: PeerViews,
        wall_clock: Clock,
        metrics: Metrics,
    ) -> None:
        self._local = local
        self._operators = operators
        self._owners = owners
        self._peer_views = peer_views
        self._wall_clock = wall_clock
        self._metrics = metrics

    async def answer(self, body: bytes, host: str) -> PeerAnswer:
        """Return status and JSON for a request of somebody at `host`. Raises nothing that a request can cause."""
        action = "unknown"
        try:
            asked = request_of(body)
            action = asked.action
            owner = self._owners.peer_of_group(asked.group_id)
            if owner is None:
                answer = await self._own(asked, host)
            else:
                answer = await self._passed_on(
                    owner, path_for_peer(body, host), is_executed=asked.is_executed
                )
            result = "executed" if asked.is_executed else "planned"
        except RefusedQuery as refusal:
            answer, result = self._refused(refusal.status, str(refusal)), "refused"
        is_done = answer.status == HTTPStatus.OK
        self._metrics.count("operator_actions", 1, action, result if is_done else "refused")
        return answer

    async def tell_peer(self, path: str) -> PeerAnswer | None:
        """Return what this process itself answers to what another one passes on; None for any other path."""
        passed_on = asked_by_peer(path)
        if passed_on is None:
            return None
        body, host = passed_on
        try:
            return await self._own(request_of(body), host)
        except RefusedQuery as refusal:
            return self._refused(refusal.status, str(refusal))

    def refused(self, status: int, message: str) -> PeerAnswer:
        """Return the answer to a request that is not even looked at, and count it."""
        self._metrics.count("operator_actions", 1, "unknown", "refused")
        return self._refused(status, message)

    async def _passed_on(self, owner: Peer, path: str, *, is_executed: bool) -> PeerAnswer:
        try:
            answer = await self._peer_views.ask(owner, path, patience_ms=PATIENCE_MS)
        except PeerSilent as silent:
            doubt = str(silent)
        else:
            if answer.status != HTTPStatus.INTERNAL_SERVER_ERROR:
                return answer
            doubt = f"{owner.name} met an unexpected fault"
        unknown = (
            f"whether it was done is not known: {doubt}; look again before you repeat it"
            if is_executed
            else f"nothing was to be changed, and what would be is not known: {doubt}"
        )
        return self._refused(HTTPStatus.SERVICE_UNAVAILABLE, unknown)

    async def _own(self, asked: OperatorRequest, host: str) -> PeerAnswer:
        try:
            views = await (
                self._sessions(asked, host) if asked.action == END_SESSION else self._records(asked, host)
            )
        except (NothingThere, ShareSessionNotFound) as missing:
            doubt = self._local.doubt(Question(Endpoint.SESSIONS, wanted={"group": asked.group_id}))
            if doubt:
                return self._refused(HTTPStatus.SERVICE_UNAVAILABLE, f"nothing of that is known: {doubt}")
            return self._refused(HTTPStatus.NOT_FOUND, str(missing))
        except ApiError as refusal:
            if asked.is_executed:
                log.warning(
                    "operator_action_refused", group=asked.group_id, asked=asked.words(host), err=refusal
                )
            return self._refused(_status_of(refusal), str(refusal))
        if asked.is_executed:
            log.warning("operator_action", group=asked.group_id, did=asked.words(host), count=len(views))
        return await self._done(asked, views)

    async def _done(self, asked: OperatorRequest, views: "_Views") -> PeerAnswer:
        """Return the answer, made with the event loop free in between; what was executed is told however long it is."""
        pieces = envelope_of_texts(
            "OperatorAction",
            (json.dumps(item(view)) for view in views),
            as_of_ms=self._wall_clock.now_ms(),
            facts={"action": asked.action, "executed": asked.is_executed, "reason": asked.reason},
        )
        try:
            body = await gathered(pieces, sys.maxsize if asked.is_executed else MOST_ANSWER_BYTES)
        except TooLong:
            return self._refused(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"what would change takes more than {MOST_ANSWER_BYTES} bytes to tell: name fewer offsets",
            )
        return PeerAnswer(int(HTTPStatus.OK), body)

    async def _records(self, asked: OperatorRequest, host: str) -> "_Views":
        key, name = await self._local.share_partition(asked.group_id, asked.topic, asked.partition)
        action, holder = OperatorAction(asked.action), MemberId(asked.member_id) if asked.member_id else None
        if asked.is_executed:
            runs = await self._operators.settle(key, action, asked.spans, holder, reason=asked.words(host))
        else:
            runs = self._operators.plan(key, action, asked.spans, holder)
        return _SettledViews(key, name, runs)

    async def _sessions(self, asked: OperatorRequest, host: str) -> "_Views":
        await self._local.require_member(asked.group_id, asked.member_id)
        group_id, member_id = GroupId(asked.group_id), MemberId(asked.member_id)
        sessions = self._operators.sessions_of(group_id, member_id, asked.node_id)
        views = [
            EndedSessionView(
                session.key.group_id,
                session.key.member_id,
                session.key.node_id,
                session.connection_id,
                len(session.partitions),
                await self._operators.held_count(session),
            )
            for session in sessions
        ]
        if asked.is_executed:
            await self._operators.end(sessions, reason=asked.words(host))
        return views

    def _refused(self, status: int, message: str) -> PeerAnswer:
        refusal = {"status": int(status), "message": message}
        answer = envelope("Error", [refusal], as_of_ms=self._wall_clock.now_ms())
        return PeerAnswer(int(status), (json.dumps(answer, indent=2) + "\n").encode())


class _Runs(Sized, Iterable[SettledRun], Protocol):
    """Runs of records: `SettledRuns`."""


class _Views(Sized, Iterable[SettledView | EndedSessionView], Protocol):
    """What was done, to what: told one by one."""


@dataclass(frozen=True, slots=True)
class _SettledViews:
    """Runs of a share-partition, each made a view of when it is due: there may be thousands."""

    key: SharePartitionKey
    topic_name: str | None
    runs: "_Runs"

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[SettledView]:
        return map(self._view, self.runs)

    def _view(self, run: SettledRun) -> SettledView:
        return SettledView(
            self.key.group_id,
            topic_id_text(self.key.topic_id),
            self.topic_name,
            self.key.partition,
            run.first_offset,
            run.last_offset,
            run.delivery_count,
            run.state_before.name.capitalize(),
            run.state_after.name.capitalize(),
            run.member_id or None,
            run.client_id or None,
        )


def _status_of(refusal: KproxyError) -> int:
    if isinstance(refusal, _BUSY):
        return HTTPStatus.SERVICE_UNAVAILABLE
    if isinstance(refusal, InvalidRequest):
        return HTTPStatus.BAD_REQUEST
    return HTTPStatus.NOT_FOUND if isinstance(refusal, SharePartitionNotLoaded) else HTTPStatus.CONFLICT
