"""The simple assignor: every member gets its share of the partitions, every partition at least one member.

Balance comes before stickiness. Racks play no part. Source: `SimpleAssignor` of Kafka 4.2 and later; which of
several equal choices it makes depends on hash order there, here on the order of members and partitions.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, repeat
from typing import Final, TypeAlias

from kproxy.share.identifiers import MemberId, TopicId, TopicIdPartition, partitions_of

ASSIGNOR_NAME: Final = "simple"

Assignment: TypeAlias = Mapping[MemberId, frozenset[TopicIdPartition]]
"""The partitions of each member."""

_NOTHING: Final[frozenset[TopicIdPartition]] = frozenset()

Holders: TypeAlias = Sequence[MemberId]
"""Who had a partition before, in the order of the members."""


def assign(
    subscriptions: Mapping[MemberId, frozenset[TopicId]],
    assignable: Mapping[TopicId, frozenset[int]],
    previous: Assignment,
) -> Assignment:
    """Return the partitions of each member, changing as little of `previous` as balance allows.

    Members with one and the same subscription share all partitions; otherwise each topic is shared among its
    subscribers, for itself; topics with the same subscribers, who had the same of them before, are shared alike. A
    subscribed topic that is not in `assignable` is left out.
    """
    held: dict[MemberId, list[TopicIdPartition]] = {member_id: [] for member_id in subscriptions}
    holders: Mapping[TopicIdPartition, Holders] | None = None
    alike: dict[object, Sequence[Sequence[MemberId]]] = {}
    for member_ids, partitions in _pools(subscriptions, assignable):
        if (
            len(member_ids) == 1 or len(partitions) == 1
        ):  # everybody has everything: there is nothing to choose
            for member_id in member_ids:
                held[member_id] += partitions
            continue
        if holders is None:
            holders = _holders(subscriptions, previous)
        had = tuple(map(holders.get, partitions, repeat(())))
        if (pool := (member_ids, had)) not in alike:
            alike[pool] = _share_out(member_ids, had)
        for partition, sharers in zip(partitions, alike[pool], strict=True):
            for member_id in sharers:
                held[member_id].append(partition)
    return {member_id: frozenset(partitions) for member_id, partitions in held.items()}


def subscribers_of(
    subscriptions: Mapping[MemberId, frozenset[TopicId]],
) -> Mapping[TopicId, Sequence[MemberId]]:
    """Return who subscribes to each topic, in the order of the members; topics with the same ones have one sequence.

    Each different subscription is gone through once, whoever has it: most members have few topics, or the same.
    """
    places: dict[frozenset[TopicId], list[int]] = {}
    for place, topic_ids in enumerate(subscriptions.values()):
        places.setdefault(topic_ids, []).append(place)
    named_by: dict[TopicId, list[frozenset[TopicId]]] = {}
    for topic_ids in places:
        for topic_id in topic_ids:
            named_by.setdefault(topic_id, []).append(topic_ids)
    member_ids = tuple(subscriptions)

    @cache
    def members_with(*alike: frozenset[TopicId]) -> Sequence[MemberId]:
        return tuple([member_ids[place] for place in sorted(chain(*(places[each] for each in alike)))])

    return {topic_id: members_with(*alike) for topic_id, alike in named_by.items()}


def _holders(
    subscriptions: Mapping[MemberId, frozenset[TopicId]], previous: Assignment
) -> Mapping[TopicIdPartition, Holders]:
    """Return who of the members had each partition: one pass, whatever the pools."""
    holders: dict[TopicIdPartition, Holders] = {}
    seen: set[TopicIdPartition] = set()
    for member_id in subscriptions:
        had = previous.get(member_id, _NOTHING)
        shared = {partition: (*holders[partition], member_id) for partition in had & seen}
        holders.update(
            dict.fromkeys(had, (member_id,))
        )  # sets and dictionaries know the hashes of what is in them
        holders.update(shared)
        seen |= had
    return holders


def _pools(
    subscriptions: Mapping[MemberId, frozenset[TopicId]], assignable: Mapping[TopicId, frozenset[int]]
) -> Iterator[tuple[Sequence[MemberId], Sequence[TopicIdPartition]]]:
    """Yield who shares what: one pool for equal subscriptions, else one for each topic. None is empty."""
    subscribers = subscribers_of(subscriptions)
    is_homogeneous = len(set(subscriptions.values())) == 1
    pools: dict[Sequence[MemberId], list[TopicIdPartition]] = {}
    for topic_id in sorted(assignable.keys() & subscribers.keys()):
        partitions = partitions_of(topic_id, sorted(assignable[topic_id]))
        if is_homogeneous:
            pools.setdefault(subscribers[topic_id], []).extend(partitions)
        else:
            yield subscribers[topic_id], partitions
    yield from pools.items()


def _share_out(member_ids: Sequence[MemberId], had: Sequence[Holders]) -> Sequence[Sequence[MemberId]]:
    """Share one pool: return the members of each partition, given those that `had` it.

    1. Every partition is for `sharing` members, which is 1 unless there are more members than partitions.
    2. Every member has a quota. The quotas add up to all places and differ by one at most.
    3. Members keep what they have, within their quota and the places of each partition.
    4. The places left are filled one partition after the other, by members below their quota in turn.
    """
    sharing = -(-len(member_ids) // len(had))
    left = _quotas(member_ids, place_count=sharing * len(had))
    if sharing == 1:
        return _share_out_alone(member_ids, had, left)
    sharers = [_kept(holders, left, sharing=sharing) for holders in had]
    unfilled = deque(member_id for member_id in member_ids if left[member_id])
    for of_partition in sharers:
        for _ in range(sharing - len(of_partition)):
            member_id = _next_without(of_partition, unfilled)
            if member_id is None:
                break
            of_partition[member_id] = None
            left[member_id] -= 1
            if left[member_id]:
                unfilled.append(member_id)
    return [tuple(of_partition) for of_partition in sharers]


def _share_out_alone(
    member_ids: Sequence[MemberId], had: Sequence[Holders], left: dict[MemberId, int]
) -> Sequence[Sequence[MemberId]]:
    """Do the same where each partition is for one member: there may be a hundred thousand. `left` are the quotas."""
    alone = {member_id: (member_id,) for member_id in member_ids}
    sharers: list[Sequence[MemberId]] = []
    for holders in had:
        for member_id in holders:
            if left.get(member_id):
                left[member_id] -= 1
                sharers.append(alone[member_id])
                break
        else:
            sharers.append(())
    in_turn = _in_turn(left)
    return [of_partition or alone[next(in_turn)] for of_partition in sharers]


def _in_turn(left: Mapping[MemberId, int]) -> Iterator[MemberId]:
    """Yield each member as often as it has places `left`, one after the other in turn."""
    turns = 0
    while unfilled := [member_id for member_id, places in left.items() if places > turns]:
        until = min(left[member_id] for member_id in unfilled)
        yield from chain.from_iterable(repeat(unfilled, until - turns))
        turns = until


def _quotas(member_ids: Sequence[MemberId], *, place_count: int) -> dict[MemberId, int]:
    """Divide the places: 6 places of 4 members are 2, 1, 2 and 1."""
    ends = [-(-place_count * count // len(member_ids)) for count in range(len(member_ids) + 1)]
    return {member_id: ends[index + 1] - ends[index] for index, member_id in enumerate(member_ids)}


def _kept(holders: Holders, left: dict[MemberId, int], *, sharing: int) -> dict[MemberId, None]:
    """Return, in order, who keeps a partition of those that had it, and take that from what is `left` to them."""
    kept: dict[MemberId, None] = {}
    for member_id in holders:
        if len(kept) == sharing:
            break
        if left.get(member_id):
            left[member_id] -= 1
            kept[member_id] = None
    return kept


def _next_without(sharers: Mapping[MemberId, None], unfilled: deque[MemberId]) -> MemberId | None:
    """Take the next member in turn that is not among the `sharers`; None when all of them are."""
    for _ in range(len(unfilled)):
        if unfilled[0] not in sharers:
            return unfilled.popleft()
        unfilled.rotate(-1)
    return None
