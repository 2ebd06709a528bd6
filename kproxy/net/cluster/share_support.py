"""Whether the backing cluster serves share groups itself: asked, because the list of its APIs does not tell.

Kafka 4.1 and later list the share APIs whether or not the feature `share.version` is on; only the answer to a
request does (seen on 4.1.2 and 4.3.1).
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from enum import Enum
from typing import Final

from kproxy.error_codes import ErrorCode, known_code
from kproxy.errors import BrokerUnavailable
from kproxy.handlers.ports import Clock
from kproxy.net.backoff import Backoff
from kproxy.net.cluster.broker_client import BrokerClient
from kproxy.net.counting import Counting
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
    """Nobody said so far."""


class ShareSupportWatch:
    """Looks again whenever `look` is called, and calls `on_change` when `current` is another one.

    `current` is UNKNOWN until some broker said, and as long as it is the watch goes on looking by itself, with pauses
    that grow to a second. What was said once stands until some broker says otherwise: one that cannot be asked, or
    whose answer tells nothing, changes nothing. Until then `on_change` is called for each new `failure`, too.
    """

    def __init__(
        self,
        probe: Callable[[], Awaitable[ShareSupport]],
        *,
        clock: Clock,
        tasks: TaskKeeper,
        counting: Counting,
        on_change: Callable[[], None],
    ) -> None:
        self.current = ShareSupport.UNKNOWN
        self.failure = ""
        """Why the last probe did not tell; empty when it did, and before the first one ended."""
        self._probe = probe
        self._backoff = Backoff(clock)
        self._tasks = tasks
        self._counting = counting
        self._on_change = on_change
        self._is_looking = False
        self._has_looked = asyncio.Event()
        self._is_known = asyncio.Event()

    def look(self) -> None:
        """Probe in the background, unless that is under way."""
        if not self._is_looking:
            self._is_looking = True
            self._tasks.spawn(self._look(), name="share group probe")

    async def looked(self, timeout_s: float) -> None:
        """Return when a first probe has ended, whatever it told, or after `timeout_s`."""
        await _happened(self._has_looked, timeout_s)

    async def known(self, timeout_s: float) -> None:
        """Return when some broker said what the cluster does, or after `timeout_s`."""
        await _happened(self._is_known, timeout_s)

    async def _look(self) -> None:
        try:
            found = await self._probe_once()
            while found is self.current is ShareSupport.UNKNOWN:
                self._backoff.failed()
                await asyncio.sleep(self._backoff.remaining_ms / 1000)
                found = await self._probe_once()
        finally:
            self._is_looking = False
        self._backoff.succeeded()
        if found not in {ShareSupport.UNKNOWN, self.current}:
            self._change_to(found)

    async def _probe_once(self) -> ShareSupport:
        found, failure = ShareSupport.UNKNOWN, ""
        try:
            found = await self._probe()
        except BrokerUnavailable as unavailable:
            failure = str(unavailable)
        except Exception as fault:  # noqa: BLE001 - without an answer share groups are never served
            failure = f"{type(fault).__name__} in kproxy itself"
            log.crash("share_group_probe_failed", fault)
        self._counting.count("upstream_probe", 1, found.value)
        self._note(failure)
        self._has_looked.set()
        return found

    def _note(self, failure: str) -> None:
        is_news = failure not in {"", self.failure} and self.current is ShareSupport.UNKNOWN
        self.failure = failure
        if is_news:
            log.warning("share_support_unknown", detail=failure)
            self._on_change()

    def _change_to(self, found: ShareSupport) -> None:
        log.info("share_support_changed", before=self.current.value, after=found.value)
        self.current = found
        self._is_known.set()
        self._on_change()


async def _happened(event: asyncio.Event, timeout_s: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), timeout_s)


async def probe_share_groups(client: BrokerClient) -> ShareSupport:
    """Ask one broker: ABSENT or SERVED. Raises BrokerUnavailable when no answer comes, or one that says neither."""
    if ApiKey.SHARE_GROUP_DESCRIBE not in client.version_ranges:
        return ShareSupport.ABSENT
    if not client.has_version_for(ApiKey.SHARE_GROUP_DESCRIBE):
        # Version 0 was that of the early access in Kafka 4.0, listed only where it was switched on by hand.
        return ShareSupport.SERVED
    request = ShareGroupDescribeRequest(group_ids=[PROBED_GROUP_ID])
    response = await client.request(ApiKey.SHARE_GROUP_DESCRIBE, request)
    assert isinstance(response, ShareGroupDescribeResponse)
    if not response.groups:
        raise BrokerUnavailable(f"{client.peer} answered ShareGroupDescribe about no group")
    error_code = response.groups[0].error_code
    if error_code == ErrorCode.UNSUPPORTED_VERSION:
        return ShareSupport.ABSENT
    if error_code in _SERVING_CODES:
        return ShareSupport.SERVED
    name = known_code(error_code).name
    raise BrokerUnavailable(
        f"{client.peer} answered ShareGroupDescribe with {name} ({error_code}), which tells nothing"
    )
