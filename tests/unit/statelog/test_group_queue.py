"""The queue of one partition of the groups topic: only differences are written, and the latest picture counts."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import StateLogUnavailable, UnwritableStateRecord
from kproxy.share.identifiers import GroupEpoch, GroupId, MemberId
from kproxy.share.share_group_image import ShareGroupImage, StatePartitions
from kproxy.share.share_group_member import ShareGroupMember
from kproxy.statelog import group_queue
from kproxy.statelog.group_parts import CurrentMemberAssignment, GroupMetadata, StatePartitionMetadata
from kproxy.statelog.group_queue import (
    ConfigWrite,
    DisplacedRecords,
    ImageWrite,
)
from kproxy.statelog.group_records import (
    GroupConfigs,
    GroupTombstone,
    RecoveryPoint,
    StateTopicFacts,
    decode_group_record,
    encode_group_record,
)
from kproxy.statelog.tickets import Append
from tests.in_memory.group_images import ALICE, GROUP, ORDERS, images
from tests.worlds.group_queue_log import EMPTY, LARGE, GroupQueueLog, a_group_of

LARGEST_RECORD_BYTES = 500
"""What no record of a made-up group exceeds."""


def of_group(number: int) -> ImageWrite:
    return ImageWrite(replace(EMPTY, group_id=GroupId(f"g{number}")))


def written(append: Append | None) -> list[object]:
    """What the records of an append say."""
    assert append is not None
    return [decode_group_record(record).record for record in append.records]


@given(images())
def test_what_a_group_has_initialized_is_found_by_itself(image: ShareGroupImage) -> None:
    log = GroupQueueLog()

    log.write(ImageWrite(image))

    assert log.store.durable_initialized(image.group_id) == image.initialized
    assert log.store.durable_initialized(GroupId("another")) == {}


def test_nothing_is_initialized_in_a_group_of_which_nothing_says_that_it_is_there() -> None:
    log = GroupQueueLog()
    partitions = StatePartitionMetadata(GROUP, {}, {ORDERS: StatePartitions("orders", frozenset((0,)))}, {})
    log.append([encode_group_record(partitions, claim_epoch=0)])

    log.store.replay(log.records[-1])

    assert log.store.durable_initialized(GROUP) == {}


@given(st.lists(images(), min_size=1, max_size=4), st.integers(LARGEST_RECORD_BYTES, 1_000))
def test_whatever_was_before_the_last_picture_is_what_is_durable(
    history: list[ShareGroupImage], max_bytes: int
) -> None:
    # Given
    log = GroupQueueLog()

    # When
    tickets = [log.write(ImageWrite(image), max_bytes=max_bytes) for image in history]

    # Then
    assert all(ticket.is_done and ticket.refusal is None for ticket in tickets)
    assert log.store.durable_images() == {GROUP: history[-1]}
    assert log.replayed().durable_images() == {GROUP: history[-1]}


@given(images(), images(), st.integers(LARGEST_RECORD_BYTES, 1_000), st.integers(1, 6))
def test_a_crash_between_two_appends_of_one_group_leaves_a_group(
    before: ShareGroupImage, after: ShareGroupImage, max_bytes: int, append_count: int
) -> None:
    # Given
    log = GroupQueueLog()
    log.write(ImageWrite(before))
    log.store.submit(ImageWrite(after))

    # When
    for _ in range(append_count):
        if (append := log.draft(max_bytes)) is not None:
            log.land(append)

    # Then
    image = log.replayed().durable_images()[GROUP]
    assert image.group_epoch in (before.group_epoch, after.group_epoch)
    assert image.members.keys() <= before.members.keys() | after.members.keys()


@given(images())
def test_a_picture_that_is_durable_already_writes_nothing(image: ShareGroupImage) -> None:
    # Given
    log = GroupQueueLog()
    log.write(ImageWrite(image))

    # When
    ticket = log.store.submit(ImageWrite(image))
    append = log.draft()

    # Then
    assert append is None
    assert ticket.is_done
    assert log.store.waiting_count == 0


def test_no_more_is_compared_at_once_than_takes_a_short_time() -> None:
    # Given
    log = GroupQueueLog()
    images = [replace(a_group_of("orders"), group_id=GroupId(f"group-{number}")) for number in range(300)]
    for image in images:
        log.write(ImageWrite(image))

    # When
    tickets = [log.store.submit(ImageWrite(image)) for image in images]
    settled_counts: list[int] = []
    while log.store.waiting_count:
        assert log.draft() is None
        settled_counts.append(sum(ticket.is_done for ticket in tickets))

    # Then: each is compared in its three records and two of its member
    assert settled_counts == [100, 200, 300]


def test_only_the_records_that_differ_are_written() -> None:
    # Given
    log = GroupQueueLog()
    log.write(ImageWrite(EMPTY))

    # When
    log.store.submit(ImageWrite(replace(EMPTY, group_epoch=GroupEpoch(2))))

    # Then
    assert written(log.draft()) == [GroupMetadata(GROUP, GroupEpoch(2))]


def test_what_late_records_displaced_is_written_again_whatever_became_of_it() -> None:
    # Given
    log = GroupQueueLog()
    log.write(ImageWrite(EMPTY))
    log.write(ConfigWrite(GROUP, {"k": "v"}))
    log.write(ConfigWrite("removed", {"k": "v"}))
    log.write(ConfigWrite("removed", {}))
    log.claim_anew()
    for late in (GroupMetadata(GROUP, GroupEpoch(9)), GroupConfigs(GroupId("removed"), {"k": "v"})):
        log.append([encode_group_record(late, claim_epoch=0)])
    store = log.replayed()

    # When
    ticket = store.submit(DisplacedRecords())
    append = store.next_append(0, max_bytes=LARGE, claim_epoch=store.claim_epoch)

    # Then
    metadata, tombstone = written(append)
    assert metadata == GroupMetadata(GROUP, EMPTY.group_epoch)
    assert isinstance(tombstone, GroupTombstone)
    assert tombstone.group_id == "removed"
    assert not ticket.is_done


def test_what_displaced_records_need_several_appends_goes_before_what_was_submitted_later() -> None:
    # Given
    log = GroupQueueLog()
    ids = [f"group-{number}" for number in range(20)]
    for group_id in ids:
        log.write(ConfigWrite(group_id, {"k": "true"}))
    log.claim_anew()
    for group_id in ids:
        log.append([encode_group_record(GroupConfigs(GroupId(group_id), {"k": "late"}), claim_epoch=0)])
    log.store = log.replayed()

    # When
    mending = log.store.submit(DisplacedRecords())
    log.write(ConfigWrite(ids[-1], {"k": "new"}), max_bytes=200)

    # Then
    wanted = {group_id: {"k": "true"} for group_id in ids} | {ids[-1]: {"k": "new"}}
    assert (mending.is_done, mending.refusal) == (True, None)
    assert log.replayed().configs() == wanted
    assert (log.store.displaced_count, log.replayed().displaced_count) == (0, 0)


def test_of_several_pictures_of_a_group_that_wait_the_latest_counts_and_all_are_told() -> None:
    # Given
    log = GroupQueueLog()
    tickets = [
        log.store.submit(ImageWrite(replace(EMPTY, group_epoch=GroupEpoch(epoch)))) for epoch in (1, 2, 3)
    ]

    # When
    append = log.draft()
    log.land(append)

    # Then
    assert written(append)[0] == GroupMetadata(GROUP, GroupEpoch(3))
    assert all(ticket.is_done for ticket in tickets)
    assert log.draft() is None


def test_what_comes_while_an_append_is_in_flight_waits_for_the_next_one() -> None:
    # Given
    log = GroupQueueLog()
    first = log.store.submit(ImageWrite(EMPTY))
    append = log.draft()
    second = log.store.submit(ImageWrite(replace(EMPTY, group_epoch=GroupEpoch(2))))

    # When
    log.land(append)

    # Then
    assert (first.is_done, second.is_done) == (True, False)
    assert written(log.draft()) == [GroupMetadata(GROUP, GroupEpoch(2))]


def test_an_operation_that_needs_several_appends_is_told_after_the_last() -> None:
    # Given
    log = GroupQueueLog()
    ticket = log.store.submit(ImageWrite(EMPTY))

    # When
    first = log.draft(max_bytes=100)
    log.land(first)
    was_done = ticket.is_done
    second = log.draft(max_bytes=100)
    log.land(second)

    # Then
    assert not was_done
    assert ticket.is_done
    assert len(written(first)) == len(written(second)) == 1


def test_a_failure_is_told_to_everybody_and_leaves_nothing_to_do() -> None:
    # Given
    log = GroupQueueLog()
    in_flight = log.store.submit(ImageWrite(EMPTY))
    log.draft()
    waiting = log.store.submit(ConfigWrite(GROUP, {"k": "v"}))
    count_before = log.store.waiting_count

    # When
    log.store.fail(StateLogUnavailable("no quorum"))

    # Then
    assert count_before == 2
    assert [ticket.refusal is not None for ticket in (in_flight, waiting)] == [True, True]
    assert log.store.waiting_count == 0


def test_much_that_waits_is_refused_in_portions_and_what_is_submitted_in_its_place_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(group_queue, "MOST_REFUSED", 5)
    log = GroupQueueLog()
    log.store.submit(of_group(0))
    log.draft()
    again, *waiting = [log.store.submit(of_group(number)) for number in range(6)]

    # When
    is_more = [log.store.refuse(StateLogUnavailable("no quorum"))]
    told = [again.is_done, *(ticket.is_done for ticket in waiting)]
    in_its_place, late = log.store.submit(of_group(5)), log.store.submit(of_group(1))
    is_more += [log.store.refuse(StateLogUnavailable("no quorum")) for _ in range(2)]

    # Then
    assert told == [True, True, True, False, False, False]
    assert is_more == [True, True, False]
    assert all(ticket.refusal is not None for ticket in (*waiting, again, in_its_place))
    assert (late.is_done, log.store.waiting_count) == (False, 1)
    log.land(log.draft())
    assert (late.is_done, late.refusal) == (True, None)


def test_configurations_that_are_emptied_are_removed() -> None:
    # Given
    log = GroupQueueLog()
    log.write(ConfigWrite(GROUP, {"k": "v"}))
    before = log.replayed().configs()

    # When
    log.write(ConfigWrite(GROUP, {}))

    # Then
    assert before == {GROUP: {"k": "v"}}
    assert log.replayed().configs() == {}


def test_emptying_what_was_never_configured_writes_nothing() -> None:
    # Given
    log = GroupQueueLog()

    # When
    ticket = log.write(ConfigWrite(GROUP, {}))

    # Then
    assert ticket.is_done
    assert len(log.records) == 1


@pytest.mark.parametrize("operation", [RecoveryPoint(42, 50), StateTopicFacts(50, 1)])
def test_what_belongs_to_the_slot_is_written_once(operation: RecoveryPoint | StateTopicFacts) -> None:
    # Given
    log = GroupQueueLog()
    log.write(operation)

    # When
    log.write(operation)

    # Then
    assert len(log.records) == 2
    store = log.replayed()
    assert operation in (store.recovery_point, store.state_topic_facts)
    assert store.applied_offset == 1


def test_members_stand_in_the_order_in_which_they_joined() -> None:
    # Given
    log = GroupQueueLog()
    names = [MemberId(name) for name in ("zoe", "adam")]
    members = {name: ShareGroupMember(name).image() for name in names}

    # When
    log.write(ImageWrite(replace(EMPTY, members=members)))

    # Then
    assert list(log.replayed().durable_images()[GROUP].members) == names


def test_a_member_that_left_leaves_three_tombstones() -> None:
    # Given
    log = GroupQueueLog()
    alice = ShareGroupMember(ALICE)
    log.write(ImageWrite(replace(EMPTY, members={ALICE: alice.image()}, target={ALICE: frozenset()})))

    # When
    log.store.submit(ImageWrite(EMPTY))

    # Then
    removed = written(log.draft())
    assert sorted(record.record_type for record in removed if isinstance(record, GroupTombstone)) == [
        10,
        13,
        14,
    ]
    assert not any(isinstance(record, CurrentMemberAssignment) for record in removed)


# ------------------------------------------------ what cannot be written


@pytest.mark.parametrize(
    ("topic_names", "reason"),
    [
        (("a" * 1_000,), r"a record of \d+ bytes about group orders-group; the state log takes 600 at most"),
        (("a" * 40_000,), "a string of 40000 bytes"),
    ],
)
def test_a_group_of_which_one_record_cannot_be_is_refused_alone_and_no_part_of_it_is_written(
    topic_names: tuple[str, ...], reason: str
) -> None:
    # Given
    log = GroupQueueLog()
    log.write(ImageWrite(EMPTY))
    refused = [log.store.submit(ImageWrite(replace(EMPTY, group_epoch=GroupEpoch(2))))]
    refused += [log.store.submit(ImageWrite(a_group_of(*topic_names)))]
    ticket = log.store.submit(ConfigWrite(GROUP, {"k": "v"}))

    # When
    append = log.draft(max_bytes=600)
    log.land(append)

    # Then
    assert [type(one.refusal) for one in refused] == [UnwritableStateRecord] * 2
    with pytest.raises(UnwritableStateRecord, match=reason):
        raise refused[0].refusal or AssertionError
    assert (ticket.is_done, ticket.refusal) == (True, None)
    assert log.replayed().durable_images() == {GROUP: EMPTY}
    assert log.store.durable_image(GROUP) == EMPTY
    assert log.store.waiting_count == 0
