"""What was signalled of share-partitions while a fetch was busy with something else.

`Availability.wait` hears what is signalled while it sleeps, and nothing that was signalled before. A fetch that
looks at its share-partitions, and then awaits the read of some of them, would sleep on beside what became available
in another meanwhile. So it listens from its look on.

A fetch may also be *called*, it alone: it asked for a turn to read (`ReadTurns`) while another fetch read, and that
one leaves records to others or is over. One call wakes one fetch, which calls the next: a signal to all of them
would have them wake each other, and the caller itself, without end.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Final, TypeVar

from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.handlers.live.wake_keys import wake_key
from kproxy.handlers.ports import Availability
from kproxy.share.identifiers import GroupId, SharePartitionKey
from kproxy.share.share_session import ShareSessionKey

_MOST_CALLS: Final = 3
"""So often is a fetch that waits for more bytes called for the same records: whoever calls may read them first."""

K = TypeVar("K", SharePartitionKey, ShareSessionKey)


class FetchSignals:
    """What was signalled of the share-partitions of one fetch since it looked at each of them."""

    __slots__ = (
        "_askers",
        "_calls",
        "_heard",
        "_keys",
        "full",
        "is_altered",
        "is_asleep",
        "is_listening",
        "needed",
        "own_key",
        "too_few",
        "turns",
    )

    def __init__(self, keys: Collection[SharePartitionKey] = ()) -> None:
        self._keys = keys
        self._heard: set[SharePartitionKey] = set()
        self.is_altered = False
        """Whether something was altered that concerns all of its share-partitions."""
        self._askers: dict[SharePartitionKey, dict[FetchSignals, None]] = {}
        self._calls: dict[SharePartitionKey, tuple[tuple[int, int], int]] = {}
        self.own_key = wake_key()
        """No share-partition: what this fetch alone sleeps on."""
        self.is_asleep = False
        self.is_listening = False
        self.turns: set[SharePartitionKey] = set()
        """What the fetch reads at this moment (`ReadTurns`)."""
        self.full: set[SharePartitionKey] = set()
        """Where it waits until there is room in the window (`ReadTurns`)."""
        self.too_few: dict[SharePartitionKey, tuple[int, int]] = {}
        """Where it read records that are too few for it: from which offset, and where what may be read ended."""
        self.needed: set[SharePartitionKey] = set()
        """Where these would be enough with what it read since, but another fetch had the turn."""

    def hear(self, key: SharePartitionKey) -> None:
        """Note that `key` was signalled."""
        self._heard.add(key)

    def look_at(self, key: SharePartitionKey) -> None:
        """Forget what was signalled of `key`: the fetch looks at it now."""
        self._heard.discard(key)

    def look_at_all(self) -> Collection[SharePartitionKey]:
        """Return, and forget, what was signalled: the fetch looks at all of that now.

        What it has refused meanwhile is signalled on, and is no news that a look could make old.
        """
        heard: Collection[SharePartitionKey] = self._keys if self.is_altered else self._heard
        self._heard, self.is_altered = set(), False
        return heard

    def owe_call(self, key: SharePartitionKey, *askers: "FetchSignals") -> None:
        """Remember that these fetches are to be called for `key`, behind those that are already."""
        self._askers.setdefault(key, {}).update(dict.fromkeys(askers))

    def paid_calls(
        self, key: SharePartitionKey, too_few: tuple[int, int] | None = None
    ) -> Iterable["FetchSignals"]:
        """Return whom to call now for `key`: who is awake will look anyway; the first asleep owes the rest a call.

        Those who know that there are records, which are `too_few`, go on to be owed one.
        """
        awake: list[FetchSignals] = []
        sleepers: list[FetchSignals] = []
        for asker in self._askers.pop(key, ()):
            if not asker.is_listening:
                continue
            if too_few is not None and not asker.count_call(key, too_few):
                self.owe_call(key, asker)
            else:
                (sleepers if asker.is_asleep else awake).append(asker)
        if len(sleepers) > 1:
            sleepers[0].owe_call(key, *sleepers[1:])
        return awake + sleepers[:1]

    def hand_debt_over(self, key: SharePartitionKey, reader: "FetchSignals") -> None:
        """Let `reader`, which reads `key` now, owe a call to this fetch, and to those whom this one owes one."""
        askers = self._askers.pop(key, {})
        askers.pop(reader, None)
        reader.owe_call(key, self, *askers)

    def count_call(self, key: SharePartitionKey, too_few: tuple[int, int]) -> bool:
        """Count a call for records that were too few for another fetch; tell whether it should be made.

        Not if this one found the same too few, or waits for more and was called often enough for them.
        """
        if self.too_few.get(key) == too_few and key not in self.needed:
            return False
        called_for, count = self._calls.get(key, (too_few, 0))
        count = count + 1 if called_for == too_few else 1
        self._calls[key] = too_few, count
        return not self.too_few or count <= _MOST_CALLS

    @property
    def owed_keys(self) -> Collection[SharePartitionKey]:
        """The share-partitions for which somebody is to be called."""
        return tuple(self._askers)

    @property
    def is_news(self) -> bool:
        """Whether anything was signalled that the fetch has not looked at since."""
        return self.is_altered or bool(self._heard)


class HeardAvailability:
    """The port `Availability`, and who listens to its signals without sleeping on it."""

    __slots__ = ("_availability", "_listeners", "_of_sessions", "generation")

    def __init__(self, availability: Availability) -> None:
        self._availability = availability
        self._listeners: dict[GroupId, dict[SharePartitionKey, set[FetchSignals]]] = {}
        self._of_sessions: dict[GroupId, dict[ShareSessionKey, set[FetchSignals]]] = {}
        self.generation = 0
        """Another number whenever some fetch listens to more than was listened to."""

    def listened_keys(self) -> Iterable[SharePartitionKey]:
        """Return the keys of all share-partitions that some fetch listens to."""
        return chain.from_iterable(self._listeners.values())

    def listened_group_ids(self) -> Collection[GroupId]:
        """Return the groups of these, at no cost for how many there are."""
        return self._listeners.keys()

    def listened_count_of(self, group_id: GroupId) -> int:
        """Return how many there are of a group."""
        return len(self._listeners.get(group_id, ()))

    def listened_keys_of(self, group_id: GroupId) -> Sequence[SharePartitionKey]:
        """Return those of a group: a copy, so that they may change meanwhile."""
        return tuple(self._listeners.get(group_id, ()))

    def listen(self, keys: Collection[SharePartitionKey], session_key: ShareSessionKey) -> FetchSignals:
        """Return what notes the signals of `keys` from now on, for a fetch of the session; they are of its group.

        `silence` must be called in the end, and `keys` stay as they are until then.
        """
        signals = FetchSignals(keys)
        signals.is_listening = True
        self.generation += 1
        of_sessions = self._of_sessions.setdefault(session_key.group_id, {})
        of_sessions.setdefault(session_key, set()).add(signals)
        if keys:
            of_group = self._listeners.setdefault(session_key.group_id, {})
            for key in keys:
                of_group.setdefault(key, set()).add(signals)
        return signals

    def silence(
        self, signals: FetchSignals, keys: Collection[SharePartitionKey], session_key: ShareSessionKey
    ) -> None:
        """End what `listen` began for the same `keys` and session, and call whoever is owed a call."""
        signals.is_listening = False
        group_id = session_key.group_id
        _take_out(self._of_sessions[group_id], session_key, signals)
        if not self._of_sessions[group_id]:
            del self._of_sessions[group_id]
        if keys:
            of_group = self._listeners[group_id]
            for key in keys:
                _take_out(of_group, key, signals)
            if not of_group:
                del self._listeners[group_id]
        for key in signals.owed_keys:
            self.call_next(signals, key)

    def call_next(self, signals: FetchSignals, key: SharePartitionKey) -> None:
        """Wake the next fetch that asked the one of `signals` for the turn to read `key`."""
        for asker in signals.paid_calls(key):
            self.call(asker, key)

    def leave_too_few(self, signals: FetchSignals, key: SharePartitionKey, offset: int, end: int) -> None:
        """Do the same because the records from `offset` to `end` are too few for the fetch of `signals`.

        Two that wait for more bytes would else call each other without end.
        """
        signals.too_few[key] = offset, end
        for asker in signals.paid_calls(key, (offset, end)):
            self.call(asker, key)

    def call(self, signals: FetchSignals, key: SharePartitionKey) -> None:
        """Wake the fetch of `signals` alone, to look at `key`."""
        signals.hear(key)
        self._availability.signal(signals.own_key)

    def end_session(self, session_key: ShareSessionKey) -> None:
        """Wake the fetches of a session that was closed, evicted or replaced: nobody waits for them any more."""
        for signals in tuple(self._of_sessions.get(session_key.group_id, {}).get(session_key, ())):
            self._availability.signal(signals.own_key)

    async def wait(
        self,
        interest: Mapping[SharePartitionKey, int | None],
        until_ms: int,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> Collection[SharePartitionKey]:
        """Sleep as the port does."""
        return await self._availability.wait(interest, until_ms, isolation)

    def signal(self, key: SharePartitionKey) -> None:
        """Wake who waits for `key`, and let those hear of it who listen."""
        of_group = self._listeners.get(key.group_id)
        for signals in () if of_group is None else of_group.get(key, ()):
            signals.hear(key)
        self._availability.signal(key)

    def look_again(self, group_ids: Collection[str]) -> None:
        """Have every fetch of these groups look at all that it listens to, asleep or not: one signal for each fetch."""
        for group_id in group_ids:
            of_sessions = self._of_sessions.get(GroupId(group_id), {})
            for signals in tuple(chain.from_iterable(of_sessions.values())):
                signals.is_altered = True
                self._availability.signal(signals.own_key)


def _take_out(listeners: dict[K, set[FetchSignals]], key: K, signals: FetchSignals) -> None:
    of_key = listeners[key]
    of_key.discard(signals)
    if not of_key:
        del listeners[key]
