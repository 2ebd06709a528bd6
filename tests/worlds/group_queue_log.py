"""A `GroupQueue` and its log, whose appends succeed when the test says so."""

from dataclasses import replace
from typing import Final

from kproxy.share.identifiers import AssignmentEpoch, GroupEpoch
from kproxy.share.share_group_image import ShareGroupImage
from kproxy.share.share_group_member import ShareGroupMember
from kproxy.statelog.claims import Claim
from kproxy.statelog.group_queue import GroupOperation, GroupQueue
from kproxy.statelog.group_records import encode_group_record
from kproxy.statelog.tickets import Append, Ticket
from kproxy.wire.records import Record
from tests.in_memory.group_images import ALICE, GROUP

LARGE: Final = 1 << 20
EMPTY: Final = ShareGroupImage(GROUP, GroupEpoch(1), AssignmentEpoch(0), {}, {}, {}, {}, {})


def a_group_of(*topic_names: str) -> ShareGroupImage:
    """Return a group whose only member subscribed to these topics."""
    alice = ShareGroupMember(ALICE)
    alice.subscribed_topic_names = frozenset(topic_names)
    return replace(EMPTY, members={ALICE: alice.image()})


class GroupQueueLog:
    """A store and its log, whose appends succeed when the test says so."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.store = GroupQueue()
        self.claim_anew()
        self.store.replay(self.records[0])

    def claim_anew(self) -> None:
        self.append([encode_group_record(Claim("kproxy at host-1", 1), claim_epoch=None)])

    def append(self, records: list[Record]) -> None:
        for record in records:
            self.records.append(replace(record, offset=len(self.records)))

    def draft(self, max_bytes: int = LARGE) -> Append | None:
        return self.store.next_append(0, max_bytes=max_bytes, claim_epoch=self.store.claim_epoch)

    def land(self, append: Append | None) -> None:
        assert append is not None
        base_offset = len(self.records)
        self.append(list(append.records))
        self.store.succeeded(base_offset)

    def write(self, operation: GroupOperation, *, max_bytes: int = LARGE) -> Ticket:
        """Submit, and write until nothing waits."""
        ticket = self.store.submit(operation)
        while (append := self.draft(max_bytes)) is not None:
            self.land(append)
        return ticket

    def replayed(self) -> GroupQueue:
        store = GroupQueue()
        for record in self.records:
            store.replay(record)
        return store
