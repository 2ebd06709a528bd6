"""The fold of the groups topic: the last record of a key counts, and late owners do not."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import CorruptStateRecord, UnsupportedStateRecord
from kproxy.share.identifiers import (
    AssignmentEpoch,
    GroupEpoch,
    GroupId,
    MemberEpoch,
    MemberId,
    TopicIdPartition,
)
from kproxy.share.share_group_image import ShareGroupImage
from kproxy.statelog.claims import Claim
from kproxy.statelog.group_log_fold import GroupLogFold, place_of
from kproxy.statelog.group_parts import (
    CurrentMemberAssignment,
    GroupMetadata,
    MemberMetadata,
    TargetAssignmentMember,
    TargetAssignmentMetadata,
    parts_of,
)
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
from kproxy.statelog.state_log_fold import Outcome
from kproxy.wire.records import Record
from tests.in_memory.group_images import GROUP, ORDERS, images

FOREIGN = Record(b"\x00\x63whatever", b"\x00\x00")


def a_record(record: GroupRecord, offset: int, *, claim_epoch: int | None = 0) -> Record:
    return replace(encode_group_record(record, claim_epoch=claim_epoch), offset=offset)


def a_claim(offset: int = 0) -> Record:
    return a_record(Claim("kproxy at host-1", 1), offset, claim_epoch=None)


def a_group(group_epoch: int) -> GroupMetadata:
    return GroupMetadata(GROUP, GroupEpoch(group_epoch))


def replayed(*records: Record) -> GroupLogFold:
    fold = GroupLogFold()
    for record in records:
        fold.replay(record)
    return fold


def group_epoch_of(fold: GroupLogFold) -> int:
    return fold.images()[GROUP].group_epoch


OF_THE_SLOT: list[GroupRecord] = [
    GroupConfigs(GROUP, {"k": "v", "a": "b"}),
    RecoveryPoint(3, 7),
    StateTopicFacts(50, 2),
]


@given(image=images(), is_removed=st.booleans())
def test_what_this_process_made_is_taken_in_as_what_was_read(
    image: ShareGroupImage, *, is_removed: bool
) -> None:
    # Given
    folds = replayed(a_claim()), replayed(a_claim())
    said: list[GroupRecord] = [*parts_of(image), *OF_THE_SLOT]
    records = [encode_group_record(each, claim_epoch=0) for each in said]
    made: list[tuple[GroupRecord | GroupTombstone, Record]] = list(zip(said, records, strict=True))
    if is_removed:
        for each, record in zip(said, records, strict=True):
            tombstone = GroupTombstone(record.key or b"", *place_of(each))
            made.append((tombstone, encode_group_tombstone(record.key or b"", claim_epoch=0)))

    # When
    outcomes = set()
    for offset, (says, record) in enumerate(made, 1):
        folds[0].replay(replace(record, offset=offset))
        decoded = DecodedGroupRecord(says, 0)
        outcomes.add(folds[1].replay_decoded(decoded, key=record.key or b"", offset=offset))

    # Then
    assert outcomes == {Outcome.APPLIED}
    assert folds[0].applied_offset == folds[1].applied_offset
    for each in said:
        assert folds[0].find(place_of(each)) == folds[1].find(place_of(each))


@given(images())
def test_the_records_of_a_group_make_up_the_group(image: ShareGroupImage) -> None:
    # When
    fold = replayed(a_claim(), *(a_record(part, offset) for offset, part in enumerate(parts_of(image), 1)))

    # Then
    assert fold.images() == {GROUP: image}


@given(images(), st.data())
def test_compaction_changes_nothing(image: ShareGroupImage, data: st.DataObject) -> None:
    """The claim that the records were written under may be gone; the newest one never is."""
    # Given
    parts = [*parts_of(image), *parts_of(image)]
    records = [a_record(part, offset, claim_epoch=3) for offset, part in enumerate(parts, 4)]
    newest = {record.key: record for record in records}
    compacted = [record for record in records if newest[record.key] is record or data.draw(st.booleans())]

    # When
    fold = replayed(*compacted, a_claim(100))

    # Then
    assert fold.images() == {GROUP: image}


def test_the_last_record_of_a_key_counts_and_a_tombstone_removes_it() -> None:
    # Given
    configs = a_record(GroupConfigs(GROUP, {"share.auto.offset.reset": "earliest"}), 3)
    fold = replayed(a_claim(), a_record(a_group(1), 1), a_record(a_group(2), 2), configs)
    before = (group_epoch_of(fold), fold.configs())

    # When
    for offset, record in enumerate((a_record(a_group(2), 0), configs), 4):
        fold.replay(replace(encode_group_tombstone(record.key or b"", claim_epoch=0), offset=offset))

    # Then
    assert before == (2, {GROUP: {"share.auto.offset.reset": "earliest"}})
    assert (fold.images(), fold.configs()) == ({}, {})
    assert fold.applied_offset == 5


def test_facts_and_recovery_point_belong_to_no_group() -> None:
    # Given
    empty = GroupLogFold()

    # When
    fold = replayed(a_claim(), a_record(RecoveryPoint(42, 50), 1), a_record(StateTopicFacts(50, 1), 2))

    # Then
    assert (empty.recovery_point, empty.state_topic_facts) == (None, None)
    assert (fold.recovery_point, fold.state_topic_facts) == (RecoveryPoint(42, 50), StateTopicFacts(50, 1))
    assert (fold.images(), fold.configs()) == ({}, {})


# ---- claims


def test_what_an_older_owner_wrote_after_the_claim_is_ignored() -> None:
    # Given
    fold = replayed(a_claim(), a_record(a_group(1), 1), a_claim(2))

    # When
    outcomes = [
        fold.replay(a_record(a_group(9), 3, claim_epoch=0)),
        fold.replay(a_record(a_group(8), 4, claim_epoch=None)),
        fold.replay(a_record(a_group(2), 5, claim_epoch=2)),
    ]

    # Then
    assert outcomes == [Outcome.IGNORED_STALE_CLAIM, Outcome.IGNORED_UNCLAIMED, Outcome.APPLIED]
    assert group_epoch_of(fold) == 2


def test_records_without_a_claim_count_until_there_is_one() -> None:
    # When
    fold = replayed(a_record(a_group(7), 0, claim_epoch=None), a_claim(1))

    # Then
    assert group_epoch_of(fold) == 7
    assert fold.claim_epoch == 1


def test_a_claim_that_compaction_removed_still_refuses_what_came_late() -> None:
    # Given
    late = a_record(GroupConfigs(GROUP, {"k": "late"}), 12, claim_epoch=5)
    late_point = a_record(RecoveryPoint(3), 13, claim_epoch=5)

    # When
    fold = replayed(
        a_record(a_group(1), 6, claim_epoch=5), late, late_point, a_record(a_group(2), 14, claim_epoch=10)
    )

    # Then
    assert group_epoch_of(fold) == 2
    assert (fold.configs(), fold.recovery_point, fold.claim_epoch) == ({}, None, 10)


# ---- what cannot be


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        pytest.param(FOREIGN, "99", id="foreign"),
        pytest.param(encode_group_record(a_group(1), claim_epoch=7), "claim epoch 7", id="claim_to_come"),
    ],
)
def test_a_record_that_cannot_be_stops_the_replay_unless_told_to_skip(record: Record, reason: str) -> None:
    # Given
    stopping, skipping = GroupLogFold(), GroupLogFold(on_corrupt="skip")

    # When
    with pytest.raises(CorruptStateRecord, match=reason) as corrupt:
        stopping.replay(replace(record, offset=5))
    outcome = skipping.replay(replace(record, offset=5))

    # Then
    assert corrupt.value.offset == 5
    assert outcome is Outcome.SKIPPED_CORRUPT
    assert skipping.images() == {}


def test_a_newer_format_is_refused_even_while_skipping() -> None:
    # Given
    fold = GroupLogFold(on_corrupt="skip")

    # When
    with pytest.raises(UnsupportedStateRecord) as refusal:
        fold.replay(a_record(Claim("a newer kproxy", 99), 0, claim_epoch=None))

    # Then
    assert refusal.value.offset == 0


def test_a_group_that_lacks_the_record_of_its_existence_is_corrupt_or_left_out() -> None:
    # Given
    metadata = TargetAssignmentMetadata(GROUP, AssignmentEpoch(1))
    skipping = GroupLogFold(on_corrupt="skip")
    skipping.replay(a_record(metadata, 1))

    # When
    with pytest.raises(CorruptStateRecord):
        replayed(a_record(metadata, 1)).images()

    # Then
    assert skipping.images() == {}


def test_every_key_has_one_place() -> None:
    # Given
    tombstone = encode_group_tombstone(
        encode_group_record(a_group(1), claim_epoch=0).key or b"", claim_epoch=0
    )
    fold = replayed(a_record(a_group(1), 1))

    # When
    fold.replay(replace(tombstone, offset=2))

    # Then
    assert fold.find(place_of(a_group(3))) is None


def test_the_fold_remembers_which_keys_end_with_a_record_that_does_not_count() -> None:
    # Given
    true, late = a_group(1), a_group(9)
    configs = GroupConfigs(GROUP, {"share.auto.offset.reset": "earliest"})
    fold = replayed(a_claim(), a_claim(5), a_record(true, 6, claim_epoch=5))

    # When
    fold.replay(a_record(late, 7, claim_epoch=0))
    fold.replay(a_record(configs, 8, claim_epoch=None))

    # Then
    keys = {place_of(part): encode_group_record(part, claim_epoch=0).key for part in (late, configs)}
    assert fold.displaced == keys
    assert group_epoch_of(fold) == 1


def test_a_key_that_was_written_since_does_not_end_with_such_a_record_any_more() -> None:
    # Given
    tombstone = encode_group_tombstone(a_record(a_group(1), 0).key or b"", claim_epoch=5)
    fold = replayed(a_claim(), a_claim(5), a_record(a_group(9), 7, claim_epoch=0))

    # When
    fold.replay(replace(tombstone, offset=8))

    # Then
    assert fold.displaced == {}


def test_what_an_older_owner_wrote_behind_a_claim_that_is_learned_later_does_not_count_either() -> None:
    # Given
    late = a_record(a_group(9), 7, claim_epoch=0)

    # When
    fold = replayed(late, a_record(RecoveryPoint(3), 8, claim_epoch=5))

    # Then
    assert fold.images() == {}
    assert fold.displaced == {place_of(a_group(9)): late.key}


def test_the_records_of_a_group_with_a_long_id_share_its_text_and_keep_no_bytes_of_it() -> None:
    # Given
    group_id = GroupId("g" * 32_000)
    image = ShareGroupImage(group_id, GroupEpoch(1), AssignmentEpoch(1), {}, {}, {}, {}, {})
    records = [*parts_of(image), GroupConfigs(group_id, {"k": "v"})]

    # When
    fold = replayed(a_claim(), *(a_record(record, offset) for offset, record in enumerate(records, 1)))

    # Then
    stored = [fold.find(place_of(record)) for record in records]
    assert [each.record for each in stored if each] == records
    assert len({id(getattr(each.record, "group_id", None)) for each in stored if each}) == 1
    assert [each.kept_key for each in stored if each] == [None] * len(records)
    assert [each.key for each in stored if each] == [a_record(record, 1).key for record in records]


def test_a_key_that_kproxy_would_write_otherwise_stays_as_it_stands_in_the_log() -> None:
    """What removes a record must have the same bytes."""
    # Given
    metadata = GroupMetadata(GroupId("g" * 32_000), GroupEpoch(1))
    key = (encode_group_record(metadata, claim_epoch=None).key or b"") + b"?"
    fold = GroupLogFold()

    # When
    fold.replay_decoded(DecodedGroupRecord(metadata, None), key=key, offset=0)

    # Then
    stored = fold.find(place_of(metadata))
    assert stored is not None
    assert stored.key == key


# ---- members of a large group have the same partitions


def test_members_that_the_log_gives_the_same_partitions_have_them_once() -> None:
    """To put together 400 sets of 10,000 partitions took half a second in one turn."""
    # Given
    said: list[GroupRecord] = [a_group(1)]
    for number in range(3):
        member_id, last = MemberId(f"m{number}"), 100 - number // 2
        assigned = frozenset(TopicIdPartition(ORDERS, each) for each in range(last))
        said += [
            MemberMetadata(GROUP, member_id, None, "c", "h", frozenset()),
            TargetAssignmentMember(GROUP, member_id, assigned),
            CurrentMemberAssignment(GROUP, member_id, MemberEpoch(1), MemberEpoch(0), assigned),
        ]

    # When
    image = replayed(a_claim(), *(a_record(each, offset) for offset, each in enumerate(said, 1))).image(GROUP)

    # Then
    assert image is not None
    sets = [*image.target.values(), *(member.assigned for member in image.members.values())]
    assert [len(each) for each in image.target.values()] == [100, 100, 99]
    assert len(set(map(id, sets))) == 2
    assert len({id(partition) for each in sets for partition in each}) == 100
