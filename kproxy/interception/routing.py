"""What happens to each request, as a table.

| disposition | the request | the response |
|---|---|---|
| FORWARD | streams on as it came | streams back as it came |
| NEUTRALISE | streams on as it came | streams back, but for one tag that gets another number |
| REWRITE | streams on as it came | is held, and broker addresses or versions in it are changed |
| NOTICE | streams on as it came | is held whole, leaves as it came, and tells kproxy to look at the cluster's topics |
| GUARD | streams on as it came, unless it is about a share group: then it is refused here | as the request turned out |
| EXAMINE | is held and decoded; goes on, is answered here, or both | as the request turned out |
| SERVE | is held, decoded and answered by kproxy | made here |
| REFUSE | ends the connection, as a broker does with what it does not know | none |
"""

from collections.abc import Callable, Collection, Mapping
from enum import Enum
from typing import ClassVar, Final

from kproxy.errors import PeerViolation
from kproxy.interception.closed_topics import ClosedTopics
from kproxy.interception.known_versions import (
    MAX_API_VERSIONS_VERSION,
    NEWEST_KNOWN,
    OLDEST_KNOWN,
    SHARE_KEYS,
)
from kproxy.interception.rewrites import described_groups
from kproxy.interception.topic_changes import TOPIC_CHANGE_KEYS
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.endpoints_walk import FIRST_FETCH_VERSION


class Disposition(Enum):
    """What becomes of a request of one API and version."""

    FORWARD = "forward"
    NEUTRALISE = "neutralise"
    REWRITE = "rewrite"
    NOTICE = "notice"
    GUARD = "guard"
    EXAMINE = "examine"
    SERVE = "serve"
    REFUSE = "refuse"


_REWRITTEN_FROM: Final[Mapping[int, int]] = {
    ApiKey.PRODUCE: 10,
    ApiKey.METADATA: 0,
    ApiKey.API_VERSIONS: 0,
    ApiKey.DESCRIBE_CLUSTER: 0,
}
"""First version whose response is rewritten. Produce carries NodeEndpoints from 10 on (KIP-951)."""

_EXAMINED_FROM: Final[Mapping[int, int]] = {
    # Key type SHARE exists in every version that has a key type; it is never the backing broker's business.
    ApiKey.FIND_COORDINATOR: 0,
    # Translated for a broker that has only older versions.
    ApiKey.LIST_GROUPS: 0,
    ApiKey.DELETE_GROUPS: 0,
    # The first version that can name topics by id.
    ApiKey.METADATA: 12,
    # Pass as they are, and tell who the client is.
    ApiKey.SASL_HANDSHAKE: 0,
    ApiKey.SASL_AUTHENTICATE: 0,
}

_EXAMINED_FOR_GROUP_CONFIGS: Final[Mapping[int, int]] = {
    # Resource type GROUP is younger than these three first schema versions.
    ApiKey.ALTER_CONFIGS: 0,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: 0,
    ApiKey.DESCRIBE_CONFIGS: 1,
    # Version 0 is about client metrics alone.
    ApiKey.LIST_CONFIG_RESOURCES: 1,
}

_GUARDED_FROM: Final[Mapping[int, int]] = {
    ApiKey.OFFSET_COMMIT: 2,
    ApiKey.JOIN_GROUP: 0,
    ApiKey.TXN_OFFSET_COMMIT: 0,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: 0,
    ApiKey.STREAMS_GROUP_HEARTBEAT: 0,
}
"""First version of what joins a group of another type, or writes offsets to it. OffsetCommit 0 and 1 are gone from
Kafka 4. What merely asks, or is about members that cannot be, a broker answers of a share group's id as of one that
it does not know; the broker behind kproxy does so by itself."""

GROUP_CONFIG_KEYS: Final[frozenset[int]] = frozenset(_EXAMINED_FOR_GROUP_CONFIGS)
"""The APIs that may name configurations of groups."""

_GROUP_KEYS: Final[frozenset[int]] = frozenset({ApiKey.LIST_GROUPS, ApiKey.DELETE_GROUPS})
"""The APIs that may be about groups of every type."""


