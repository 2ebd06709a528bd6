"""Large groups are written bit by bit, and no record of theirs is made twice."""

import asyncio
from dataclasses import replace
from itertools import pairwise

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import StateLogUnavailable, StateNotWritten, UnwritableStateRecord
from kproxy.handlers.live.pauses import let_other_appends_go_on
from kproxy.net.state_log.append_outcome import AppendOutcome
from kproxy.net.state_log.partition_writer import Doubt
from kproxy.net.tasks import TaskKeeper
from kproxy.share.identifiers import GroupEpoch, GroupId, MemberId, TopicId
from kproxy.share.share_group_image import ShareGroupImage, StatePartitions
from kproxy.share.share_group_member import ShareGroupMember
from kproxy.statelog import group_append, group_queue
from kproxy.statelog.group_append import MOST_RECORDS
from kproxy.statelog.group_queue import ConfigWrite, GroupOperation, GroupQueue, GroupRemoval, ImageWrite
from kproxy.statelog.group_records import GroupRecord, encode_group_record
from kproxy.statelog.tickets import Ticket
from kproxy.wire.records import Record
from tests.in_memory.group_images import ALICE, GROUP
from tests.worlds.group_queue_log import EMPTY, GroupQueueLog, a_group_of
from tests.worlds.held_appends import HeldAppends, held_writer
from tests.worlds.waiting import until, until_all_wait


def a_large_group(member_count: int, *topic_names: str, epoch: int = 1) -> ShareGroupImage:
    """Return a group of which every member takes one record."""
    alice = ShareGroupMember(ALICE)
    alice.subscribed_topic_names = frozenset(topic_names)
    members = {MemberId(f"member-{number}"): alice.image() for number in range(member_count)}
    return replace(EMPTY, group_epoch=GroupEpoch(epoch), members=members)


MANY_STATES = {TopicId(bytes(16)): StatePartitions("orders", frozenset(range(5_000)))}


