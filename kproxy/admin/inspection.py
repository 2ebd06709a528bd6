"""Share groups, sessions, records in flight and the state log over HTTP.

| path | answers |
|---|---|
| `/api/v1/brokers` | the brokers of the backing cluster, as each process sees them |
| `/api/v1/groups?lag=` | every share group with its lag; `lag=false` asks no broker |
| `/api/v1/groups/{g}?lag=` | one group with its members and share-partitions; `lag=false` asks no broker |
| `/api/v1/sessions?group=&member=` | open share sessions |
| `/api/v1/in-flight?group=&topic=&partition=` | runs of offsets, fetched from now or not; `topic` is a name or an id |
| `…&state=&member=&deliveries=&held=` | those in this state, of this member, tried and held (ms) at least so much |
| `POST /api/v1/actions` | what operators do: see `operators/routes.py` |
| `/api/v1/state-log` | the slots of the state log, and which topic of which cluster holds them |
| `/api/v1/state-log/{n}/state?at=end` | every durable state of a slot, and the offset that they are the state at |
| `/api/v1/events` | what happens, as server-sent events: see `activity/event_readers.py` |

Each tells of the whole fleet, whichever process is asked (`fleet/`); `scope=local` asks for what this
process holds.
A group, a member, a topic or a partition that is not there is answered 404, one of which nobody can tell that 503.
Lists are streamed, by group id. Each item is consistent in itself, and made when it is written, so that two items may
be some milliseconds apart. The exception is `/state-log/{n}/state`: all of its items are of one instant. `unavailable`
beside the items says why they may not be all. Where the logs of a group's share-partitions end, the brokers are asked
before the answer begins, and after kproxy looked at its own: it may take three seconds, and for the list of all groups
four and a half; what was found for that list is good for a second.
"""

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from functools import partial
from http import HTTPStatus
from typing import TypeAlias

from aiohttp import web

from kproxy.admin.activity.own_events import OwnEvents
from kproxy.admin.fleet.event_readers import EventReaders
from kproxy.admin.fleet.fleet_answers import Answer, FleetAnswers
from kproxy.admin.fleet.peer_events import PeerEvents
from kproxy.admin.group_lags import GroupLags
from kproxy.admin.json_chunks import TooManyStreams
from kproxy.admin.json_stream import JsonStreams, json_text_response
from kproxy.admin.local_answers import LocalAnswers
from kproxy.admin.operators.routes import OperatorRoutes
from kproxy.admin.queries import RefusedQuery
from kproxy.admin.questions import Endpoint, Question, question
from kproxy.handlers.live.pauses import let_other_looks_go_on
from kproxy.telemetry.metrics import Metrics

_Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Inspection:
    """The endpoints above, for `AdminServer`, which change nothing; and what operators may do.

    Args:
        local: what this process holds.
        answers: gives the answers.
        own_events: what happens in this process.
        peer_events: what happens in others.
        streams: the long ones under way.
        actions: what operators may do, where they may.
    """

    __slots__ = ("_actions", "_answers", "_local", "_own_events", "_peer_events", "_streams")

    def __init__(
        self,
        local: LocalAnswers,
        answers: FleetAnswers,
        *,
        own_events: OwnEvents,
        peer_events: PeerEvents,
        streams: JsonStreams | None = None,
        actions: OperatorRoutes | None = None,
    ) -> None:
        self._own_events = own_events
        self._peer_events = peer_events
        self._actions = actions
        self._local = local
        self._answers = answers
        self._streams = streams or JsonStreams()

    @property
    def lags(self) -> GroupLags:
        """How far behind the groups are that this process serves."""
        return self._local.lags

    def event_readers(self, metrics: Metrics) -> EventReaders:
        """Return who answers `/api/v1/events`."""
        return EventReaders(
            self._own_events, self._peer_events, wall_clock=self._local.wall_clock, metrics=metrics
        )

    def routes(self) -> list[web.RouteDef]:
        """Return the routes to serve."""
        routes = [web.get(each, self._handler(each), allow_head=False) for each in Endpoint]
        return routes if self._actions is None else [*routes, *self._actions.routes()]

    def _handler(self, endpoint: Endpoint) -> _Handler:
        return partial(self._respond, endpoint)

    async def _respond(self, endpoint: Endpoint, request: web.Request) -> web.StreamResponse:
        await let_other_looks_go_on()  # hundreds may begin in the same turn
        try:
            asked = question(endpoint, request.match_info.get("place", ""), request.query.items())
            return await self._sent(request, asked)
        except RefusedQuery as refusal:
            return _whole(self._answers.refused(refusal.status, str(refusal)))
        except TooManyStreams as refusal:
            return _whole(self._answers.refused(HTTPStatus.SERVICE_UNAVAILABLE, str(refusal)))

    async def _sent(self, request: web.Request, asked: Question) -> web.StreamResponse:
        """Answer; what others tell is held while it is passed on, so that the whole of it counts as one long answer."""
        holds_others = self._answers.asks_others and not asked.is_local
        with self._streams.reserved() if holds_others else nullcontext():
            answer = await self._answers.answer(asked)
            if answer.status != HTTPStatus.OK:
                return _whole(answer)
            with nullcontext() if holds_others else self._streams.reserved():
                return await self._streams.send(request, answer.pieces)


def _whole(answer: Answer) -> web.Response:
    return json_text_response("".join(answer.pieces), status=answer.status)
