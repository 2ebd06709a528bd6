"""Share sessions: which partitions a member fetches from one broker, and the epoch that counts its requests.

A session belongs to a member, to the broker (the proxy port) that it thinks it talks to, and to the
connection that opened it. ShareFetch and ShareAcknowledge share one epoch counter. Membership plays no
part: the leader of a share-partition never asks the group coordinator who is a member.

Source: KIP-932, "Share sessions"; `ShareSession.java`, `ShareSessionCache.java`,
`SharePartitionManager.java`.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from typing import Final, NamedTuple

from kproxy.errors import (
    InvalidRequest,
    InvalidShareSessionEpoch,
    ShareSessionLimitReached,
    ShareSessionNotFound,
)
from kproxy.share.identifiers import GroupId, MemberId, ShareSessionEpoch, TopicIdPartition
from kproxy.wording import counted

INITIAL_SHARE_SESSION_EPOCH: Final = ShareSessionEpoch(0)
"""Opens a session."""
FINAL_SHARE_SESSION_EPOCH: Final = ShareSessionEpoch(-1)
"""Closes a session."""
MAX_SHARE_SESSION_EPOCH: Final = 2_147_483_647


@dataclass(frozen=True, slots=True)
class ShareSessionLimits:
    """How many share sessions may be open, and how many partitions one of them, and all of them, may have.

    Kafka bounds the first alone (`group.share.max.share.sessions`). Every fetch looks at each partition of its session.
    """

    max_share_sessions: int = 2_000
    max_session_partitions: int = 5_000
    max_partitions: int = 200_000
    max_of_principal: int = 2**31 - 1
    """Share sessions that one principal may have open."""


class ShareSessionKey(NamedTuple):
    """Whose session, and on which virtual broker. A named tuple, because each request looks it up several times."""

    node_id: int
    group_id: GroupId
    member_id: MemberId


class ShareSession:
    """One open session: its partitions in the order they were added, and the epoch it expects next."""

    __slots__ = (
        "_must_respond",
        "_turn",
        "connection_id",
        "fetch_count",
        "key",
        "last_used_ms",
        "next_epoch",
        "number",
        "principal",
    )

    def __init__(
        self,
        key: ShareSessionKey,
        *,
        number: int,
        connection_id: int,
        partitions: Iterable[TopicIdPartition],
        principal: str = "",
    ) -> None:
        self.key = key
        self.number = number
        """Higher than that of every session that was opened before. Locks name it (`AcquisitionLock`)."""
        self.connection_id = connection_id
        self.principal = principal
        """Who opened it, as Kafka writes principals."""
        self.next_epoch = next_share_session_epoch(INITIAL_SHARE_SESSION_EPOCH)
        self.last_used_ms = 0
        """When its last request came or, if that is later, its last fetch was over."""
        self.fetch_count = 0
        """Fetches that are under way: they wait for records, as a rule."""
        self._must_respond = dict.fromkeys(partitions, True)
        self._turn = 0

    def use(self, now_ms: int) -> None:
        """Note that a request of the session came, for people to see. Nothing depends on it."""
        self.last_used_ms = now_ms

    def begin_fetch(self) -> None:
        """Note that a fetch is under way, until `end_fetch`."""
        self.fetch_count += 1

    def end_fetch(self, now_ms: int) -> None:
        """Note that a fetch is over."""
        self.fetch_count -= 1
        self.use(now_ms)

    def __len__(self) -> int:
        """How many partitions it has."""
        return len(self._must_respond)

    def has(self, partition: TopicIdPartition) -> bool:
        """Tell whether the partition was added and not forgotten."""
        return partition in self._must_respond

    @property
    def partitions(self) -> tuple[TopicIdPartition, ...]:
        """The session's partitions, oldest first."""
        return tuple(self._must_respond)

    def next_turn(self) -> tuple[TopicIdPartition, ...]:
        """Return the partitions for a fetch that asks for records, rotated left by one more than for the one before.

        Each comes first in its turn; without it the first partitions would use up the budget of every fetch. Source:
        `PartitionRotateStrategy`. That rotates by the epoch of the request, which acknowledgements count up too: with
        one of them to each fetch, and an even number of partitions, half of them never come first.
        """
        partitions = self.partitions
        first = self._turn % max(len(partitions), 1)
        self._turn += 1
        return partitions[first:] + partitions[:first]

    def belongs_in_response(self, partition: TopicIdPartition, *, has_records: bool, has_error: bool) -> bool:
        """Tell whether the response names `partition`, which this fetch looked at; counts as naming it.

        It does when there are records, a fetch error, when it was added and not named yet, or when it had an
        error the last time (so that the client sees that it is over). Acknowledgement results are always
        named, whatever this says. Source: `CachedSharePartition.maybeUpdateResponseData`.
        """
        must_respond = self._must_respond.get(partition, False)
        if partition in self._must_respond:
            self._must_respond[partition] = has_error
        return has_records or has_error or must_respond

    def advance(self, added: Iterable[TopicIdPartition], forgotten: Iterable[TopicIdPartition]) -> None:
        """Move the epoch on by one; add partitions, then forget: a partition may be in both."""
        self.next_epoch = next_share_session_epoch(self.next_epoch)
        for partition in added:
            self._must_respond.setdefault(partition, True)
        for partition in forgotten:
            self._must_respond.pop(partition, None)


