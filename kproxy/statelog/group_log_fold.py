"""The fold of one partition of the groups topic: the only code that turns its records into groups.

The topic is compacted, so the last record of a key is the truth about it. Claims are as in `fold`; compaction
removes the records of old claims, but not what was written under them, so a record that names a claim is taken
as proof of that claim.

A late record of an older owner is ignored here, but compaction knows nothing of claims: it keeps that record and
removes the true one before it. So the fold remembers which keys end with a record that does not count (`displaced`),
and the owner writes the truth about them once more.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, cast

from kproxy.errors import CorruptStateRecord, UnsupportedStateRecord
from kproxy.share.identifiers import GroupId, MemberId
from kproxy.share.share_group_image import ShareGroupImage
from kproxy.statelog.claims import Claim
from kproxy.statelog.group_parts import (
    CurrentMemberAssignment,
    GroupPart,
    TargetAssignmentMember,
    image_of,
)
from kproxy.statelog.group_records import (
    DecodedGroupRecord,
    GroupConfigs,
    GroupRecord,
    GroupTombstone,
    RecoveryPoint,
    StateTopicFacts,
    decode_group_record,
    encode_group_key,
)
from kproxy.statelog.group_values import PART_RECORD_TYPES
from kproxy.statelog.shared_assignments import SharedAssignments
from kproxy.statelog.short_keys import LONGEST_REMEMBERED
from kproxy.statelog.state_log_fold import NO_CLAIM, NO_OFFSET, Outcome
from kproxy.wire.messages.kproxy_group_configs_key import KproxyGroupConfigsKey
from kproxy.wire.messages.kproxy_recovery_point_key import KproxyRecoveryPointKey
from kproxy.wire.messages.kproxy_state_topic_facts_key import KproxyStateTopicFactsKey
from kproxy.wire.records import Record

_RECORD_TYPES: Final[Mapping[type[GroupRecord], int]] = {
    **dict[type[GroupRecord], int](PART_RECORD_TYPES.items()),
    GroupConfigs: KproxyGroupConfigsKey.SCHEMA.api_key or 0,
    RecoveryPoint: KproxyRecoveryPointKey.SCHEMA.api_key or 0,
    StateTopicFacts: KproxyStateTopicFactsKey.SCHEMA.api_key or 0,
}
_TYPES_OF_PARTS: Final = frozenset(PART_RECORD_TYPES.values())


class RecordPlace(NamedTuple):
    """The key of a record, in words: there is one of each type for the slot, for a group, or for a member."""

    record_type: int
    group_id: GroupId | None
    member_id: MemberId | None


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """The last record of its key. `kept_key` is None where the key is long, and what kproxy gives the record."""

    record: GroupRecord
    kept_key: bytes | None
    claim_epoch: int
    offset: int

    @property
    def key(self) -> bytes:
        """The key as it stands in the log."""
        return encode_group_key(*place_of(self.record)) if self.kept_key is None else self.kept_key


def place_of(record: GroupRecord | GroupTombstone) -> RecordPlace:
    """Return which record `record` takes the place of."""
    if isinstance(record, GroupTombstone):
        return RecordPlace(record.record_type, record.group_id, record.member_id)
    group_id: GroupId | None = getattr(record, "group_id", None)
    return RecordPlace(_RECORD_TYPES[type(record)], group_id, getattr(record, "member_id", None))


class GroupLogFold:
    """Durable groups, configurations, recovery point and facts, after the last record that was replayed.

    With `on_corrupt="skip"` a corrupt record is passed over as if it were not there, and so is a group of which
    too little is left; what has a newer format is refused all the same.
    """

    __slots__ = (
        "_assignments",
        "_displaced",
        "_groups",
        "_is_skipping",
        "_slot",
        "applied_offset",
        "claim",
        "claim_epoch",
        "highest_claim",
    )

    def __init__(self, *, on_corrupt: Literal["stop", "skip"] = "stop") -> None:
        self._is_skipping = on_corrupt == "skip"
        self._groups: dict[GroupId, dict[RecordPlace, StoredRecord]] = {}
        self._slot: dict[RecordPlace, StoredRecord] = {}
        self._displaced: dict[RecordPlace, bytes] = {}
        self._assignments = SharedAssignments()
        self.claim_epoch = NO_CLAIM
        """The claim that counts; -1 before any."""
        self.claim: Claim | None = None
        """The last claim record that was read."""
        self.highest_claim: Claim | None = None
        """The claim record with the highest map epoch that was read, the last one of those that are equal."""
        self.applied_offset = NO_OFFSET
        """The offset of the last record looked at, whatever became of it; -1 before any."""

    @property
    def group_ids(self) -> tuple[GroupId, ...]:
        """The ids of all groups of which there is any record."""
        return tuple(self._groups)

    def images(self) -> Mapping[GroupId, ShareGroupImage]:
        """Return every durable group.

        Raises:
            CorruptStateRecord: there are records of a group that lacks the one saying that it exists.
        """
        found = ((group_id, self.image(group_id)) for group_id in self._groups)
        return {group_id: image for group_id, image in found if image is not None}

    def image(self, group_id: GroupId) -> ShareGroupImage | None:
        """Return one durable group, None when there is none. Raises CorruptStateRecord as `images` does."""
        parts = list(_only_parts(stored.record for stored in self._groups.get(group_id, {}).values()))
        try:
            return image_of(parts) if parts else None
        except CorruptStateRecord as corrupt:
            if self._is_skipping:
                return None
            raise CorruptStateRecord(f"group {group_id!r}: {corrupt.reason}") from corrupt

    def parts(self, group_id: GroupId) -> Mapping[RecordPlace, StoredRecord]:
        """Return the records of a group, without its configurations."""
        places = self._groups.get(group_id, {})
        return {place: stored for place, stored in places.items() if place.record_type in _TYPES_OF_PARTS}

    def record_count(self, group_id: GroupId) -> int:
        """Return how many records of a group there are, its configurations among them, at no cost for how many."""
        return len(self._groups.get(group_id, ()))

    def configs(self) -> Mapping[str, Mapping[str, str]]:
        """Return what each group has configured, of those that have."""
        records = (stored.record for places in self._groups.values() for stored in places.values())
        return {
            record.group_id: dict(record.values) for record in records if isinstance(record, GroupConfigs)
        }

    @property
    def displaced(self) -> Mapping[RecordPlace, bytes]:
        """The keys, as they stand in the log, whose last record there does not count."""
        return MappingProxyType(self._displaced)

    @property
    def recovery_point(self) -> RecoveryPoint | None:
        """Where replay of the state topic's partition of the same number may begin; None when nobody said."""
        points = (stored.record for stored in self._slot.values())
        return next((point for point in points if isinstance(point, RecoveryPoint)), None)

    @property
    def state_topic_facts(self) -> StateTopicFacts | None:
        """What was recorded of both topics; None when it was not recorded here."""
        records = (stored.record for stored in self._slot.values())
        return next((facts for facts in records if isinstance(facts, StateTopicFacts)), None)

    def take_apart(self) -> Iterator[int]:
        """Let go of one group after the other, and yield how many records each had. For who has done with the fold."""
        while self._groups:
            yield len(self._groups.popitem()[1])

    def find(self, place: RecordPlace) -> StoredRecord | None:
        """Return the last record of a key, None when there is none or it was removed."""
        return self._places(place.group_id).get(place)

    def replay(self, record: Record) -> Outcome:
        """Take in the next record of the log. Offsets ascend; there may be holes between them.

        Raises:
            CorruptStateRecord: it cannot be decoded, or names a claim that cannot be; nothing has changed. Not
                raised while skipping.
            UnsupportedStateRecord: it has a newer format.
        """
        self._pass(record.offset)
        try:
            decoded = self._with_shared_sets(decode_group_record(record))
            return self._take(decoded, key=record.key or b"", offset=record.offset)
        except CorruptStateRecord as corrupt:
            if self._is_skipping and not isinstance(corrupt, UnsupportedStateRecord):
                return Outcome.SKIPPED_CORRUPT
            raise type(corrupt)(corrupt.reason, offset=record.offset) from corrupt

    def replay_decoded(self, decoded: DecodedGroupRecord, *, key: bytes, offset: int) -> Outcome:
        """Take in a record that this process made, with the bytes of its key: what `replay` does after decoding.

        Raises:
            CorruptStateRecord: it names a claim that cannot be.
        """
        self._pass(offset)
        if self._assignments:
            self._assignments.forget()  # what was made here has shared ones already
        return self._take(decoded, key=key, offset=offset)

    def _with_shared_sets(self, decoded: DecodedGroupRecord) -> DecodedGroupRecord:
        record = decoded.record
        if not isinstance(record, CurrentMemberAssignment | TargetAssignmentMember):
            return decoded
        shared = replace(record, assigned=self._assignments.shared(record.assigned))
        return replace(decoded, record=shared)

    def _pass(self, offset: int) -> None:
        assert offset > self.applied_offset, f"offset {offset} after {self.applied_offset}"
        self.applied_offset = offset

    def _take(self, decoded: DecodedGroupRecord, *, key: bytes, offset: int) -> Outcome:
        if isinstance(decoded.record, Claim):
            self._take_claim(decoded.record, offset)
            return Outcome.CLAIMED
        claim_epoch = NO_CLAIM if decoded.claim_epoch is None else decoded.claim_epoch
        if claim_epoch < self.claim_epoch:
            self._displaced[place_of(decoded.record)] = key
            is_unclaimed = decoded.claim_epoch is None
            return Outcome.IGNORED_UNCLAIMED if is_unclaimed else Outcome.IGNORED_STALE_CLAIM
        if claim_epoch >= offset:
            raise CorruptStateRecord(f"claim epoch {claim_epoch}, which is no offset before the record")
        if claim_epoch > self.claim_epoch:
            self._learn_claim(claim_epoch)
        self._put(decoded.record, key=key, claim_epoch=claim_epoch, offset=offset)
        return Outcome.APPLIED

    def _take_claim(self, claim: Claim, offset: int) -> None:
        self.claim, self.claim_epoch = claim, offset
        if self.highest_claim is None or claim.map_epoch >= self.highest_claim.map_epoch:
            self.highest_claim = claim

    def _learn_claim(self, claim_epoch: int) -> None:
        """Believe in a claim whose record is gone, and drop what older owners wrote after it."""
        self.claim_epoch = claim_epoch
        everything = [*self._slot.items()]
        for places in self._groups.values():
            everything += places.items()
        for place, stored in everything:
            if stored.claim_epoch < claim_epoch < stored.offset:
                self._displaced[place] = stored.key
                self._drop(place)

    def _put(
        self, record: GroupRecord | GroupTombstone, *, key: bytes, claim_epoch: int, offset: int
    ) -> None:
        place = place_of(record)
        self._displaced.pop(place, None)
        if isinstance(record, GroupTombstone):
            self._drop(place)
            return
        group_id = place.group_id
        if group_id is None:
            self._slot[place] = StoredRecord(record, key, claim_epoch, offset)
            return
        places = self._groups.setdefault(group_id, {})
        kept_key: bytes | None = key
        if len(group_id) > LONGEST_REMEMBERED:
            text = next(iter(places), place).group_id
            place, record = place._replace(group_id=text), _with_text(record, text)
            kept_key = None if key == encode_group_key(*place) else key
        places[place] = StoredRecord(record, kept_key, claim_epoch, offset)

    def _drop(self, place: RecordPlace) -> None:
        places = self._places(place.group_id)
        places.pop(place, None)
        if place.group_id is not None and not places:
            self._groups.pop(place.group_id, None)

    def _places(self, group_id: GroupId | None) -> dict[RecordPlace, StoredRecord]:
        return self._slot if group_id is None else self._groups.get(group_id, {})


def _only_parts(records: Iterable[GroupRecord]) -> Iterator[GroupPart]:
    for record in records:
        if not isinstance(record, GroupConfigs | RecoveryPoint | StateTopicFacts | Claim):
            yield record


def _with_text(record: GroupRecord, group_id: GroupId | None) -> GroupRecord:
    """Return the record of a group with this text of its id: one that was decoded has its own."""
    of_group = cast("Any", record)
    return (
        record if of_group.group_id is group_id else cast("GroupRecord", replace(of_group, group_id=group_id))
    )
