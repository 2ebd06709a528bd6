"""Share groups, share sessions and records in flight, as the admin port shows them. Pure.

A topic's name is None when the cluster's metadata, as cached, does not know its id (any more).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from kproxy.admin.activity.holdings import NOTHING_HELD, Holding
from kproxy.admin.group_lag import GroupLag
from kproxy.handlers.live.share_counters import GroupCounts
from kproxy.share.identifiers import GroupId, MemberId, TopicId, topic_id_text
from kproxy.share.share_partition_view import InFlightRangeView, SharePartitionView
from kproxy.share.share_session import ShareSession, ShareSessionKey
from kproxy.share.views.group_views import ShareGroupMemberView, ShareGroupOutline

TopicNames = Callable[[TopicId], str | None]
"""Says the name of a topic id, None when it is not known."""

PartitionCounts = Callable[[TopicId], int | None]
"""Says how many partitions a topic has, None when it is not known."""

ClientIds = Callable[[GroupId, MemberId], str]
"""Says the client id of a member, empty when it is not known."""

ClientHosts = Callable[[GroupId, MemberId], str]
"""Says the address of a member's client as Kafka writes it, empty when it is not known."""


@dataclass(frozen=True, slots=True)
class ShareGroupSummary:
    """An item of `/api/v1/groups`.

    `lag` counts the records that are not done with, over all share-partitions as far as they are known, and unless
    `is_lag_exact` there may be more. `oldest_age_ms` is how long ago the first of them was written, and unless
    `is_oldest_age_exact` it is at least that long. None is not known or, of an age, that there is no such record;
    `reason` says why something is not known, and is empty if all is, or nobody asked.

    `in_flight_count` and `oldest_lock_age_ms` are those of `Holding`. The last three count from when the process that
    serves the group began to: what they grew by between two looks is a rate; one that shrank began anew.
    """

    group_id: str
    state: str
    group_epoch: int
    assignment_epoch: int
    assignor_name: str
    member_count: int
    lag: int | None
    is_lag_exact: bool
    oldest_age_ms: int | None
    is_oldest_age_exact: bool
    reason: str
    in_flight_count: int
    oldest_lock_age_ms: int | None
    delivered_count: int
    redelivered_count: int
    acknowledged_count: int


@dataclass(frozen=True, slots=True)
class TopicPartitionsView:
    """Some partitions of one topic, ascending."""

    topic_id: str
    topic_name: str | None
    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MemberView:
    """A member, with the fields of ShareGroupDescribe.

    `last_heartbeat_age_ms` is how long ago its last heartbeat came, `heartbeat_interval_ms` how often it was told to
    send one; None when none came since the group was loaded. Unless one comes its session ends in
    `session_remaining_ms`: it is no member then, and its partitions go to others.
    """

    member_id: str
    rack_id: str | None
    member_epoch: int
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]
    assignment: tuple[TopicPartitionsView, ...]
    last_heartbeat_age_ms: int | None
    heartbeat_interval_ms: int | None
    session_remaining_ms: int


@dataclass(frozen=True, slots=True)
class ShareGroupDescription:
    """The one item of `/api/v1/groups/{g}`, but for its lists.

    These are `members`, a `MemberView` each, and `sharePartitions`, a `SharePartitionProgress` each.

    What is in flight, the oldest lock and the counts are those of `ShareGroupSummary`. `slot` is the one of the state
    log that has its state; None as long as it is not known how many there are.
    """

    group_id: str
    state: str
    group_epoch: int
    assignment_epoch: int
    assignor_name: str
    member_count: int
    in_flight_count: int
    oldest_lock_age_ms: int | None
    delivered_count: int
    redelivered_count: int
    acknowledged_count: int
    slot: int | None


