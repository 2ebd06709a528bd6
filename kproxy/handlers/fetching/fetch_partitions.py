"""The read-and-acquire loop of a ShareFetch.

1. Partitions that this port does not serve are refused at once (`leadership`). 2. Every round begins to load what is
not live yet, reads all readable share-partitions in one call, and acquires from what came back. A share-partition is
left out of a round while its window is full, it is being loaded, another fetch reads it, or it was read to its end
without news since: what is there is delivered (`DelayedShareFetch`). 3. The fetch is over when something was acquired
(maybe to be archived at once: its transaction was aborted), a read failed, or the time is up. Else it waits.

A share-partition is looked up anew after every await, and nothing is acquired for a session that ended meanwhile.
Source: KIP-932, "ShareFetch"; `DelayedShareFetch.java`, `ShareFetchUtils.processFetchResponse`.

Known differences from a stock broker: less is read than MaxBytes allows when fewer bytes probably hold what can be
acquired, MaxRecords or what the window has room for (`read_sizes`); an answer is full with `MOST_RANGES` acquired
ranges; whether there are MinBytes is judged by what was read and, for what lies behind it, by its average size
(`found_bytes`); a fetch whose offset the log has lost goes on from its start at once, and the start offset follows
that with every read, not just with one below it.
"""

from collections.abc import Iterable, Mapping

from kproxy.error_codes import ErrorCode
from kproxy.errors import ShareSessionNotFound
from kproxy.handlers.fetching.failed_reads import look_again
from kproxy.handlers.fetching.fetch_loads import FetchLoads
from kproxy.handlers.fetching.fetch_terms import FetchedPartition, FetchTerms
from kproxy.handlers.fetching.fetch_times import FetchTimes
from kproxy.handlers.fetching.found_bytes import FoundBytes
from kproxy.handlers.fetching.held_turns import HeldTurns
from kproxy.handlers.fetching.partition_looks import PartitionLooks
from kproxy.handlers.fetching.read_batches import MOST_UNCUT, ReadBatches
from kproxy.handlers.fetching.read_offsets import is_read_to_its_end, missing_offset, without_room
from kproxy.handlers.fetching.read_shares import acquirable_offsets, are_unchanged, reads_of
from kproxy.handlers.fetching.record_acquisition import RecordAcquisition
from kproxy.handlers.fetching.throttled_reads import ThrottledReads
from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.handlers.live.fetch_signals import FetchSignals
from kproxy.handlers.live.leadership import PartitionRefusal
from kproxy.handlers.live.pauses import Pace, let_others_go_on
from kproxy.handlers.live.read_sizes import SMALLEST_READ_BYTES
from kproxy.handlers.live.share_services import ShareServices
from kproxy.handlers.live.state_writes import StateWrites
from kproxy.handlers.ports import PartitionData, PartitionRead
from kproxy.handlers.refusal_report import RefusalReport
from kproxy.share.identifiers import SharePartitionKey, TopicIdPartition
from kproxy.share.share_partition import SharePartition

_EXPECTED = frozenset({ErrorCode.NONE, ErrorCode.OFFSET_OUT_OF_RANGE})
"""How a read may end without ending the fetch."""


