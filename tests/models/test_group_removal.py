"""A share group that is removed from the groups topic: all its records but its configurations, the first one last."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kproxy.share.identifiers import AssignmentEpoch, GroupEpoch
from kproxy.share.share_group_image import ShareGroupImage
from kproxy.statelog.claims import Claim
from kproxy.statelog.group_queue import ConfigWrite, GroupOperation, GroupQueue, GroupRemoval, ImageWrite
from kproxy.statelog.group_records import encode_group_record
from kproxy.wire.records import Record
from tests.in_memory.group_images import GROUP, images

LARGE = 1 << 20
LARGEST_RECORD_BYTES = 500
"""What no record of a made-up group exceeds."""
OTHER = ShareGroupImage(GROUP, GroupEpoch(9), AssignmentEpoch(9), {}, {}, {}, {}, {})


class Log:
    """A queue, and what it has appended."""

    def __init__(self) -> None:
        claim = encode_group_record(Claim("kproxy at host-1", 1), claim_epoch=None)
        self.records: list[Record] = [replace(claim, offset=0)]
        self.queue = GroupQueue()
        self.queue.replay(self.records[0])

    def append(self, *, max_bytes: int = LARGE) -> bool:
        """Append what waits, as far as there is room; whether there was anything."""
        append = self.queue.next_append(0, max_bytes=max_bytes, claim_epoch=self.queue.claim_epoch)
        if append is None:
            return False
        base_offset = len(self.records)
        self.records += [
            replace(record, offset=offset) for offset, record in enumerate(append.records, base_offset)
        ]
        self.queue.succeeded(base_offset)
        return True

    def write(self, operation: GroupOperation) -> None:
        self.queue.submit(operation)
        self.append()

    def replayed(self) -> GroupQueue:
        queue = GroupQueue()
        for record in self.records:
            queue.replay(record)
        return queue


@given(images())
def test_nothing_is_left_of_a_group_but_what_it_has_configured(image: ShareGroupImage) -> None:
    log = Log()
    log.write(ImageWrite(image))
    log.write(ConfigWrite(GROUP, {"share.auto.offset.reset": "earliest"}))

    log.write(GroupRemoval(GROUP))

    assert log.replayed().durable_images() == {}
    assert log.replayed().configs() == {GROUP: {"share.auto.offset.reset": "earliest"}}


@given(image=images(), appends=st.integers(0, 20))
def test_a_removal_that_is_cut_short_leaves_a_group_that_is_still_being_deleted(
    image: ShareGroupImage, appends: int
) -> None:
    log = Log()
    log.write(ImageWrite(replace(image, is_being_deleted=True)))
    log.queue.submit(GroupRemoval(GROUP))
    for _ in range(appends):
        log.append(max_bytes=LARGEST_RECORD_BYTES)

    left = log.replayed().durable_images().get(GROUP)

    assert left is None or left.is_being_deleted


def test_removing_what_is_not_there_writes_nothing() -> None:
    log = Log()

    ticket = log.queue.submit(GroupRemoval(GROUP))

    assert not log.append()
    assert ticket.is_done


def test_of_a_removal_and_a_new_group_that_wait_the_later_counts() -> None:
    log = Log()
    log.write(ImageWrite(replace(OTHER, group_epoch=GroupEpoch(3), is_being_deleted=True)))
    log.queue.submit(GroupRemoval(GROUP))

    log.write(ImageWrite(OTHER))

    assert log.replayed().durable_images() == {GROUP: OTHER}
