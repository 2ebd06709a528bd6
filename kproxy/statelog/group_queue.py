"""The groups of one slot: what is durable of them, and the queue of what is to be written.

As in `state_queue`, operations wait and records do not: an append is drafted when the one before has been
replayed, and holds exactly the records that differ from what is durable. Of all that was submitted for one
group meanwhile, the latest counts. The shell drives it like a `StateQueue`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, Literal, TypeAlias

from kproxy.errors import ApiError, UnwritableStateRecord
from kproxy.share.identifiers import GroupEpoch, GroupId
from kproxy.share.share_group_image import ShareGroupImage, StateTopics
from kproxy.statelog.claims import Claim
from kproxy.statelog.group_append import MOST_RECORDS, GroupAppend, WaitingGroup
from kproxy.statelog.group_log_fold import GroupLogFold, RecordPlace, place_of
from kproxy.statelog.group_parts import GroupMetadata, GroupPart, StatePartitionMetadata, parts_of
from kproxy.statelog.group_records import (
    GroupConfigs,
    GroupRecord,
    GroupTombstone,
    RecoveryPoint,
    StateTopicFacts,
)
from kproxy.statelog.group_values import PART_RECORD_TYPES
from kproxy.statelog.state_log_fold import Outcome
from kproxy.statelog.tickets import Append, Ticket, refuse_all, settle_all
from kproxy.wire.records import Record


@dataclass(frozen=True, slots=True)
class ImageWrite:
    """Let a group be as in `image`."""

    image: ShareGroupImage


@dataclass(frozen=True, slots=True)
class GroupRemoval:
    """Let there be no such group. What it has configured stays."""

    group_id: GroupId


@dataclass(frozen=True, slots=True)
class ConfigWrite:
    """Let a group have configured these values, and nothing else."""

    group_id: str
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DisplacedRecords:
    """Let the last record of every key be the true one: late ones of older owners took that place from some.

    To be submitted before anything else, so that what is written next stands behind it.
    """


GroupOperation: TypeAlias = (
    ImageWrite | GroupRemoval | ConfigWrite | RecoveryPoint | StateTopicFacts | DisplacedRecords
)

MOST_REFUSED: Final = 1_000
"""How much work may be refused in one turn, counted as `waiting_work` does: to put its groups back takes some 5 ms."""

_TOPICS_OF_ONE: Final = 50
"""So many topics of a member, or partitions, are as much work as another record."""

_RECORDS_TO_COUNT_TOPICS_OF: Final = 100
"""A group with more is much work anyway, and each heartbeat of a member that joins it submits all of it."""

_WRITING_ORDER: Final = tuple(PART_RECORD_TYPES.values())


class GroupQueue:
    """One partition of the groups topic. `on_corrupt` is as in `GroupLogFold`."""

    __slots__ = ("_fold", "_in_flight", "_left_to_refuse", "_queue")

    def __init__(self, *, on_corrupt: Literal["stop", "skip"] = "stop") -> None:
        self._fold = GroupLogFold(on_corrupt=on_corrupt)
        self._queue: dict[tuple[str, str], WaitingGroup] = {}
        self._in_flight: GroupAppend | None = None
        self._left_to_refuse = 0
        """So many of the queue, from its beginning, are refused, and are to be told."""

    # ------------------------------------------------ what is durable

    @property
    def claim_epoch(self) -> int:
        """The claim that counts; -1 before any."""
        return self._fold.claim_epoch

    @property
    def highest_claim(self) -> Claim | None:
        """The claim with the highest map epoch that is left in the log; None when there is none."""
        return self._fold.highest_claim

    @property
    def applied_offset(self) -> int:
        """The offset of the last record looked at; -1 before any."""
        return self._fold.applied_offset

    @property
    def recovery_point(self) -> RecoveryPoint | None:
        """Where replay of the state topic's partition of the same number may begin; None when nobody said."""
        return self._fold.recovery_point

    @property
    def state_topic_facts(self) -> StateTopicFacts | None:
        """What was recorded of both topics; None when it was not recorded here."""
        return self._fold.state_topic_facts

    @property
    def displaced_count(self) -> int:
        """How many keys end with a record that does not count; `DisplacedRecords` mends them."""
        return len(self._fold.displaced)

    @property
    def group_ids(self) -> tuple[GroupId, ...]:
        """The ids of durable groups, and of those of which only configurations are."""
        return self._fold.group_ids

    def record_count(self, group_id: GroupId) -> int:
        """Return how many records a group has, its configurations among them, at no cost for how many."""
        return self._fold.record_count(group_id)

    def take_apart(self) -> Iterator[int]:
        """Let go of what is durable as `GroupLogFold.take_apart` does: nobody looks at it any more."""
        return self._fold.take_apart()

    def durable_images(self) -> Mapping[GroupId, ShareGroupImage]:
        """Return every durable group. Raises CorruptStateRecord when too little is left of one."""
        return self._fold.images()

    def durable_image(self, group_id: GroupId) -> ShareGroupImage | None:
        """Return one durable group, None when there is none. Raises CorruptStateRecord as `durable_images` does."""
        return self._fold.image(group_id)

    def durable_initialized(self, group_id: GroupId) -> StateTopics:
        """Return what a group says to be initialized; nothing without the record that there is a group."""
        if self._fold.find(place_of(GroupMetadata(group_id, GroupEpoch(0)))) is None:
            return {}
        stored = self._fold.find(place_of(StatePartitionMetadata(group_id, {}, {}, {})))
        return (
            stored.record.initialized if stored and isinstance(stored.record, StatePartitionMetadata) else {}
        )

    def configs(self) -> Mapping[str, Mapping[str, str]]:
        """Return what each group has configured, of those that have."""
        return self._fold.configs()

    def durable_configs(self, group_id: str) -> Mapping[str, str]:
        """Return what one group has configured, nothing when it has not."""
        stored = self._fold.find(place_of(GroupConfigs(GroupId(group_id), {})))
        return dict(stored.record.values) if stored and isinstance(stored.record, GroupConfigs) else {}

    def replay(self, record: Record) -> Outcome:
        """Take in the next record of the log, as `GroupLogFold.replay` does."""
        return self._fold.replay(record)

    # ------------------------------------------------ what is to be written

    @property
    def waiting_count(self) -> int:
        """How many operations wait for an append or are in one."""
        in_flight = 0 if self._in_flight is None else len(self._in_flight.tickets)
        return in_flight + sum(len(waiting.tickets) for waiting in self._queue.values())

    def waiting_work(self, at_most: int) -> int:
        """Return about how many records have to be compared or written for what waits, large ones counted for several.

        Counting ends above `at_most`.
        """
        work = 0
        for waiting in self._queue.values():
            if work > at_most:
                break
            work += waiting.work
        return work

    def submit(self, operation: GroupOperation) -> Ticket:
        """Queue `operation`; its ticket is settled when it, or what took its place, is durable.

        Nothing is refused here: there is room for one operation on each group. What turns out to need a record
        that is too large is refused when its append is drafted, with everything that it took the place of.
        """
        ticket = Ticket()
        subject = _subject(operation)
        before = self._queue.get(subject)
        tickets = [] if before is None else before.tickets
        tickets.append(ticket)
        self._queue[subject] = WaitingGroup(self._work_on(operation), self._sayings(operation), tickets)
        return ticket

    def next_append(self, now_ms: int, *, max_bytes: int, claim_epoch: int) -> Append | None:
        """Draft the next append; None when nothing that was looked at needs a record. Not while one is in flight.

        No more is looked at than takes a short time, about `MOST_RECORDS` compared with what is durable: after None
        some may still wait. Records are taken in order, up to `max_bytes` by `record_size_bytes`; `MOST_RECORDS` and
        `MOST_BYTES` of them, unless a single one is larger. An operation with more than that is written in several
        appends, and settled with the last; one record more than it takes is encoded at most. Once it has filled an
        append others go before it. One that needs no record is settled here. One of which a single record is above
        `max_bytes` is refused here, and nothing of it is in this append; what is in appends before this one stays, and
        makes a group.
        """
        del now_ms  # nothing here has a time
        assert self._in_flight is None, "the end of an append is told before the next one"
        # From here on `fail` finds its tickets, whatever goes wrong.
        flight = self._in_flight = GroupAppend(max_bytes, claim_epoch)
        for subject, waiting in self._next_waiting():
            flight.subjects.append(subject)
            try:
                count_before = len(flight.changes)
                if not flight.takes(waiting, " ".join(subject).strip()):
                    if not count_before:
                        self._let_others_go_first(subject)
                    break
            except UnwritableStateRecord as refusal:
                del self._queue[subject]
                refuse_all(waiting.tickets, refusal)
                continue
            del self._queue[subject]
            if len(flight.changes) > count_before:
                flight.tickets += waiting.tickets
            else:
                settle_all(waiting.tickets)
        if not flight.changes:
            self._in_flight = None
            return None
        return Append(tuple(change.record for change in flight.changes))

    def succeeded(self, base_offset: int) -> None:
        """Note that the append in flight is durable from `base_offset` on: replay it, then settle its tickets."""
        flight = self._in_flight
        assert flight is not None, "nothing is in flight"
        flight.replay_into(self._fold, base_offset)
        self._in_flight = None
        settle_all(flight.tickets)

    def refuse(self, error: ApiError) -> bool:
        """Refuse what is in flight, with about `MOST_REFUSED` of what waits; tell whether more is to be refused.

        If so this is called again, in another turn, before the next append is drafted. Until then what is left waits as
        it did, and what is submitted in its place is refused with it; what else is submitted meanwhile is not.
        """
        flight, self._in_flight = self._in_flight, None
        refused: list[Ticket] = []
        if flight is not None:
            refused += flight.tickets
            again = [
                self._queue.pop(subject).tickets for subject in flight.subjects if subject in self._queue
            ]
            refused += chain.from_iterable(again)
            self._left_to_refuse = len(self._queue)
        work = 0
        while self._left_to_refuse and work <= MOST_REFUSED:
            waiting = self._queue.pop(next(iter(self._queue)))
            self._left_to_refuse -= 1
            work += waiting.work
            refused += waiting.tickets
        refuse_all(refused, error)
        return self._left_to_refuse > 0

    def fail(self, error: ApiError) -> None:
        """Refuse everything in flight and waiting with `error`, and forget it."""
        refused = [] if self._in_flight is None else self._in_flight.tickets
        refused = [*refused, *(ticket for waiting in self._queue.values() for ticket in waiting.tickets)]
        self._in_flight, self._left_to_refuse = None, 0
        self._queue.clear()
        refuse_all(refused, error)

    def _next_waiting(self) -> Sequence[tuple[tuple[str, str], WaitingGroup]]:
        """Return those who come next: one, or as many as are little work together."""
        work = 0
        taken: list[tuple[tuple[str, str], WaitingGroup]] = []
        for subject, waiting in self._queue.items():
            work += waiting.work
            if taken and work > MOST_RECORDS:
                break
            taken.append((subject, waiting))
        return taken

    def _let_others_go_first(self, subject: tuple[str, str]) -> None:
        """Put what has filled an append behind all others: whoever changes it again and again would hold them up."""
        if subject[0] != DisplacedRecords.__name__:
            self._queue[subject] = self._queue.pop(subject)

    def _work_on(self, operation: GroupOperation) -> int:
        match operation:
            case ImageWrite(image):
                record_count = 3 + 2 * len(image.members) + len(image.target)
                is_counted_on = record_count <= _RECORDS_TO_COUNT_TOPICS_OF
                work = record_count + (_topic_count(image) // _TOPICS_OF_ONE if is_counted_on else 0)
                # What it has no more is removed, or put back where that is refused.
                return max(work, self._fold.record_count(image.group_id))
            case GroupRemoval(group_id):
                return 1 + self._fold.record_count(group_id)
            case DisplacedRecords():
                return 1 + self.displaced_count
            case _:
                return 1

    def _sayings(self, operation: GroupOperation) -> Iterator[GroupRecord | GroupTombstone]:
        """Yield what makes `operation` durable: nothing for what is so already when it is asked first."""
        match operation:
            case ImageWrite(image):
                yield from self._changed_parts(image.group_id, parts_of(image))
            case GroupRemoval(group_id):
                yield from self._changed_parts(group_id, ())
            case ConfigWrite(group_id, values):
                yield from self._changed(GroupConfigs(GroupId(group_id), dict(values)))
            case DisplacedRecords():
                yield from self._displaced()
            case _:
                yield from self._changed(operation)

    def _displaced(self) -> Iterator[GroupRecord | GroupTombstone]:
        for place, key in list(self._fold.displaced.items()):
            stored = self._fold.find(place)
            yield GroupTombstone(key, *place) if stored is None else stored.record

    def _changed(self, record: GroupRecord) -> Iterator[GroupRecord | GroupTombstone]:
        place = place_of(record)
        stored = self._fold.find(place)
        if isinstance(record, GroupConfigs) and not record.values:
            if stored is not None:
                yield GroupTombstone(stored.key, *place)
        elif stored is None or stored.record != record:
            yield record

    def _changed_parts(
        self, group_id: GroupId, parts: Iterable[GroupPart]
    ) -> Iterator[GroupRecord | GroupTombstone]:
        """Yield what is new of a group, then the tombstones of what it has no more.

        What says that the group exists goes last: whatever is left of one that is removed still makes a group.
        """
        stored = self._fold.parts(group_id)
        wanted = {place_of(part): part for part in parts}
        for place in sorted(wanted, key=_writing_order):
            before = stored.get(place)
            if before is None or before.record != wanted[place]:
                yield wanted[place]
        for place in sorted(stored.keys() - wanted.keys(), key=_writing_order, reverse=True):
            yield GroupTombstone(stored[place].key, *place)


def _subject(operation: GroupOperation) -> tuple[str, str]:
    match operation:
        case ImageWrite(image):
            return "group", image.group_id
        case GroupRemoval(group_id):
            return "group", group_id
        case ConfigWrite(group_id, _):
            return "configs", group_id
        case _:
            return type(operation).__name__, ""


def _topic_count(image: ShareGroupImage) -> int:
    """Return how many topics and partitions stand in all its records."""
    of_members = sum(
        len(member.subscribed_topic_names) + len(member.assigned) for member in image.members.values()
    )
    of_states = sum(
        len(topic.partitions)
        for topics in (image.initializing, image.initialized, image.deleting)
        for topic in topics.values()
    )
    return of_members + sum(map(len, image.target.values())) + of_states


def _writing_order(place: RecordPlace) -> int:
    return _WRITING_ORDER.index(place.record_type)
