"""What a request needs of the state log, and the port that waits until it is there.

While the log is being found, created, claimed or loaded a request waits at the door, before anything of it was looked
at. So who comes in the first moment of a start is answered a little later, and not refused. Requests of share sessions
wait there until the log is found, and for no slot of it: a fetch waits for its slot as it waits for records, and of a
slot that is being loaded nothing is held that could be acknowledged. What a request meets behind the door (a slot that
is lost half way through) it is told as ever.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

from kproxy.interception.listed_resources import wants_groups
from kproxy.interception.rewrites.share_group_answers import wants_share_groups
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages.alter_share_group_offsets_request import AlterShareGroupOffsetsRequest
from kproxy.wire.messages.delete_groups_request import DeleteGroupsRequest
from kproxy.wire.messages.delete_share_group_offsets_request import DeleteShareGroupOffsetsRequest
from kproxy.wire.messages.delete_share_group_state_request import DeleteShareGroupStateRequest
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest
from kproxy.wire.messages.describe_share_group_offsets_request import DescribeShareGroupOffsetsRequest
from kproxy.wire.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from kproxy.wire.messages.initialize_share_group_state_request import InitializeShareGroupStateRequest
from kproxy.wire.messages.list_config_resources_request import ListConfigResourcesRequest
from kproxy.wire.messages.list_groups_request import ListGroupsRequest
from kproxy.wire.messages.read_share_group_state_request import ReadShareGroupStateRequest
from kproxy.wire.messages.read_share_group_state_summary_request import ReadShareGroupStateSummaryRequest
from kproxy.wire.messages.share_acknowledge_request import ShareAcknowledgeRequest
from kproxy.wire.messages.share_fetch_request import ShareFetchRequest
from kproxy.wire.messages.share_group_describe_request import ShareGroupDescribeRequest
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kproxy.wire.messages.write_share_group_state_request import WriteShareGroupStateRequest

StateRequest: TypeAlias = (
    InitializeShareGroupStateRequest
    | ReadShareGroupStateRequest
    | WriteShareGroupStateRequest
    | DeleteShareGroupStateRequest
    | ReadShareGroupStateSummaryRequest
)

PATIENCE_MS: Final = 15_000
"""How long a request waits that has no limit of its own: half of the 30 s after which clients give a request up."""


@dataclass(frozen=True, slots=True)
class StateNeed:
    """What has to be loaded before a request is served: groups, each with its configurations and share-partitions."""

    group_ids: tuple[str, ...] = ()
    patience_ms: int = PATIENCE_MS
    """How long the request waits for it."""
    is_everything: bool = False
    """Whether every part of the state log is needed, whatever is named."""

    @property
    def is_nothing_of_it(self) -> bool:
        """Whether the log has to be found, and no part of it to be loaded."""
        return not (self.is_everything or self.group_ids)


class Readiness(Protocol):
    """Waiting until the state log can be used."""

    async def wait(self, need: StateNeed, connection_id: int) -> int:
        """Return when all of `need` is there, when some of it cannot come, or when the patience or the process ends.

        What cannot come: another process owns the slot, the slot is corrupt, the state topics must not be used. The
        caller finds out by asking for it. Returns how many milliseconds it took: 0 when nothing was to be waited for.

        Raises:
            CoordinatorNotAvailable: the connection closed meanwhile, so that nobody wants the answer.
        """
        ...

    def forsake(self, connection_id: int) -> None:
        """End the waits of a connection that closed."""
        ...

    def end(self) -> None:
        """End every wait, and let nobody wait again: the process ends."""
        ...


class AlwaysReady:
    """A `Readiness` for which nobody has to wait."""

    async def wait(self, need: StateNeed, connection_id: int) -> int:
        """Return at once."""
        del need, connection_id
        return 0

    def forsake(self, connection_id: int) -> None:
        """Nobody waits."""

    def end(self) -> None:
        """Nobody waits."""


def state_need(api_key: int, request: Message) -> StateNeed | None:
    """Return what has to be there before `request` is served; None when it needs nothing of the state log."""
    need_of = _NEEDS.get(api_key)
    return None if need_of is None else need_of(request)


def _of_group(
    request: ShareGroupHeartbeatRequest | AlterShareGroupOffsetsRequest | DeleteShareGroupOffsetsRequest,
) -> StateNeed:
    return StateNeed((request.group_id,))


def _of_description(request: ShareGroupDescribeRequest) -> StateNeed:
    return StateNeed(tuple(request.group_ids))


def _of_deletion(request: DeleteGroupsRequest) -> StateNeed:
    """Which of the groups are share groups is known when their slots are loaded."""
    return StateNeed(tuple(request.groups_names))


def _of_listing(request: ListGroupsRequest) -> StateNeed | None:
    return StateNeed(is_everything=True) if wants_share_groups(request) else None


def _of_listed_resources(request: ListConfigResourcesRequest) -> StateNeed | None:
    return StateNeed(is_everything=True) if wants_groups(request) else None


def _of_fetch(request: ShareFetchRequest) -> StateNeed:
    """A fetch waits for what is loaded by itself, as it waits for records, while the rest of it is served."""
    return StateNeed(patience_ms=min(max(request.max_wait_ms, 0), PATIENCE_MS))


def _of_acknowledgement(_: ShareAcknowledgeRequest) -> StateNeed:
    """What is held in memory is acknowledged at once, for its locks run; of a slot that is loaded nothing is held."""
    return StateNeed()


def _of_states(request: StateRequest) -> StateNeed:
    """Of the requests to the share coordinator. One without a group is refused, and waits for nothing."""
    return StateNeed((request.group_id,) if request.group_id else ())


def _of_configs(request: IncrementalAlterConfigsRequest | DescribeConfigsRequest) -> StateNeed:
    """Of the part of a request that is about groups."""
    return StateNeed(tuple(resource.resource_name for resource in request.resources))


def _of_described_offsets(request: DescribeShareGroupOffsetsRequest) -> StateNeed:
    return StateNeed(tuple(group.group_id for group in request.groups))


_NEEDS: Final[Mapping[int, Callable[[Any], StateNeed | None]]] = {
    ApiKey.SHARE_GROUP_HEARTBEAT: _of_group,
    ApiKey.SHARE_GROUP_DESCRIBE: _of_description,
    ApiKey.DELETE_GROUPS: _of_deletion,
    ApiKey.LIST_GROUPS: _of_listing,
    ApiKey.SHARE_FETCH: _of_fetch,
    ApiKey.SHARE_ACKNOWLEDGE: _of_acknowledgement,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _of_configs,
    ApiKey.DESCRIBE_CONFIGS: _of_configs,
    ApiKey.LIST_CONFIG_RESOURCES: _of_listed_resources,
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: _of_states,
    ApiKey.READ_SHARE_GROUP_STATE: _of_states,
    ApiKey.WRITE_SHARE_GROUP_STATE: _of_states,
    ApiKey.DELETE_SHARE_GROUP_STATE: _of_states,
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: _of_states,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: _of_described_offsets,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: _of_group,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: _of_group,
}