class CountedEncoding:
    """Counts the records that a queue encodes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        monkeypatch.setattr(group_append, "encode_group_record", self._encode)

    def _encode(self, record: GroupRecord, *, claim_epoch: int | None) -> Record:
        self.count += 1
        return encode_group_record(record, claim_epoch=claim_epoch)


@pytest.mark.parametrize("name_bytes", [10, 10_000], ids=["full by records", "full by bytes"])
def test_no_more_of_a_large_group_is_encoded_than_goes_into_an_append_and_nothing_twice(
    name_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    log = GroupQueueLog()
    encoding = CountedEncoding(monkeypatch)
    image = a_large_group(MOST_RECORDS, "a" * name_bytes)
    ticket = log.store.submit(ImageWrite(image))
    appends: list[tuple[int, int]] = []

    # When
    while (append := log.draft()) is not None:
        appends.append((len(append.records), encoding.count))
        log.land(append)
        encoding.count = 0

    # Then
    assert len(appends) > 2
    assert all(encoded_count <= record_count + 1 for record_count, encoded_count in appends)
    record_counts, encoded_counts = zip(*appends, strict=True)
    assert sum(encoded_counts) == sum(record_counts)
    assert (ticket.is_done, ticket.refusal) == (True, None)
    assert log.replayed().durable_images() == {GROUP: image}


def test_a_picture_that_takes_the_place_of_one_that_is_half_written_is_written_from_its_beginning() -> None:
    # Given
    log = GroupQueueLog()
    first = log.store.submit(ImageWrite(a_large_group(MOST_RECORDS, "a")))
    log.land(log.draft())
    image = a_large_group(MOST_RECORDS + 1, "b", epoch=2)

    # When
    second = log.write(ImageWrite(image))

    # Then
    assert (first.is_done, second.is_done) == (True, True)
    assert log.replayed().durable_images() == {GROUP: image}


@pytest.mark.parametrize(
    ("operation", "work"),
    [
        (ImageWrite(EMPTY), 3),
        (ImageWrite(a_large_group(200)), 403),
        (ImageWrite(a_large_group(1, *map(str, range(5_000)))), 105),
        (ImageWrite(replace(EMPTY, initialized=MANY_STATES)), 103),
        (GroupRemoval(GROUP), 1),
        (ConfigWrite(GROUP, {"k": "v"}), 1),
    ],
)
def test_work_that_waits_grows_with_the_members_of_a_group_and_their_topics(
    operation: GroupOperation, work: int
) -> None:
    # Given
    log = GroupQueueLog()

    # When
    log.store.submit(operation)

    # Then
    assert log.store.waiting_work(1_000) == work


def test_counting_ends_where_it_is_enough() -> None:
    # Given
    log = GroupQueueLog()
    for number in range(3):
        log.store.submit(ImageWrite(replace(a_large_group(10), group_id=GroupId(f"g{number}"))))

    # When
    work = log.store.waiting_work(20)

    # Then
    assert work == 23


def test_a_group_that_is_changed_again_and_again_does_not_hold_up_others() -> None:
    # Given
    log = GroupQueueLog()
    large, small = a_large_group(2 * MOST_RECORDS), replace(EMPTY, group_id=GroupId("small"))
    tickets = [log.store.submit(ImageWrite(large)), log.store.submit(ImageWrite(small))]

    # When
    for epoch in (2, 3):
        log.land(log.draft())
        large = a_large_group(2 * MOST_RECORDS, epoch=epoch)
        tickets.append(log.store.submit(ImageWrite(large)))

    # Then
    assert [ticket.is_done for ticket in tickets] == [False, True, False, False]
    while (append := log.draft()) is not None:
        log.land(append)
    assert [ticket.is_done for ticket in tickets] == [True] * 4
    assert log.replayed().durable_images() == {GROUP: large, small.group_id: small}


def test_a_removal_is_as_much_work_as_there_are_records_of_the_group() -> None:
    # Given
    log = GroupQueueLog()
    log.write(ImageWrite(a_large_group(200)))

    # When
    log.store.submit(GroupRemoval(GROUP))

    # Then
    assert log.store.waiting_work(1_000) == len(log.records)


def test_a_group_that_has_lost_its_members_is_as_much_work_as_what_is_durable_of_it() -> None:
    # Given
    log = GroupQueueLog()
    log.write(ImageWrite(a_large_group(200)))

    # When
    log.store.submit(ImageWrite(replace(EMPTY, group_epoch=GroupEpoch(2))))

    # Then
    assert log.store.waiting_work(1_000) == len(log.records) - 1


def test_a_group_of_which_a_record_cannot_be_behind_those_that_are_written_stays_a_group() -> None:
    # Given
    log = GroupQueueLog()
    log.write(ImageWrite(EMPTY))
    members = {**a_large_group(MOST_RECORDS).members, **a_group_of("a" * 1_000).members}
    refused = log.store.submit(
        ImageWrite(replace(EMPTY, group_epoch=GroupEpoch(2), members=members, initialized={}))
    )
    ticket = log.store.submit(ConfigWrite(GROUP, {"k": "v"}))

    # When
    while (append := log.draft(max_bytes=600)) is not None:
        log.land(append)

    # Then
    assert type(refused.refusal) is UnwritableStateRecord
    assert (ticket.is_done, ticket.refusal) == (True, None)
    image = log.store.durable_image(GROUP)
    assert image == log.replayed().durable_image(GROUP)
    assert image is not None
    assert image.group_epoch == 2
    assert 0 < len(image.members) < len(members)
    assert (log.store.waiting_count, log.draft()) == (0, None)


def test_an_append_of_groups_takes_so_many_records_at_most() -> None:
    # Given
    queue = GroupQueue()
    for number in range(MOST_RECORDS + 1):
        queue.submit(ConfigWrite(f"group-{number}", {"k": "v"}))

    # When
    append = queue.next_append(0, max_bytes=1_000_000, claim_epoch=0)

    # Then
    assert append is not None
    assert len(append.records) == MOST_RECORDS
    assert queue.waiting_count == MOST_RECORDS + 1


async def test_a_group_of_many_members_is_written_after_the_writers_who_came_before() -> None:
    # Given
    tasks = TaskKeeper()
    queue, appends, doubts = GroupQueue(), HeldAppends(), list[Doubt]()
    writer = held_writer(queue, appends, tasks, doubts)
    seen: list[int] = []

    async def other() -> None:
        await let_other_appends_go_on()
        seen.append(len(appends.under_way))

    for number in range(10):
        tasks.spawn(other(), name=f"another long append {number}")
    await asyncio.sleep(0)

    # When
    queue.submit(ImageWrite(a_large_group(50)))
    writer.wake()
    await until(lambda: bool(appends.under_way))
    await tasks.close()

    # Then
    assert seen == [0] * 10
    assert doubts == []


class RefusedGroups:
    """A group in an append that is refused, and many that wait for the next one."""

    def __init__(self, tasks: TaskKeeper) -> None:
        self.log = GroupQueueLog()
        self.appends = HeldAppends()
        self.doubts: list[Doubt] = []
        self.writer = held_writer(self.log.store, self.appends, tasks, self.doubts)
        self.tickets: list[Ticket] = []

    async def refused(self) -> None:
        """Let the append be under way, others wait, and its answer come."""
        self.tickets.append(self.submit(0))
        await until(lambda: bool(self.appends.under_way))
        self.tickets += [self.submit(number) for number in range(1, 20)]
        self.appends.under_way[0].outcome.set_result(AppendOutcome(ErrorCode.MESSAGE_TOO_LARGE))
        while not self.told_count:  # noqa: ASYNC110 - in the very turn in which the first are told
            await asyncio.sleep(0)

    def submit(self, number: int) -> Ticket:
        ticket = self.log.store.submit(ImageWrite(replace(EMPTY, group_id=GroupId(f"g{number}"))))
        self.writer.wake()
        return ticket

    @property
    def told_count(self) -> int:
        return sum(ticket.is_done for ticket in self.tickets)


async def test_many_groups_that_wait_for_an_append_that_is_refused_are_told_bit_by_bit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(group_queue, "MOST_REFUSED", 5)
    tasks = TaskKeeper()
    groups = RefusedGroups(tasks)
    await groups.refused()
    late = groups.submit(0)

    # When
    counts = [groups.told_count]
    while not late.is_done:
        if len(groups.appends.under_way) == 2:
            counts.append(groups.told_count)
            groups.appends.under_way.pop().outcome.set_result(AppendOutcome(ErrorCode.NONE, 1))
        counts.append(groups.told_count)
        await asyncio.sleep(0)

    # Then
    assert max(after - before for before, after in pairwise([0, *counts])) <= 3
    assert counts[-1] == len(groups.tickets)
    assert all(isinstance(ticket.refusal, StateNotWritten) for ticket in groups.tickets)
    assert (late.refusal, groups.doubts) == (None, [])
    await tasks.close()


async def test_a_writer_that_ends_while_groups_are_told_of_a_refusal_tells_nobody_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    monkeypatch.setattr(group_queue, "MOST_REFUSED", 5)
    tasks = TaskKeeper()
    groups = RefusedGroups(tasks)
    await groups.refused()
    told_count = groups.told_count

    # When
    groups.writer.end()
    await until_all_wait()
    left_count = groups.log.store.waiting_count
    groups.log.store.fail(StateLogUnavailable("the slot was lost"))

    # Then
    assert 0 < told_count == len(groups.tickets) - left_count < len(groups.tickets)
    assert groups.told_count == len(groups.tickets)
    await tasks.close()
