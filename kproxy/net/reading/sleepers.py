"""`Sleeper`: one fetch that waits; `Watch`: a topic-partition that is waited for; who is woken for what.

The sleeper of a wide interest stays registered between waits, awake. What it hears then is kept for its next wait:
a signal as news, and that there are records as a reason to look what is missed by then.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from kproxy.handlers.interest import Interest
from kproxy.handlers.ports import PartitionLeader
from kproxy.net.reading.tail import BrokerTail
from kproxy.share.identifiers import SharePartitionKey, TopicIdPartition


class Bedroom(Protocol):
    """Where sleepers are registered: `ShareAvailability`, which stands above this module."""

    def let_go(self, sleeper: "Sleeper") -> None:
        """Take it out of everything."""
        ...


class Sleeper:
    """Who waits for an interest, once, or for a wide one as often as its fetch does."""

    __slots__ = ("_bedroom", "_news", "_woken", "kept", "keys", "watches")

    def __init__(self, bedroom: Bedroom, kept: Interest | None = None) -> None:
        """Begin with nothing that it is registered for."""
        self._bedroom = bedroom
        self.kept = kept
        """Its interest if that is wide: then it stays registered when a wait is over."""
        self._news: set[SharePartitionKey] = set() if kept is None else kept.news
        self._woken: asyncio.Future[None] | None = None
        self.keys: set[SharePartitionKey] = set()
        """What it is woken for by a signal."""
        self.watches: dict[SharePartitionKey, Watch] = {}
        """Where it waits for an offset."""

    def is_of(self, bedroom: Bedroom) -> bool:
        """Tell whether it is registered there."""
        return self._bedroom is bedroom

    def fall_asleep(self) -> asyncio.Future[None]:
        """Return what is done when it is woken. Until `get_up` it counts as asleep."""
        self._woken = asyncio.get_running_loop().create_future()
        return self._woken

    def take_news(self) -> Collection[SharePartitionKey]:
        """Return what it was woken for, or has heard awake, and forget that."""
        news = tuple(self._news)
        self._news.clear()
        return news

    def get_up(self) -> None:
        """Be awake; leave everything unless it is kept."""
        self._woken = None
        if self.kept is None:
            self._bedroom.let_go(self)

    def wake(self, keys: Iterable[SharePartitionKey] = ()) -> None:
        """Wake it for `keys`, whatever it misses of them; if it is awake, its next wait is over at once."""
        self._news.update(keys)
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)

    def wake_for_records(self, keys: Iterable[SharePartitionKey]) -> None:
        """Wake it for records of `keys`; awake it may have read them by its next wait, which looks at them again."""
        if self._woken is not None:
            self.wake(keys)
        elif self.kept is not None:
            self.kept.changed.update(keys)

    def lose_watch(self, keys: Collection[SharePartitionKey]) -> None:
        """Wake it, because these are not watched any more; its next wait begins that anew."""
        for key in keys:
            del self.watches[key]
        if self.kept is not None:
            self.kept.changed.update(keys)
        self.wake(keys)

    def end(self) -> None:
        """Leave everything."""
        self._bedroom.let_go(self)


@dataclass(slots=True, eq=False)
class Watch:
    """A topic-partition that somebody waits for, or did a moment ago, from a `fetch_offset`."""

    topic_partition: TopicIdPartition
    fetch_offset: int
    last_awaited_ms: int
    sleepers: dict[Sleeper, dict[SharePartitionKey, int]] = field(default_factory=dict)
    """Who waits, for which share-partitions, and the offset that is missed of each."""
    believed: dict[SharePartitionKey, int] = field(default_factory=dict)
    """How often callers were told at once that there are records, since the tail last spoke of it."""
    tail: BrokerTail | None = None
    leader: PartitionLeader | None = None

    def wake_below(self, end_offset: int) -> None:
        """Wake who misses an offset below `end_offset`."""
        for sleeper, missing_offsets in self.sleepers.items():
            if news := [key for key, offset in missing_offsets.items() if offset < end_offset]:
                sleeper.wake_for_records(news)

    def leave(self, key: SharePartitionKey, sleeper: Sleeper, now_ms: int) -> None:
        """Let `sleeper` wait for `key` no more."""
        missing_offsets = self.sleepers.get(sleeper, {})
        missing_offsets.pop(key, None)
        self.last_awaited_ms = now_ms
        if not missing_offsets:
            self.sleepers.pop(sleeper, None)
        if not self.sleepers and self.tail is not None:
            self.tail.set_awaited(self.topic_partition, is_awaited=False)


class SleepersByKey:
    """Who is woken by a signal of which share-partition."""

    __slots__ = ("_by_key",)

    def __init__(self) -> None:
        self._by_key: dict[SharePartitionKey, set[Sleeper]] = {}

    def __len__(self) -> int:
        """For how many share-partitions there is anybody."""
        return len(self._by_key)

    def add(self, key: SharePartitionKey, sleeper: Sleeper) -> None:
        """Let a signal of `key` wake `sleeper`."""
        self._by_key.setdefault(key, set()).add(sleeper)
        sleeper.keys.add(key)

    def take_out(self, key: SharePartitionKey, sleeper: Sleeper) -> None:
        """Let it wake the others alone."""
        of_key = self._by_key[key]
        of_key.discard(sleeper)
        if not of_key:
            del self._by_key[key]

    def signal(self, key: SharePartitionKey) -> None:
        """Wake who is registered for `key`."""
        for sleeper in self._by_key.get(key, ()):
            sleeper.wake((key,))


def changes_of(
    interest: Mapping[SharePartitionKey, int | None], sleeper: Sleeper
) -> Collection[SharePartitionKey]:
    """Return what a wait has to look at: all that `sleeper` is not registered for as it is."""
    return interest.changed if isinstance(interest, Interest) and sleeper.keys else interest
