"""KIP-932's worked example of state changes, step by step: live state, durable state and log records.

The records are compared with what the share coordinator of a real Kafka 4.3.1 wrote when real members took the same
steps (`tests/unit/statelog/data/kip_worked_example.json`, made by `tests.real_kafka.worked_example`): byte for byte,
keys and values, as both have the same topic id, leader epoch 0 and creation time here.

Where the wiki's drafts say otherwise than Kafka 4.3.1, and so than kproxy:

| step                 | the drafts                      | Kafka 4.3.1                                       |
|----------------------|---------------------------------|---------------------------------------------------|
| every write          | start offset -1, or the new one | the start offset from before the prefix is passed |
| every write          | no count                        | records done with from that offset on             |
| Acknowledge 100-109  | start offset 110, no batches    | batch 100-109, which a load passes                |
| Acknowledge 119      | 111-118 too, Available, count 0 | 119, which is what changed                        |
| Acknowledge 111, 112 | start offset 120, no batches    | start offset 111, batch 111-112                   |

Where kproxy writes otherwise than Kafka 4.3.1: locks that end at the same moment are one record here and one each
there (111, then 112).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from kproxy.share.identifiers import LeaderEpoch, MemberId
from kproxy.share.limits import ShareLimits
from kproxy.share.record_state import AcknowledgeType
from kproxy.share.share_partition import SharePartition
from kproxy.share.state_batches import NO_CHANGE, StateDelta
from kproxy.statelog.actors import Actor, Cause
from kproxy.statelog.operations import Initialize, Operation, Write
from kproxy.statelog.share_coordinator import CoordinatorLimits, ShareCoordinator
from kproxy.statelog.state_log_fold import StateLogFold
from kproxy.statelog.state_queue import StateQueue
from kproxy.statelog.state_records import ShareSnapshot, decode_state_record
from kproxy.wire.records import Record
from tests.worlds.share_builders import SaidBatch

GOLDEN: Final = json.loads(
    (Path(__file__).parents[1] / "unit" / "statelog" / "data" / "kip_worked_example.json").read_text("utf-8")
)
GOLDEN_RECORDS: Final = {
    step["step"]: [
        Record(
            bytes.fromhex(record["key"]),
            bytes.fromhex(record["value"]),
            timestamp_ms=record["timestamp_ms"],
            offset=record["offset"],
        )
        for record in step["records"]
    ]
    for step in GOLDEN["steps"]
}
ONE, TWO, THREE = MemberId("consumer-1"), MemberId("consumer-2"), MemberId("consumer-3")
LOCK_MS: Final = 1000

Runs = list[tuple[int, int, str, int]]


@dataclass(frozen=True)
class Fetch:
    """Members acquire, in turn, from record batches of these extents."""

    members: Sequence[tuple[MemberId, int, int]]
    at_ms: int


@dataclass(frozen=True)
class Say:
    member: MemberId
    first_offset: int
    last_offset: int
    kind: AcknowledgeType


@dataclass(frozen=True)
class LockTimeout:
    at_ms: int


@dataclass(frozen=True)
class Step:
    """One line of the KIP's table. `live` is its cumulative state, `durable` the start offset and runs of the log."""

    name: str
    does: Fetch | Say | LockTimeout
    live: tuple[int, int, Runs]
    durable: tuple[int, int, Runs]


ACCEPT, RELEASE = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE
AVAILABLE, ACQUIRED, ACKNOWLEDGED = "AVAILABLE", "ACQUIRED", "ACKNOWLEDGED"

