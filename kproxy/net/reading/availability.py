"""`ShareAvailability`: share consumers asleep, and what wakes them.

A *watch* (`sleepers`) is a topic-partition that somebody waits for, or did a moment ago. It sits in the tail of the
partition's leader at the known end of what may be read (the high watermark, or for committed records the last stable
offset), its `fetch_offset`; when the tail hears of a higher one, those who miss an offset below it wake up. A watch
whose leader is not known is homeless until the metadata say more.
"""

import asyncio
from collections.abc import Collection, Mapping
from itertools import chain, islice
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable
from kproxy.handlers.interest import Interest
from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.handlers.live.pauses import MOST_AT_ONCE, Pace, let_others_go_on
from kproxy.handlers.ports import Clock
from kproxy.net.backoff import Backoff
from kproxy.net.cluster.broker_connections import BrokerConnections
from kproxy.net.cluster.leader_doubts import LEADER_DOUBTS
from kproxy.net.cluster.metadata import ClusterMetadataCache
from kproxy.net.reading.fetch_topics import FetchEntry
from kproxy.net.reading.sleepers import Sleeper, SleepersByKey, Watch, changes_of
from kproxy.net.reading.tail import TAIL_MAX_BYTES, BrokerTail
from kproxy.net.reading.watches import Watches, WatchRounds
from kproxy.net.tasks import TaskKeeper
from kproxy.net.waking_turns import WakingTurns
from kproxy.share.identifiers import SharePartitionKey, TopicId, TopicIdPartition
from kproxy.telemetry import logs

log = logs.logger("net.reading.availability")

QUIET_WATCH_TTL_MS: Final = 60_000
"""How long a partition that nobody waits for stays in the tail, where it costs nothing without news."""

BUSY_WATCH_TTL_MS: Final = 1_000
"""The same for one that has news: each would end a poll for nothing."""

SWEEP_INTERVAL_MS: Final = 10_000

MOST_BELIEFS: Final = 16
"""How often a share-partition's callers are sent to read on the strength of one word of the tail."""