@dataclass(frozen=True, slots=True)
class SessionView:
    """An item of `/api/v1/sessions`.

    `next_epoch` is the share session epoch that the next request must have, `idle_ms` how long ago the last one came
    or, if that is later, a fetch was over. While it `is_fetching` a fetch waits for records, since its request came.
    `client_id` and `client_host`, as Kafka writes it, are empty when nobody knows them; `principal` is who opened it.
    `last_heartbeat_age_ms` is that of `MemberView`, None also of who is no member any more.
    """

    group_id: str
    member_id: str
    client_id: str
    node_id: int
    connection_id: int
    next_epoch: int
    idle_ms: int
    is_fetching: bool
    partition_count: int
    partitions: tuple[TopicPartitionsView, ...]
    client_host: str
    principal: str
    last_heartbeat_age_ms: int | None


@dataclass(frozen=True, slots=True)
class InFlightView:
    """An item of `/api/v1/in-flight`: a run of offsets, both ends inclusive, that share everything else.

    `member_id`, `client_id` and the times of the lock are None unless it is Acquired. `lock_remaining_ms` is not
    negative: a lock that has ended may stand for some milliseconds more. `lock_duration_ms` is how long this lock
    lasts, as those of the group did when it was taken: the member has held it, or renewed it, for the difference.
    `client_id` is empty when nobody knows it. After `delivery_count_limit` attempts a record is archived. `blocked_by`
    is the first offset that is not done with, which the start offset cannot pass; None for the run that begins with it.
    One that is not `is_live` is of a share-partition that nobody fetches from: as the state log has it, and as it will
    be loaded.
    """

    group_id: str
    topic_id: str
    topic_name: str | None
    partition: int
    first_offset: int
    last_offset: int
    state: str
    delivery_count: int
    delivery_count_limit: int
    member_id: str | None
    client_id: str | None
    lock_remaining_ms: int | None
    lock_duration_ms: int | None
    blocked_by: int | None
    is_live: bool

    @property
    def held_ms(self) -> int | None:
        """How long ago it was acquired, or renewed; None unless it is Acquired."""
        if self.lock_duration_ms is None or self.lock_remaining_ms is None:
            return None
        return max(0, self.lock_duration_ms - self.lock_remaining_ms)


def group_summary(
    group: ShareGroupOutline,
    lag: GroupLag,
    *,
    now_ms: int,
    holding: Holding = NOTHING_HELD,
    counts: GroupCounts | None = None,
) -> ShareGroupSummary:
    """Return what the list of groups shows of one. `now_ms` counts from the epoch."""
    counts = counts or GroupCounts()
    return ShareGroupSummary(
        group_id=group.group_id,
        state=group.state.value,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.assignor_name,
        member_count=group.member_count,
        lag=lag.lag,
        is_lag_exact=lag.is_lag_exact,
        oldest_age_ms=None if lag.oldest_ms is None else max(0, now_ms - lag.oldest_ms),
        is_oldest_age_exact=lag.is_oldest_exact,
        reason=lag.reason,
        in_flight_count=holding.in_flight_count,
        oldest_lock_age_ms=holding.oldest_lock_ms,
        delivered_count=counts.delivered_count,
        redelivered_count=counts.redelivered_count,
        acknowledged_count=counts.acknowledged_count,
    )


def group_description(
    group: ShareGroupOutline,
    *,
    holding: Holding = NOTHING_HELD,
    counts: GroupCounts | None = None,
    slot: int | None = None,
) -> ShareGroupDescription:
    """Return what is known of a group as a whole."""
    counts = counts or GroupCounts()
    return ShareGroupDescription(
        group_id=group.group_id,
        state=group.state.value,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.assignor_name,
        member_count=group.member_count,
        in_flight_count=holding.in_flight_count,
        oldest_lock_age_ms=holding.oldest_lock_ms,
        delivered_count=counts.delivered_count,
        redelivered_count=counts.redelivered_count,
        acknowledged_count=counts.acknowledged_count,
        slot=slot,
    )


def member_views(members: Iterable[ShareGroupMemberView], *, now_ms: int) -> Iterator[MemberView]:
    """Yield `members` of a group, each made when it is asked for. `now_ms` is of the clock of the heartbeats."""
    return (_member(member, now_ms) for member in members)


