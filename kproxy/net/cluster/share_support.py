"""Whether the backing cluster serves share groups itself: asked, because the list of its APIs does not tell.

Kafka 4.1 and later list the share APIs whether or not the feature `share.version` is on; only the answer to a
request does (seen on 4.1.2 and 4.3.1).
"""

from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable
from kproxy.net.cluster.broker_client import BrokerClient
from kproxy.net.tasks import TaskKeeper
from kproxy.telemetry import logs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.share_group_describe_request import ShareGroupDescribeRequest
from kproxy.wire.messages.share_group_describe_response import ShareGroupDescribeResponse

log = logs.logger("net.cluster.share_support")

PROBED_GROUP_ID: Final = "kproxy-probe-does-this-cluster-serve-share-groups"
"""A group that nobody has. Describing a group that does not exist does not create it."""

_SERVING_CODES: Final = frozenset(
    {
        ErrorCode.NONE,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
    }
)
"""What a broker says only after it has found the feature on (`KafkaApis.handleShareGroupDescribe`)."""


class ShareSupport(Enum):
    """What the backing cluster does about share groups."""

    ABSENT = "absent"
    SERVED = "served"
    UNKNOWN = "unknown"


class ShareSupportWatch:
    """Looks again whenever `look` is called, and tells `on_change` when the answer is another one.

    `current` is UNKNOWN at first; a probe that nobody answers changes nothing.
    """

    def __init__(
        self,
        probe: Callable[[], Awaitable[ShareSupport]],
        *,
        tasks: TaskKeeper,
        on_change: Callable[[ShareSupport], None],
    ) -> None:
        self.current = ShareSupport.UNKNOWN
        self._probe = probe
        self._tasks = tasks
        self._on_change = on_change
        self._is_looking = False

    def look(self) -> None:
        """Probe in the background, unless a probe is under way."""
        if not self._is_looking:
            self._is_looking = True
            self._tasks.spawn(self._look(), name="share group probe")

    async def look_now(self) -> None:
        """Probe and return when the answer is there, or when nobody gave one."""
        self._is_looking = True
        await self._look()

    async def _look(self) -> None:
        try:
            found = await self._probe()
        except BrokerUnavailable as failure:
            log.debug("share_group_probe_failed", detail=failure)
            return
        finally:
            self._is_looking = False
        if found is not self.current:
            log.info("share_support_changed", before=self.current.value, after=found.value)
            self.current = found
            self._on_change(found)


async def probe_share_groups(client: BrokerClient) -> ShareSupport:
    """Ask one broker; UNKNOWN when its answer says neither. Raises BrokerUnavailable when none comes."""
    if ApiKey.SHARE_GROUP_DESCRIBE not in client.version_ranges:
        return ShareSupport.ABSENT
    if not client.has_version_for(ApiKey.SHARE_GROUP_DESCRIBE):
        # Version 0 was that of the early access in Kafka 4.0, where it had to be switched on by hand.
        return ShareSupport.UNKNOWN
    request = ShareGroupDescribeRequest(group_ids=[PROBED_GROUP_ID])
    response = await client.request(ApiKey.SHARE_GROUP_DESCRIBE, request)
    assert isinstance(response, ShareGroupDescribeResponse)
    if not response.groups:
        return ShareSupport.UNKNOWN
    error_code = response.groups[0].error_code
    if error_code == ErrorCode.UNSUPPORTED_VERSION:
        return ShareSupport.ABSENT
    return ShareSupport.SERVED if error_code in _SERVING_CODES else ShareSupport.UNKNOWN