class ShareAvailability:
    """Implements `Availability` for one isolation level.

    It has one `BrokerTail` for each broker that leads a watched partition.
    """

    def __init__(
        self,
        *,
        metadata: ClusterMetadataCache,
        connections: BrokerConnections,
        clock: Clock,
        tasks: TaskKeeper,
        turns: WakingTurns,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> None:
        self._isolation = isolation
        self._metadata = metadata
        self._connections = connections
        self._clock = clock
        self._tasks = tasks
        self._turns = turns
        self._watches, self._homeless = Watches(), Watches()
        self._doubtful: set[TopicId] = set()
        self._sleepers = SleepersByKey()
        self._tails: dict[int, BrokerTail] = {}
        self._is_housing = False
        self._swept_ms = clock.now_ms()
        self._moves = WatchRounds(self._watches, self._follow, tasks=tasks, name="watches whose leader moved")
        self._sweeps = WatchRounds(self._watches, self._sweep, tasks=tasks, name="watches nobody needs")
        metadata.on_topics.append(self._moves.begin)

    # ------------------------------------------------ the Availability port

    async def wait(
        self, interest: Mapping[SharePartitionKey, int | None], until_ms: int
    ) -> Collection[SharePartitionKey]:
        """Return those share-partitions of `interest` that may have records when some do; at `until_ms` (Clock) none.

        Before this coroutine first yields, everything up to going to sleep has happened, or every `signal` is kept: so
        none can slip in between a caller's last look at its share-partitions and the sleep.
        """
        sleeper = self._sleeper_of(interest)
        while True:
            keys = changes_of(interest, sleeper)
            available = {*sleeper.take_news(), *self._available_now(interest, keys)}
            remaining_ms = until_ms - self._clock.now_ms()
            if available or remaining_ms <= 0:
                # Whoever asks again and again must not keep the loop from hearing the answer.
                await asyncio.sleep(0)
                return available
            if sleeper.kept is None or len(keys) <= MOST_AT_ONCE:
                break
            await self._register(sleeper, sleeper.kept)
        self._put_to_bed(sleeper, interest, tuple(keys))
        timer = asyncio.get_running_loop().call_later(remaining_ms / 1000, sleeper.wake)
        try:
            await sleeper.fall_asleep()
            await self._turns.begin()
            return sleeper.take_news()
        finally:
            timer.cancel()
            sleeper.get_up()

    def signal(self, key: SharePartitionKey) -> None:
        """Wake who waits for `key`."""
        self._sleepers.signal(key)

    def let_go(self, sleeper: Sleeper) -> None:
        """Take a sleeper out of everything (`Bedroom`)."""
        now_ms = self._clock.now_ms()
        for key in sleeper.keys:
            self._sleepers.take_out(key, sleeper)
        for key, watch in sleeper.watches.items():
            watch.leave(key, sleeper, now_ms)
        sleeper.keys.clear()
        sleeper.watches.clear()

    # ------------------------------------------------ what tails tell (TailListener)

    def heard(self, tail: BrokerTail, topic_partition: TopicIdPartition, end_offset: int) -> None:
        """Wake who misses an offset below `end_offset`, and watch on from there."""
        watch = self._watches.get(topic_partition)
        if watch is None or watch.tail is not tail:
            tail.drop(topic_partition)
            return
        is_idle = not watch.sleepers and self._clock.now_ms() - watch.last_awaited_ms > BUSY_WATCH_TTL_MS
        if is_idle and end_offset > watch.fetch_offset:
            self._end(watch)
            return
        watch.believed.clear()
        self._move(watch, end_offset)
        watch.wake_below(end_offset)

    def refused(self, tail: BrokerTail, topic_partition: TopicIdPartition, error_code: ErrorCode) -> None:
        """Look for another leader, or let the sleepers' next read find out what is wrong."""
        watch = self._watches.get(topic_partition)
        if watch is None or watch.tail is not tail:
            return
        if error_code in LEADER_DOUBTS:
            self._evict(watch)
            return
        log.debug("watch_refused", partition=topic_partition.partition, reason=error_code.name)
        self._end(watch)

    def lost(self, tail: BrokerTail) -> None:
        """Ask who leads the partitions of a broker that does not answer; sleepers just sleep on."""

        def is_awaited(watch: Watch) -> bool:
            return watch.tail is tail and bool(watch.sleepers)

        self._doubtful.update(
            each for each in self._watches.topic_ids if self._watches.is_any_of(each, is_awaited)
        )
        if self._doubtful:
            self._find_homes()

    # ------------------------------------------------ private: sleeping

    def _sleeper_of(self, interest: Mapping[SharePartitionKey, int | None]) -> Sleeper:
        if not isinstance(interest, Interest) or not interest.is_wide:
            return Sleeper(self)
        registered = interest.registration
        if isinstance(registered, Sleeper) and registered.is_of(self):
            return registered
        interest.leave()  # what may be read ended elsewhere until now
        return Sleeper(self, interest)

    def _available_now(
        self, interest: Mapping[SharePartitionKey, int | None], keys: Collection[SharePartitionKey]
    ) -> list[SharePartitionKey]:
        available: list[SharePartitionKey] = []
        for key in keys:
            missing_offset = interest.get(key)
            if missing_offset is None:
                continue
            watch = self._watches.get(TopicIdPartition(key.topic_id, key.partition))
            if watch is None or missing_offset >= watch.fetch_offset:
                continue
            belief_count = watch.believed[key] = watch.believed.get(key, 0) + 1
            if belief_count <= MOST_BELIEFS:
                available.append(key)
                continue
            # Reads do not find what the tail had heard of: an unclean election can take back records. The
            # tail must show it again, or callers would read, find nothing and come back without end.
            watch.believed.clear()
            self._move(watch, missing_offset)
        return available

    def _put_to_bed(
        self,
        sleeper: Sleeper,
        interest: Mapping[SharePartitionKey, int | None],
        keys: Collection[SharePartitionKey],
    ) -> None:
        """Register `sleeper` for `keys` as they stand in `interest` now, and for nothing of what is not there."""
        now_ms = self._clock.now_ms()
        for key in keys:
            missing_offset = interest.get(key)
            if missing_offset is not None:
                self._watch(key, sleeper, missing_offset, now_ms)
            elif key in sleeper.watches:
                sleeper.watches.pop(key).leave(key, sleeper, now_ms)
            if key in interest:
                self._sleepers.add(key, sleeper)
            elif key in sleeper.keys:
                sleeper.keys.discard(key)
                self._sleepers.take_out(key, sleeper)
        if sleeper.kept is not None:
            sleeper.kept.registration = sleeper
            sleeper.kept.changed.difference_update(keys)
        if now_ms - self._swept_ms >= SWEEP_INTERVAL_MS:
            self._swept_ms = now_ms
            self._sweeps.begin(self._watches.topic_ids)

    async def _register(self, sleeper: Sleeper, interest: Interest) -> None:
        """Register for most of what changed in very many share-partitions; others have a turn now and then.

        What has come meanwhile is news, or has changed.
        """
        if interest.registration is None:
            interest.registration = sleeper
            interest.changed.update(interest)
            for key in interest:
                self._sleepers.add(key, sleeper)
        while len(interest.changed) > MOST_AT_ONCE:
            portion = tuple(islice(interest.changed, MOST_AT_ONCE))
            sleeper.wake(self._available_now(interest, portion))
            self._put_to_bed(sleeper, interest, portion)
            await let_others_go_on()

    # ------------------------------------------------ private: watching

    def _watch(self, key: SharePartitionKey, sleeper: Sleeper, missing_offset: int, now_ms: int) -> None:
        topic_partition = TopicIdPartition(key.topic_id, key.partition)
        watch = self._watches.get(topic_partition)
        if watch is None:
            watch = Watch(topic_partition, missing_offset, now_ms)
            self._watches.add(watch)
        elif not watch.sleepers and missing_offset > watch.fetch_offset:
            # A read has seen more than the tail, which rests while nobody waits.
            self._move(watch, missing_offset)
        watch.sleepers.setdefault(sleeper, {})[key] = missing_offset
        sleeper.watches[key] = watch
        if watch.tail is not None:
            if len(watch.sleepers) == 1:
                watch.tail.set_awaited(topic_partition, is_awaited=True)
        elif topic_partition not in self._homeless:
            self._house(watch)

    def _move(self, watch: Watch, fetch_offset: int) -> None:
        watch.fetch_offset = fetch_offset
        self._put(watch)

    def _put(self, watch: Watch) -> None:
        topic_partition = watch.topic_partition
        topic = self._metadata.describe(topic_partition.topic_id)
        if watch.tail is None or watch.leader is None:
            return
        if topic is None:
            self._evict(watch)
            return
        watch.tail.put(
            FetchEntry(
                topic_id=topic.topic_id,
                topic_name=topic.name,
                partition=topic_partition.partition,
                fetch_offset=watch.fetch_offset,
                leader_epoch=watch.leader.leader_epoch,
                max_bytes=TAIL_MAX_BYTES,
            )
        )

    def _end(self, watch: Watch) -> None:
        self._leave_tail(watch)
        self._homeless.discard(watch.topic_partition)
        self._watches.discard(watch.topic_partition)
        for sleeper, missing_offsets in watch.sleepers.items():
            sleeper.lose_watch(missing_offsets)

    def _sweep(self, watch: Watch) -> None:
        idle_ms = self._clock.now_ms() - watch.last_awaited_ms
        if not watch.sleepers and idle_ms > QUIET_WATCH_TTL_MS:
            self._end(watch)

    # ------------------------------------------------ private: which tail

    def _house(self, watch: Watch) -> None:
        """Put the watch into the tail of its leader, if the leader is known; else look for it."""
        key = watch.topic_partition
        leader = self._metadata.leader_of(key.topic_id, key.partition)
        if leader is None or leader.leader_id < 0 or self._metadata.describe(key.topic_id) is None:
            self._homeless.add(watch)
            self._find_homes()
            return
        self._homeless.discard(key)
        watch.leader = leader
        watch.tail = self._tail_of(leader.leader_id)
        self._put(watch)
        watch.tail.set_awaited(key, is_awaited=bool(watch.sleepers))

    def _leave_tail(self, watch: Watch) -> None:
        if watch.tail is not None:
            watch.tail.drop(watch.topic_partition)
        watch.tail = watch.leader = None

    def _evict(self, watch: Watch) -> None:
        self._leave_tail(watch)
        self._homeless.add(watch)
        self._find_homes()

    def _tail_of(self, node_id: int) -> BrokerTail:
        tail = self._tails.get(node_id)
        if tail is None:
            tail = BrokerTail(
                node_id,
                connections=self._connections,
                clock=self._clock,
                listener=self,
                isolation=self._isolation,
            )
            self._tails[node_id] = tail
            name = f"tail of broker {node_id}, {self._isolation.name.lower()}"
            self._tasks.keep_up(tail.run, name=name, kind="tail")
        return tail

    def _follow(self, watch: Watch) -> None:
        """Let a watch be in the tail of its leader, if that is another one now."""
        key = watch.topic_partition
        if watch.leader != self._metadata.leader_of(key.topic_id, key.partition):
            self._leave_tail(watch)
            self._house(watch)

    def _find_homes(self) -> None:
        if not self._is_housing:
            self._is_housing = True
            self._tasks.spawn(self._house_the_homeless(), name="watches without a leader")

    async def _house_the_homeless(self) -> None:
        backoff = Backoff(self._clock)
        try:
            while True:
                await self._ask_for_leaders()
                # A leader that disowns its partition again does so within this pause, and the next is longer.
                backoff.failed()
                await asyncio.sleep(backoff.remaining_ms / 1000)
                if not self._homeless and not self._doubtful:
                    return
        finally:
            self._is_housing = False

    async def _ask_for_leaders(self) -> None:
        topic_ids = self._doubtful.union(self._homeless.topic_ids)
        self._doubtful.clear()
        try:
            await self._metadata.confirm(topic_ids, not_older_than_ms=0)
            found = await self._metadata.topics_with_ids(topic_ids)
        except BrokerUnavailable as failure:
            log.debug("leaders_unknown", detail=failure)
            return
        await self._settle_homeless(topic_ids - found.keys())

    async def _settle_homeless(self, gone: Collection[TopicId]) -> None:
        """House those that somebody waits for, unless their topic is `gone`; end the others.

        Thousands of watches may end with topics that are deleted together: others have a turn now and then.
        """
        pace = Pace(is_alone=True)
        homeless = map(self._homeless.of, tuple(self._homeless.topic_ids))
        for watch in chain.from_iterable(homeless):
            topic_partition = watch.topic_partition
            if self._homeless.get(topic_partition) is not watch:
                continue  # meanwhile
            if watch.sleepers and topic_partition.topic_id not in gone:
                self._house(watch)
            else:
                self._end(watch)
            if pace.is_pause_due():
                await let_others_go_on()
