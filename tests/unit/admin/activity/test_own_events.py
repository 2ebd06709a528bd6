"""Another process that asks for the events of this one misses none of them, or is told that it did."""

import asyncio

import pytest

from kproxy.admin.activity.happenings import CountsPicture, GroupPicture, Picture
from kproxy.admin.activity.own_events import (
    LOOKS_WITHOUT_QUESTIONS,
    Audience,
    EventsSince,
    OwnEvents,
    events_of,
    path_after,
)
from kproxy.admin.json_chunks import CHUNK_LENGTH
from kproxy.net.background import BackgroundTasks
from kproxy.net.tasks import TaskKeeper
from tests.worlds.waiting import until


class OneGroup:
    """A process with one group, of which at each look as many records have been delivered as the test says."""

    def __init__(self, *, name: str = "workers", most_kept_bytes: int = 1 << 20) -> None:
        self.delivered = 0
        self.looks = 0
        self._name = name
        self.tasks = TaskKeeper()
        self.events = OwnEvents(
            self._picture,
            background=BackgroundTasks(self.tasks),
            process=lambda: "kproxy-a",
            interval_s=0.001,
            most_kept_bytes=most_kept_bytes,
        )

    async def _picture(self) -> Picture:
        self.looks += 1
        return Picture(
            {self._name: GroupPicture("Stable", 1, 1)},
            {self._name: CountsPicture(self.delivered, 0, 0)},
            {},
        )

    async def deliver(self, count: int) -> None:
        """Return when that has been looked at, and told."""
        self.delivered += count
        seen = self.looks
        await until(lambda: self.looks >= seen + 3)


def deliveries(told: EventsSince) -> list[str]:
    return [
        line.split('"delivered": ')[1].split(",")[0]
        for line in told.chunk.decode().splitlines()
        if "delivered" in line
    ]


async def test_who_asks_again_is_told_what_came_since_in_its_order() -> None:
    # Given
    process = OneGroup()
    first = await process.events.since("")
    await process.deliver(1)
    await process.deliver(2)

    # When
    second = await process.events.since(first.cursor)
    third = await process.events.since(second.cursor)

    # Then
    assert [deliveries(told) for told in (first, second, third)] == [[], ["1", "2"], []]
    assert not any(told.has_missed for told in (first, second, third))
    assert second.chunk.startswith(b'event: records\ndata: {"process": "kproxy-a", "groupId": "workers"')
    await process.tasks.close()


@pytest.mark.parametrize(
    "cursor", ["another process.0", "nonsense", "{journal}.99", "{journal}.-1", "{journal}.x"]
)
async def test_a_place_that_is_not_known_is_one_behind_which_events_are_missed(cursor: str) -> None:
    # Given
    process = OneGroup()
    journal = (await process.events.since("")).cursor.partition(".")[0]
    await process.deliver(1)

    # When
    told = await process.events.since(cursor.format(journal=journal))

    # Then
    assert (told.has_missed, told.chunk, told.cursor) == (True, b"", f"{journal}.1")
    await process.tasks.close()


async def test_no_more_is_kept_than_may_be() -> None:
    # Given
    process = OneGroup(name="g" * 1_000, most_kept_bytes=1_500)
    before = await process.events.since("")
    await process.deliver(1)
    between = await process.events.since(before.cursor)
    await process.deliver(2)

    # When
    of_both, of_the_last = (
        await process.events.since(before.cursor),
        await process.events.since(between.cursor),
    )

    # Then
    assert (of_both.has_missed, of_both.chunk) == (True, b"")
    assert (of_the_last.has_missed, deliveries(of_the_last)) == (False, ["2"])
    await process.tasks.close()


async def test_nobody_looks_any_more_when_nobody_has_asked_for_a_while() -> None:
    # Given
    process = OneGroup()
    first = await process.events.since("")

    # When
    await until(lambda: len(process.tasks) == 0)
    again = await process.events.since(first.cursor)

    # Then
    assert process.looks >= LOOKS_WITHOUT_QUESTIONS
    assert again.has_missed
    await process.tasks.close()


async def test_who_listens_here_and_who_asks_are_told_the_same() -> None:
    # Given
    process, heard = OneGroup(), list[bytes]()
    await process.events.begin(Audience(lambda: True, heard.append)).wait()
    first = await process.events.since("")

    # When
    await process.deliver(3)

    # Then
    assert heard == [(await process.events.since(first.cursor)).chunk]
    await process.tasks.close()


class Turns:
    """Counts turns of the event loop, and what is heard in each."""

    def __init__(self) -> None:
        self.number = 0
        self.heard: list[tuple[int, bytes]] = []

    def hear(self, chunk: bytes) -> None:
        """Be told."""
        self.heard.append((self.number, chunk))

    async def count(self) -> None:
        """Count until cancelled."""
        while True:
            await asyncio.sleep(0)
            self.number += 1


async def test_what_happened_to_many_groups_is_told_in_short_pieces_each_in_a_turn_of_its_own() -> None:
    # Given
    many, turns, delivered = 40, Turns(), 0
    names = [f"{number:03}".ljust(32_000, "x") for number in range(many)]

    async def picture() -> Picture:
        return Picture(
            dict.fromkeys(names, GroupPicture("Stable", 1, 1)),
            dict.fromkeys(names, CountsPicture(delivered, 0, 0)),
            {},
        )

    tasks = TaskKeeper()
    process = OwnEvents(picture, background=BackgroundTasks(tasks), interval_s=0.001)
    counting = tasks.spawn(turns.count(), name="turns")
    await process.begin(Audience(lambda: True, turns.hear)).wait()
    first = await process.since("")

    # When
    delivered = 1
    await until(lambda: b"".join(chunk for _, chunk in turns.heard).count(b"event: records") == many)
    counting.cancel()

    # Then
    assert max(len(chunk) for _, chunk in turns.heard) < CHUNK_LENGTH + 33_000
    assert len({number for number, _ in turns.heard}) == len(turns.heard) >= many // 3
    assert all(chunk.endswith(b"\n\n") for _, chunk in turns.heard)
    assert (await process.since(first.cursor)).chunk == b"".join(chunk for _, chunk in turns.heard)
    await tasks.close()


async def test_what_another_process_asks_for_is_told_as_it_reads_it() -> None:
    # Given
    process = OneGroup()
    first = await process.events.tell_peer(path_after(""))
    assert first is not None
    await process.deliver(4)

    # When
    second = await process.events.tell_peer(path_after(events_of(first.body).cursor))
    other = await process.events.tell_peer("/api/v1/groups?scope=local")

    # Then
    assert second is not None
    assert (second.status, deliveries(events_of(second.body)), other) == (200, ["4"], None)
    await process.tasks.close()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}\n",
        b"[]\n",
        b"no json\n",
        b"\xff\n",
        b'{"cursor": "a.0", "missed": false}',
        b'{"cursor": 1, "missed": false}\n',
        b'{"cursor": "a.0", "missed": "no"}\n',
        b'{"cursor": "a.0", "missed": false}\nevent: cut off',
    ],
)
def test_what_is_not_whole_is_not_taken_for_events(body: bytes) -> None:
    # When / Then
    with pytest.raises(ValueError):  # noqa: PT011 - json's own, or one that says more
        events_of(body)
