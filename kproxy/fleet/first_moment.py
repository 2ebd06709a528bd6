"""What a process may do before the first generation of its group is complete.

A coordinator holds the first join of an empty group for `group.initial.rebalance.delay.ms`, 3 s by default, and for
longer while more members come (`InitialDelayedJoin`). A single process must not wait for that. So a member whose join
is being held asks who is in the group (DescribeGroups): where the answer lists this member, and nobody else, it serves
every slot at once, under a map of its own. That is sound because

1. a lease is held by members only, so who is the only member is the only holder;
2. of two that join at the same time at least one sees the other, for the coordinator adds a member before it tells
   anybody of it, and both look after they joined;
3. the only member was the first, and coordinators make the first member the leader (`GroupMetadata.add`,
   `ClassicGroup.add`), so it makes the first map itself, in which all slots are its own until it has given them up;
4. as long as the group prepares its first rebalance nobody else can own anything: the generation has to be complete
   first, and from then on this member has a session like any other. So each such answer renews the lease.

Who sees others waits for the generation. Who is not made leader after all, and did not tell of its slots, loses them.
"""

from enum import Enum

from kproxy.fleet.fleet_map import NOBODY, FleetMap, FleetMember
from kproxy.fleet.group_protocol import Described, GroupState
from kproxy.fleet.member_metadata import MemberProfile


class Company(Enum):
    """Who is in a group whose first generation is being waited for, as one member sees it."""

    UNKNOWN = "unknown"
    """This member is not listed (yet), or the generation is complete and its answer on the way."""
    ALONE = "alone"
    WITH_OTHERS = "with others"


def company(described: Described, member_id: str) -> Company:
    """Return whom `described` lists beside `member_id`, before the first generation is complete."""
    if described.state != GroupState.PREPARING_REBALANCE or member_id not in described.member_ids:
        return Company.UNKNOWN
    return Company.ALONE if len(described.member_ids) == 1 else Company.WITH_OTHERS


def map_of_one(profile: MemberProfile, member_id: str, epoch: int) -> FleetMap:
    """Return the map with which the only member of a group owns every slot."""
    member = FleetMember(member_id, profile.token, profile.name, profile.host, profile.port)
    return FleetMap(epoch, (member,), (0,) * profile.slot_count, (NOBODY,) * profile.slot_count)
