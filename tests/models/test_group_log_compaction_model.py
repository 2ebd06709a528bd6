"""Owners come and go, late records of former ones land behind newer claims, and the groups topic is compacted.

Compaction keeps the last record of each key, whoever wrote it. So a late record takes the place of the true one unless
an owner writes the truth again before the topic is compacted that far (`min.compaction.lag.ms`).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kproxy.share.identifiers import GroupId
from kproxy.statelog.claims import STATE_FORMAT_VERSION, Claim
from kproxy.statelog.group_queue import ConfigWrite, DisplacedRecords, GroupQueue
from kproxy.statelog.group_records import GroupConfigs, encode_group_record, encode_group_tombstone
from kproxy.wire.records import Record

GROUPS: Final = ["a", "b", "c"]
ROOM: Final = 1_000_000

group_ids = st.sampled_from(GROUPS)
values = st.dictionaries(st.just("share.auto.offset.reset"), st.sampled_from("xyz"), max_size=1)


class OwnersAndCompaction(RuleBasedStateMachine):
    """One partition of the groups topic. `truth` is what its rightful owners made durable."""

    @initialize()
    def first_owner(self) -> None:
        self.log: list[Record] = []
        self.end = 0
        self.claims: list[int] = []
        self.truth: dict[str, Mapping[str, str]] = {}
        self.late_from: int | None = None
        self._take_over()
        self._mend()

    # ------------------------------------------------ what happens

    @rule(group_id=group_ids, wanted=values)
    def owner_writes(self, group_id: str, wanted: Mapping[str, str]) -> None:
        """An append that lands where it was expected; otherwise the owner reads everything anew."""
        self.store.submit(ConfigWrite(group_id, wanted))
        if self._append_next(group_id, wanted) and self.late_from is not None:
            self._take_over()
            self._mend()

    @rule(owner=st.integers(0), group_id=group_ids, wanted=values)
    @precondition(lambda self: len(self.claims) > 1)
    def late_record_lands(self, owner: int, group_id: str, wanted: Mapping[str, str]) -> None:
        """Nobody fences it: its producer's epoch was forgotten."""
        former = self.claims[owner % (len(self.claims) - 1)]
        record = encode_group_record(GroupConfigs(GroupId(group_id), wanted), claim_epoch=former)
        if not wanted:
            record = encode_group_tombstone(record.key or b"", claim_epoch=former)
        if self.late_from is None:
            self.late_from = self.end
        self._land(record)

    @rule(is_killed=st.booleans())
    def another_owner_takes_over(self, *, is_killed: bool) -> None:
        """It may be killed when it has read everything, and written nothing yet."""
        self._take_over()
        if not is_killed:
            self._mend()

    @rule(share=st.floats(0, 1), drops_tombstones=st.booleans())
    def topic_is_compacted(self, *, share: float, drops_tombstones: bool) -> None:
        """Up to some offset, but no late record that nobody has answered yet."""
        compacted_up_to = round(share * (self.end if self.late_from is None else self.late_from))
        last = {record.key: record.offset for record in self.log if record.offset < compacted_up_to}
        self.log = [
            record
            for record in self.log
            if record.offset >= compacted_up_to
            or (record.offset == last[record.key] and not (drops_tombstones and record.value is None))
        ]

    @invariant()
    def whoever_reads_the_log_finds_the_truth(self) -> None:
        assert self._read().configs() == {group_id: held for group_id, held in self.truth.items() if held}

    # ------------------------------------------------ how

    def _land(self, record: Record) -> None:
        self.log.append(replace(record, offset=self.end))
        self.end += 1

    def _read(self) -> GroupQueue:
        store = GroupQueue()
        for record in self.log:
            store.replay(record)
        return store

    def _take_over(self) -> None:
        self.claims.append(self.end)
        self._land(encode_group_record(Claim("someone", STATE_FORMAT_VERSION), claim_epoch=None))
        self.store = self._read()

    def _mend(self) -> None:
        if self.store.displaced_count:
            self.store.submit(DisplacedRecords())
            assert self._append()
            self.store.succeeded(self.end - len(self._appended))
        self.late_from = None

    def _append_next(self, group_id: str, wanted: Mapping[str, str]) -> bool:
        """Tell whether something was appended."""
        if not self._append():
            return False
        self.truth[group_id] = wanted
        if self.late_from is None:
            self.store.succeeded(self.end - len(self._appended))
        return True

    def _append(self) -> bool:
        append = self.store.next_append(0, max_bytes=ROOM, claim_epoch=self.claims[-1])
        self._appended = () if append is None else append.records
        for record in self._appended:
            self._land(record)
        return append is not None


OwnersAndCompaction.TestCase.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)
TestOwnersAndCompaction = OwnersAndCompaction.TestCase
