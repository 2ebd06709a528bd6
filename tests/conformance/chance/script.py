"""The steps of a script, done at one target."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse
from tests.conformance import preparation
from tests.conformance.chance.administration import GroupUnderAdministration
from tests.conformance.chance.steps import (
    AcknowledgeAny,
    AcknowledgeEach,
    AcknowledgeHeld,
    Configure,
    End,
    Fail,
    Fetch,
    Join,
    Leave,
    LoseLocks,
    OpenAgain,
    Produce,
    Step,
    Unload,
    Write,
)
from tests.conformance.chance.strategies import BATCH_OPTIMIZED
from tests.conformance.member import BRIEF, MANY, OPENING, RELEASE, RENEW, RENEWING, Ack, ack, partitions
from tests.conformance.raw_producer import RawProducer
from tests.conformance.scenario import LOCK_MS, Play, TooSlow

AT_ONCE: Final = replace(BRIEF, max_wait_ms=100)
"""For records that are there."""
LOCK_DURATION: Final = "share.record.lock.duration.ms"
RECORD_LOCKS: Final = "share.partition.max.record.locks"
SHORT_LOCK_MS: Final = 3_000
QUICK_SECONDS: Final = 2.4
"""What is done under short locks is done within this, or it is not certain which of them had ended."""
SHORT_LOCK_SECONDS: Final = 4.0
"""After this long a short lock has ended, and what became of the record is written."""


def play_script(steps: Sequence[Step], play: Play) -> None:
    """Play the steps at one target; each answer is noted."""
    _Script(play).run(steps)


class _Script:
    """The steps at one target."""

    def __init__(self, play: Play) -> None:
        self._play = play
        self._topic = play.topic()
        self._group = GroupUnderAdministration(play, self._topic)
        self._last_acquired: dict[int, tuple[int, int]] = {}
        self._producers: dict[int, RawProducer] = {}
        self._highest_acquired = -1
        self._locks_are_few = False
        play.produce_batches(self._topic, 5, 3)

    def run(self, steps: Sequence[Step]) -> None:
        """Play them; each answer is noted."""
        for step in steps:
            self._do(step)

    def _do(self, step: Step) -> None:
        match step:
            case Produce() | Write() | End():
                self._write(step)
            case Fetch() | Fail() | LoseLocks():
                self._acquire(step)
            case AcknowledgeHeld() | AcknowledgeEach() | AcknowledgeAny():
                self._acknowledge_some(step)
            case Join() | Leave() | Unload() | OpenAgain():
                self._move(step)
            case Configure():
                self._configure(step)
            case _:
                self._group.ask(step)

    # ---- the topic

    def _write(self, step: Produce | Write | End) -> None:
        match step:
            case Produce():
                self._play.produce_batches(self._topic, step.records)
            case Write():
                self._producer(step.producer).write([f"t{number}" for number in range(step.records)])
            case End():
                self._producer(step.producer).end(is_committed=step.is_committed)

    def _producer(self, number: int) -> RawProducer:
        if number not in self._producers:
            name = self._play.new_name("producer")
            self._producers[number] = RawProducer(self._play.connection(), name, self._topic)
        return self._producers[number]

    # ---- records

    def _acquire(self, step: Fetch | Fail | LoseLocks) -> None:
        match step:
            case Fetch():
                self._fetch(step)
            case Fail():
                self._fail(step)
            case LoseLocks():
                self._lose_locks(step)

    def _fetch(self, step: Fetch, *acks: Ack) -> ShareFetchResponse:
        terms = replace(
            AT_ONCE,
            max_records=step.max_records,
            batch_size=step.batch_size,
            acquire_mode=step.acquire_mode,
        )
        answer = self._group.fetch(step.member, *acks, terms=terms)
        for partition in partitions(answer):
            for entry in partition.acquired_records:
                self._last_acquired[step.member] = (entry.first_offset, entry.last_offset)
                self._highest_acquired = max(self._highest_acquired, entry.last_offset)
        return answer

    def _fail(self, step: Fail) -> None:
        acquired: list[tuple[int, int]] = []
        for _ in range(step.fetches):
            self._last_acquired.pop(step.member, None)
            answer = self._fetch(Fetch(step.member, step.max_records, MANY, BATCH_OPTIMIZED))
            entries = [entry for partition in partitions(answer) for entry in partition.acquired_records]
            acquired += [(entry.first_offset, entry.last_offset) for entry in entries]
        released = [place for number, place in enumerate(sorted(acquired)) if number != step.spared]
        if released:
            self._acknowledge(step.member, *(ack(first, last, RELEASE) for first, last in released))

    def _acknowledge_some(self, step: AcknowledgeHeld | AcknowledgeEach | AcknowledgeAny) -> None:
        if isinstance(step, AcknowledgeHeld | AcknowledgeEach):
            self._acknowledge_held(step)
        elif not self._reaches_over_the_end(step):
            self._acknowledge(step.member, ack(step.first, step.last, step.how))

    def _reaches_over_the_end(self, step: AcknowledgeAny) -> bool:
        """Over a range about the start offset 4.3.1 fails, with UNKNOWN_SERVER_ERROR, when nothing is in flight.

        Every range that may be one is left out: from what was acquired, or is below the end of the log,
        to what was not. Case 46 has them where something is in flight.
        """
        end_offset = preparation.end_offset(self._play.helper, self._topic)
        return step.first < end_offset and step.last > self._highest_acquired

    def _acknowledge_held(self, step: AcknowledgeHeld | AcknowledgeEach) -> None:
        if step.member not in self._last_acquired:
            return
        first, last = self._last_acquired[step.member]
        if isinstance(step, AcknowledgeHeld):
            first, last = first + step.skipped[0], last - step.skipped[1]
            types: tuple[int, ...] = (step.how,)
        else:
            types = tuple(step.ways[number % len(step.ways)] for number in range(last - first + 1))
        if first > last:
            return
        if step.rides_on_fetch:
            self._acknowledge_with_fetch(step.member, ack(first, last, *types))
        else:
            self._acknowledge(step.member, ack(first, last, *types))

    def _acknowledge_with_fetch(self, member: int, of_them: Ack) -> None:
        """Not where moments decide what the fetch gets: it may be earlier than what it releases or finishes."""
        if RENEW in of_them.types and self._group.has_session(member):
            self._group.fetch(member, of_them, terms=RENEWING)
        elif RELEASE in of_them.types or RENEW in of_them.types or self._locks_are_few:
            self._acknowledge(member, of_them)
        else:
            self._fetch(Fetch(member, MANY, MANY, BATCH_OPTIMIZED), of_them)

    def _acknowledge(self, number: int, *acks: Ack) -> None:
        if self._group.has_session(number):
            is_renew = any(RENEW in each.types for each in acks)
            self._group.members[number].acknowledge(*acks, is_renew=is_renew)

    def _lose_locks(self, step: LoseLocks) -> None:
        self._group.return_if_gone()
        self._group.set(LOCK_DURATION, str(SHORT_LOCK_MS))
        began = time.monotonic()
        for fetch in step.fetches:
            self._fetch(fetch)
        last = step.fetches[-1].member
        if step.renewed and last in self._last_acquired:
            if step.renews_for_long:
                self._group.set(LOCK_DURATION, str(LOCK_MS))
            first_offset, last_offset = self._last_acquired[last]
            self._acknowledge(
                last, ack(first_offset, min(last_offset, first_offset + step.renewed - 1), RENEW)
            )
        if time.monotonic() - began > QUICK_SECONDS:
            raise TooSlow(f"{time.monotonic() - began:.1f} s")
        time.sleep(SHORT_LOCK_SECONDS)
        self._group.set(LOCK_DURATION, str(LOCK_MS))

    # ---- the group

    def _configure(self, step: Configure) -> None:
        if self._group.configure(step.key, step.value) == ErrorCode.NONE and step.key == RECORD_LOCKS:
            self._locks_are_few = True

    def _move(self, step: Join | Leave | Unload | OpenAgain) -> None:
        match step:
            case OpenAgain():
                self._group.members[step.member].epoch = OPENING
            case Join():
                self._group.join(step.member)
            case Leave():
                self._group.leave(step.member)
            case Unload():
                self._group.unload()
                self._last_acquired.clear()
