"""What one principal may have of share groups: members, and groups that are there by its doing.

Kafka bounds neither: its `group.share.max.size` is of one group, and how many groups there are, nothing bounds. The log
has no principals, so a restart forgets whose a member or a group is, and so does a group's way to another process.
Members and groups that nobody is known for count for whoever heartbeats next; a heartbeat of a member is never refused.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeAlias, TypeVar

from kproxy.errors import GroupMaxSizeReached, PolicyViolation
from kproxy.security.principal import Principal
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.heartbeat import Heartbeat
from kproxy.share.identifiers import GroupId, MemberId
from kproxy.wording import counted

UNLIMITED: Final = 2**31 - 1
FEWEST_BETWEEN_LOOKS: Final = 1024
"""What is gone is forgotten when so much more is known than was there at the last look."""

T = TypeVar("T")
MemberKey: TypeAlias = tuple[GroupId, MemberId]


@dataclass(frozen=True, slots=True)
class PrincipalLimits:
    """What each principal may have in this process."""

    max_members: int = UNLIMITED
    max_groups: int = UNLIMITED


class _Holdings(Generic[T]):
    """What each principal has, as far as it `exists` still."""

    __slots__ = ("_exists", "_look_at_count", "_of", "_owners")

    def __init__(self, exists: Callable[[T], bool]) -> None:
        self._exists = exists
        self._owners: dict[T, Principal] = {}
        self._of: dict[Principal, dict[T, None]] = {}
        self._look_at_count = FEWEST_BETWEEN_LOOKS

    def __len__(self) -> int:
        return len(self._owners)

    def owner(self, thing: T) -> Principal | None:
        return self._owners.get(thing)

    def count(self, principal: Principal, *, enough: int) -> int:
        """Return how many things `principal` has; exact from `enough` on."""
        if len(self._of.get(principal, ())) >= enough:
            self._forget_gone(self._of[principal])
        return len(self._of.get(principal, ()))

    def give(self, thing: T, principal: Principal) -> None:
        if self._owners.get(thing) == principal:
            return
        self._drop(thing)
        self._owners[thing] = principal
        self._of.setdefault(principal, {})[thing] = None
        if len(self._owners) >= self._look_at_count:
            self._forget_gone(self._owners)
            self._look_at_count = max(2 * len(self._owners), FEWEST_BETWEEN_LOOKS)

    def _forget_gone(self, things: dict[T, Principal] | dict[T, None]) -> None:
        for thing in tuple(things):
            if not self._exists(thing):
                self._drop(thing)

    def _drop(self, thing: T) -> None:
        owner = self._owners.pop(thing, None)
        if owner is None:
            return
        del self._of[owner][thing]
        if not self._of[owner]:
            del self._of[owner]


class PrincipalQuotas:
    """Knows whose members and groups there are. Without limits of a principal it remembers nothing.

    All principals together have `most_groups`.
    """

    __slots__ = ("_coordinator", "_groups", "_limits", "_members", "_most_groups")

    def __init__(
        self, coordinator: GroupCoordinator, limits: PrincipalLimits, most_groups: int = UNLIMITED
    ) -> None:
        self._coordinator = coordinator
        self._most_groups = most_groups
        self._limits = limits
        self._members: _Holdings[MemberKey] = _Holdings(self._is_member)
        self._groups: _Holdings[GroupId] = _Holdings(coordinator.known.__contains__)

    def require_room(self, heartbeat: Heartbeat, principal: Principal) -> None:
        """Raise when a heartbeat would make a member, or a group, that is one too many for `principal`.

        To be called in the turn in which the heartbeat is admitted, and followed by `note`.

        Raises:
            GroupMaxSizeReached: it has too many members. Clients stop and tell their application of it, as they do
                when the group is full.
            PolicyViolation: it has too many groups, or all have. The full group of GROUP_MAX_SIZE_REACHED is not what
                is wrong, and no other error of the API is about a limit; this one is what brokers say of requests that
                their operator does not want (CreateTopics), and clients ask no second time.
        """
        if not heartbeat.is_joining:
            return
        self.require_group(heartbeat.group_id, principal)
        most = self._limits.max_members
        if most < UNLIMITED and not self._is_member((heartbeat.group_id, heartbeat.member_id)):
            has = self._members.count(principal, enough=most)
            if has >= most:
                raise GroupMaxSizeReached(
                    f"{principal} has {counted(has, 'member')} of share groups here; "
                    f"kproxy.principal.max.share.members={most}"
                )

    def require_group(self, group_id: GroupId, principal: Principal) -> None:
        """Raise PolicyViolation when there is no such group, and it would be one too many for `principal` or all."""
        known, most = self._coordinator.known_ids, self._limits.max_groups
        if group_id in known:
            return
        if len(known) >= self._most_groups:
            raise PolicyViolation(
                f"there are {counted(len(known), 'share group')} here; kproxy.share.groups.max={self._most_groups}"
            )
        if most >= UNLIMITED:
            return
        has = self._groups.count(principal, enough=most)
        if has >= most:
            raise PolicyViolation(
                f"{principal} has made {counted(has, 'share group')} here; kproxy.principal.max.share.groups={most}"
            )

    def note(self, heartbeat: Heartbeat, principal: Principal) -> None:
        """Take note that `principal` sent a heartbeat that was admitted: its member is the principal's from now on."""
        if self._limits.max_members < UNLIMITED:
            self._members.give((heartbeat.group_id, heartbeat.member_id), principal)
        self.note_group(heartbeat.group_id, principal)

    def note_group(self, group_id: GroupId, principal: Principal) -> None:
        """Take note that `principal` made a group, or is the first one known to use it."""
        if self._limits.max_groups < UNLIMITED and self._groups.owner(group_id) is None:
            self._groups.give(group_id, principal)

    @property
    def known_count(self) -> int:
        """How many members and groups are remembered, those that are gone included."""
        return len(self._members) + len(self._groups)

    def _is_member(self, key: MemberKey) -> bool:
        return key[1] in self._coordinator.known.member_ids(key[0])
