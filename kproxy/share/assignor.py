"""The simple assignor: every member gets its share of the partitions, every partition at least one member.

Balance comes before stickiness. Racks play no part. Source: `SimpleAssignor` of Kafka 4.2 and later; which of
several equal choices it makes depends on hash order there, here on the order of members and partitions.

Hundreds of members with thousands of topics are millions of places, so it is worked out in portions, and what is alike
once: topics with the same subscribers, who had the same of them, are one *class*; members that get the same of all
classes have one set of partitions.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Final, TypeAlias

from kproxy.share.identifiers import MemberId, TopicId, TopicIdPartition, partitions_of
from kproxy.share.rounds.portions import POOL_PLACES, Portions, slices_of, whole

ASSIGNOR_NAME: Final = "simple"

Assignment: TypeAlias = Mapping[MemberId, frozenset[TopicIdPartition]]
"""The partitions of each member."""

Holders: TypeAlias = Sequence[MemberId]
"""Who had a partition before, in the order of the members."""

_NOTHING: Final[frozenset[TopicIdPartition]] = frozenset()


def assign(
    subscriptions: Mapping[MemberId, frozenset[TopicId]],
    assignable: Mapping[TopicId, frozenset[int]],
    previous: Assignment,
) -> Assignment:
    """Return the partitions of each member, changing as little of `previous` as balance allows.

    Members with one and the same subscription share all partitions; otherwise each topic is shared among its
    subscribers, for itself. A subscribed topic that is not in `assignable` is left out.
    """
    return whole(assigning(subscriptions, assignable, previous))


def assigning(
    subscriptions: Mapping[MemberId, frozenset[TopicId]],
    assignable: Mapping[TopicId, frozenset[int]],
    previous: Assignment,
) -> Portions[Assignment]:
    """Do the same in portions. None of the three may change meanwhile.

    Members that are assigned the same have one set, that of `previous` if one of them had just that.
    """
    pools = yield from _pools(subscriptions, assignable)
    holders = yield from _holders(subscriptions, previous, pools)
    classes = yield from _classes(pools, holders)
    held: dict[MemberId, list[frozenset[TopicIdPartition]]] = {member_id: [] for member_id in subscriptions}
    while classes:  # what is done with goes at once: all of it together would take as long as a turn should
        yield from _hand_out(classes.pop(), holders, held)
    return (yield from _united(held, previous))


def subscribers_of(
    subscriptions: Mapping[MemberId, frozenset[TopicId]],
) -> Portions[Mapping[TopicId, Sequence[MemberId]]]:
    """Find who subscribes to each topic, in the order of the members; topics with the same ones have one sequence.

    Each different subscription is gone through once, whoever has it: most members have few topics, or the same.
    """
    places: dict[frozenset[TopicId], list[int]] = {}
    for place, topic_ids in enumerate(subscriptions.values()):
        places.setdefault(topic_ids, []).append(place)
    yield len(subscriptions)
    named_by: dict[TopicId, list[frozenset[TopicId]]] = {}
    for topic_ids in places:
        for topic_id in topic_ids:
            named_by.setdefault(topic_id, []).append(topic_ids)
        yield len(topic_ids)
    member_ids = tuple(subscriptions)
    members_with: dict[tuple[frozenset[TopicId], ...], Sequence[MemberId]] = {}
    subscribers: dict[TopicId, Sequence[MemberId]] = {}
    while named_by:
        topic_id, named = named_by.popitem()
        alike = tuple(named)
        work = len(alike)
        if alike not in members_with:
            in_order = sorted(chain.from_iterable([places[each] for each in alike]))
            members_with[alike] = tuple([member_ids[place] for place in in_order])
            work += len(in_order)
        subscribers[topic_id] = members_with[alike]
        yield work
    return subscribers


@dataclass(frozen=True, slots=True)
class _Pool:
    """What some members share."""

    member_ids: Sequence[MemberId]
    partitions: Sequence[TopicIdPartition]

    @property
    def has_choice(self) -> bool:
        """Whether not everybody has everything."""
        return len(self.member_ids) > 1 and len(self.partitions) > 1


@dataclass(slots=True)
class _Holders:
    """Who had the partitions of which there is something to choose.

    Members that had the same are one set: `sets_of` has, by number, those that had a partition; `places` the members
    of each.
    """

    member_ids: Sequence[MemberId]
    sets_of: dict[TopicIdPartition, list[int]]
    places: list[list[int]] = field(default_factory=list)
    _known: dict[Sequence[int], Holders] = field(default_factory=dict)

    def of(self, sets: tuple[int, ...]) -> Holders:
        """Return the members of these sets, in their order."""
        if sets not in self._known:
            in_order = sorted(chain.from_iterable([self.places[each] for each in sets]))
            self._known[sets] = tuple([self.member_ids[place] for place in in_order])
        return self._known[sets]


@dataclass(frozen=True, slots=True)
class _Class:
    """Pools that are shared alike: their members, the sets that had each of their partitions, and the partitions."""

    member_ids: Sequence[MemberId]
    had: Sequence[tuple[int, ...]] | None
    """None if there is nothing to choose."""
    pools: list[Sequence[TopicIdPartition]] = field(default_factory=list)


def _pools(
    subscriptions: Mapping[MemberId, frozenset[TopicId]], assignable: Mapping[TopicId, frozenset[int]]
) -> Portions[list[_Pool]]:
    """Find who shares what: one pool for equal subscriptions, else one for each topic. None is empty."""
    subscribers = yield from subscribers_of(subscriptions)
    is_homogeneous = len(set(subscriptions.values())) == 1
    everything: list[TopicIdPartition] = []
    pools: list[_Pool] = []
    for topic_id in sorted(assignable.keys() & subscribers.keys()):
        partitions = partitions_of(topic_id, sorted(assignable[topic_id]))
        if is_homogeneous:
            everything += partitions
        else:
            pools.append(_Pool(subscribers[topic_id], partitions))
        yield POOL_PLACES + len(partitions)
    return [_Pool(tuple(subscriptions), everything)] if everything else pools


def _holders(
    subscriptions: Mapping[MemberId, frozenset[TopicId]], previous: Assignment, pools: Iterable[_Pool]
) -> Portions[_Holders]:
    """Find who of the members had each partition of which there is something to choose."""
    sets_of: dict[TopicIdPartition, list[int]] = {}
    for pool in pools:
        if pool.has_choice:
            sets_of.update((partition, []) for partition in pool.partitions)
            yield POOL_PLACES + len(pool.partitions)
    holders = _Holders(tuple(subscriptions), sets_of)
    if not sets_of:
        return holders
    alike: dict[frozenset[TopicIdPartition], list[int]] = {}
    for place, member_id in enumerate(subscriptions):
        had = previous.get(member_id, _NOTHING)
        alike.setdefault(had, []).append(place)
        yield 1 + len(had) // 4
    sets_with = sets_of.get
    for number, (had, places) in enumerate(alike.items()):
        holders.places.append(places)
        for partition in had:
            if (sets := sets_with(partition)) is not None:
                sets.append(number)
        yield 2 * len(had)
    return holders


def _classes(pools: list[_Pool], holders: _Holders) -> Portions[list[_Class]]:
    """Put together what is shared alike; `pools` is empty behind that."""
    classes: dict[object, _Class] = {}
    while pools:
        pool, had = pools.pop(), None
        if pool.has_choice:
            had = tuple([tuple(holders.sets_of.pop(partition)) for partition in pool.partitions])
        # Pools with the same members have one sequence of them, which lives as long as they do.
        key = id(pool.member_ids), had
        if key not in classes:
            classes[key] = _Class(pool.member_ids, had)
        classes[key].pools.append(pool.partitions)
        yield POOL_PLACES + sum(map(len, had or ()))
    return list(classes.values())


def _hand_out(
    of_class: _Class, holders: _Holders, held: Mapping[MemberId, list[frozenset[TopicIdPartition]]]
) -> Portions[None]:
    """Share a class; let members `held` what they get of it: those who get the same one set."""
    if of_class.had is None:
        everything = frozenset(chain.from_iterable(of_class.pools))
        for member_id in of_class.member_ids:
            held[member_id].append(everything)
        yield len(everything) + len(of_class.member_ids)
        return
    had = [holders.of(sets) for sets in of_class.had]
    sharers = yield from _share_out(of_class.member_ids, had)
    places: dict[MemberId, list[int]] = {member_id: [] for member_id in of_class.member_ids}
    for place, of_partition in enumerate(sharers):
        for member_id in of_partition:
            places[member_id].append(place)
    shares: dict[Sequence[int], frozenset[TopicIdPartition]] = {}
    for member_id, chosen in places.items():
        key = tuple(chosen)
        if key not in shares:
            shares[key] = frozenset([partitions[place] for partitions in of_class.pools for place in chosen])
            yield len(shares[key])
        if chosen:
            held[member_id].append(shares[key])
    yield len(places)


def _united(
    held: dict[MemberId, list[frozenset[TopicIdPartition]]], previous: Assignment
) -> Portions[Assignment]:
    """Put together what each member `held` of all classes; that is empty behind this."""
    assigned: dict[MemberId, frozenset[TopicIdPartition]] = {}
    united: dict[Sequence[int], frozenset[TopicIdPartition]] = {}
    for member_id in tuple(held):
        shares = held.pop(member_id)
        key = tuple(map(id, shares))
        if key not in united:
            partitions = shares[0] if len(shares) == 1 else _NOTHING.union(*shares)
            had = previous.get(member_id, _NOTHING)
            united[key] = had if had == partitions else partitions
            yield 2 * len(partitions)
        assigned[member_id] = united[key]
        yield 1 + len(shares) // 4
    return assigned


def _share_out(
    member_ids: Sequence[MemberId], had: Sequence[Holders]
) -> Portions[Sequence[Sequence[MemberId]]]:
    """Share one pool: find the members of each partition, given those that `had` it.

    1. Every partition is for `sharing` members, which is 1 unless there are more members than partitions.
    2. Every member has a quota. The quotas add up to all places and differ by one at most.
    3. Members keep what they have, within their quota and the places of each partition.
    4. The places left are filled one partition after the other, by members below their quota in turn.
    """
    sharing = -(-len(member_ids) // len(had))
    left = _quotas(member_ids, place_count=sharing * len(had))
    yield len(member_ids)
    if sharing == 1:
        return (yield from _share_out_alone(member_ids, had, left))
    sharers = [_kept(holders, left, sharing=sharing) for holders in had]
    yield sum(map(len, had))
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
        yield len(of_partition)
    return [tuple(of_partition) for of_partition in sharers]


def _share_out_alone(
    member_ids: Sequence[MemberId], had: Sequence[Holders], left: dict[MemberId, int]
) -> Portions[Sequence[Sequence[MemberId]]]:
    """Do the same where each partition is for one member: there may be a hundred thousand. `left` are the quotas."""
    alone = {member_id: (member_id,) for member_id in member_ids}
    kept: list[Sequence[MemberId]] = []
    for part in slices_of(had):
        for holders in part:
            for member_id in holders:
                if left.get(member_id):
                    left[member_id] -= 1
                    kept.append(alone[member_id])
                    break
            else:
                kept.append(())
        yield len(part)
    in_turn = _in_turn(left)
    sharers: list[Sequence[MemberId]] = []
    for of_partitions in slices_of(kept):
        sharers += [of_partition or alone[next(in_turn)] for of_partition in of_partitions]
        yield len(of_partitions)
    return sharers


def _in_turn(left: Mapping[MemberId, int]) -> Iterator[MemberId]:
    """Yield each member as often as it has places `left`, one after the other in turn."""
    turns = 0
    while unfilled := [member_id for member_id, places in left.items() if places > turns]:
        until = min(left[member_id] for member_id in unfilled)
        yield from chain.from_iterable(repeat(unfilled, until - turns))
        turns = until


def _quotas(member_ids: Sequence[MemberId], *, place_count: int) -> dict[MemberId, int]:
    """Divide the places: 6 places of 4 members are 2, 1, 2 and 1."""
    count = len(member_ids)
    ends = [-(-place_count * number // count) for number in range(count + 1)]
    return {member_id: end - begin for member_id, begin, end in zip(member_ids, ends, ends[1:], strict=False)}


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
