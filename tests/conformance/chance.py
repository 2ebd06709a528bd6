"""What members of a share group do by chance: steps that hypothesis chooses, played alike at every target."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from kproxy.wire.messages.share_fetch_response import ShareFetchResponse
from tests.conformance.member import (
    ACCEPT,
    BRIEF,
    GAP,
    MANY,
    OPENING,
    REJECT,
    RELEASE,
    RENEW,
    Ack,
    Member,
    Topic,
    ack,
    partitions,
)
from tests.conformance.scenario import Play

MEMBERS: Final = 3
LARGEST_OFFSET: Final = 40
MOST_STEPS: Final = 20
BATCH_OPTIMIZED, RECORD_LIMIT = 0, 1
AT_ONCE: Final = replace(BRIEF, max_wait_ms=100)
"""For records that are there."""


@dataclass(frozen=True, slots=True)
class Produce:
    """Append a record batch."""

    records: int


@dataclass(frozen=True, slots=True)
class Fetch:
    """Fetch, with a session that is opened when there is none."""

    member: int
    max_records: int
    batch_size: int
    acquire_mode: int


@dataclass(frozen=True, slots=True)
class AcknowledgeHeld:
    """Acknowledge a part of what the member acquired last: offsets `skipped` from its ends."""

    member: int
    skipped: tuple[int, int]
    how: int
    rides_on_fetch: bool
    """Not with RELEASE: whether a fetch delivers at once what it releases is a matter of moments at a broker."""


@dataclass(frozen=True, slots=True)
class AcknowledgeAny:
    """Acknowledge any offsets, held or not."""

    member: int
    first: int
    last: int
    how: int


@dataclass(frozen=True, slots=True)
class OpenAgain:
    """Let the member's next fetch open its session anew.

    Not: end it. What that releases is released after it was answered, and a fetch may be earlier.
    """

    member: int


@dataclass(frozen=True, slots=True)
class Fail:
    """Fetch so often, and release all that was acquired but one entry, or but none: those that are held go on."""

    member: int
    fetches: int
    spared: int
    max_records: int


Step: TypeAlias = Produce | Fetch | AcknowledgeHeld | AcknowledgeAny | OpenAgain | Fail

members: Final = st.integers(0, MEMBERS - 1)
ways: Final = st.sampled_from([ACCEPT, RELEASE, RELEASE, RELEASE, REJECT, GAP, RENEW])
fetches: Final = st.builds(
    Fetch,
    members,
    st.sampled_from([1, 2, 3, 5, 8, 500]),
    st.sampled_from([1, 2, 4, 500]),
    st.sampled_from([BATCH_OPTIMIZED, BATCH_OPTIMIZED, RECORD_LIMIT]),
)
held: Final = st.builds(
    AcknowledgeHeld,
    members,
    st.sampled_from([(0, 0), (0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 3)]),
    ways,
    st.booleans(),
)
offsets: Final = st.integers(0, LARGEST_OFFSET)


def scripts() -> SearchStrategy[list[Step]]:
    """Steps, in order; there are records from the beginning."""
    step = st.one_of(
        st.builds(Produce, st.integers(1, 8)),
        fetches,
        fetches,
        held,
        held,
        st.builds(AcknowledgeAny, members, offsets, offsets, ways),
        st.builds(OpenAgain, members),
    )
    return st.lists(step, min_size=4, max_size=MOST_STEPS)


def failing_scripts() -> SearchStrategy[list[Step]]:
    """Rounds in which records fail again and again, up to the delivery count limit and beyond."""
    step = st.builds(
        Fail,
        members,
        st.integers(1, 4),
        st.sampled_from([-1, -1, -1, 0, 1, 2]),
        st.sampled_from([1, 2, 3, 500, 500, 500]),
    )
    return st.lists(
        st.one_of(step, step, step, st.builds(Produce, st.integers(1, 8))), min_size=4, max_size=14
    )


def play_script(steps: Sequence[Step], play: Play) -> None:
    """Play the steps at one target; each answer is noted."""
    _Script(play).run(steps)


class _Script:
    """The steps at one target."""

    def __init__(self, play: Play) -> None:
        self._play = play
        self._topic: Topic = play.topic()
        group = play.group(self._topic)
        self._members = [group.member() for _ in range(MEMBERS)]
        self._last_acquired: dict[int, tuple[int, int]] = {}
        play.produce_batches(self._topic, 5, 3)

    def run(self, steps: Sequence[Step]) -> None:
        """Play them; each answer is noted."""
        for step in steps:
            match step:
                case Produce():
                    self._play.produce_batches(self._topic, step.records)
                case Fetch():
                    self._fetch(step)
                case AcknowledgeHeld():
                    self._acknowledge_held(step)
                case AcknowledgeAny():
                    self._acknowledge(step.member, ack(step.first, step.last, step.how))
                case Fail():
                    self._fail(step)
                case OpenAgain():
                    self._members[step.member].epoch = OPENING

    def _fetch(self, step: Fetch, *acks: Ack) -> ShareFetchResponse:
        terms = replace(
            AT_ONCE,
            max_records=step.max_records,
            batch_size=step.batch_size,
            acquire_mode=step.acquire_mode,
        )
        member = self._members[step.member]
        answer = member.fetch(*acks, terms=terms)
        for partition in partitions(answer):
            for entry in partition.acquired_records:
                self._last_acquired[step.member] = (entry.first_offset, entry.last_offset)
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

    def _acknowledge_held(self, step: AcknowledgeHeld) -> None:
        if step.member not in self._last_acquired:
            return
        first, last = self._last_acquired[step.member]
        first, last = first + step.skipped[0], last - step.skipped[1]
        if first > last:
            return
        of_them = ack(first, last, step.how)
        if step.rides_on_fetch and step.how not in {RELEASE, RENEW}:
            self._fetch(Fetch(step.member, 500, 500, 0), of_them)
        else:
            self._acknowledge(step.member, of_them)

    def _acknowledge(self, number: int, *acks: Ack) -> None:
        member: Member = self._members[number]
        if member.epoch:
            member.acknowledge(*acks, is_renew=any(RENEW in each.types for each in acks))