STEPS: Final = [
    Step(
        "Fetch records 100-109",
        Fetch([(ONE, 100, 109)], at_ms=0),
        live=(100, 110, [(100, 109, ACQUIRED, 1)]),
        durable=(-1, -1, []),
    ),
    Step(
        "Acknowledge 100-109",
        Say(ONE, 100, 109, ACCEPT),
        live=(110, 110, []),
        durable=(100, 10, [(100, 109, ACKNOWLEDGED, 1)]),
    ),
    Step(
        "Fetch records 110-119",
        Fetch([(ONE, 110, 112), (TWO, 113, 118), (THREE, 119, 119)], at_ms=0),
        live=(110, 120, [(110, 119, ACQUIRED, 1)]),
        durable=(100, 10, [(100, 109, ACKNOWLEDGED, 1)]),
    ),
    Step(
        "Release 110",
        Say(ONE, 110, 110, RELEASE),
        live=(110, 120, [(110, 110, AVAILABLE, 1), (111, 119, ACQUIRED, 1)]),
        durable=(110, 0, [(110, 110, AVAILABLE, 1)]),
    ),
    Step(
        "Acknowledge 119",
        Say(THREE, 119, 119, ACCEPT),
        live=(
            110,
            120,
            [(110, 110, AVAILABLE, 1), (111, 118, ACQUIRED, 1), (119, 119, ACKNOWLEDGED, 1)],
        ),
        durable=(110, 1, [(110, 110, AVAILABLE, 1), (119, 119, ACKNOWLEDGED, 1)]),
    ),
    Step(
        "Fetch records 110, 120",
        Fetch([(ONE, 110, 110), (ONE, 120, 120)], at_ms=500),
        live=(
            110,
            121,
            [
                (110, 110, ACQUIRED, 2),
                (111, 118, ACQUIRED, 1),
                (119, 119, ACKNOWLEDGED, 1),
                (120, 120, ACQUIRED, 1),
            ],
        ),
        durable=(110, 1, [(110, 110, AVAILABLE, 1), (119, 119, ACKNOWLEDGED, 1)]),
    ),
    Step(
        "Lock timeout elapsed 111, 112",
        LockTimeout(at_ms=LOCK_MS),
        live=(
            110,
            121,
            [
                (110, 110, ACQUIRED, 2),
                (111, 112, AVAILABLE, 1),
                (113, 118, ACQUIRED, 1),
                (119, 119, ACKNOWLEDGED, 1),
                (120, 120, ACQUIRED, 1),
            ],
        ),
        durable=(110, 1, [(110, 112, AVAILABLE, 1), (119, 119, ACKNOWLEDGED, 1)]),
    ),
    Step(
        "Acknowledge 113-118",
        Say(TWO, 113, 118, ACCEPT),
        live=(
            110,
            121,
            [
                (110, 110, ACQUIRED, 2),
                (111, 112, AVAILABLE, 1),
                (113, 119, ACKNOWLEDGED, 1),
                (120, 120, ACQUIRED, 1),
            ],
        ),
        durable=(110, 7, [(110, 112, AVAILABLE, 1), (113, 119, ACKNOWLEDGED, 1)]),
    ),
    Step(
        "Fetch records 111, 112",
        Fetch([(THREE, 111, 112)], at_ms=LOCK_MS),
        live=(
            110,
            121,
            [(110, 112, ACQUIRED, 2), (113, 119, ACKNOWLEDGED, 1), (120, 120, ACQUIRED, 1)],
        ),
        durable=(110, 7, [(110, 112, AVAILABLE, 1), (113, 119, ACKNOWLEDGED, 1)]),
    ),
    Step(
        "Acknowledge 110",
        Say(ONE, 110, 110, ACCEPT),
        live=(
            111,
            121,
            [(111, 112, ACQUIRED, 2), (113, 119, ACKNOWLEDGED, 1), (120, 120, ACQUIRED, 1)],
        ),
        durable=(
            110,
            8,
            [(110, 110, ACKNOWLEDGED, 2), (111, 112, AVAILABLE, 1), (113, 119, ACKNOWLEDGED, 1)],
        ),
    ),
    Step(
        "Acknowledge 111, 112",
        Say(THREE, 111, 112, ACCEPT),
        live=(120, 121, [(120, 120, ACQUIRED, 1)]),
        durable=(111, 9, [(111, 112, ACKNOWLEDGED, 2), (113, 119, ACKNOWLEDGED, 1)]),
    ),
]


