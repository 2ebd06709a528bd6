"""The history that the state log tells is the history that happened: of every record, who did what, and what ended it.

The share-partitions, the queue, the coordinator and the headers are the real ones. The oracle looks at each offset
before something happens, and notes what has to become of it by KIP-932. Writes are merged and become snapshots as they
come.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from kproxy.errors import InvalidRecordState
from kproxy.handlers.live.write_actors import (
    Client,
    acknowledged_by,
    holders_due,
    log_start_moved,
    operated_by,
    released_by,
    timed_out,
)
from kproxy.jobs.history.silver import silver_batches
from kproxy.jobs.sources.raw_records import batch_of
from kproxy.share.identifiers import MemberId, SharePartitionKey, StateEpoch, topic_id_text
from kproxy.share.limits import ShareLimits
from kproxy.share.operators.settlement import OperatorAction
from kproxy.share.record_state import TERMINAL_STATES, AcknowledgeType, RecordState
from kproxy.share.share_partition import SharePartition
from kproxy.share.share_partition_view import InFlightRangeView
from kproxy.statelog.operations import Initialize
from kproxy.wire.records import Record
from tests.models.test_what_verify_finds import BATCHES, BATCHES_WITH_HOLES, KEYS, Step, World, steps
from tests.worlds.share_builders import SaidBatch

LIMITS: Final = ShareLimits(delivery_count_limit=2)
EVENTS: Final = ("acknowledge", "lock-timeout", "session-close", "operator")
WHY: Final = "archive by root@/127.0.0.1: poison"

Event: TypeAlias = tuple[tuple[str, str, int], int, str, str | None, str | None, str | None]
"""Share-partition, offset, what happened, what it ended by, the member and its client."""


def client_of(member_id: MemberId) -> Client:
    return Client(f"client of {member_id}", "/10.0.0.7")


class ToldWorld(World):
    """Notes what happens, as it has to be told."""

    def __init__(self, extents: Sequence[tuple[int, int]]) -> None:
        self.told: list[Event] = []
        super().__init__(extents)

    def loaded(self, key: SharePartitionKey) -> SharePartition | None:
        share_partition = super().loaded(key)
        if share_partition is not None:
            share_partition.limits = LIMITS
        return share_partition

    def note(
        self, key: SharePartitionKey, offset: int, event: str, end: str | None, member: MemberId | None
    ) -> None:
        client = None if member is None else client_of(member).client_id
        self.told.append(
            (
                (key.group_id, topic_id_text(key.topic_id), key.partition),
                offset,
                event,
                end,
                member,
                client,
            )
        )

    def acknowledge(self, step: Step) -> None:
        share_partition = self.loaded(step.key)
        if share_partition is None:
            return
        held = [run for run in share_partition.view().ranges if run.member_id == step.member]
        for run in held[:1]:
            last = min(run.last_offset, run.first_offset + step.length)
            types = [(step.number + offset) % 4 for offset in range(run.first_offset, last + 1)]
            batch = SaidBatch(run.first_offset, last, types)
            delta = share_partition.acknowledge(step.member, [batch], now_ms=self.now_ms)
            for offset, number in zip(range(run.first_offset, last + 1), types, strict=True):
                event = AcknowledgeType(number).name.lower()
                end = end_of_return(run) if event == "release" else event
                self.note(step.key, offset, event, end, step.member)
            actors = acknowledged_by(step.member, client_of(step.member), [batch], delta)
            self.persist(step.key, delta, actors)

    def leave(self, step: Step) -> None:
        if (share_partition := self.loaded(step.key)) is None:
            return
        for run in share_partition.view().ranges:
            if run.member_id == step.member:
                for offset in offsets_of(run):
                    self.note(step.key, offset, "session-close", end_of_return(run), run.member_id)
        delta = share_partition.release(step.member)
        self.persist(step.key, delta, released_by(step.member, client_of(step.member), delta))

    def operate(self, step: Step) -> None:
        """An operator does something to records that somebody holds."""
        if (share_partition := self.loaded(step.key)) is None:
            return
        action = list(OperatorAction)[step.number % 3]
        for run in [run for run in share_partition.view().ranges if run.member_id is not None][:1]:
            last = min(run.last_offset, run.first_offset + step.length)
            is_release = action is OperatorAction.RELEASE
            settlement = share_partition.plan(action, [(run.first_offset, last)])
            for offset in range(run.first_offset, last + 1):
                end = end_of_return(run) if is_release else None
                self.note(step.key, offset, "operator", end, run.member_id)
            actors = operated_by(settlement, client_of, WHY, is_release=is_release)
            self.persist(step.key, share_partition.settle(settlement), actors)

    def end_session(self, step: Step) -> None:
        """An operator ends a share session."""
        if (share_partition := self.loaded(step.key)) is None:
            return
        for run in share_partition.view().ranges:
            if run.member_id == step.member:
                for offset in offsets_of(run):
                    self.note(step.key, offset, "operator", end_of_return(run), run.member_id)
        delta = share_partition.release(step.member)
        actors = released_by(step.member, client_of(step.member), delta, operator=WHY)
        self.persist(step.key, delta, actors)

    def expire(self, step: Step) -> None:
        if (share_partition := self.loaded(step.key)) is None:
            return
        self.now_ms += LIMITS.record_lock_duration_ms
        view = share_partition.view()
        for run in view.ranges:
            if run.lock_deadline_ms is not None and run.lock_deadline_ms <= self.now_ms:
                for offset in offsets_of(run):
                    self.note(step.key, offset, "lock-timeout", end_of_return(run), run.member_id)
        delta = share_partition.expire_locks(self.now_ms)
        actors = timed_out(holders_due(view, self.now_ms), delta, client_of)
        self.persist(step.key, delta, actors)

    def lose_beginning(self, step: Step) -> None:
        self.log_start += step.length
        if (share_partition := self.loaded(step.key)) is None:
            return
        before = share_partition.view()
        states = {offset: run.state for run in before.ranges for offset in offsets_of(run)}
        for offset in range(before.start_offset, self.log_start):
            if states.get(offset, RecordState.AVAILABLE) not in TERMINAL_STATES:
                self.note(step.key, offset, "log-start-moved", "log-start", None)
        delta = share_partition.move_start(self.log_start)
        self.persist(step.key, delta, log_start_moved(before, self.log_start))

    def take(self, step: Step) -> None:
        self.now_ms += 10
        with suppress(InvalidRecordState):  # a lock that ran out
            getattr(self, step.kind.replace(" ", "_"))(step)


def offsets_of(run: InFlightRangeView) -> range:
    return range(run.first_offset, run.last_offset + 1)


def end_of_return(run: InFlightRangeView) -> str | None:
    return "delivery-limit" if run.delivery_count >= LIMITS.delivery_count_limit else None


def told_by(records: Sequence[Record]) -> Iterator[Event]:
    """Yield what the rows that analyses are asked of tell of each offset."""
    for batch in silver_batches(iter([batch_of(0, records)]), images={}):
        for row in batch.to_pylist():
            is_lost = row["cause"] == "log-start-moved" and row["state"] is None
            if row["first_offset"] is not None and (row["cause"] in EVENTS or is_lost):
                yield from events_of(row)


def events_of(row: dict[str, Any]) -> Iterator[Event]:
    for offset in range(row["first_offset"], row["last_offset"] + 1):
        yield (
            (row["group"], row["topic_id"], row["partition"]),
            offset,
            row["acknowledge_type"] or row["cause"],
            row["ended_by"],
            row["member"],
            row["client_id"],
        )


HAPPENINGS: Final = ("write", "unload", "snapshot", "lose beginning", "operate", "end session")


@settings(max_examples=80)
@given(extents=st.sampled_from((BATCHES, BATCHES_WITH_HOLES)), taken=steps(HAPPENINGS))
def test_the_log_tells_of_each_record_who_did_what_and_what_ended_it(
    extents: Sequence[tuple[int, int]], taken: Sequence[Step]
) -> None:
    # Given
    world = ToldWorld(extents)
    for key in KEYS:
        world.commit.submit(Initialize(key, StateEpoch(0), 0))
    for step in taken:
        world.take(step)

    # When
    world.flush()

    # Then
    assert Counter(told_by([replace(record) for record in world.records])) == Counter(world.told)
