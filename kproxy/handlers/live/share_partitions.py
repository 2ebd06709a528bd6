"""The live share-partitions: loaded on first use, asked for anew after every await, discarded on doubt.

Memory is a cache of the state log. Whatever leaves doubt about it (a write whose outcome is unknown) fences
the live object and forgets it; the next fetch builds another from what is durable. What was acquired is
then available again, which merely ends locks early.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from kproxy.errors import (
    BrokerUnavailable,
    KproxyError,
    OffsetNotAvailable,
    ShareStateNotInitialized,
    ShareStateStillLoading,
)
from kproxy.handlers.live.group_index import GroupIndex
from kproxy.handlers.live.load_failures import LoadFailures, told_to_clients
from kproxy.handlers.live.load_queue import LiveEntry, LiveWrite, LoadQueue, LoadUnderWay, StartChoice, Stays
from kproxy.handlers.live.lock_deadlines import LockDeadlines
from kproxy.handlers.live.offset_reset import OffsetReset
from kproxy.handlers.live.pauses import Pace, SharedStart, let_others_go_on
from kproxy.handlers.live.read_sizes import ReadSize
from kproxy.handlers.live.unused_choices import UnusedChoices
from kproxy.handlers.offset_store import ShareOffsetStore
from kproxy.handlers.ports import (
    Alarm,
    Availability,
    Background,
    Clock,
    GroupLog,
    Observer,
    PartitionReader,
    StateLog,
    WallClock,
)
from kproxy.share.heartbeat import PartitionInitialization
from kproxy.share.identifiers import GroupId, SharePartitionKey, TopicId
from kproxy.share.limits import ShareLimits
from kproxy.share.share_partition import SharePartition
from kproxy.share.state_batches import UNKNOWN_COMPLETE_COUNT, UNKNOWN_START_OFFSET, StateDelta
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.operations import TAKEOVER


@dataclass(frozen=True, slots=True)
class DirectoryPorts:
    """What the directory asks of the world."""

    state_log: StateLog
    offset_store: ShareOffsetStore
    group_log: GroupLog
    reader: PartitionReader
    availability: Availability
    background: Background
    alarm: Alarm
    clock: Clock
    wall_clock: WallClock
    observer: Observer


class SharePartitionDirectory:
    """Every live SharePartition of the process by its key.

    Args:
        ports: the outside.
        limits_of: the limits of a group at this moment.
        offset_reset_of: where new share-partitions of a group begin.
        is_wanted: whether anybody fetches for a group.
    """

    __slots__ = (
        "_deadlines",
        "_failures",
        "_index",
        "_is_wanted",
        "_limits_of",
        "_live",
        "_loading",
        "_loads",
        "_offset_reset_of",
        "_ports",
        "_stays",
        "_unloads",
        "_unused_choices",
        "generation",
        "unsettled_runs",
    )

    def __init__(
        self,
        ports: DirectoryPorts,
        *,
        limits_of: Callable[[GroupId], ShareLimits],
        offset_reset_of: Callable[[GroupId], OffsetReset],
        is_wanted: Callable[[GroupId], bool],
    ) -> None:
        self._ports = ports
        self._is_wanted = is_wanted
        self._limits_of = limits_of
        self._offset_reset_of = offset_reset_of
        self._live: dict[SharePartitionKey, LiveEntry] = {}
        self._index = GroupIndex()
        self._stays = Stays()
        self._unloads = SharedStart()
        self._loading: dict[SharePartitionKey, LoadUnderWay] = {}
        self._loads = LoadQueue(self._begin_load)
        self._failures = LoadFailures()
        self._deadlines = LockDeadlines()
        self._unused_choices = UnusedChoices()
        self.generation = 0
        """Another number whenever there is a share-partition among `known_keys` that was not."""
        self.unsettled_runs = 0
        """Of the writes under way: what taking all of them back would cost."""

    def __len__(self) -> int:
        return len(self._live)

    @property
    def in_flight_count(self) -> int:
        """Offsets in flight over all live share-partitions."""
        return sum(live.share_partition.in_flight_count for live in self._live.values())

    def keys(self) -> tuple[SharePartitionKey, ...]:
        """Return the keys of all live share-partitions, those loaded first before the others."""
        return tuple(self._live)

    def known_keys(self) -> Mapping[SharePartitionKey, object]:
        """Return the keys of all share-partitions that are live, being loaded, or remembered since they were live."""
        return {**self._live, **self._loading, **self._unused_choices.keys}

    def known_group_ids(self) -> set[GroupId]:
        """Return the groups of `known_keys`, at no cost for how many keys they have."""
        return {*self._index.group_ids, *self._loads.group_ids, *self._unused_choices.index.group_ids}

    def known_keys_of(self, group_id: GroupId) -> Sequence[SharePartitionKey]:
        """Return those of `known_keys` that are of a group; one may stand there twice."""
        return *self._index.of(group_id), *self._loads.of(group_id), *self._unused_choices.index.of(group_id)

    def known_count_of(self, group_id: GroupId) -> int:
        """Return how many `known_keys_of` returns, at no cost for how many these are."""
        indexes = (self._index, self._unused_choices.index)
        return sum(each.count_of(group_id) for each in indexes) + self._loads.count_of(group_id)

    def find(self, key: SharePartitionKey) -> SharePartition | None:
        """Return the live share-partition, None when it is not loaded. Not to be kept across an await."""
        live = self._live.get(key)
        return None if live is None or live.stays.is_over else live.share_partition

    def why_not_live(self, key: SharePartitionKey) -> str:
        """Return that a share-partition is being loaded, or could not be lately; empty when neither, or it is live."""
        if self.find(key) is not None:
            return ""
        under_way = "it is being loaded" if key in self._loading else ""
        failed = self._failures.text(key, self._ports.clock.now_ms())
        return "; ".join(filter(None, (under_way, failed)))

    def with_current_limits(self, key: SharePartitionKey) -> SharePartition | None:
        """Do the same, and give it the limits that its group has now: for who acquires, acknowledges or releases."""
        if (share_partition := self.find(key)) is not None:
            share_partition.limits = self._limits_of(key.group_id)
        return share_partition

    def begin_load(self, key: SharePartitionKey) -> LoadUnderWay:
        """Begin to load a share-partition that is not live, unless that is under way; return at once.

        When very many are loaded it waits for its turn, and is given up once nobody fetches for the group. What has
        begun goes on whoever leaves, and `key` is signalled when it is over. Its failure is then one of these:

        - ShareStateStillLoading: the slot of the group is being replayed; or the state was changed while it was
          loaded; or nobody fetches for the group any more.
        - SharePartitionElsewhere: another process took the slot over.
        - ShareStateNotInitialized: there is no durable state.
        - ShareStateNotReadable: the state log did not answer.
        - UnusableShareState: the durable state contradicts itself.
        - OffsetNotAvailable: the state has no start offset yet and the leader did not name one.
        """
        if (load := self._loading.get(key)) is not None:
            return load
        if key in self._live and self.find(key) is None:
            self.discard(key)  # its topic or group ended, and is back
        load = LoadUnderWay(self._stays.of(key))
        try:
            # Before anybody is told that a load ended: else two fetches would wake each other until the slot is ready.
            self._require_ready(key)
        except KproxyError as failure:
            load.end(failure)
            return load
        self._loading[key] = load
        self.generation += 1
        self._loads.put(key)
        return load

    def read_size(self, key: SharePartitionKey) -> ReadSize:
        """Return what is known of the size of the records of a share-partition: nothing of one that is not live."""
        return ReadSize() if (live := self._live.get(key)) is None else live.read_size

    def discard(self, key: SharePartitionKey, doubted: SharePartition | None = None) -> None:
        """Fence the live share-partition and forget it, unless it is another than `doubted`.

        Without a `doubted` one, a load that is under way does not become live either.
        """
        self._unused_choices.forget(key)
        if doubted is None and key in self._loading:
            self._loading[key].outdate()
        live = self._live.get(key)
        if live is None or (doubted is not None and live.share_partition is not doubted):
            return
        self._forget(live.share_partition)
        self._ports.availability.signal(key)  # fetches that wait for it look again: the next one loads it

    def end(self, topic_ids: Iterable[TopicId] = (), group_ids: Iterable[GroupId] = ()) -> None:
        """Let nothing that is there of these be found or become live; call `let_go` with each known key."""
        self._stays.end(topic_ids, group_ids)

    def let_go(self, key: SharePartitionKey) -> None:
        """Forget what is left of `key` of an ended topic or group, and nothing that came since; signal nobody."""
        self._unused_choices.forget_ended(key)
        if (live := self._live.get(key)) is not None and live.stays.is_over:
            self._forget(live.share_partition)

    async def unload_unwanted(self, group_ids: Collection[GroupId]) -> None:
        """Forget what is live of those of the groups that nobody fetches for any more.

        Others have a turn now and then, and what somebody fetches for meanwhile stays. A share-partition with a write
        under way stays until that is settled: a load would not see it yet.
        """
        unwanted = {group_id for group_id in group_ids if not self._is_wanted(group_id)}
        for key in self._loads.drop(unwanted):
            self._loading.pop(key).end(ShareStateStillLoading(f"nobody fetches for {key} any more"))
        pace = Pace(start=self._unloads)
        for key in chain.from_iterable(map(self._index.of, unwanted)):
            if (live := self._live.get(key)) is not None:
                live.is_unwanted = True
                self._drop_if_unwanted(key)
            if pace.is_pause_due():
                await let_others_go_on()

    def has_unsettled_writes(self, key: SharePartitionKey) -> bool:
        """Tell whether something of a live share-partition may not be durable yet, but for who holds what."""
        live = self._live.get(key)
        return live is not None and (live.unsettled_writes > 0 or live.ahead_until > 0)

    def begin_write(self, key: SharePartitionKey, *, start_offset: int, run_count: int = 1) -> LiveWrite:
        """Note that so many runs of a live share-partition are being written; return the token to settle that with."""
        live = self._live[key]
        live.unsettled_writes += 1
        live.choice, live.ahead_until = None, live.ahead_until if start_offset < live.ahead_until else 0
        self.unsettled_runs += run_count
        return LiveWrite(live.share_partition, live.state_epoch, live.leader_epoch, run_count)

    def take_back(self, written: LiveWrite, refused: StateDelta) -> None:
        """Undo what certainly was not written (`SharePartition.take_back`), unless it is forgotten already."""
        live = self._live.get(written.key)
        if live is not None and live.share_partition is written.share_partition:
            live.share_partition.take_back(refused)
            live.ahead_until = max(live.ahead_until, refused.end_offset)
            self.note_deadline(written.key)

    def settle_write(self, written: LiveWrite, *, is_certain: bool) -> None:
        """Note that a write ended. Unless it `is_certain` what became of it, what it was made from is discarded."""
        self.unsettled_runs -= written.run_count
        live = self._live.get(written.key)
        if live is None or live.share_partition is not written.share_partition:
            return
        live.unsettled_writes -= 1
        if is_certain:
            self._drop_if_unwanted(written.key)
        else:
            self.discard(written.key, written.share_partition)

    def note_deadline(self, key: SharePartitionKey) -> None:
        """See to it that `take_due` finds the share-partition in time; to be called when locks were taken."""
        live = self._live.get(key)
        if live is None or (deadline_ms := live.share_partition.next_deadline_ms()) is None:
            self._deadlines.forget(key)
        # Not the key of the request, with a text of its own for a group id of up to 32 kB.
        elif self._deadlines.note(live.share_partition.key, deadline_ms):
            self._ports.alarm.ring_by(deadline_ms)

    def take_due(self, now_ms: int) -> SharePartitionKey | None:
        """Return the first share-partition in which a lock may have ended by `now_ms`, once; None when there is none.

        The caller expires its locks and calls `note_deadline`. Others may follow that end at the same time.
        """
        return self._deadlines.take_due(now_ms)

    def next_deadline_ms(self) -> int | None:
        """Return a moment no later than the first end of a lock (maybe earlier), None without locks."""
        return self._deadlines.next_ms()

    def _begin_load(self, key: SharePartitionKey) -> None:
        self._ports.background.begin_now(partial(self._load, key, self._loading[key]), name=f"load {key}")

    async def _load(self, key: SharePartitionKey, load: LoadUnderWay) -> None:
        failure: Exception | None = None
        began_ms = self._ports.clock.now_ms()
        try:
            live = await self._build(key, load)
            load.require_up_to_date(key)
            self._require_wanted(key)
            self._live[key] = live
            self._index.add(key)
            self.generation += 1
            took_ms = self._ports.clock.now_ms() - began_ms
            self._ports.observer.observe("share_partition_load_seconds", took_ms / 1000)
        except Exception as raised:  # noqa: BLE001 - the fetches that wait are told
            failure = raised
        finally:
            del self._loading[key]
            load.end(failure)
            self._failures.note(key, failure, self._ports.clock.now_ms())
            self._ports.availability.signal(key)
        self._loads.end(key)  # not when it is cancelled: then the process ends

    def _require_wanted(self, key: SharePartitionKey) -> None:
        """Raise ShareStateStillLoading when the last session of the group has left: nobody would unload it again."""
        if not self._is_wanted(key.group_id):
            raise ShareStateStillLoading(f"nobody fetches for {key} any more")

    async def _build(self, key: SharePartitionKey, load: LoadUnderWay) -> LiveEntry:
        with told_to_clients(key):
            state = await self._without_unused_choice(key, await self._ports.state_log.load(key))
        if state is None:
            raise ShareStateNotInitialized(f"there is no state of {key}, no member asked for it yet")
        start_offset, choice = state.start_offset, None
        if start_offset == UNKNOWN_START_OFFSET:
            start_offset = await self._choose_start_offset(key, state, load)
            choice = StartChoice(state.state_epoch, state.leader_epoch, start_offset)
        self._require_ready(key)
        share_partition = SharePartition(
            key,
            start_offset=start_offset,
            state_batches=state.state_batches,
            limits=self._limits_of(key.group_id),
        )
        return LiveEntry(share_partition, state.state_epoch, state.leader_epoch, load.stays, choice=choice)

    async def _without_unused_choice(
        self, key: SharePartitionKey, state: DurableShareState | None
    ) -> DurableShareState | None:
        """Let a start offset be chosen anew that was durable for nobody: a broker keeps none before the first write."""
        if state is None or not self._unused_choices.take(key, state):
            return state
        anew = PartitionInitialization(key, state.state_epoch, UNKNOWN_START_OFFSET)
        for failure in (await self._ports.offset_store.move([anew], TAKEOVER)).values():
            raise failure
        return await self._ports.state_log.load(key)

    def _require_ready(self, key: SharePartitionKey) -> None:
        """Raise unless the group is here, with its configurations and its states."""
        with told_to_clients(key):
            self._ports.group_log.require_ready(key.group_id)

    async def _choose_start_offset(
        self, key: SharePartitionKey, state: DurableShareState, load: LoadUnderWay
    ) -> int:
        """Return where the share-partition begins, once that is durable.

        A choice that only memory knew would be made again after a crash, and "the end of the log" is then behind
        records that members held already. Source: KIP-932, "share.auto.offset.reset"; Kafka's
        `SharePartition.maybeInitialize` leaves it to the first write. Until that brings the count of what
        is done with, the state is as it was for who asks about the group (`DescribeShareGroupOffsets`).
        """
        # Again, in the turn in which the configurations are read: the load may have outlived the group's slot.
        self._require_ready(key)
        timestamp = self._offset_reset_of(key.group_id).timestamp(self._ports.wall_clock.now_ms())
        try:
            start_offset = await self._ports.reader.find_offset(key.topic_id, key.partition, timestamp)
        except BrokerUnavailable as failure:
            raise OffsetNotAvailable(f"the leader names no start offset for {key}: {failure}") from failure
        load.require_up_to_date(key)
        with told_to_clients(key):
            await self._ports.state_log.persist(
                key,
                StateDelta(start_offset, UNKNOWN_COMPLETE_COUNT, ()),
                state_epoch=state.state_epoch,
                leader_epoch=state.leader_epoch,
                actors=(TAKEOVER,),
            )
        return start_offset

    def _drop_if_unwanted(self, key: SharePartitionKey) -> None:
        live = self._live[key]
        if not live.is_unwanted or live.unsettled_writes:
            return
        live.is_unwanted = not self._is_wanted(key.group_id)
        if live.is_unwanted:
            self.discard(key)
            if live.choice is not None and not live.share_partition.in_flight_count:
                self._unused_choices.note(key, live.choice, live.stays)

    def _forget(self, share_partition: SharePartition) -> None:
        share_partition.fence()
        del self._live[share_partition.key]
        self._index.remove(share_partition.key)
        self._deadlines.forget(share_partition.key)