class Example:
    """A share-partition, and the state log that it writes."""

    def __init__(self) -> None:
        (begin,) = GOLDEN_RECORDS["Start at the latest offset 100"]
        snapshot = decode_state_record(begin).record
        assert isinstance(snapshot, ShareSnapshot)
        self.key = snapshot.key
        self.fold = StateLogFold()
        self.commit = StateQueue(ShareCoordinator(self.fold, CoordinatorLimits()))
        self.state_epoch = snapshot.state_epoch
        self.first_record = self.written(
            Initialize(self.key, snapshot.state_epoch, -1), now_ms=snapshot.create_timestamp_ms
        )
        self.live = SharePartition(
            self.key,
            start_offset=100,
            state_batches=(),
            limits=ShareLimits(record_lock_duration_ms=LOCK_MS),
        )

    def written(self, operation: Operation, *, now_ms: int = 0) -> list[Record]:
        """Let `operation` become durable, in a log without claims as Kafka has it; return its records."""
        self.commit.submit(operation)
        append = self.commit.next_append(now_ms, max_bytes=2**20, claim_epoch=-1)
        assert append is not None
        self.commit.succeeded(self.fold.applied_offset + 1)
        return list(append.records)

    def take(self, step: Step) -> list[Record]:
        delta = self._delta(step.does)
        if delta.is_empty:
            return []
        write = Write(self.key, self.state_epoch, LeaderEpoch(0), delta, (Actor(Cause.ACKNOWLEDGE),))
        return self.written(write)

    def _delta(self, does: Fetch | Say | LockTimeout) -> StateDelta:
        match does:
            case LockTimeout(at_ms):
                return self.live.expire_locks(at_ms)
            case Say(member, first_offset, last_offset, kind):
                batch = SaidBatch(first_offset, last_offset, (kind,))
                return self.live.acknowledge(member, [batch], now_ms=0)
            case Fetch(members, at_ms):
                for member, first_offset, last_offset in members:
                    self._fetch(member, first_offset, last_offset, self._lock_start(member, at_ms))
                return NO_CHANGE

    @staticmethod
    def _lock_start(member: MemberId, at_ms: int) -> int:
        """Only the locks of consumer 1's first fetch end in the example."""
        return at_ms if member == ONE else max(at_ms, 500)

    def _fetch(self, member: MemberId, first_offset: int, last_offset: int, now_ms: int) -> None:
        acquired = self.live.acquire(
            member,
            [(first_offset, last_offset)],
            fetch_offset=self.live.next_fetch_offset(),
            max_records=500,
            batch_size=500,
            is_record_limit=False,
            now_ms=now_ms,
        )
        assert acquired

    def live_state(self) -> tuple[int, int, Runs]:
        """Return start offset, end offset as the KIP counts it (exclusive) and the runs."""
        view = self.live.view()
        runs: Runs = []
        for run in view.ranges:
            last = runs[-1] if runs else None
            if last is not None and last[2:] == (run.state.name, run.delivery_count):
                runs[-1] = (last[0], run.last_offset, *last[2:])
            else:
                runs.append((run.first_offset, run.last_offset, run.state.name, run.delivery_count))
        return view.start_offset, view.last_offset + bool(runs), runs

    def durable_state(self) -> tuple[int, int, Runs]:
        state = self.fold.states[self.key]
        runs = [
            (batch.first_offset, batch.last_offset, batch.state.name, batch.delivery_count)
            for batch in state.state_batches
        ]
        return state.start_offset, state.delivery_complete_count, runs


def after(number: int) -> tuple[Example, list[Record]]:
    """Take the steps up to and including this one; return what it wrote."""
    example = Example()
    records: list[Record] = []
    for step in STEPS[: number + 1]:
        records = example.take(step)
    return example, records


each_step = pytest.mark.parametrize("number", range(len(STEPS)), ids=[step.name for step in STEPS])


def test_the_example_has_the_steps_that_the_real_broker_took() -> None:
    assert ["Start at the latest offset 100", *(step.name for step in STEPS)] == list(GOLDEN_RECORDS)


@each_step
def test_the_live_state_is_the_cumulative_state_of_the_kip(number: int) -> None:
    example, _ = after(number)

    assert example.live_state() == STEPS[number].live


@each_step
def test_the_durable_state_is_its_projection(number: int) -> None:
    example, _ = after(number)

    assert example.durable_state() == STEPS[number].durable


@each_step
def test_a_load_after_any_step_knows_what_was_acknowledged_and_counted(number: int) -> None:
    """Nothing is acquired any more, and the finished prefix counts into the start offset."""
    # Given
    example, _ = after(number)
    state = example.fold.states[example.key]

    # When
    loaded = SharePartition(
        example.key,
        start_offset=100 if state.start_offset == -1 else state.start_offset,
        state_batches=state.state_batches,
        limits=ShareLimits(),
    )

    # Then
    assert loaded.start_offset == example.live.start_offset
    assert loaded.view().delivery_complete_count == example.live.view().delivery_complete_count


def test_the_first_record_is_kafkas_byte_for_byte() -> None:
    (expected,) = GOLDEN_RECORDS["Start at the latest offset 100"]

    (record,) = Example().first_record

    assert (record.key, record.value) == (expected.key, expected.value)


@pytest.mark.parametrize(
    "number",
    [number for number, step in enumerate(STEPS) if not isinstance(step.does, LockTimeout)],
    ids=[step.name for step in STEPS if not isinstance(step.does, LockTimeout)],
)
def test_the_record_of_each_step_is_kafkas_byte_for_byte(number: int) -> None:
    _, records = after(number)

    expected = [(record.key, record.value) for record in GOLDEN_RECORDS[STEPS[number].name]]
    assert [(record.key, record.value) for record in records] == expected


def test_locks_that_end_together_say_in_one_record_what_kafka_says_in_two() -> None:
    # Given
    (number,) = (number for number, step in enumerate(STEPS) if isinstance(step.does, LockTimeout))
    example, _ = after(number - 1)
    expected = StateLogFold()
    for name in [step["step"] for step in GOLDEN["steps"][: number + 2]]:
        for record in GOLDEN_RECORDS[name]:
            expected.apply(record)

    # When
    records = example.take(STEPS[number])

    # Then
    assert len(records) == 1
    assert dict(example.fold.states) == dict(expected.states)
