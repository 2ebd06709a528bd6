"""`AllBacklogs`: what lies before every share-partition of all groups, asked for sparingly and in a bounded time.

1. The end of each log is asked for once, however many groups consume it.
2. The first unfinished record is read where something lies before the group and its time is not known yet. A record
   keeps its time: one that a group is stuck at is read once a minute, because retention may have taken it.
3. No more than `MOST_READS` are read for one look: first where a group has not moved since the look before, then what
   was read a minute ago, then the others.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple

from kproxy.admin.progress_views import SharePartitionWindow
from kproxy.admin.turns import in_turns
from kproxy.handlers.backlog import Backlog, BacklogQuestion, Backlogs
from kproxy.handlers.ports import Clock
from kproxy.share.identifiers import TopicIdPartition
from kproxy.wire.record_times import RecordTime

LOOK_SECONDS: Final = 4.0
"""What a look takes at most; the command line waits for ten seconds."""
QUESTIONS_AT_ONCE: Final = 500
MOST_READS: Final = 1_000
"""Of 16 KiB each."""
REMEMBERED_MS: Final = 60_000


class _Spot(NamedTuple):
    """The first unfinished record of one or several groups."""

    place: TopicIdPartition
    offset: int


@dataclass(slots=True)
class _Seen:
    """What is known of a spot: the time of its record, None as long as it was not read, and when that was."""

    topic_name: str | None
    time: RecordTime | None = None
    reason: str = ""
    read_ms: int | None = None


class AllBacklogs:
    """Asks `backlogs`; remembers the spots of one look until the next. One look at a time."""

    def __init__(self, backlogs: Backlogs, clock: Clock, *, timeout_s: float = LOOK_SECONDS) -> None:
        self._backlogs = backlogs
        self._clock = clock
        self._timeout_s = timeout_s
        self._spots: dict[_Spot, _Seen] = {}

    async def look(self, windows: Sequence[SharePartitionWindow]) -> Sequence[Backlog]:
        """Return what lies before each window, in order, within `timeout_s`. Raises nothing."""
        ends: dict[TopicIdPartition, Backlog] = {}
        with suppress(TimeoutError):
            async with asyncio.timeout(self._timeout_s):
                await self._find_ends(windows, ends)
                await self._read(await self._unread(windows, ends))
        return [self._answer(window, ends) async for window in in_turns(windows)]

    async def _find_ends(
        self, windows: Sequence[SharePartitionWindow], ends: dict[TopicIdPartition, Backlog]
    ) -> None:
        questions: dict[TopicIdPartition, BacklogQuestion] = {}
        async for window in in_turns(windows):
            place = _place(window)
            if place not in questions or questions[place].topic_name is None:
                questions[place] = BacklogQuestion(place.topic_id, window.topic_name, place.partition, None)
        places = list(questions)
        for start in range(0, len(places), QUESTIONS_AT_ONCE):
            asked = places[start : start + QUESTIONS_AT_ONCE]
            answers = await self._backlogs.look([questions[place] for place in asked])
            ends.update(zip(asked, answers, strict=True))

    async def _unread(
        self, windows: Sequence[SharePartitionWindow], ends: Mapping[TopicIdPartition, Backlog]
    ) -> Sequence[_Spot]:
        """Take note of the spots that groups are at by now; return which to read, the most telling ones first."""
        before, self._spots = self._spots, {}
        still, again, new = list[_Spot](), list[_Spot](), list[_Spot]()
        now_ms = self._clock.now_ms()
        async for window in in_turns(windows):
            spot = _spot_before_end(window, ends)
            if spot is None or spot in self._spots:
                continue
            seen = self._spots[spot] = before.get(spot) or _Seen(window.topic_name)
            if seen.read_ms is None or seen.time is None:
                (still if spot in before else new).append(spot)
            elif now_ms - seen.read_ms >= REMEMBERED_MS:
                again.append(spot)
        return [*still, *again, *new][:MOST_READS]

    async def _read(self, spots: Sequence[_Spot]) -> None:
        """Read them, those of one topic-partition one after the other: no question names it twice."""
        while spots:
            asked: dict[TopicIdPartition, _Spot] = {}
            later: list[_Spot] = []
            for spot in spots:
                if spot.place in asked or len(asked) == QUESTIONS_AT_ONCE:
                    later.append(spot)
                else:
                    asked[spot.place] = spot
            await self._read_once(list(asked.values()))
            spots = later

    async def _read_once(self, spots: Sequence[_Spot]) -> None:
        answers = await self._backlogs.look([self._question(spot) for spot in spots])
        for spot, answer in zip(spots, answers, strict=True):
            seen = self._spots[spot]
            seen.time, seen.reason, seen.read_ms = answer.oldest, answer.reason, self._clock.now_ms()

    def _question(self, spot: _Spot) -> BacklogQuestion:
        topic_id, partition = spot.place
        return BacklogQuestion(topic_id, self._spots[spot].topic_name, partition, spot.offset)

    def _answer(self, window: SharePartitionWindow, ends: Mapping[TopicIdPartition, Backlog]) -> Backlog:
        end = ends.get(_place(window))
        if end is None:
            return Backlog(None, None, f"the brokers did not answer within {self._timeout_s:g} s")
        spot = _spot_before_end(window, ends)
        if spot is None:
            return end
        seen = self._spots.get(spot)
        if seen is None or seen.read_ms is None:
            return Backlog(end.log_end_offset, None, "its first unfinished record was not read yet")
        return Backlog(end.log_end_offset, seen.time, seen.reason)


def _place(window: SharePartitionWindow) -> TopicIdPartition:
    return TopicIdPartition(window.key.topic_id, window.key.partition)


def _spot_before_end(window: SharePartitionWindow, ends: Mapping[TopicIdPartition, Backlog]) -> _Spot | None:
    """Return where the group goes on; None when nothing lies before it, or that is not known."""
    place = _place(window)
    end = ends[place].log_end_offset if place in ends else None
    if window.start_offset is None or end is None or window.start_offset >= end:
        return None
    return _Spot(place, window.start_offset)
