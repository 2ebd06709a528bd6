"""`FleetAnswers`: one true answer, whichever process of the fleet is asked.

What is about one group, or the states of one slot, is told by its owner. A list is what all tell together: this
process, and every other one that owns any slot, each of the groups that it serves. They are asked at once, and for a
bounded time. Each says of which slots it told; where a slot is told of by nobody the answer has `unavailable` with the
reason, and never looks like a whole one.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from kproxy.admin.fleet.merged_parts import SLOTS_TOLD, Part, doubts_of, in_group_order, items_of, part_of
from kproxy.admin.local_answers import LocalAnswers, Told
from kproxy.admin.peer_views import PeerAnswer, PeerSilent, PeerViews, SlotOwners
from kproxy.admin.queries import NothingThere, missing_everywhere
from kproxy.admin.questions import Endpoint, Question
from kproxy.admin.views import JsonObject, envelope_of_one, envelope_of_texts
from kproxy.fleet.owners import Peer
from kproxy.handlers.ports import Clock
from kproxy.statelog.slot_status import SlotState
from kproxy.telemetry.metrics import Metrics

PATIENCE_MS: Final = 2_000
"""How long another process is waited for."""
LAG_PATIENCE_MS: Final = 5_000
"""The same where it asks brokers about all groups first, for 4.5 s at most; the command line waits for 10 s."""
GROUP_LAG_PATIENCE_MS: Final = 4_000
"""The same where it asks them about one, for 3 s at most; the command line waits for 5 s."""
SLOT_PATIENCE_MS: Final = 10_000
"""The same for all states of one slot."""

MOVED_MEANWHILE: Final = "slots were lost or handed over while this was told; ask again"


@dataclass(frozen=True, slots=True)
class Answer:
    """A status as of HTTP, and the text of JSON, made as it is written."""

    status: int
    pieces: Iterable[str]


class FleetAnswers:
    """Answers questions of either scope.

    Args:
        local: what this process holds.
        owners: who owns which slots.
        peer_views: asks other processes.
        wall_clock: for `asOf`.
        metrics: counts what was asked of others.
    """

    __slots__ = ("_local", "_metrics", "_owners", "_peer_views", "_wall_clock")

    def __init__(
        self,
        local: LocalAnswers,
        owners: SlotOwners,
        peer_views: PeerViews,
        *,
        wall_clock: Clock,
        metrics: Metrics,
    ) -> None:
        self._local = local
        self._owners = owners
        self._peer_views = peer_views
        self._wall_clock = wall_clock
        self._metrics = metrics

    @property
    def asks_others(self) -> bool:
        """Whether there are others to be asked."""
        return bool(self._owners.peers())

    async def answer(self, question: Question) -> Answer:
        """Return the answer, also to what is not there or not known. Raises nothing.

        Slots may come and go while very much is gone through: what is not found was looked for in those that were
        here all the time.
        """
        doubt, ready = self._local.doubt(question), self._ready()
        try:
            if question.is_local or not self.asks_others:
                return await self._own(question)
            if question.group_id is None and question.slot is None:
                return await self._joined(question)
            owner = self._owner(question)
            return await (self._own(question) if owner is None else self._passed_on(owner, question))
        except NothingThere as missing:
            doubt, ready = doubt or self._local.doubt(question), ready & self._ready()
            return self._not_found(question, missing, doubt, ready)
        except PeerSilent as silent:
            return self.refused(HTTPStatus.SERVICE_UNAVAILABLE, f"nothing of that is known: {silent}")

    def refused(self, status: int, message: str) -> Answer:
        """Return an answer that says why there is none."""
        return Answer(status, self._texts("Error", [json.dumps({"status": status, "message": message})]))

    # ------------------------------------------------ of this process

    async def _own(self, question: Question) -> Answer:
        told = await self._local.answer(question)
        if not told.nested:
            return Answer(HTTPStatus.OK, self._own_list(question, told))
        facts = {**told.facts, **_unavailable(self._local.doubt(question))}
        [only] = told.items
        as_of_ms = self._wall_clock.now_ms()
        return Answer(
            HTTPStatus.OK, envelope_of_one(told.kind, only, told.nested, as_of_ms=as_of_ms, beside=facts)
        )

    def _own_list(self, question: Question, told: Told) -> Iterator[str]:
        doubt, texts = self._local.doubt(question), map(json.dumps, told.items)
        facts = {**told.facts, **_unavailable(doubt)}
        if question.endpoint in {Endpoint.BROKERS, Endpoint.STATE_LOG, Endpoint.SLOT_STATES}:
            return self._texts(told.kind, texts, facts)
        slots = {SLOTS_TOLD: sorted(self._ready())} if question.is_local else {}
        at_end = self._news_since(has_doubt=bool(doubt))
        return self._texts(told.kind, texts, {**facts, **slots}, at_end=at_end)

    def _ready(self) -> frozenset[int]:
        return frozenset(
            slot for slot, status in self._local.statuses().items() if status.state is SlotState.READY
        )

    def _news_since(self, *, has_doubt: bool) -> Callable[[], Mapping[str, object]]:
        """Return what tells, when a list has been told, that slots went meanwhile."""
        before = self._ready()
        return lambda: {} if has_doubt or before <= self._ready() else _unavailable(MOVED_MEANWHILE)

    # ------------------------------------------------ of the owner

    def _owner(self, question: Question) -> Peer | None:
        if question.group_id is not None:
            return self._owners.peer_of_group(question.group_id)
        slot = question.slot
        return (
            self._owners.peer_of_slot(slot) if slot is not None and slot in self._local.statuses() else None
        )

    async def _passed_on(self, owner: Peer, question: Question) -> Answer:
        answer = await self._ask(owner, question)
        return Answer(answer.status, [answer.body.decode("utf-8", "replace")])

    # ------------------------------------------------ of all together

    async def _joined(self, question: Question) -> Answer:
        parts = await self._parts(question)
        if question.endpoint is Endpoint.STATE_LOG:
            return Answer(HTTPStatus.OK, self._all_slots(parts))
        if question.endpoint is Endpoint.BROKERS:
            return Answer(HTTPStatus.OK, self._all_brokers(parts))
        doubt = doubts_of(parts, self._local.statuses())
        found = [part for part in parts if part.facts and part.missing is None]
        if not found:
            missing = [part.missing for part in parts if part.missing is not None]
            return self._not_found(question, missing_everywhere(missing), doubt, self._ready())
        texts = in_group_order([part.texts for part in parts])
        at_end = self._news_since(has_doubt=bool(doubt))
        kind = str(found[0].facts["kind"])
        return Answer(HTTPStatus.OK, self._texts(kind, texts, _unavailable(doubt), at_end=at_end))

    async def _parts(self, question: Question) -> Sequence[Part]:
        """Return what each process tells, in one order, whoever is asked."""
        own_token, peers = self._owners.own_token, self._owners.peers()
        async with asyncio.TaskGroup() as asking:
            asked = {peer.token: asking.create_task(self._part_of(peer, question)) for peer in peers}
            own = await self._own_part(question)
        told = {own_token: own, **{token: task.result() for token, task in asked.items()}}
        return [told[token] for token in sorted(told)]

    async def _own_part(self, question: Question) -> Part:
        name, doubt, ready = self._owners.own_name, self._local.doubt(question), self._ready()
        try:
            told = await self._local.answer(question)
        except NothingThere as missing:
            still_ready = sorted(ready & self._ready())
            return Part(name, (), {SLOTS_TOLD: still_ready}, missing, doubt, is_own=True)
        facts = {"kind": told.kind, **told.facts, SLOTS_TOLD: sorted(ready)}
        return Part(name, map(json.dumps, told.items), facts, None, doubt, is_own=True)

    async def _part_of(self, peer: Peer, question: Question) -> Part:
        try:
            return part_of(peer.name, await self._ask(peer, question))
        except PeerSilent as silent:
            return Part("", doubt=str(silent))

    def _all_slots(self, parts: Sequence[Part]) -> Iterator[str]:
        """Return the slots, each as its owner tells of it; where no owner does, as this process sees it."""
        slots: dict[int, Mapping[str, Any]] = {}
        facts: Mapping[str, Any] = {}
        for part in parts:
            facts = part.facts if part.is_own else facts
            for each in items_of(part):
                known = slots.get(each["partition"])
                if known is None or _weight(each, is_own=part.is_own) > _weight(known, is_own=False):
                    slots[each["partition"]] = each
        beside = {name: value for name, value in facts.items() if name not in {"kind", SLOTS_TOLD}}
        texts = [json.dumps(slots[number]) for number in sorted(slots)]
        return self._texts("StateLogSlots", texts, {**beside, **_unavailable(doubts_of(parts, ()))})

    def _all_brokers(self, parts: Sequence[Part]) -> Iterator[str]:
        """Return the brokers by node id, each as often as there are processes."""
        seen = [each for part in parts for each in items_of(part)]
        seen.sort(key=lambda each: (each["nodeId"], each["process"]))
        return self._texts("Brokers", map(json.dumps, seen), _unavailable(doubts_of(parts, ())))

    # ------------------------------------------------ asking and telling

    async def _ask(self, peer: Peer, question: Question) -> PeerAnswer:
        path, patience_ms = question.path_for_peer(), _patience_ms(question)
        try:
            answer = await self._peer_views.ask(peer, path, patience_ms=patience_ms)
        except PeerSilent:
            self._metrics.count("peer_views", 1, "failed")
            raise
        self._metrics.count("peer_views", 1, "answered")
        return answer

    def _not_found(
        self, question: Question, missing: NothingThere, doubt: str, ready: Iterable[int]
    ) -> Answer:
        """Return that there is nothing in slots that are `ready`; if not everything is known, that it is not known."""
        if doubt:
            return self.refused(HTTPStatus.SERVICE_UNAVAILABLE, f"nothing of that is known: {doubt}")
        status, message = HTTPStatus.NOT_FOUND, str(missing)
        if not question.is_local:
            return self.refused(status, message)
        names = None if missing.names is None else sorted(missing.names)
        refusal = {
            "status": status,
            "message": message,
            "missing": missing.message,
            "names": names,
            "depth": missing.depth,
        }
        facts = {SLOTS_TOLD: sorted(ready)}
        return Answer(status, self._texts("Error", [json.dumps(refusal)], facts))

    def _texts(
        self,
        kind: str,
        texts: Iterable[str],
        facts: Mapping[str, object] | None = None,
        *,
        at_end: Callable[[], Mapping[str, object]] = dict,
    ) -> Iterator[str]:
        as_of_ms = self._wall_clock.now_ms()
        return envelope_of_texts(kind, texts, as_of_ms=as_of_ms, facts=facts, at_end=at_end)


def _patience_ms(question: Question) -> int:
    if question.slot is not None:
        return SLOT_PATIENCE_MS
    if question.has_lag:
        return LAG_PATIENCE_MS if question.group_id is None else GROUP_LAG_PATIENCE_MS
    return PATIENCE_MS


def _weight(slot: Mapping[str, Any], *, is_own: bool) -> tuple[bool, bool, bool]:
    """Return how much one process's word about a slot counts."""
    state = slot["state"]
    return state == SlotState.READY, state not in {SlotState.UNASSIGNED, SlotState.ELSEWHERE}, is_own


def _unavailable(doubt: str) -> JsonObject:
    return {"unavailable": doubt} if doubt else {}
