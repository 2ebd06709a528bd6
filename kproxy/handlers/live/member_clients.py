"""How members that hold records show themselves: what the state log says beside their ids when locks or sessions end.

A lock may outlast its member: one that left, or whose group session ran out, still holds what it acquired.
"""

from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from typing import Final, TypeAlias

from kproxy.handlers.live.write_actors import UNKNOWN_CLIENT, Client
from kproxy.handlers.request_context import RequestContext
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.identifiers import GroupId, MemberId
from kproxy.statelog.actors import cut_text

MOST_HOLDERS: Final = 10_000
"""How many members are remembered."""
_LONGEST_TEXT: Final = 64
"""Group ids may have 32 kB, and members that are remembered may be the last who have one in memory."""

_Holder: TypeAlias = tuple[str | bytes, MemberId]


class MemberClients:
    """Remembers the clients of the members that acquired records last, MOST_HOLDERS of them at most."""

    __slots__ = ("_holders", "_in_heartbeats")

    def __init__(self, in_heartbeats: Callable[[GroupId, MemberId], Client]) -> None:
        """Ask `in_heartbeats` about members of which nothing is remembered."""
        self._in_heartbeats = in_heartbeats
        self._holders: OrderedDict[_Holder, Client] = OrderedDict()

    def note(self, group_id: GroupId, member_id: MemberId, context: RequestContext) -> None:
        """Remember who asked for the records that a member has just acquired."""
        holder = _holder(group_id, member_id)
        known = self._holders.get(holder)
        if known is None or known.client_id != context.client_id or known.client_host != context.client_host:
            self._holders[holder] = Client(cut_text(context.client_id), cut_text(context.client_host))
            if len(self._holders) > MOST_HOLDERS:
                self._holders.popitem(last=False)
        self._holders.move_to_end(holder)

    def of(self, group_id: GroupId, member_id: MemberId) -> Client:
        """Return the client of a member; its texts are empty when nobody knows."""
        known = self._holders.get(_holder(group_id, member_id))
        return known or self._in_heartbeats(group_id, member_id)


def clients_in_heartbeats(coordinator: GroupCoordinator) -> Callable[[GroupId, MemberId], Client]:
    """Return what tells the client of a member by its last heartbeat, UNKNOWN_CLIENT of who is no member."""

    def client_of(group_id: GroupId, member_id: MemberId) -> Client:
        group = coordinator.find(group_id)
        member = None if group is None else group.members.get(member_id)
        return UNKNOWN_CLIENT if member is None else Client(member.client_id, member.client_host)

    return client_of


def _holder(group_id: GroupId, member_id: MemberId) -> _Holder:
    """Return what stands for a member: of a long group id its digest."""
    if len(group_id) <= _LONGEST_TEXT:
        return group_id, member_id
    return sha256(group_id.encode()).digest(), member_id