def session_view(
    session: ShareSession,
    names: TopicNames,
    clients: ClientIds,
    hosts: ClientHosts,
    *,
    now_ms: int,
    heard_ms: int | None = None,
) -> SessionView:
    """Return a share session with its partitions by topic.

    `now_ms` is of the clock of the sessions, and so is `heard_ms`, when the last heartbeat of its member came.
    """
    partitions: dict[TopicId, list[int]] = {}
    for partition in session.partitions:
        partitions.setdefault(partition.topic_id, []).append(partition.partition)
    return SessionView(
        group_id=session.key.group_id,
        member_id=session.key.member_id,
        client_id=clients(session.key.group_id, session.key.member_id),
        node_id=session.key.node_id,
        connection_id=session.connection_id,
        next_epoch=session.next_epoch,
        idle_ms=max(0, now_ms - session.last_used_ms),
        is_fetching=session.fetch_count > 0,
        partition_count=len(session.partitions),
        partitions=tuple(
            TopicPartitionsView(topic_id_text(topic_id), names(topic_id), tuple(sorted(numbers)))
            for topic_id, numbers in partitions.items()
        ),
        client_host=hosts(session.key.group_id, session.key.member_id),
        principal=session.principal,
        last_heartbeat_age_ms=_age_ms(heard_ms, now_ms),
    )


def in_flight_views(
    window: SharePartitionView,
    topic_name: str | None,
    clients: ClientIds,
    *,
    now_ms: int,
    is_live: bool = True,
) -> Iterator[InFlightView]:
    """Yield the runs of a share-partition in ascending order. `now_ms` is of the clock of the deadlines."""
    topic_id = topic_id_text(window.key.topic_id)
    for run in window.ranges:
        yield InFlightView(
            group_id=window.key.group_id,
            topic_id=topic_id,
            topic_name=topic_name,
            partition=window.key.partition,
            first_offset=run.first_offset,
            last_offset=run.last_offset,
            state=run.state.name.capitalize(),
            delivery_count=run.delivery_count,
            delivery_count_limit=window.limits.delivery_count_limit,
            member_id=run.member_id,
            client_id=None if run.member_id is None else clients(window.key.group_id, run.member_id),
            lock_remaining_ms=_remaining_ms(run, now_ms),
            lock_duration_ms=run.lock_duration_ms,
            blocked_by=None if run.first_offset == window.start_offset else window.start_offset,
            is_live=is_live,
        )


def is_wanted(run: InFlightView, wanted: Mapping[str, str]) -> bool:
    """Tell whether a run is what the parameters of `/api/v1/in-flight` ask for.

    `state` in any case, `member`, at least so many `deliveries`, and `held`, since a renewal, for at least so many ms.
    """
    if wanted.get("state", run.state).lower() != run.state.lower():
        return False
    if wanted.get("member", run.member_id) != run.member_id:
        return False
    if run.delivery_count < int(wanted.get("deliveries", 0)):
        return False
    return "held" not in wanted or (run.held_ms is not None and run.held_ms >= int(wanted["held"]))


def _remaining_ms(run: InFlightRangeView, now_ms: int) -> int | None:
    return None if run.lock_deadline_ms is None else max(0, run.lock_deadline_ms - now_ms)


def _member(member: ShareGroupMemberView, now_ms: int) -> MemberView:
    return MemberView(
        member_id=member.member_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=member.subscribed_topic_names,
        assignment=tuple(
            TopicPartitionsView(topic_id_text(topic.topic_id), topic.topic_name, topic.partitions)
            for topic in member.assignment
        ),
        last_heartbeat_age_ms=_age_ms(member.heard_ms, now_ms),
        heartbeat_interval_ms=member.heartbeat_interval_ms,
        session_remaining_ms=max(0, member.session_deadline_ms - now_ms),
    )


def _age_ms(instant_ms: int | None, now_ms: int) -> int | None:
    return None if instant_ms is None else max(0, now_ms - instant_ms)


def is_session_wanted(key: ShareSessionKey, wanted: Mapping[str, str]) -> bool:
    """Tell whether a share session is of the group and the member that are `wanted`, where those are named."""
    return wanted.get("group", key.group_id) == key.group_id and (
        wanted.get("member", key.member_id) == key.member_id
    )
