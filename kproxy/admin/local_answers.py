"""`LocalAnswers`: what this process itself holds of brokers, share groups, sessions, records and the state log.

Lists are in the order of group ids, so that those of several processes can be joined without being held.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from kproxy.admin.activity.happenings import (
    CountsPicture,
    GroupPicture,
    Picture,
    SlotPicture,
    counts_picture,
)
from kproxy.admin.activity.holdings import NOTHING_HELD, Holding, holdings
from kproxy.admin.all_backlogs import AllBacklogs
from kproxy.admin.cluster.broker_views import KnownBrokers, no_brokers
from kproxy.admin.cluster.slot_places import UNKNOWN_PLACE, SlotPlaces
from kproxy.admin.group_lag import NOT_ASKED_FOR, NOT_LOOKED_AT, GroupLag
from kproxy.admin.group_lags import GroupLags
from kproxy.admin.group_progress import GroupProgress, IsolationOf
from kproxy.admin.known_names import KnownNames
from kproxy.admin.live_share_partitions import LiveSharePartitions, require_unfetched
from kproxy.admin.peer_views import Alone, SlotOwners
from kproxy.admin.queries import NothingThere
from kproxy.admin.questions import Endpoint, Question
from kproxy.admin.share_views import (
    ClientHosts,
    ClientIds,
    PartitionCounts,
    TopicNames,
    group_description,
    group_summary,
    is_session_wanted,
    member_views,
    session_view,
)
from kproxy.admin.state_log_views import StateLogSlots, doubt_of_slots, durable_state_view
from kproxy.admin.turns import in_order, in_turns
from kproxy.admin.views import JsonObject, item
from kproxy.admin.windows_in_flight import LimitsOf, WindowsInFlight
from kproxy.errors import ShareSessionNotFound
from kproxy.handlers.backlog import Backlogs
from kproxy.handlers.live.share_counters import GroupCounts
from kproxy.handlers.ports import Background, Clock, TopicDescription
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.identifiers import GroupId, MemberId, SharePartitionKey, topic_id_text
from kproxy.share.share_session import ShareSessionCache, ShareSessionKey
from kproxy.share.views.group_views import members_of, outline_of
from kproxy.statelog.partitioning import group_partition
from kproxy.statelog.slot_status import SlotStatus

_OF_RUNS: Final = frozenset({"state", "member", "deliveries", "held"})
"""Parameters that choose among the runs of a share-partition; whoever held one may be gone."""


@dataclass(frozen=True, slots=True)
class Inspected:
    """What is looked into. `clock` is the one that locks count by; `wall_clock` is for `asOf`.

    `state_log` returns the slots, None as long as it is not known how many there are; `state_topic` the topic that
    holds their share-partitions, which is known when they are; `cluster_id` the backing cluster's, None before it was
    met. `backlogs` asks the brokers what only they know. `limits_of` says the limits of a group's share-partitions as
    it is configured now, `isolation_of` which records it is given. `unavailable` is why share groups are not served,
    whatever becomes of slots, so that what there is of them in memory is not the truth, or not all of it; empty while
    they are.
    `owners` says who owns which slots, `brokers` which brokers there are, `slot_place` on which of them a slot is, and
    `counts` what happened to the records of a group since this process began.
    """

    coordinator: GroupCoordinator
    sessions: ShareSessionCache
    directory: LiveSharePartitions
    topic_name: TopicNames
    partition_count: PartitionCounts
    client_id: ClientIds
    client_host: ClientHosts
    clock: Clock
    wall_clock: Clock
    state_log: Callable[[], StateLogSlots | None]
    state_topic: Callable[[], TopicDescription | None]
    cluster_id: Callable[[], str | None]
    backlogs: Backlogs
    background: Background
    limits_of: LimitsOf
    isolation_of: IsolationOf
    unavailable: Callable[[], str] = str
    owners: SlotOwners = field(default_factory=Alone)
    counts: Callable[[GroupId], GroupCounts] = lambda _: GroupCounts()
    brokers: KnownBrokers = no_brokers
    slot_place: SlotPlaces = lambda _: UNKNOWN_PLACE


@dataclass(frozen=True, slots=True)
class Told:
    """An answer that is made as it is written: its items, with what stands beside them.

    With `nested`, lists by their names, there is one item, and they are its last fields.
    """

    kind: str
    items: Iterable[JsonObject]
    facts: Mapping[str, object] = field(default_factory=dict)
    nested: Mapping[str, Iterable[JsonObject]] = field(default_factory=dict)


class LocalAnswers:
    """Answers questions, whatever their scope. It changes nothing."""

    __slots__ = ("_answers", "_inspected", "_known", "_progress", "_windows", "lags")

    def __init__(self, inspected: Inspected) -> None:
        self._inspected = inspected
        self._known = KnownNames(
            inspected.coordinator,
            inspected.sessions,
            inspected.directory,
            inspected.topic_name,
            inspected.partition_count,
        )
        self._progress = GroupProgress(
            coordinator=inspected.coordinator,
            directory=inspected.directory,
            topic_name=inspected.topic_name,
            state_log=inspected.state_log,
            backlogs=inspected.backlogs,
            wall_clock=inspected.wall_clock,
            limits_of=inspected.limits_of,
            isolation_of=inspected.isolation_of,
        )
        self._windows = WindowsInFlight(
            coordinator=inspected.coordinator,
            directory=inspected.directory,
            topic_name=inspected.topic_name,
            client_id=inspected.client_id,
            clock=inspected.clock,
            state_log=inspected.state_log,
            limits_of=inspected.limits_of,
        )
        self.lags: Final = GroupLags(
            self._progress,
            backlogs=AllBacklogs(inspected.backlogs, inspected.clock),
            background=inspected.background,
            clock=inspected.clock,
        )
        self._answers: Mapping[Endpoint, Callable[[Question], Awaitable[Told]]] = {
            Endpoint.BROKERS: self._brokers,
            Endpoint.GROUPS: self._groups,
            Endpoint.GROUP: self._group,
            Endpoint.SESSIONS: self._sessions,
            Endpoint.IN_FLIGHT: self._in_flight,
            Endpoint.STATE_LOG: self._state_log,
            Endpoint.SLOT_STATES: self._slot_states,
        }

    async def answer(self, question: Question) -> Told:
        """Return what this process holds of what is asked for. Raises NothingThere."""
        return await self._answers[question.endpoint](question)

    # ------------------------------------------------ what may be missing

    def unavailable(self) -> str:
        """Return why what this process holds may not be the truth, whatever slots it serves; empty while it is."""
        return self._inspected.unavailable()

    def statuses(self) -> Mapping[int, SlotStatus]:
        """Return every slot as this process sees it; none as long as it is not known how many there are."""
        slots = self._inspected.state_log()
        return {} if slots is None else {status.partition: status for status in slots.statuses()}

    def doubt(self, question: Question) -> str:
        """Return why this process may not know all that is asked for and not another process's; empty if it does."""
        statuses = self.statuses()
        slot = question.slot
        if question.group_id is not None and statuses:
            slot = group_partition(GroupId(question.group_id), len(statuses))
        about = list(statuses.values()) if slot is None else [statuses[slot]] if slot in statuses else []
        if not question.is_about_slots:
            return ""
        is_mine = slot is not None
        return self.unavailable() or doubt_of_slots(about, len(statuses), has_others=not is_mine)

    # ------------------------------------------------ brokers

    async def _brokers(self, _question: Question) -> Told:
        process = self._inspected.owners.own_name
        items = ({"process": process, **item(broker)} for broker in self._inspected.brokers())
        return Told("Brokers", items)

    # ------------------------------------------------ what events are found by

    @property
    def background(self) -> Background:
        """Where work goes on that nobody waits for."""
        return self._inspected.background

    @property
    def wall_clock(self) -> Clock:
        """The clock of `asOf`."""
        return self._inspected.wall_clock

    async def picture(self) -> Picture:
        """Return what groups and slots are like now."""
        coordinator = self._inspected.coordinator
        groups: dict[str, GroupPicture] = {}
        counts: dict[str, CountsPicture] = {}
        async for group_id in in_turns(coordinator.group_ids):
            group = coordinator.find(group_id)
            if group is not None:
                groups[group_id] = GroupPicture(group.state.value, group.group_epoch, len(group.members))
                counts[group_id] = counts_picture(self._inspected.counts(group_id))
        slots = {
            number: SlotPicture(status.state.value, self._owner(status), status.reason)
            for number, status in self.statuses().items()
        }
        return Picture(groups, counts, slots)

    # ------------------------------------------------ what operators name

    async def share_partition(
        self, group: str, topic: str, partition: int
    ) -> tuple[SharePartitionKey, str | None]:
        """Return the live share-partition of these names, and the name of its topic, None when it is not known.

        Raises:
            NothingThere: nothing is known of it, or nobody fetches from it.
            CoordinatorLoadInProgress: somebody does, but it is not in memory now, or cannot be loaded.
        """
        wanted = {"group": group, "topic": topic, "partition": str(partition)}
        found = next(await self._windows.live_keys(wanted), None)
        if found is None:
            await self._known.require(wanted)
            for key in await self._windows.keys(wanted):
                require_unfetched(key, self._inspected.directory, self._inspected.sessions.sessions())
            raise NothingThere(
                f"nobody fetches from partition {partition} of {topic!r} for {group!r} now, and only what is in memory "
                "can be settled: let a member of the group fetch first"
            )
        return found, self._inspected.topic_name(found.topic_id)

    async def require_member(self, group: str, member: str) -> None:
        """Return if there is such a member of such a group, or a share session of it. Raises NothingThere."""
        await self._known.require({"group": group, "member": member})

    # ------------------------------------------------ share groups

    async def _groups(self, question: Question) -> Told:
        lags = await self.lags.look() if question.has_lag else {}
        held = await holdings(self._inspected.directory, now_ms=self._inspected.clock.now_ms())
        otherwise = NOT_LOOKED_AT if question.has_lag else NOT_ASKED_FOR
        group_ids = await in_order(self._inspected.coordinator.group_ids, key=lambda group_id: group_id)
        return Told("ShareGroups", self._summaries(group_ids, lags, otherwise, held))

    def _summaries(
        self,
        group_ids: Iterable[GroupId],
        lags: Mapping[GroupId, GroupLag],
        otherwise: GroupLag,
        held: Mapping[GroupId, Holding],
    ) -> Iterator[JsonObject]:
        coordinator, now_ms = self._inspected.coordinator, self._inspected.wall_clock.now_ms()
        for group_id in group_ids:
            group = coordinator.find(group_id)
            if group is None:
                continue  # deleted since the answer began
            yield item(
                group_summary(
                    outline_of(group),
                    lags.get(group_id, otherwise),
                    now_ms=now_ms,
                    holding=held.get(group_id, NOTHING_HELD),
                    counts=self._inspected.counts(group_id),
                )
            )

    async def _group(self, question: Question) -> Told:
        group_id = GroupId(question.place)
        await self._known.require_group(group_id)
        progress = await self._progress.of(group_id, has_lag=question.has_lag)
        now_ms, directory = self._inspected.clock.now_ms(), self._inspected.directory
        held = await holdings(directory, now_ms=now_ms, only=group_id)
        group = self._inspected.coordinator.find(group_id)
        if group is None:
            raise NothingThere(f"Group {group_id} not found.")
        described = group_description(
            outline_of(group),
            holding=held.get(group_id, NOTHING_HELD),
            counts=self._inspected.counts(group_id),
            slot=self._slot_of(group_id),
        )
        members = map(item, member_views(members_of(group), now_ms=now_ms))
        lists = {"members": members, "sharePartitions": map(item, progress)}
        return Told("ShareGroup", [item(described)], {}, lists)

    def _slot_of(self, group_id: GroupId) -> int | None:
        slots = self._inspected.state_log()
        slot_count = 0 if slots is None else len(slots.statuses())
        return group_partition(group_id, slot_count) if slot_count else None

    # ------------------------------------------------ sessions

    async def _sessions(self, question: Question) -> Told:
        await self._known.require(question.wanted)
        keys = [
            session.key
            async for session in in_turns(self._inspected.sessions.sessions())
            if is_session_wanted(session.key, question.wanted)
        ]
        ordered = await in_order(keys, key=lambda key: (key.group_id, key.member_id, key.node_id))
        return Told("ShareSessions", self._session_items(ordered))

    def _session_items(self, keys: Iterable[ShareSessionKey]) -> Iterator[JsonObject]:
        inspected, sessions = self._inspected, self._inspected.sessions
        for key in keys:
            try:
                session = sessions.find(key)
            except ShareSessionNotFound:
                continue  # closed since the answer began
            view = session_view(
                session,
                inspected.topic_name,
                inspected.client_id,
                inspected.client_host,
                now_ms=inspected.clock.now_ms(),
                heard_ms=self._heard_ms(key.group_id, key.member_id),
            )
            yield item(view)

    def _heard_ms(self, group_id: GroupId, member_id: MemberId) -> int | None:
        group = self._inspected.coordinator.find(group_id)
        member = None if group is None else group.members.get(member_id)
        return None if member is None else member.heard_ms

    # ------------------------------------------------ records in flight

    async def _in_flight(self, question: Question) -> Told:
        places = {name: value for name, value in question.wanted.items() if name not in _OF_RUNS}
        await self._known.require(places)
        keys: Iterable[SharePartitionKey] = await self._windows.keys(places)
        member = question.wanted.get("member")
        if member is not None:
            # Somebody of this id may hold records, in the group or gone.
            keys = found = await self._windows.with_runs(keys, {"member": member})
            if not found:
                await self._known.require(
                    {name: value for name, value in question.wanted.items() if name in {"group", "member"}}
                )
        of_runs = {name: value for name, value in question.wanted.items() if name in _OF_RUNS}
        if set(of_runs) - {"member"}:
            keys = await self._windows.with_runs(keys, of_runs)
        return Told("InFlightRecords", map(item, self._windows.runs(keys, question.wanted)))

    # ------------------------------------------------ the state log

    async def _state_log(self, _question: Question) -> Told:
        place = self._inspected.slot_place
        items = (
            {**item(status), "owner": self._owner(status), **item(place(status.partition))}
            for status in self.statuses().values()
        )
        return Told("StateLogSlots", items, self._state_log_facts())

    def _owner(self, status: SlotStatus) -> str:
        """Return what people call the process that owns a slot, empty for nobody."""
        owners = self._inspected.owners
        if status.state.is_owned:
            return owners.own_name
        peer = owners.peer_of_slot(status.partition)
        return "" if peer is None else peer.name

    def _state_log_facts(self) -> dict[str, object]:
        """Return what tells this state log from every other, and from one made anew; empty texts if unknown."""
        topic = self._inspected.state_topic()
        return {
            "clusterId": self._inspected.cluster_id() or "",
            "stateTopic": "" if topic is None else topic.name,
            "stateTopicId": "" if topic is None else topic_id_text(topic.topic_id),
        }

    async def _slot_states(self, question: Question) -> Told:
        number, slots = int(question.place), self._inspected.state_log()
        try:
            applied = None if slots is None else slots.states(number)
        except IndexError:
            applied = None
        if applied is None:
            raise NothingThere(f"the state log has no slot {number} here")
        names = self._inspected.topic_name
        items = (item(durable_state_view(key, state, names)) for key, state in applied.states.items())
        facts = {"partition": number, "appliedOffset": applied.applied_offset}
        return Told("DurableShareStates", items, facts)
