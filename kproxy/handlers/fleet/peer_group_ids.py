"""`PeerGroupIds`: which ids belong to share groups that other processes of the fleet serve.

What would make a share group a group of another type is refused by whichever process it comes to, so each has to know
the ids of all (`handlers/apis/group_id_guard.py`). It asks the others for theirs every second. What is known is
therefore a little old, in both directions: an id may be missing that somebody has just begun to use, and one may stand
there whose group was just deleted. Before a request is refused for the latter its owner is asked.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.errors import CoordinatorNotAvailable
from kproxy.fleet.owners import Peer
from kproxy.handlers.fleet.ports import OWN_CONNECTION, FleetPorts
from kproxy.handlers.live.pauses import let_other_looks_go_on
from kproxy.handlers.request_context import RequestContext
from kproxy.interception.rewrites.share_group_answers import SHARE_TYPE
from kproxy.security.principal import KPROXY
from kproxy.share.identifiers import BOOTSTRAP_NODE_ID
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages.list_groups_request import ListGroupsRequest
from kproxy.wire.messages.list_groups_response import ListedGroup, ListGroupsResponse
from kproxy.wire.messages.share_group_describe_request import ShareGroupDescribeRequest
from kproxy.wire.messages.share_group_describe_response import ShareGroupDescribeResponse

MOST_IDS: Final = 100_000
"""Ids that are kept of one peer, the first that it tells. Others of its groups are not guarded here."""
MOST_CHARACTERS: Final = 8_000_000
"""Characters that these ids may have together."""

LOOK_INTERVAL_MS: Final = 1_000
IDS_PER_MS: Final = 10
"""To read a list of so many takes 15 µs: that is a fiftieth of the time at most."""
AT_ONCE: Final = 1_000
"""Ids that are taken in, or let go, before others have a turn: half a millisecond."""

_OWN_CONTEXT: Final = RequestContext(
    OWN_CONNECTION,
    BOOTSTRAP_NODE_ID,
    ApiKey.LIST_GROUPS,
    5,
    client_id="kproxy",
    client_host="",
    principal=KPROXY,
)
"""kproxy's own question, at the port that stands for every broker: share groups alone can be asked for in version 5.

By kproxy's own right: what a client may see of groups is no matter of ids that nobody may take.
"""


class PeerGroupIds:
    """The ids as each peer told them last. One that cannot be asked, or loads slots, has those that it had.

    They are forgotten when the peer serves nothing any more. `own_ids` are those of this process, a view that follows
    what happens. To look for an id, and to forget one, costs a step for each peer, however many ids there are.
    """

    __slots__ = ("_of_peers", "_own_ids", "_ports")

    def __init__(self, own_ids: Collection[str], ports: FleetPorts) -> None:
        self._own_ids = own_ids
        self._ports = ports
        self._of_peers: dict[str, set[str]] = {}  # by token

    def __contains__(self, group_id: object) -> bool:
        for ids in self._of_peers.values():  # noqa: SIM110 - for each request that names a group; `any` takes twice as long
            if group_id in ids:
                return True
        return False

    def __bool__(self) -> bool:
        return any(self._of_peers.values())

    def __iter__(self) -> Iterator[str]:
        return iter(set[str]().union(*self._of_peers.values()))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    async def look(self) -> int:
        """Ask every peer for the share groups that it serves; return in how many milliseconds to do so again.

        What they tell is there at once when all have told; it is taken in, and what they told before is let go, bit
        by bit. One call at a time. Raises nothing.
        """
        peers = self._ports.owners.peers()
        told = await self._ports.side_by_side.run([partial(self._ids_of, peer) for peer in peers])
        tokens = {peer.token for peer in self._ports.owners.peers()}
        before = self._of_peers
        self._of_peers = {
            peer.token: before.get(peer.token, set()) if ids is None else ids
            for peer, ids in zip(peers, told, strict=True)
            if peer.token in tokens
        }
        for token, ids in before.items():
            if self._of_peers.get(token) is not ids:
                await _let_go(ids)
        return max(LOOK_INTERVAL_MS, sum(map(len, self._of_peers.values())) // IDS_PER_MS)

    async def is_gone(self, group_id: str, context: RequestContext) -> bool:
        """Tell whether an id that a peer told belongs to no share group any more, as far as its owner says.

        The owner is asked for the client of `context`, in whose request the id is. Where the owner is this process by
        now, it is gone unless it is here; the next look forgets it.
        """
        if group_id not in self:
            return False
        owner = self._ports.owners.peer_of_group(group_id)
        if owner is None:
            return group_id not in self._own_ids
        asking = replace(context, api_key=ApiKey.SHARE_GROUP_DESCRIBE, api_version=1)
        try:
            answer = await self._ask(owner, ShareGroupDescribeRequest(group_ids=[group_id]), asking)
        except CoordinatorNotAvailable:
            return False
        assert isinstance(answer, ShareGroupDescribeResponse)
        is_gone = any(group.error_code == ErrorCode.GROUP_ID_NOT_FOUND for group in answer.groups)
        if is_gone:
            for ids in self._of_peers.values():
                ids.discard(group_id)
        return is_gone

    async def _ids_of(self, peer: Peer) -> set[str] | None:
        """Return the ids of the share groups that `peer` serves, None when it does not say."""
        try:
            answer = await self._ask(peer, ListGroupsRequest(types_filter=[SHARE_TYPE]), _OWN_CONTEXT)
        except CoordinatorNotAvailable:
            return None
        assert isinstance(answer, ListGroupsResponse)
        return None if answer.error_code else await _taken_in(answer.groups)

    async def _ask(self, peer: Peer, message: Message, context: RequestContext) -> Message:
        """Raises CoordinatorNotAvailable."""
        request = DecodedRequest(context.api_key, context.api_version, 0, context.client_id, message)
        return await self._ports.requests.ask(peer, request, context)


class KnownGroupIds(Collection[str]):
    """The ids of all share groups of the fleet: `own` ones, a view that follows what happens, and those of peers.

    To look for one id among them, and whether there are any, costs the same however many there are.
    """

    __slots__ = ("_of_peers", "_own")

    def __init__(self, own: Collection[str], of_peers: Collection[str]) -> None:
        self._own = own
        self._of_peers = of_peers

    def __contains__(self, group_id: object) -> bool:
        return group_id in self._own or group_id in self._of_peers

    def __bool__(self) -> bool:
        return bool(self._own) or bool(self._of_peers)

    def __iter__(self) -> Iterator[str]:
        return chain(self._own, (group_id for group_id in self._of_peers if group_id not in self._own))

    def __len__(self) -> int:
        return sum(1 for _ in self)


async def _taken_in(groups: list[ListedGroup]) -> set[str]:
    """Return the ids of the first of `groups`, as many as are kept, and let go of all, with turns for others."""
    ids: set[str] = set()
    character_count = 0
    groups.reverse()
    while groups:
        portion = groups[: -AT_ONCE - 1 : -1]
        del groups[-AT_ONCE:]
        for group in portion:
            character_count += len(group.group_id)
            if len(ids) < MOST_IDS and character_count <= MOST_CHARACTERS:
                ids.add(group.group_id)
        del portion
        if groups:
            await let_other_looks_go_on()
    return ids


async def _let_go(ids: set[str]) -> None:
    """Forget ids that nobody asks for any more, with turns for others."""
    while ids:
        for _ in range(min(len(ids), AT_ONCE)):
            ids.pop()
        if ids:
            await let_other_looks_go_on()
