"""How a request is divided by the owners of its groups, and how their answers become the answer of one process.

Three kinds of API: about one group (`OfOneGroup`), about a list of groups that are answered one by one
(`EntryByEntry`, and `ByName` where not every group is answered), and about all groups there are (`OfAllGroups`).
Groups that nobody owns for the moment are this process's: its own handlers have the retriable errors. So a group that
is named twice is answered by one process, as often as that would.
"""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, TypeAlias

from kproxy.error_codes import ErrorCode
from kproxy.errors import ApiError, InvalidRequest
from kproxy.fleet.owners import GroupOwners, Peer
from kproxy.handlers.administration_bounds import AdministrationBounds
from kproxy.handlers.live.pauses import Pace, let_others_go_on
from kproxy.handlers.refusal_report import RefusalReport
from kproxy.wire.codecs import Message

_CHARACTERS_OF_ONE: Final = 100
"""Of so many characters of a group id the slot is found while a short one is put in its place."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one process is asked of a request; `peer` is None for this one."""

    peer: Peer | None
    message: Message
    places: Sequence[int] = ()
    """Where its entries stand in the request, for APIs that are answered entry by entry."""


AnsweredParts: TypeAlias = Sequence[tuple[Part, Any]]
"""The parts of a request, each with its answer; this process's first, if it has any."""

PartRefusal: TypeAlias = Callable[[Any, ErrorCode, str | None], Message]
"""Makes the answer that refuses the part of a request that it is given, with an error and its reason."""


class Division(Protocol):
    """How requests of one API are divided. Long lists let others have a turn."""

    @property
    def refuse(self) -> PartRefusal | None:
        """How a part is refused; None: as the API refuses any request."""
        ...

    async def parts(self, request: Any, owners: GroupOwners) -> Sequence[Part]:
        """Return the parts of `request`; only one, of this process, when the request is too much for anybody."""
        ...

    def is_answered(self, part: Part, answer: Any) -> bool:
        """Tell whether `answer` can be that to `part`."""
        ...

    async def merge(self, request: Any, answered: AnsweredParts, report: RefusalReport) -> Message:
        """Return the one answer. What is refused here, and by none of the parts, is told to `report`."""
        ...


@dataclass(frozen=True, slots=True)
class OfOneGroup:
    """A `Division` of requests about one group, which are its owner's as a whole; no id is an empty one."""

    group_id_of: Callable[[Any], str | None]
    refuse: PartRefusal | None = None

    async def parts(self, request: Message, owners: GroupOwners) -> Sequence[Part]:
        """Return the request as its owner's."""
        return (Part(owners.peer_of_group(self.group_id_of(request) or ""), request),)

    def is_answered(self, part: Part, answer: Message) -> bool:
        """Whatever it says."""
        del part, answer
        return True

    async def merge(self, request: Message, answered: AnsweredParts, report: RefusalReport) -> Message:
        """Return the owner's answer."""
        del request, report
        ((_, answer),) = answered
        assert isinstance(answer, Message)
        return answer


@dataclass(frozen=True, slots=True)
class AnswerRoom:
    """How much the answers about all groups of a request may tell together (`AdministrationBounds.most_told`).

    Each process has kept to it in its own part, and the groups before one in its part stand before it in the request,
    too: so whatever a part was refused for is refused in the whole.
    """

    bounds: AdministrationBounds
    told_count: Callable[[Any], int]
    """For how much an entry of the answer counts."""
    refused: Callable[[str, ApiError], Any]
    """Makes the entry of a group for which no room is left."""

    async def fill(self, entries: list[Any], report: RefusalReport) -> None:
        """Refuse those of `entries` that come when there is no room any more."""
        told_count, pace = 0, Pace()
        for place, entry in enumerate(entries):
            try:
                self.bounds.require_room(told_count)
            except InvalidRequest as refusal:
                if entry.error_code != refusal.error_code:
                    report.add(refusal.error_code, f"group {entry.group_id!r}: {refusal}")
                entries[place] = self.refused(entry.group_id, refusal)
            entry_count = self.told_count(entries[place])
            told_count += entry_count
            if entries[place].error_code == ErrorCode.INVALID_REQUEST:  # it was too much by itself
                told_count = max(told_count, self.bounds.most_told)
            if pace.is_pause_due(1 + entry_count):
                await let_others_go_on()


@dataclass(frozen=True, slots=True)
class EntryByEntry:
    """A `Division` of requests that are a list of groups, which is answered with a list as long, in the same order."""

    asked: str
    """The field of the request that has the entries."""
    answered: str
    """That of the answer."""
    group_id_of: Callable[[Any], str]
    is_too_much: Callable[[Any], bool]
    room: AnswerRoom | None = None
    refuse: PartRefusal | None = None

    async def parts(self, request: Any, owners: GroupOwners) -> Sequence[Part]:
        """Return the parts, each with its entries in their order."""
        if self.is_too_much(request):
            return (Part(None, request),)
        entries: Sequence[Any] = getattr(request, self.asked)
        places_by_owner = await _places_by_owner([self.group_id_of(entry) for entry in entries], owners)
        return [
            Part(peer, replace(request, **{self.asked: [entries[place] for place in places]}), places)
            for peer, places in places_by_owner.items()
        ]

    def is_answered(self, part: Part, answer: Any) -> bool:
        """Whether there is one entry for each."""
        return len(getattr(answer, self.answered)) == len(part.places)

    async def merge(self, request: Any, answered: AnsweredParts, report: RefusalReport) -> Message:
        """Return the entries in the order of the request."""
        merged: list[Any] = [None] * len(getattr(request, self.asked))
        for part, answer in answered:
            for place, entry in zip(part.places, getattr(answer, self.answered), strict=True):
                merged[place] = entry
            await let_others_go_on()
        if self.room is not None:
            await self.room.fill(merged, report)
        whole: Message = replace(answered[0][1], **{self.answered: merged})
        return whole


