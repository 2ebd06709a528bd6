"""Share groups, sessions, records in flight and the state log over HTTP.

| path | answers |
|---|---|
| `/api/v1/groups?lag=` | every share group with its lag; `lag=false` asks no broker |
| `/api/v1/groups/{g}?lag=` | one group with its members and share-partitions; `lag=false` asks no broker |
| `/api/v1/sessions?group=&member=` | open share sessions |
| `/api/v1/in-flight?group=&topic=&partition=` | runs of offsets in flight; `topic` is a name or an id |
| `/api/v1/state-log` | the slots of the state log, and which topic of which cluster holds them |
| `/api/v1/state-log/{n}/state?at=end` | every durable state of a slot, and the offset that they are the state at |

A group, a member, a topic or a partition that is not there is answered 404. Lists are streamed. Each item is consistent
in itself, and made when it is written, so that two items may be some milliseconds apart. The exception is
`/state-log/{n}/state`: all of its items are of one instant. Where the logs of a group's share-partitions end, the
brokers are asked before the answer begins, and after kproxy looked at its own: it may take three seconds, and for the
list of all groups four and a half; what was found for that list is good for a second.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from aiohttp import web

from kproxy.admin.all_backlogs import AllBacklogs
from kproxy.admin.group_lag import NOT_ASKED_FOR, NOT_LOOKED_AT, GroupLag
from kproxy.admin.group_lags import GroupLags
from kproxy.admin.group_progress import GroupProgress
from kproxy.admin.json_stream import JsonStreams, TooManyStreams, json_response
from kproxy.admin.known_names import KnownNames
from kproxy.admin.live_share_partitions import LiveSharePartitions
from kproxy.admin.queries import NothingThere, RefusedQuery, number, parameters, truth
from kproxy.admin.share_views import (
    ClientIds,
    PartitionCounts,
    TopicNames,
    group_description,
    group_summary,
    in_flight_views,
    session_view,
)
from kproxy.admin.state_log_views import StateLogSlots, durable_state_view
from kproxy.admin.views import JsonObject, envelope, envelope_of_one, envelope_pieces, item
from kproxy.errors import GroupIdNotFound, ShareSessionNotFound
from kproxy.handlers.backlog import Backlogs
from kproxy.handlers.ports import Background, Clock, TopicDescription
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.identifiers import GroupId, SharePartitionKey, topic_id_text
from kproxy.share.share_session import ShareSessionCache

_END: Final = "end"

_Answer: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Inspected:
    """What is looked into. `clock` is the one that locks count by; `wall_clock` is for `asOf`.

    `state_log` returns the slots, None as long as it is not known how many there are; `state_topic` the topic that
    holds their share-partitions, which is known when they are; `cluster_id` the backing cluster's, None before it was
    met. `backlogs` asks the brokers what only they know. `unavailable` is why share groups are not served, so that what
    there is of them in memory is not the truth, or not all of it; empty while they are.
    """

    coordinator: GroupCoordinator
    sessions: ShareSessionCache
    directory: LiveSharePartitions
    topic_name: TopicNames
    partition_count: PartitionCounts
    client_id: ClientIds
    clock: Clock
    wall_clock: Clock
    state_log: Callable[[], StateLogSlots | None]
    state_topic: Callable[[], TopicDescription | None]
    cluster_id: Callable[[], str | None]
    backlogs: Backlogs
    background: Background
    unavailable: Callable[[], str] = str


class Inspection:
    """The endpoints above, for `AdminServer`. They change nothing."""

    __slots__ = ("_inspected", "_known", "_progress", "_streams", "lags")

    def __init__(self, inspected: Inspected, streams: JsonStreams | None = None) -> None:
        self._inspected = inspected
        self._known = KnownNames(
            inspected.coordinator,
            inspected.sessions,
            inspected.directory,
            inspected.topic_name,
            inspected.partition_count,
        )
        self._progress = GroupProgress(
            coordinator=inspected.coordinator,
            directory=inspected.directory,
            topic_name=inspected.topic_name,
            state_log=inspected.state_log,
            backlogs=inspected.backlogs,
            wall_clock=inspected.wall_clock,
        )
        self.lags = GroupLags(
            self._progress,
            backlogs=AllBacklogs(inspected.backlogs, inspected.clock),
            background=inspected.background,
            clock=inspected.clock,
        )
        self._streams = streams or JsonStreams()

    def routes(self) -> list[web.RouteDef]:
        """Return the routes to serve."""
        answers: dict[str, _Answer] = {
            "/api/v1/groups": self._answer_groups,
            "/api/v1/groups/{group}": self._answer_group,
            "/api/v1/sessions": self._answer_sessions,
            "/api/v1/in-flight": self._answer_in_flight,
            "/api/v1/state-log": self._answer_state_log,
            "/api/v1/state-log/{partition}/state": self._answer_states,
        }
        return [
            web.get(path, self._explaining_refusals(answer), allow_head=False)
            for path, answer in answers.items()
        ]

    # ------------------------------------------------ share groups

    async def _answer_groups(self, request: web.Request) -> web.StreamResponse:
        has_lag = truth("lag", parameters(request.query.items(), ("lag",)).get("lag", "true"))
        lags = await self.lags.look() if has_lag else {}
        groups = self._groups(lags, NOT_LOOKED_AT if has_lag else NOT_ASKED_FOR)
        return await self._stream(request, "ShareGroups", groups, self._doubts())

    def _groups(self, lags: Mapping[GroupId, GroupLag], otherwise: GroupLag) -> Iterator[JsonObject]:
        coordinator, now_ms = self._inspected.coordinator, self._inspected.wall_clock.now_ms()
        for group_id in coordinator.group_ids:
            try:
                group = coordinator.describe(group_id)
            except GroupIdNotFound:
                continue  # deleted since the answer began
            yield item(group_summary(group, lags.get(group_id, otherwise), now_ms=now_ms))

    async def _answer_group(self, request: web.Request) -> web.StreamResponse:
        wanted = parameters(request.query.items(), ("lag",))
        has_lag = truth("lag", wanted.get("lag", "true"))
        group_id = GroupId(request.match_info["group"])
        self._known.require_group(group_id)
        progress = await self._progress.of(group_id, has_lag=has_lag)
        try:
            group = self._inspected.coordinator.describe(group_id)
        except GroupIdNotFound as gone:
            raise NothingThere(str(gone)) from gone
        facts, parts = item(group_description(group)), map(item, progress)
        as_of_ms = self._inspected.wall_clock.now_ms()
        pieces = envelope_of_one(
            "ShareGroup", facts, "sharePartitions", parts, as_of_ms=as_of_ms, beside=self._doubts()
        )
        return await self._streams.send(request, pieces)

    # ------------------------------------------------ sessions

    async def _answer_sessions(self, request: web.Request) -> web.StreamResponse:
        wanted = parameters(request.query.items(), ("group", "member"))
        self._known.require(wanted)
        return await self._stream(request, "ShareSessions", self._sessions(wanted), self._doubts())

    def _sessions(self, wanted: Mapping[str, str]) -> Iterator[JsonObject]:
        sessions = self._inspected.sessions
        keys = [session.key for session in sessions.sessions()]
        for key in keys:
            if wanted.get("group", key.group_id) != key.group_id:
                continue
            if wanted.get("member", key.member_id) != key.member_id:
                continue
            try:
                session = sessions.find(key)
            except ShareSessionNotFound:
                continue  # closed since the answer began
            inspected = self._inspected
            yield item(
                session_view(
                    session, inspected.topic_name, inspected.client_id, now_ms=inspected.clock.now_ms()
                )
            )

    # ------------------------------------------------ records in flight

    async def _answer_in_flight(self, request: web.Request) -> web.StreamResponse:
        wanted = parameters(request.query.items(), ("group", "topic", "partition"))
        partition = number("partition", wanted["partition"]) if "partition" in wanted else None
        self._known.require(wanted)
        keys = self._keys_of(group_id=wanted.get("group"), topic=wanted.get("topic"), partition=partition)
        return await self._stream(request, "InFlightRecords", self._in_flight(keys), self._doubts())

    def _in_flight(self, keys: Iterable[SharePartitionKey]) -> Iterator[JsonObject]:
        inspected = self._inspected
        for key in keys:
            share_partition = inspected.directory.find(key)
            if share_partition is None:
                continue  # unloaded since the answer began
            name = inspected.topic_name(key.topic_id)
            window = share_partition.view()
            for view in in_flight_views(window, name, inspected.client_id, now_ms=inspected.clock.now_ms()):
                yield item(view)

    def _keys_of(
        self, *, group_id: str | None = None, topic: str | None = None, partition: int | None = None
    ) -> list[SharePartitionKey]:
        """Return the live share-partitions that are asked for, in order; None asks for all."""
        names = self._inspected.topic_name
        return sorted(
            key
            for key in self._inspected.directory.keys()  # noqa: SIM118 - the directory is no mapping
            if group_id in (None, key.group_id)
            and partition in (None, key.partition)
            and (topic is None or topic in (names(key.topic_id), topic_id_text(key.topic_id)))
        )

    # ------------------------------------------------ the state log

    async def _answer_state_log(self, request: web.Request) -> web.StreamResponse:
        parameters(request.query.items())
        slots = self._inspected.state_log()
        statuses = () if slots is None else slots.statuses()
        return await self._stream(request, "StateLogSlots", map(item, statuses), self._state_log_facts())

    def _state_log_facts(self) -> dict[str, object]:
        """Return what tells this state log from every other, and from one made anew; empty texts if unknown."""
        topic = self._inspected.state_topic()
        return {
            "clusterId": self._inspected.cluster_id() or "",
            "stateTopic": "" if topic is None else topic.name,
            "stateTopicId": "" if topic is None else topic_id_text(topic.topic_id),
        }

    async def _answer_states(self, request: web.Request) -> web.StreamResponse:
        at = parameters(request.query.items(), ("at",)).get("at", _END)
        if at != _END:
            raise RefusedQuery(f"at={at!r}: expected end")
        partition = number("partition", request.match_info["partition"])
        slots = self._inspected.state_log()
        try:
            applied = None if slots is None else slots.states(partition)
        except IndexError:
            applied = None
        if applied is None:
            raise NothingThere(f"the state log has no slot {partition} here")
        names = self._inspected.topic_name
        items = (item(durable_state_view(key, state, names)) for key, state in applied.states.items())
        facts = {"partition": partition, "appliedOffset": applied.applied_offset}
        return await self._stream(request, "DurableShareStates", items, facts)

    # ------------------------------------------------ answering

    def _explaining_refusals(self, answer: _Answer) -> _Answer:
        """Return `answer` with its refusals told as JSON."""

        async def explained(request: web.Request) -> web.StreamResponse:
            try:
                return await answer(request)
            except NothingThere as missing:
                if reason := self._inspected.unavailable():
                    return self._error(
                        503, f"nothing of that is known: share groups are unavailable: {reason}"
                    )
                return self._error(missing.status, str(missing))
            except RefusedQuery as refusal:
                return self._error(refusal.status, str(refusal))
            except TooManyStreams as refusal:
                return self._error(503, str(refusal))

        return explained

    async def _stream(
        self,
        request: web.Request,
        kind: str,
        items: Iterable[JsonObject],
        facts: Mapping[str, object] | None = None,
    ) -> web.StreamResponse:
        as_of_ms = self._inspected.wall_clock.now_ms()
        return await self._streams.send(request, envelope_pieces(kind, items, as_of_ms=as_of_ms, facts=facts))

    def _doubts(self) -> dict[str, object]:
        """Return why the answer may not be the truth, nothing while it is."""
        reason = self._inspected.unavailable()
        return {"unavailable": reason} if reason else {}

    def _error(self, status: int, message: str) -> web.Response:
        return self._json("Error", [{"status": status, "message": message}], status=status)

    def _json(self, kind: str, items: Iterable[JsonObject], *, status: int = 200) -> web.Response:
        answer = envelope(kind, list(items), as_of_ms=self._inspected.wall_clock.now_ms())
        return json_response(answer, status=status)
