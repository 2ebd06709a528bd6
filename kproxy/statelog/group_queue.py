"""The groups of one slot: what is durable of them, and the queue of what is to be written.

As in `state_queue`, operations wait and records do not: an append is drafted when the one before has been
replayed, and holds exactly the records that differ from what is durable. Of all that was submitted for one
group meanwhile, the latest counts. The shell drives it like a `StateQueue`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from kproxy.errors import ApiError, UnwritableStateRecord
from kproxy.share.identifiers import GroupEpoch, GroupId
from kproxy.share.share_group_image import ShareGroupImage, StateTopics
from kproxy.statelog.claims import Claim
from kproxy.statelog.group_log_fold import GroupLogFold, RecordPlace, place_of
from kproxy.statelog.group_parts import GroupMetadata, GroupPart, StatePartitionMetadata, parts_of
from kproxy.statelog.group_records import (
    DecodedGroupRecord,
    GroupConfigs,
    GroupRecord,
    GroupTombstone,
    RecoveryPoint,
    StateTopicFacts,
    encode_group_record,
    encode_group_tombstone,
)
from kproxy.statelog.group_values import PART_RECORD_TYPES
from kproxy.statelog.state_log_fold import Outcome
from kproxy.statelog.tickets import Append, Ticket, refuse_all, settle_all, size_within
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

MOST_RECORDS: Final = 500
"""How many records an append takes. It is made, and taken in, in one turn each: some 10 ms."""

MOST_BYTES: Final = 2**18
"""How large an append becomes that has several records: larger ones are more work."""

_WRITING_ORDER: Final = tuple(PART_RECORD_TYPES.values())


@dataclass(slots=True)
class _Waiting:
    """The latest operation on one subject, and everybody who waits for it or for one that it took the place of."""

    operation: GroupOperation
    tickets: list[Ticket]


@dataclass(frozen=True, slots=True)
class _Change:
    """A record to be written, and what it says."""

    record: Record
    says: GroupRecord | GroupTombstone


class _Flight:
    """An append in the making, then under way, and who is to be told of its end."""

    __slots__ = ("_bytes_left", "_claim_epoch", "_max_bytes", "changes", "tickets")

    def __init__(self, max_bytes: int, claim_epoch: int) -> None:
        self._max_bytes = max_bytes
        self._claim_epoch = claim_epoch
        self._bytes_left = min(max_bytes, MOST_BYTES)
        self.changes: list[_Change] = []
        self.tickets: list[Ticket] = []

    def takes(self, changes: Sequence[_Change], subject: str) -> bool:
        """Add `changes` as far as there is room; tell whether that was all of them.

        Raises:
            UnwritableStateRecord: the record of one is too large for any append; none was added.
        """
        sizes = [size_within(change.record, max_bytes=self._max_bytes, subject=subject) for change in changes]
        for change, size_bytes in zip(changes, sizes, strict=True):
            if self.changes and (size_bytes > self._bytes_left or len(self.changes) >= MOST_RECORDS):
                return False
            self._bytes_left -= size_bytes
            self.changes.append(change)
        return True

    def replay_into(self, fold: GroupLogFold, base_offset: int) -> None:
        """Let `fold` be as the log is, with this in it from `base_offset` on."""
        for offset, change in enumerate(self.changes, base_offset):
            decoded = DecodedGroupRecord(change.says, self._claim_epoch)
            outcome = fold.replay_decoded(decoded, key=change.record.key or b"", offset=offset)
            assert outcome is Outcome.APPLIED, f"our own record at offset {offset} was {outcome.value}"


class GroupQueue:
    """One partition of the groups topic. `on_corrupt` is as in `GroupLogFold`."""

    __slots__ = ("_fold", "_in_flight", "_queue")

    def __init__(self, *, on_corrupt: Literal["stop", "skip"] = "stop") -> None:
        self._fold = GroupLogFold(on_corrupt=on_corrupt)
        self._queue: dict[tuple[str, str], _Waiting] = {}
        self._in_flight: _Flight | None = None

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

    def submit(self, operation: GroupOperation) -> Ticket:
        """Queue `operation`; its ticket is settled when it, or what took its place, is durable.

        Nothing is refused here: there is room for one operation on each group. What turns out to need a record
        that is too large is refused when its append is drafted, with everything that it took the place of.
        """
        ticket = Ticket()
        subject = _subject(operation)
        waiting = self._queue.get(subject)
        if waiting is None:
            self._queue[subject] = _Waiting(operation, [ticket])
        else:
            waiting.operation = operation
            waiting.tickets.append(ticket)
        return ticket

    def next_append(self, now_ms: int, *, max_bytes: int, claim_epoch: int) -> Append | None:
        """Draft the next append; None when nothing that waits needs a record. Not while one is in flight.

        Records are taken in order, up to `max_bytes` by `record_size_bytes`; `MOST_RECORDS` and `MOST_BYTES` of them,
        unless a single one is larger. An operation with more than that is written in several appends, and settled with
        the last. One that needs no record is settled here, and one of which a single record is above `max_bytes` is
        refused here.
        """
        del now_ms  # nothing here has a time
        assert self._in_flight is None, "the end of an append is told before the next one"
        # From here on `fail` finds its tickets, whatever goes wrong.
        flight = self._in_flight = _Flight(max_bytes, claim_epoch)
        for subject, waiting in list(self._queue.items()):
            try:
                changes = list(self._changes(waiting.operation, claim_epoch))
                if not flight.takes(changes, " ".join(subject).strip()):
                    break
            except UnwritableStateRecord as refusal:
                del self._queue[subject]
                refuse_all(waiting.tickets, refusal)
                continue
            del self._queue[subject]
            if changes:
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

    def fail(self, error: ApiError) -> None:
        """Refuse everything in flight and waiting with `error`, and forget it."""
        refused = [] if self._in_flight is None else self._in_flight.tickets
        refused = [*refused, *(ticket for waiting in self._queue.values() for ticket in waiting.tickets)]
        self._in_flight = None
        self._queue.clear()
        refuse_all(refused, error)

    def _changes(self, operation: GroupOperation, claim_epoch: int) -> Iterator[_Change]:
        """Yield what makes `operation` durable: nothing for what is so already."""
        match operation:
            case ImageWrite(image):
                yield from self._changed_parts(image.group_id, parts_of(image), claim_epoch)
            case GroupRemoval(group_id):
                yield from self._changed_parts(group_id, (), claim_epoch)
            case ConfigWrite(group_id, values):
                yield from self._changed(GroupConfigs(GroupId(group_id), dict(values)), claim_epoch)
            case DisplacedRecords():
                yield from self._displaced(claim_epoch)
            case _:
                yield from self._changed(operation, claim_epoch)

    def _displaced(self, claim_epoch: int) -> Iterator[_Change]:
        for place, key in self._fold.displaced.items():
            stored = self._fold.find(place)
            if stored is None:
                yield _removal(place, key, claim_epoch)
            else:
                yield _change(stored.record, claim_epoch)

    def _changed(self, record: GroupRecord, claim_epoch: int) -> Iterator[_Change]:
        place = place_of(record)
        stored = self._fold.find(place)
        if isinstance(record, GroupConfigs) and not record.values:
            if stored is not None:
                yield _removal(place, stored.key, claim_epoch)
        elif stored is None or stored.record != record:
            yield _change(record, claim_epoch)

    def _changed_parts(
        self, group_id: GroupId, parts: Iterable[GroupPart], claim_epoch: int
    ) -> Iterator[_Change]:
        """Yield what is new of a group, then the tombstones of what it has no more.

        What says that the group exists goes last: whatever is left of one that is removed still makes a group.
        """
        stored = self._fold.parts(group_id)
        wanted = {place_of(part): part for part in parts}
        for place in sorted(wanted, key=_writing_order):
            before = stored.get(place)
            if before is None or before.record != wanted[place]:
                yield _change(wanted[place], claim_epoch)
        for place in sorted(stored.keys() - wanted.keys(), key=_writing_order, reverse=True):
            yield _removal(place, stored[place].key, claim_epoch)


def _change(record: GroupRecord, claim_epoch: int) -> _Change:
    return _Change(encode_group_record(record, claim_epoch=claim_epoch), record)


def _removal(place: RecordPlace, key: bytes, claim_epoch: int) -> _Change:
    return _Change(encode_group_tombstone(key, claim_epoch=claim_epoch), GroupTombstone(key, *place))


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


def _writing_order(place: RecordPlace) -> int:
    return _WRITING_ORDER.index(place.record_type)