class ShareSessionCache:
    """All share sessions of the process. There is no eviction for age: the cache refuses when it is full."""

    __slots__ = (
        "_group_ids",
        "_keys_of_connection",
        "_numbers",
        "_of_principals",
        "_partition_count",
        "_session_counts",
        "_sessions",
        "generation",
        "limits",
    )

    def __init__(self, limits: ShareSessionLimits) -> None:
        self.limits = limits
        self.generation = 0
        """Another number when a session was opened."""
        self._numbers = count(1)
        self._partition_count = 0
        self._group_ids: dict[GroupId, GroupId] = {}
        self._sessions: dict[ShareSessionKey, ShareSession] = {}
        self._session_counts: Counter[GroupId] = Counter()
        self._keys_of_connection: dict[int, dict[ShareSessionKey, None]] = {}
        self._of_principals: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def partition_count(self) -> int:
        """Partitions of all sessions together."""
        return self._partition_count

    def group_has_sessions(self, group_id: GroupId) -> bool:
        """Tell whether any member of the group has a session; else its share-partitions may be dropped.

        As long as something is to be released that was acquired in a session, that one counts (`begin_release`).
        """
        return group_id in self._session_counts

    def begin_release(self, session: ShareSession) -> None:
        """Let `session`, which was just closed or evicted, count for its group until `end_release`."""
        group_id = session.key.group_id
        self._session_counts[group_id] += 1
        self._group_ids.setdefault(group_id, group_id)

    def end_release(self, session: ShareSession) -> None:
        """Note that all is released that was acquired in `session`."""
        self._discount(session.key.group_id)

    def sessions(self) -> tuple[ShareSession, ...]:
        """Return every open session, oldest first."""
        return tuple(self._sessions.values())

    def open(
        self,
        key: ShareSessionKey,
        *,
        connection_id: int,
        partitions: Iterable[TopicIdPartition],
        has_acknowledgements: bool,
        principal: str = "",
    ) -> ShareSession:
        """Open the session that a ShareFetch with epoch 0 asks for; the next epoch is 1.

        A session that `key` already has is replaced in silence, and what it acquired stays acquired: the
        member lost a response, not its records.

        Raises:
            InvalidRequest: the request acknowledges (no record was acquired yet under this session), or names too many
                partitions.
            ShareSessionLimitReached: the cache is full, or `principal` has as many as it may. The caller may wait and
                try again until MaxWaitMs.
        """
        if has_acknowledgements:
            raise InvalidRequest("a ShareFetch that opens a session cannot acknowledge")
        if key not in self._sessions and len(self._sessions) >= self.limits.max_share_sessions:
            raise ShareSessionLimitReached(f"{counted(len(self._sessions), 'share session')} open already")
        replaced = self._sessions.get(key)
        self._require_room_of(principal, replaced)
        # Of a text of up to 32 kB that comes with each request, all that is kept of a group has one.
        key = key._replace(group_id=self._group_ids.get(key.group_id, key.group_id))
        session = ShareSession(
            key,
            number=next(self._numbers),
            connection_id=connection_id,
            partitions=partitions,
            principal=principal,
        )
        self._require_room(len(session), instead_of=0 if replaced is None else len(replaced))
        self._remove(key)
        self._sessions[key] = session
        self.generation += 1
        self._group_ids.setdefault(key.group_id, key.group_id)
        self._session_counts[key.group_id] += 1
        self._partition_count += len(session)
        self._of_principals[principal] += 1
        self._keys_of_connection.setdefault(connection_id, {})[key] = None
        return session

    def advance(
        self,
        key: ShareSessionKey,
        share_session_epoch: ShareSessionEpoch,
        *,
        added: Iterable[TopicIdPartition],
        forgotten: Iterable[TopicIdPartition],
    ) -> ShareSession:
        """Admit a ShareFetch with epoch 1 or higher: count it, add its partitions, then drop those forgotten.

        Partitions that are listed only to acknowledge are added like the others. Forgetting one does not
        release what was acquired from it.

        Raises:
            ShareSessionNotFound: no session is open for `key`.
            InvalidShareSessionEpoch: the request is not the successor of the last one; nothing changed.
            InvalidRequest: the session would have too many partitions; nothing changed.
            ShareSessionLimitReached: all sessions together would; nothing changed.
        """
        session = self._expect(key, share_session_epoch)
        added = [partition for partition in added if not session.has(partition)]
        before = len(session)
        if added:
            self._require_room(before + len(added), instead_of=before)
        session.advance(added, forgotten)
        self._partition_count += len(session) - before
        return session

    def acknowledge(self, key: ShareSessionKey, share_session_epoch: ShareSessionEpoch) -> ShareSession:
        """Admit a ShareAcknowledge with any epoch but -1, and count it.

        Raises:
            ShareSessionNotFound: no session is open for `key`.
            InvalidShareSessionEpoch: the epoch is 0, or not the successor of the last request's.
        """
        if share_session_epoch == INITIAL_SHARE_SESSION_EPOCH:
            raise InvalidShareSessionEpoch("a ShareAcknowledge cannot open a share session")
        return self.advance(key, share_session_epoch, added=(), forgotten=())

    def get(self, key: ShareSessionKey) -> ShareSession | None:
        """Return the open session, None when there is none."""
        return self._sessions.get(key)

    def find(self, key: ShareSessionKey) -> ShareSession:
        """Return the open session; what a request with the final epoch -1 needs, whose epoch is not checked.

        Raises:
            ShareSessionNotFound: no session is open for `key`.
        """
        session = self._sessions.get(key)
        if session is None:
            raise ShareSessionNotFound(f"no share session is open for {key}")
        return session

    def close(self, session: ShareSession) -> None:
        """Remove `session` once its final request is served; nothing when it was replaced or evicted.

        The caller releases what the member still holds of the session's partitions, and of those only.
        """
        if self._sessions.get(session.key) is session:
            self._remove(session.key)

    def evict_connection(self, connection_id: int) -> tuple[ShareSession, ...]:
        """Remove and return the sessions of a connection that went away; their records are to be released.

        A session that was opened again on another connection survives.
        """
        evicted = tuple(self._sessions[key] for key in self._keys_of_connection.get(connection_id, ()))
        for session in evicted:
            self._remove(session.key)
        return evicted

    def close_group(self, group_id: GroupId) -> tuple[ShareSession, ...]:
        """Remove and return every session of a group that is no more: nothing of it is there to be released."""
        if group_id not in self._session_counts:
            return ()
        closed = tuple(session for session in self._sessions.values() if session.key.group_id == group_id)
        for session in closed:
            self._remove(session.key)
        return closed

    def require_possible(self, partition_count: int) -> None:
        """Raise InvalidRequest when a request names more partitions, so many, than any session may have."""
        allowed = self.limits.max_session_partitions
        if partition_count > allowed:
            raise InvalidRequest(
                f"a share session of {counted(partition_count, 'partition')}, at most {allowed} are allowed"
            )

    def _require_room(self, partition_count: int, *, instead_of: int) -> None:
        """Raise unless a session may have `partition_count` partitions where it had `instead_of`."""
        limits = self.limits
        self.require_possible(partition_count)
        total = self._partition_count - instead_of + partition_count
        if total > limits.max_partitions:
            raise ShareSessionLimitReached(
                f"all share sessions would have {counted(total, 'partition')} together, "
                f"at most {limits.max_partitions} may be"
            )

    def _require_room_of(self, principal: str, replaced: ShareSession | None) -> None:
        """Raise ShareSessionLimitReached unless `principal` may have another session in place of `replaced`."""
        has = self._of_principals[principal] - (replaced is not None and replaced.principal == principal)
        if has >= self.limits.max_of_principal:
            raise ShareSessionLimitReached(
                f"{principal} has {counted(has, 'share session')} open already, which is as many as it may have"
            )

    def _expect(self, key: ShareSessionKey, share_session_epoch: ShareSessionEpoch) -> ShareSession:
        session = self.find(key)
        if share_session_epoch != session.next_epoch:
            raise InvalidShareSessionEpoch(
                f"share session epoch {share_session_epoch}, expected {session.next_epoch} for {key}"
            )
        return session

    def _remove(self, key: ShareSessionKey) -> None:
        session = self._sessions.pop(key, None)
        if session is None:
            return
        self._partition_count -= len(session)
        self._discount(key.group_id)
        self._of_principals[session.principal] -= 1
        if not self._of_principals[session.principal]:
            del self._of_principals[session.principal]
        keys = self._keys_of_connection[session.connection_id]
        del keys[key]
        if not keys:
            del self._keys_of_connection[session.connection_id]

    def _discount(self, group_id: GroupId) -> None:
        self._session_counts[group_id] -= 1
        if not self._session_counts[group_id]:
            del self._session_counts[group_id], self._group_ids[group_id]


def next_share_session_epoch(share_session_epoch: ShareSessionEpoch) -> ShareSessionEpoch:
    """Return the epoch of the next request: 2147483647 is followed by 1, as 0 would open a session."""
    if share_session_epoch == MAX_SHARE_SESSION_EPOCH:
        return ShareSessionEpoch(1)
    return ShareSessionEpoch(share_session_epoch + 1)
