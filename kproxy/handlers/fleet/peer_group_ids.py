"""`PeerGroupIds`: which ids belong to share groups that other processes of the fleet serve.

What would make a share group a group of another type is refused by whichever process it comes to, so each has to know
the ids of all (`handlers/apis/group_id_guard.py`). It asks the others for theirs every second. What is known is
therefore a little old, in both directions: an id may be missing that somebody has just begun to use, and one may stand
there whose group was just deleted. Before a request is refused for the latter its owner is asked.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.errors import CoordinatorNotAvailable
from kproxy.fleet.owners import Peer
from kproxy.handlers.fleet.ports import OWN_CONNECTION, FleetPorts
from kproxy.handlers.request_context import RequestContext
from kproxy.interception.rewrites.share_group_answers import SHARE_TYPE
from kproxy.security.principal import KPROXY
from kproxy.share.identifiers import BOOTSTRAP_NODE_ID
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages.list_groups_request import ListGroupsRequest
from kproxy.wire.messages.list_groups_response import ListGroupsResponse
from kproxy.wire.messages.share_group_describe_request import ShareGroupDescribeRequest
from kproxy.wire.messages.share_group_describe_response import ShareGroupDescribeResponse

MOST_IDS: Final = 100_000
"""Ids that are kept of one peer, the first that it tells. Others of its groups are not guarded here."""
MOST_CHARACTERS: Final = 8_000_000
"""Characters that these ids may have together."""

LOOK_INTERVAL_MS: Final = 1_000
IDS_PER_MS: Final = 10
"""To read a list of so many takes 15 µs, in which nobody else has a turn: that is a fiftieth of the time at most."""

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
_NO_IDS: Final[frozenset[str]] = frozenset()


class PeerGroupIds:
    """The ids as each peer told them last. One that cannot be asked, or loads slots, has those that it had.

    They are forgotten when the peer serves nothing any more. `own_ids` are those of this process, a view that follows
    what happens.
    """

    __slots__ = ("_all", "_of_peers", "_own_ids", "_ports")

    def __init__(self, own_ids: Collection[str], ports: FleetPorts) -> None:
        self._own_ids = own_ids
        self._ports = ports
        self._of_peers: Mapping[str, frozenset[str]] = {}
        self._all = _NO_IDS

    def __contains__(self, group_id: object) -> bool:
        return group_id in self._all

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    async def look(self) -> int:
        """Ask every peer for the share groups that it serves; return in how many milliseconds to do so again.

        One call at a time. Raises nothing.
        """
        peers = self._ports.owners.peers()
        if not peers:
            self._keep({})
            return LOOK_INTERVAL_MS
        told = await self._ports.side_by_side.run([partial(self._ids_of, peer) for peer in peers])
        tokens = {peer.token for peer in self._ports.owners.peers()}
        self._keep(
            {
                peer.token: self._of_peers.get(peer.token, _NO_IDS) if ids is None else ids
                for peer, ids in zip(peers, told, strict=True)
                if peer.token in tokens
            }
        )
        return max(LOOK_INTERVAL_MS, len(self) // IDS_PER_MS)

    async def is_gone(self, group_id: str, context: RequestContext) -> bool:
        """Tell whether an id that a peer told belongs to no share group any more, as far as its owner says.

        The owner is asked for the client of `context`, in whose request the id is. Where the owner is this process by
        now, it is gone unless it is here; the next look forgets it.
        """
        if group_id not in self._all:
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
            self._keep({token: ids - {group_id} for token, ids in self._of_peers.items()})
        return is_gone

    async def _ids_of(self, peer: Peer) -> frozenset[str] | None:
        """Return the ids of the share groups that `peer` serves, None when it does not say."""
        try:
            answer = await self._ask(peer, ListGroupsRequest(types_filter=[SHARE_TYPE]), _OWN_CONTEXT)
        except CoordinatorNotAvailable:
            return None
        assert isinstance(answer, ListGroupsResponse)
        return None if answer.error_code else _bounded(answer)

    async def _ask(self, peer: Peer, message: Message, context: RequestContext) -> Message:
        """Raises CoordinatorNotAvailable."""
        request = DecodedRequest(context.api_key, context.api_version, 0, context.client_id, message)
        return await self._ports.requests.ask(peer, request, context)

    def _keep(self, of_peers: Mapping[str, frozenset[str]]) -> None:
        if of_peers != self._of_peers:
            self._of_peers = of_peers
            self._all = _NO_IDS.union(*of_peers.values())


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


def _bounded(answer: ListGroupsResponse) -> frozenset[str]:
    ids: set[str] = set()
    character_count = 0
    for group in answer.groups[:MOST_IDS]:
        character_count += len(group.group_id)
        if character_count > MOST_CHARACTERS:
            break
        ids.add(group.group_id)
    return frozenset(ids)
