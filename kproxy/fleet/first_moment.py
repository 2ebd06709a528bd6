"""What a process may do before the first generation of its group is complete.

A coordinator holds the first join of an empty group for `group.initial.rebalance.delay.ms`, 3 s by default, and for
longer while more members come (`InitialDelayedJoin`). A single process must not wait for that. So a member whose join
is being held asks who is in the group (DescribeGroups): where the answer lists this member, and nobody else, it serves
every slot at once, under a map of its own. That is sound because

1. a lease is held by members only, so who is the only member is the only holder;
2. of two that join at the same time at least one sees the other, for the coordinator adds a member before it tells
   anybody of it, and both look after they joined;
3. the only member is the leader: coordinators make the first one the leader (`GroupMetadata.add`, `ClassicGroup.add`),
   and when a leader is removed one of the others (`remove` of both), which is the only one, where one is left. The
   leader keeps its office as it has joined, so it makes the first map itself, in which all slots are its own until it
   has given them up;
4. as long as the group prepares its first rebalance nobody else can own anything: the generation has to be complete
   first, and from then on this member has a session like any other. So each such answer renews the lease.

Who sees others waits for the generation. Who is not made leader after all, and did not tell of its slots, loses them.

**The dead.** A process that was killed stays a member until its session ends, and whoever joins after it, as a rule the
process that was started in its place, would wait for that. So a member that looks around also sees which of the others
are dead for certain (`process_token`), and has them removed. That takes no slot from anybody: who is dead serves
nothing, and stays dead, however old the look. Then either nobody is missing any more, and the coordinator completes the
join at once (`DelayedJoin`, `maybeCompleteJoinPhase`); or the group has no generation yet, its first join is held all
the same (`InitialDelayedJoin`), and the next look shows who is alone. Everybody that waits looks again, less and less
often but not less than every heartbeat interval, for processes may also die while others wait for them. A wait ends
with the rebalance timeout at the latest.
"""

from enum import Enum
from typing import Final

from kproxy.fleet.fleet_map import NOBODY, FleetMap, FleetMember
from kproxy.fleet.group_protocol import Describe, Described, GroupState, RemoveDead
from kproxy.fleet.member_metadata import MemberProfile

_FIRST_LOOK_MS: Final = 10
"""How soon who is in the group is asked again, where the join that is being held was not there yet; doubled each
time."""

_MOST_DOUBLINGS: Final = 10


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


class Looks:
    """What one member asks while it waits for its first generation: who is there, and to have the dead removed."""

    __slots__ = ("_count", "_dead")

    def __init__(self) -> None:
        self._count = 0
        self._dead: frozenset[str] = frozenset()

    def question(self, member_id: str) -> Describe | RemoveDead:
        """Return what this member is to ask next."""
        return RemoveDead(member_id, self._dead) if self._dead else Describe(member_id)

    def interval_ms(self, longest_ms: int) -> int:
        """Return how long after the last question that is; `longest_ms` at most."""
        return 0 if self._dead else min(_FIRST_LOOK_MS << self._count, longest_ms)

    def saw(self, described: Described, member_id: str) -> Company:
        """Take in who is there, and return it. The dead are company until they have been removed."""
        found = company(described, member_id)
        # Who is alone has nothing to wait for but the end of its lease.
        self._count = _MOST_DOUBLINGS if found is Company.ALONE else min(self._count + 1, _MOST_DOUBLINGS)
        self._dead = described.dead - {member_id} if found is Company.WITH_OTHERS else frozenset()
        return found

    def asked_to_remove(self) -> None:
        """Look again, whatever came of it, and not sooner than otherwise: a removal may be refused."""
        self._dead = frozenset()


def map_of_one(profile: MemberProfile, member_id: str, epoch: int) -> FleetMap:
    """Return the map with which the only member of a group owns every slot."""
    member = FleetMember(member_id, profile.token, profile.name, profile.host, profile.port)
    return FleetMap(epoch, (member,), (0,) * profile.slot_count, (NOBODY,) * profile.slot_count)
