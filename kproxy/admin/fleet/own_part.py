"""`OwnPart`: what this process holds, told to another one that was asked about the fleet. Imports no HTTP server."""

from http import HTTPStatus

from kproxy.admin.activity.own_events import OwnEvents
from kproxy.admin.fleet.fleet_answers import FleetAnswers
from kproxy.admin.json_chunks import LongAnswers, TooLong, TooManyStreams, gathered
from kproxy.admin.operators.performance import Performance
from kproxy.admin.peer_views import MOST_ANSWER_BYTES, PARTS_AT_ONCE, PeerAnswer
from kproxy.admin.queries import RefusedQuery
from kproxy.admin.questions import question_of


class OwnPart:
    """Tells it: whole, and so much at most as another process may hold of it."""

    __slots__ = ("_answers", "_events", "_most_bytes", "_operators", "_under_way")

    def __init__(
        self,
        answers: FleetAnswers,
        *,
        most_bytes: int = MOST_ANSWER_BYTES,
        operators: Performance | None = None,
        events: OwnEvents | None = None,
    ) -> None:
        """Tell what `answers` and `events` have; let `operators` do what another process passes on."""
        self._operators = operators
        self._events = events
        self._answers = answers
        self._most_bytes = most_bytes
        self._under_way = LongAnswers(PARTS_AT_ONCE)

    async def tell(self, path: str) -> PeerAnswer:
        """Return what this process itself holds of what a path asks for. It asks nobody further. Raises nothing."""
        done = None if self._operators is None else await self._operators.tell_peer(path)
        if done is None and self._events is not None:
            done = await self._events.tell_peer(path)
        if done is not None:
            return done
        try:
            asked = question_of(path)
            with self._under_way.reserved():
                answer = await self._answers.answer(asked.of_this_process())
                return PeerAnswer(answer.status, await gathered(answer.pieces, self._most_bytes))
        except RefusedQuery as refusal:
            answer = self._answers.refused(refusal.status, str(refusal))
        except (TooManyStreams, TooLong) as refusal:
            answer = self._answers.refused(HTTPStatus.SERVICE_UNAVAILABLE, str(refusal))
        return PeerAnswer(answer.status, "".join(answer.pieces).encode())