@dataclass(frozen=True, slots=True)
class ByName:
    """A `Division` of requests that name groups, of which those are answered, each once, that are share groups."""

    asked: str
    answered: str
    is_too_much: Callable[[Any], bool]
    refuse: PartRefusal | None = None

    async def parts(self, request: Any, owners: GroupOwners) -> Sequence[Part]:
        """Return the parts, each with its names in their order."""
        if self.is_too_much(request):
            return (Part(None, request),)
        names: Sequence[str] = getattr(request, self.asked)
        places_by_owner = await _places_by_owner(names, owners)
        return [
            Part(peer, replace(request, **{self.asked: [names[place] for place in places]}))
            for peer, places in places_by_owner.items()
        ]

    def is_answered(self, part: Part, answer: Any) -> bool:
        """Whether nothing is answered that was not asked."""
        asked = set(getattr(part.message, self.asked))
        return all(result.group_id in asked for result in getattr(answer, self.answered))

    async def merge(self, request: Any, answered: AnsweredParts, report: RefusalReport) -> Message:
        """Return the answers in the order in which the groups are named first."""
        del report
        found = {
            result.group_id: result for _, answer in answered for result in getattr(answer, self.answered)
        }
        names = dict.fromkeys(getattr(request, self.asked))
        results = [found[name] for name in names if name in found]
        whole: Message = replace(answered[0][1], **{self.answered: results})
        return whole


@dataclass(frozen=True, slots=True)
class OfAllGroups:
    """A `Division` of requests for a list of all groups there are: every process is asked, and tells of its own.

    A list that lacks those of one process is none, for nobody could see that: then the answer is its error, upon which
    clients ask again, as where a broker of a cluster does not list its groups. What moves from one process to another
    meanwhile may be told by both, and stands in the answer once.
    """

    answered: str
    is_wanted: Callable[[Any], bool]
    """Whether the request is about share groups at all."""
    identity_of: Callable[[Any], Hashable]
    refuse: PartRefusal | None = None
    bounds: AdministrationBounds | None = None
    """What each process has kept to, and all together must not exceed either (`most_told`); None: no bound."""

    async def parts(self, request: Message, owners: GroupOwners) -> Sequence[Part]:
        """Return the request for each process."""
        peers: Collection[Peer] = owners.peers() if self.is_wanted(request) else ()
        return (Part(None, request), *(Part(peer, request) for peer in peers))

    def is_answered(self, part: Part, answer: Message) -> bool:
        """Whatever it says."""
        del part, answer
        return True

    async def merge(self, request: Message, answered: AnsweredParts, report: RefusalReport) -> Message:
        """Return all that was told, or the first error; that it is more than `bounds` allow is told to `report`."""
        del request
        told: dict[Hashable, Any] = {}
        pace = Pace()
        for _, answer in answered:
            if answer.error_code != ErrorCode.NONE:
                refusal: Message = answer
                return refusal
            for entry in getattr(answer, self.answered):
                told.setdefault(self.identity_of(entry), entry)
                if self.bounds is not None and len(told) > self.bounds.most_told:
                    return self._refused(answer, self.bounds, report)
                if pace.is_pause_due():
                    await let_others_go_on()
        whole: Message = replace(answered[0][1], **{self.answered: list(told.values())})
        return whole

    def _refused(self, answer: Any, bounds: AdministrationBounds, report: RefusalReport) -> Message:
        refusal = bounds.lack_of_room()
        report.add(refusal.error_code, str(refusal))
        refused: Message = replace(answer, error_code=refusal.error_code, **{self.answered: []})
        return refused


async def _places_by_owner(
    group_ids: Sequence[str], owners: GroupOwners
) -> Mapping[Peer | None, Sequence[int]]:
    """Return the places of each owner's groups, this process's first; its alone when there are no groups.

    One owner has all places of a group, whatever moves meanwhile.
    """
    owner_of: dict[str, Peer | None] = {}
    places: dict[Peer | None, list[int]] = {None: []}
    pace = Pace()
    for place, group_id in enumerate(group_ids):
        if group_id not in owner_of:
            owner_of[group_id] = owners.peer_of_group(group_id)
        places.setdefault(owner_of[group_id], []).append(place)
        if pace.is_pause_due(1 + len(group_id) // _CHARACTERS_OF_ONE):
            await let_others_go_on()
    if not places[None] and len(places) > 1:
        del places[None]
    return places