class PartitionFetch:
    """One ShareFetch under way; `run` is called once."""

    __slots__ = (
        "_acquisition",
        "_bytes_left_behind",
        "_elsewhere",
        "_fetched",
        "_found",
        "_has_failed_read",
        "_has_left_out",
        "_isolation",
        "_loads",
        "_looks",
        "_must_look_again",
        "_refused",
        "_report",
        "_services",
        "_signals",
        "_terms",
        "_times",
        "_turns",
        "_writes",
        "throttled",
    )

    def __init__(self, services: ShareServices, terms: FetchTerms) -> None:
        self._services = services
        self._terms, self._times = terms, FetchTimes(services, terms.session_key.group_id)
        self._writes = StateWrites(services.directory, services.state_log)
        self._acquisition = RecordAcquisition(services, terms, self._writes)
        self._refused: dict[TopicIdPartition, FetchedPartition] = {}
        self._fetched: dict[TopicIdPartition, FetchedPartition] = {}
        self._report = RefusalReport(services.observer, terms.context)
        self._loads = FetchLoads(services)
        self._found = FoundBytes()
        self.throttled = ThrottledReads(services.clock)
        """What the quotas of brokers hold back."""
        self._signals = FetchSignals()
        self._turns = HeldTurns(services, self._signals)
        self._looks = PartitionLooks({}, self._signals.own_key)
        self._elsewhere: list[TopicIdPartition] = []
        self._bytes_left_behind, self._isolation = 0, IsolationLevel.READ_UNCOMMITTED
        self._has_failed_read = self._has_left_out = self._must_look_again = False

    async def run(self) -> Mapping[TopicIdPartition, FetchedPartition]:
        """Return what the answer may say of each partition, in no order; left out is what was not looked at.

        Raises:
            ShareSessionNotFound: the session ended while the fetch waited; nothing was acquired for it.
        """
        terms = self._terms
        refusals = await self._services.leadership.refusals(terms.partitions, terms.node_id, terms.readable)
        for partition, refusal in refusals.items():
            self._refused[partition] = self._reported(partition, FetchedPartition(refusal))
        try:
            if not terms.wants_nothing:
                await self._fetch_listening()
                if self._has_failed_read:
                    has_records = self._acquisition.acquired_count > 0
                    await look_again(self._services, self._fetched, has_records=has_records)
        finally:
            self._report.tell()
            await self._writes.settle()
        return self._fetched | self._refused

    async def _fetch_listening(self) -> None:
        terms, availability = self._terms, self._services.availability
        keys = {terms.key(each): each for each in terms.partitions if each not in self._refused}
        self._signals = availability.listen(keys, terms.session_key)
        self._turns = HeldTurns(self._services, self._signals)
        self._looks = PartitionLooks(keys, self._signals.own_key)
        try:
            await terms.ends.after(self._fetch(), len(keys))
        finally:
            self._looks.interest.end()
            self._turns.leave_all()
            self._times.close()
            self._services.turns.leave(self._signals)
            availability.silence(self._signals, keys, terms.session_key)

    async def _fetch(self) -> None:
        if await self._begin_loads() and not self._signals.is_news:
            await self._wait()
            await self._begin_loads()
        while True:
            await self._read_round()
            if self._is_over():
                return
            if not self._must_look_again and not self._signals.is_news:
                await self._wait()
                if self._is_time_up() and not self._bytes_left_behind:
                    return
            await self._begin_loads()

    async def _wait(self) -> None:
        """Sleep until there may be something new of the share-partitions that are still looked at."""
        self._require_session()
        self._found.may_begin_anew = self._signals.is_asleep = True
        until_ms = self.throttled.bounded(self._terms.deadline_ms)
        interest, context = self._looks.interest, self._terms.context
        woken = await self._services.parked.wait(interest, until_ms, context, self._isolation)
        self._signals.is_asleep = False
        await self._terms.looks.begin(len(self._looks) if self._signals.is_altered else len(woken))
        self._looks.hear(woken)
        await self._terms.readable.renew(self._leave_to_others)
        self._require_session()

    def _is_over(self) -> bool:
        if self._is_time_up() or len(self._refused) == len(self._terms.partitions):
            return True
        has_enough = bool(self._fetched) and self._terms.min_bytes <= 0
        return has_enough or self._has_failed_read or self._acquisition.has_news or self.throttled.is_told

    def _is_time_up(self) -> bool:
        return self._services.parked.is_ending or self._services.clock.now_ms() >= self._terms.deadline_ms

    def _require_session(self) -> None:
        if not self._terms.is_session_open():
            raise ShareSessionNotFound("the share session ended while its fetch waited")

    async def _pause(self) -> None:
        """Let others go on, who may change everything: what was looked up before is looked up anew."""
        await let_others_go_on()
        self._require_session()

    async def _begin_loads(self) -> bool:
        """Take note of the loads that ended, and begin those of what is not live; tell whether there are only such."""
        pace = Pace()
        for partition, key in self._looks.begin(self._signals.look_at_all()):
            if self._services.directory.find(key) is not None:
                self._loads.forget(key)
            elif (refusal := self._loads.begin(key)) is not None:
                self._refused[partition] = self._reported(partition, FetchedPartition(refusal))
                self._looks.refuse(key)
            else:
                self._looks.leave_quiet(key)  # its end is signalled, or that its slot is ready
            if pace.is_pause_due():
                await self._pause()
        return 0 < len(self._loads) == len(self._looks)

    async def _read_round(self) -> None:
        self._isolation = self._services.isolation_of(self._terms.session_key.group_id)
        self._has_failed_read = self._has_left_out = self._must_look_again = False
        self._bytes_left_behind = 0
        self.throttled.begin_round()
        try:
            offsets = self._times.taken(await self._begin_reads())
            if not offsets or await self._is_still_too_little(offsets):
                return
            reads, max_bytes = reads_of(self._services, self._terms, offsets)
            found = await self._read(reads, max_bytes)
            await self._take(reads, found)
        finally:
            self._turns.leave_all()
            self._times.end()
        if not self._acquisition.acquired_count:
            self._terms.context.answer_budget.give_back()

    async def _read(
        self, reads: Mapping[TopicIdPartition, PartitionRead], max_bytes: int
    ) -> Mapping[TopicIdPartition, PartitionData]:
        """Return what was read, without what quotas held back."""
        results = await self._services.reader.read(
            [*reads.values()], max_bytes=max_bytes, isolation=self._isolation, on_early=self._leave_to_others
        )
        self._require_session()
        return self.throttled.left_of(dict(zip(reads, results, strict=True)))

    def _leave_to_others(self, came: Iterable[PartitionRead] | None = None) -> None:
        self._turns.leave_to_others(None if came is None else map(self._terms.key_of, came))

    async def _is_still_too_little(self, offsets: Mapping[TopicIdPartition, int]) -> bool:
        """Tell whether what the last round found, and what was added, is less than MinBytes: this one is over then."""
        if self._is_time_up() or not self._found.is_known_from(offsets) or not self._found.total(offsets):
            return False  # where nothing was found, a read of what was added is a read of all
        added = dict(zip(offsets, self._found.reads_of_added(tuple(offsets)), strict=True))
        max_bytes = self._terms.context.answer_budget.grant(SMALLEST_READ_BYTES)
        results = await self._read(added, max_bytes)
        self._terms.context.answer_budget.give_back()
        if len(results) < len(added):
            return True
        are_added = [self._found.add(partition, data) for partition, data in results.items()]
        found_bytes = self._found.total(offsets)
        if not are_unchanged(self._services, self._terms, offsets):
            self._must_look_again = True
            return True
        if found_bytes >= self._terms.min_bytes or self._is_time_up() or not all(are_added):
            return False
        self._leave_behind(found_bytes)
        for partition, data in results.items():
            key, offset, end = self._terms.key(partition), offsets[partition], data.readable_end
            self._looks.interest[key] = max(offset, end)
            if end <= offset:
                self._leave_quiet(key)
            else:
                self._services.availability.leave_too_few(self._signals, key, offset, end)
        return True

    def _leave_behind(self, found_bytes: int) -> None:
        """Note that these are too few; if not with what others read, look at that when they have."""
        self._bytes_left_behind = found_bytes
        if self._elsewhere and found_bytes + self._found.total(self._elsewhere) >= self._terms.min_bytes:
            self._signals.needed.update(map(self._terms.key, self._elsewhere))
            self._must_look_again |= not all(map(self._services.turns.is_read, self._signals.needed))

    def _leave_quiet(self, key: SharePartitionKey) -> None:
        self._looks.leave_quiet(key)
        self._must_look_again |= self._has_left_out  # there is room for a read of another one

    def _leave_read(self, partition: TopicIdPartition, offset: int) -> None:
        """Leave the turn of what was read; where the next round would not read the same, look for what was left out."""
        self._turns.leave(self._terms.key(partition))
        if self._has_left_out:
            self._must_look_again |= not are_unchanged(self._services, self._terms, {partition: offset})

    async def _begin_reads(self) -> dict[TopicIdPartition, int]:
        """Take the turns of this round; return where to read: the first ones if there are fewer bytes than these."""
        offsets: dict[TopicIdPartition, int] = {}
        self._elsewhere.clear()
        self._signals.needed.clear()
        pace = Pace()
        for partition, key in self._looks.begin(self._signals.look_at_all()):
            if pace.is_pause_due():
                await self._pause()
            share_partition = self._services.directory.with_current_limits(key)
            if share_partition is None:
                self._signals.hear(key)  # discarded, or not loaded after all, since its loads were seen to
                continue
            if not share_partition.can_acquire():
                self._services.turns.wait_for_room(key, self._signals)
            elif len(offsets) >= self._terms.max_bytes:
                self._has_left_out = True
                self._turns.leave_out(key)
            elif self._services.turns.take(key, self._signals):
                offsets[partition] = share_partition.next_fetch_offset()
            elif key in self._signals.too_few:
                self._elsewhere.append(partition)  # what was found there counts at every look
            else:
                self._looks.leave_quiet(key)  # whoever reads it owes this fetch a call
        return offsets

    async def _take(
        self,
        reads: Mapping[TopicIdPartition, PartitionRead],
        results: Mapping[TopicIdPartition, PartitionData],
    ) -> None:
        """Acquire from the `results` of `reads`, unless they are less than the client is willing to wait for."""
        pace = Pace(start=self._terms.batch_looks)
        batches: dict[TopicIdPartition, ReadBatches] = {}
        left_behind = without_room(reads, results)
        for partition, data in results.items():
            begun = batches[partition] = self._begun(reads[partition], data)
            work = begun.work
            if begun.is_cut:
                if pace.is_pause_due(work):
                    await self._pause()
                work = begun.look_on()
            self._note_found(reads[partition], data, begun, is_left_behind=partition in left_behind)
            if pace.is_pause_due(work):
                await self._pause()
        self._has_failed_read = any(
            batches[partition].is_corrupt or data.error_code not in _EXPECTED
            for partition, data in results.items()
        )
        found_bytes = self._found.total(results)
        is_enough = found_bytes >= self._terms.min_bytes or self._has_failed_read or self._is_time_up()
        if not is_enough:
            self._leave_behind(found_bytes)
            self._must_look_again |= bool(left_behind) and self._found.begin_anew()
        pace = Pace()
        for partition, data in results.items():
            # To free very many of them all together would take a long turn.
            looked_at = batches.pop(partition)
            self._take_one(reads[partition], data, looked_at if is_enough else None)
            self._leave_read(partition, reads[partition].offset)
            if pace.is_pause_due(looked_at.work):
                await self._pause()

    def _take_one(self, read: PartitionRead, data: PartitionData, batches: ReadBatches | None) -> None:
        """Acquire from `batches`, which are None where they are not enough, and note what is waited for then."""
        partition = TopicIdPartition(read.topic_id, read.partition)
        share_partition = self._services.directory.with_current_limits(self._terms.key(partition))
        if share_partition is None:
            self._must_look_again = True  # discarded during the read: it is loaded again first
            return
        size = self._services.directory.read_size(share_partition.key)
        fetched = self._taken(share_partition, read, data, batches)
        if share_partition.is_fenced:
            self._must_look_again = True  # a write of its start was refused: nobody holds anything
            return
        self._fetched[partition] = self._reported(partition, fetched)
        self._signals.look_at(share_partition.key)
        self._looks.interest.news.discard(share_partition.key)
        is_left_behind = size.is_first_due and batches is not None
        missing = read.offset if is_left_behind else missing_offset(share_partition, read, data)
        self._looks.interest[share_partition.key] = missing
        if not size.is_first_due and is_read_to_its_end(read, data, missing):
            self._leave_quiet(share_partition.key)
        elif data.readable_end > read.offset and batches is None:
            self._services.availability.leave_too_few(
                self._signals, share_partition.key, read.offset, data.readable_end
            )

    def _begun(self, read: PartitionRead, data: PartitionData) -> ReadBatches:
        """Return the first batches of a read; all of them are no more than can be acquired."""
        offset_count = acquirable_offsets(self._services, self._terms.key_of(read), read.offset)
        return ReadBatches(data.records, read.offset, offset_count, most=MOST_UNCUT)

    def _note_found(
        self, read: PartitionRead, data: PartitionData, batches: ReadBatches, *, is_left_behind: bool
    ) -> None:
        partition = TopicIdPartition(read.topic_id, read.partition)
        found_bytes = batches.bytes_in_log(data.readable_end)
        size = self._services.directory.read_size(self._terms.key(partition))
        size.is_first_due = is_left_behind
        if size.is_first_due:
            found_bytes = size.bytes_of(data.readable_end - read.offset)
        self._found.note(partition, read.offset, max(data.readable_end, read.offset), found_bytes)

    def _taken(
        self,
        share_partition: SharePartition,
        read: PartitionRead,
        data: PartitionData,
        batches: ReadBatches | None,
    ) -> FetchedPartition:
        match data.error_code:
            case ErrorCode.NONE if batches is not None and data.records:
                fetched = self._acquisition.acquire(share_partition, batches, read.offset, data.aborted)
                # Behind it: a write that is refused at once fences the share-partition.
                self._acquisition.move_start(share_partition, data.log_start_offset)
                if fetched.acquired:
                    self._services.availability.call_next(self._signals, share_partition.key)
                return fetched
            case ErrorCode.NONE | ErrorCode.OFFSET_OUT_OF_RANGE:
                self._acquisition.move_start(share_partition, data.log_start_offset)
                return FetchedPartition()
            case failure:
                return FetchedPartition(PartitionRefusal(failure, f"the read ended with {failure.name}"))

    def _reported(self, partition: TopicIdPartition, fetched: FetchedPartition) -> FetchedPartition:
        if fetched.refusal is not None:
            detail = f"fetch of {self._terms.key(partition)}: {fetched.refusal.message}"
            self._report.add(fetched.refusal.error_code, detail)
        return fetched
