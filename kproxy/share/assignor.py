"""The simple assignor: every member gets its share of the partitions, every partition at least one member.

Balance comes before stickiness. Racks play no part. Source: `SimpleAssignor` of Kafka 4.2 and later; which of
several equal choices it makes depends on hash order there, here on the order of members and partitions.
"""

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from kproxy.share.identifiers import MemberId, TopicId, TopicIdPartition

ASSIGNOR_NAME: Final = "simple"

Assignment: TypeAlias = Mapping[MemberId, frozenset[TopicIdPartition]]
"""The partitions of each member."""


def assign(
    subscriptions: Mapping[MemberId, frozenset[TopicId]],
    assignable: Mapping[TopicId, frozenset[int]],
    previous: Assignment,
) -> Assignment:
    """Return the partitions of each member, changing as little of `previous` as balance allows.

    Members with one and the same subscription share all partitions; otherwise each topic is shared among its
    subscribers, for itself. A subscribed topic that is not in `assignable` is left out.
    """
    held: dict[MemberId, set[TopicIdPartition]] = {member_id: set() for member_id in subscriptions}
    for member_ids, partitions in _pools(subscriptions, assignable):
        if (
            len(partitions) == 1 or len(member_ids) == 1
        ):  # everybody has everything: there is nothing to choose
            everything = frozenset(partitions)
            for member_id in member_ids:
                held[member_id] |= everything
            continue
        for member_id, share in _share_out(member_ids, partitions, previous).items():
            held[member_id] |= share
    return {member_id: frozenset(partitions) for member_id, partitions in held.items()}


def _pools(
    subscriptions: Mapping[MemberId, frozenset[TopicId]], assignable: Mapping[TopicId, frozenset[int]]
) -> Iterator[tuple[Sequence[MemberId], Sequence[TopicIdPartition]]]:
    """Yield who shares what: one pool for equal subscriptions, else one for each topic. None is empty."""
    is_homogeneous = len(set(subscriptions.values())) == 1
    pools: dict[Sequence[MemberId], list[TopicIdPartition]] = {}
    for topic_id in sorted(assignable):
        subscribers = tuple([member_id for member_id, ids in subscriptions.items() if topic_id in ids])
        partitions = [TopicIdPartition(topic_id, number) for number in sorted(assignable[topic_id])]
        if not subscribers:
            continue
        if is_homogeneous:
            pools.setdefault(subscribers, []).extend(partitions)
        else:
            yield subscribers, partitions
    yield from pools.items()


def _share_out(
    member_ids: Sequence[MemberId], partitions: Sequence[TopicIdPartition], previous: Assignment
) -> dict[MemberId, set[TopicIdPartition]]:
    """Share one pool.

    1. Every partition is for `sharing` members, which is 1 unless there are more members than partitions.
    2. Every member has a quota. The quotas add up to all places and differ by one at most.
    3. Members keep what they have, within their quota and the places of each partition.
    4. The places left are filled one partition after the other, by members below their quota in turn.
    """
    sharing = -(-len(member_ids) // len(partitions))
    quotas = _quotas(member_ids, place_count=sharing * len(partitions))
    held, holder_counts = _kept(quotas, frozenset(partitions), previous, sharing=sharing)
    unfilled = deque(member_id for member_id in member_ids if len(held[member_id]) < quotas[member_id])
    for partition in partitions:
        for _ in range(sharing - holder_counts[partition]):
            member_id = _next_without(partition, unfilled, held)
            if member_id is None:
                break
            held[member_id].add(partition)
            if len(held[member_id]) < quotas[member_id]:
                unfilled.append(member_id)
    return held


def _quotas(member_ids: Sequence[MemberId], *, place_count: int) -> dict[MemberId, int]:
    """Divide the places: 6 places of 4 members are 2, 1, 2 and 1."""
    ends = [-(-place_count * count // len(member_ids)) for count in range(len(member_ids) + 1)]
    return {member_id: ends[index + 1] - ends[index] for index, member_id in enumerate(member_ids)}


def _kept(
    quotas: Mapping[MemberId, int],
    partitions: frozenset[TopicIdPartition],
    previous: Assignment,
    *,
    sharing: int,
) -> tuple[dict[MemberId, set[TopicIdPartition]], Counter[TopicIdPartition]]:
    """Return what each member keeps of `previous`, and how many keep each partition."""
    held: dict[MemberId, set[TopicIdPartition]] = {}
    holder_counts: Counter[TopicIdPartition] = Counter()
    for member_id, quota in quotas.items():
        kept: set[TopicIdPartition] = set()
        for partition in sorted(previous.get(member_id, frozenset()) & partitions):
            if len(kept) < quota and holder_counts[partition] < sharing:
                kept.add(partition)
                holder_counts[partition] += 1
        held[member_id] = kept
    return held, holder_counts


def _next_without(
    partition: TopicIdPartition,
    unfilled: deque[MemberId],
    held: Mapping[MemberId, set[TopicIdPartition]],
) -> MemberId | None:
    """Take the next member in turn that does not hold `partition`; None when all of them hold it."""
    for _ in range(len(unfilled)):
        if partition not in held[unfilled[0]]:
            return unfilled.popleft()
        unfilled.rotate(-1)
    return None