class RoutingTable:
    """The disposition of every (API key, version).

    One table serves every connection, so that turning share groups on or off takes effect for all of them at once.

    Args:
        served: as for `serve`.
        share_group_ids: the ids of all share groups, a view that follows what happens.
        closed_topics: topics that clients must not touch.
    """

    __slots__ = (
        "_dispositions",
        "_served",
        "closed_topics",
        "is_elsewhere",
        "is_feature_on",
        "share_group_ids",
    )

    farewell: ClassVar[tuple[int, int] | None] = None
    """API key and version of the request by which a process that relays says that its client is gone."""

    def __init__(
        self,
        served: Mapping[int, tuple[int, int]],
        share_group_ids: Collection[str] = frozenset(),
        closed_topics: ClosedTopics | None = None,
    ) -> None:
        self.closed_topics = closed_topics or ClosedTopics()
        self.share_group_ids = share_group_ids
        self.is_elsewhere: Callable[[str], bool] | None = None
        """Tells of a group id whether another kproxy process serves the group; None where there is no other one."""
        self.serve(served)

    def serve(self, served: Mapping[int, tuple[int, int]], *, is_feature_on: bool = True) -> None:
        """From now on serve these version ranges (both ends inclusive) of share APIs.

        While there are none, or while the feature `share.version` is not on, share groups are off, and group
        configurations are the backing broker's business.
        """
        self._served = dict(served)
        self.is_feature_on = is_feature_on and bool(served)
        """Whether there are share groups."""
        self._dispositions = self._tabulate()

    @property
    def served(self) -> Mapping[int, tuple[int, int]]:
        """Version ranges of the share APIs served, both ends inclusive."""
        return self._served

    def disposition(self, api_key: int, api_version: int) -> Disposition:
        """Return what becomes of such a request. ApiVersions above the newest known is EXAMINE: it gets an answer."""
        found = self._dispositions.get((api_key, api_version))
        if found is not None:
            return found
        if api_key == ApiKey.API_VERSIONS and api_version > MAX_API_VERSIONS_VERSION:
            return Disposition.EXAMINE
        return Disposition.REFUSE

    def refuse_unknown(self, api_key: int, api_version: int) -> None:
        """Raise PeerViolation for what ends the connection, which says what is known of such an API."""
        if self.disposition(api_key, api_version) is not Disposition.REFUSE:
            return
        versions = [version for key, version in self._dispositions if key == api_key]
        if not versions:
            raise PeerViolation(
                "unknown_api_key", f"API key {api_key} version {api_version} was not advertised"
            )
        detail = f"version {api_version} of API key {api_key}; {min(versions)} to {max(versions)} are known"
        raise PeerViolation("version_not_advertised", detail)

    def is_shared(self, api_key: int) -> bool:
        """Whether kproxy and the broker answer such a request together, if it is examined at all."""
        return api_key in GROUP_CONFIG_KEYS or (self.is_feature_on and api_key in _GROUP_KEYS)

    def rows(self) -> Mapping[tuple[int, int], Disposition]:
        """Return the whole table, for people and tests."""
        return dict(self._dispositions)

    def _tabulate(self) -> dict[tuple[int, int], Disposition]:
        table = {
            (int(api_key), version): self._forwarded_or_rewritten(api_key, version)
            for api_key, newest in NEWEST_KNOWN.items()
            for version in range(OLDEST_KNOWN.get(api_key, 0), newest + 1)
        }
        for api_key, (oldest, newest) in self._served.items():
            assert api_key in SHARE_KEYS, f"API key {api_key} is not one of KIP-932's"
            table.update(
                {(int(api_key), version): Disposition.SERVE for version in range(oldest, newest + 1)}
            )
        return table

    def _forwarded_or_rewritten(self, api_key: int, version: int) -> Disposition:
        if version >= _EXAMINED_FROM.get(api_key, version + 1):
            return Disposition.EXAMINE
        if self.is_feature_on and (disposition := _while_share_groups_are_on(api_key, version)) is not None:
            return disposition
        if version >= _REWRITTEN_FROM.get(api_key, version + 1):
            return Disposition.REWRITE
        if api_key == ApiKey.FETCH and version >= FIRST_FETCH_VERSION:
            return Disposition.NEUTRALISE
        return Disposition.FORWARD


def _while_share_groups_are_on(api_key: int, version: int) -> Disposition | None:
    """Return what share groups make of it; None for what they do not mind."""
    if version >= _EXAMINED_FOR_GROUP_CONFIGS.get(api_key, version + 1):
        return Disposition.EXAMINE
    if version >= _GUARDED_FROM.get(api_key, version + 1):
        return Disposition.GUARD
    if api_key == ApiKey.DESCRIBE_GROUPS and version >= described_groups.FIRST_VERSION:
        return Disposition.REWRITE
    return Disposition.NOTICE if api_key in TOPIC_CHANGE_KEYS else None
