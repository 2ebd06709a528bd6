"""`ShareSessionCache` against a plain list of sessions that is searched from end to end."""

from dataclasses import dataclass

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kproxy.errors import InvalidShareSessionEpoch, ShareSessionLimitReached, ShareSessionNotFound
from kproxy.share.identifiers import GroupId, MemberId, ShareSessionEpoch, TopicId, TopicIdPartition
from kproxy.share.share_session import ShareSession, ShareSessionCache, ShareSessionKey, ShareSessionLimits

LIMIT = 3
KEYS = [
    ShareSessionKey(node_id, GroupId(group), MemberId(member))
    for node_id, group, member in [(1, "g", "a"), (2, "g", "a"), (1, "g", "b"), (1, "h", "a"), (1, "h", "b")]
]
PARTITIONS = [TopicIdPartition(TopicId(b"t" * 16), number) for number in range(5)]
SOME_PARTITIONS = st.lists(st.sampled_from(PARTITIONS), max_size=4)


@dataclass
class NaiveSession:
    """One session, with its partitions in a list."""

    key: ShareSessionKey
    connection_id: int
    partitions: list[TopicIdPartition]
    session: ShareSession
    last_epoch: int = 0


class ShareSessionCacheMachine(RuleBasedStateMachine):
    """Members open, use and close sessions on connections that come and go."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = ShareSessionCache(ShareSessionLimits(max_share_sessions=LIMIT))
        self.sessions: list[NaiveSession] = []
        self.releasing: list[ShareSession] = []

    def naive(self, key: ShareSessionKey) -> NaiveSession | None:
        return next((session for session in self.sessions if session.key == key), None)

    @rule(key=st.sampled_from(KEYS), connection_id=st.integers(1, 4), partitions=SOME_PARTITIONS)
    def open(self, key: ShareSessionKey, connection_id: int, partitions: list[TopicIdPartition]) -> None:
        others = [session for session in self.sessions if session.key != key]
        if self.naive(key) is None and len(others) >= LIMIT:
            with pytest.raises(ShareSessionLimitReached):
                self.cache.open(
                    key, connection_id=connection_id, partitions=partitions, has_acknowledgements=False
                )
            return
        session = self.cache.open(
            key, connection_id=connection_id, partitions=partitions, has_acknowledgements=False
        )
        self.sessions = [*others, NaiveSession(key, connection_id, list(dict.fromkeys(partitions)), session)]

    @rule(
        key=st.sampled_from(KEYS),
        distance=st.sampled_from([1, 1, 1, 1, 0, 2]),
        added=SOME_PARTITIONS,
        forgotten=SOME_PARTITIONS,
    )
    def fetch(
        self,
        key: ShareSessionKey,
        distance: int,
        added: list[TopicIdPartition],
        forgotten: list[TopicIdPartition],
    ) -> None:
        naive = self.naive(key)
        epoch = ShareSessionEpoch((naive.last_epoch if naive else 0) + distance)
        expected = None if naive is None else naive.session
        if naive is None or distance != 1 or epoch == 0:
            with pytest.raises(ShareSessionNotFound if naive is None else InvalidShareSessionEpoch):
                self.cache.advance(key, epoch, added=added, forgotten=forgotten)
            return
        assert self.cache.advance(key, epoch, added=added, forgotten=forgotten) is expected
        naive.last_epoch = epoch
        naive.partitions += [
            partition for partition in dict.fromkeys(added) if partition not in naive.partitions
        ]
        naive.partitions = [partition for partition in naive.partitions if partition not in forgotten]

    @rule(key=st.sampled_from(KEYS), distance=st.sampled_from([1, 1, 1, 0, 2]))
    def acknowledge(self, key: ShareSessionKey, distance: int) -> None:
        naive = self.naive(key)
        epoch = ShareSessionEpoch((naive.last_epoch if naive else 0) + distance)
        if epoch == 0 or (naive is not None and distance != 1):
            with pytest.raises(InvalidShareSessionEpoch):
                self.cache.acknowledge(key, epoch)
        elif naive is None:
            with pytest.raises(ShareSessionNotFound):
                self.cache.acknowledge(key, epoch)
        else:
            self.cache.acknowledge(key, epoch)
            naive.last_epoch = epoch

    @rule(key=st.sampled_from(KEYS))
    def close(self, key: ShareSessionKey) -> None:
        naive = self.naive(key)
        if naive is None:
            with pytest.raises(ShareSessionNotFound):
                self.cache.find(key)
            return
        session = self.cache.find(key)
        self.cache.close(session)
        self.cache.begin_release(session)
        self.releasing.append(session)
        self.sessions.remove(naive)

    @precondition(lambda self: self.releasing)
    @rule()
    def end_release(self) -> None:
        self.cache.end_release(self.releasing.pop())

    @rule(connection_id=st.integers(1, 4))
    def drop_connection(self, connection_id: int) -> None:
        dropped = [session for session in self.sessions if session.connection_id == connection_id]
        self.sessions = [session for session in self.sessions if session.connection_id != connection_id]
        assert {s.key for s in self.cache.evict_connection(connection_id)} == {s.key for s in dropped}

    @invariant()
    def the_partitions_of_all_sessions_are_counted(self) -> None:
        assert self.cache.partition_count == sum(len(each.partitions) for each in self.cache.sessions())

    @invariant()
    def both_hold_the_same(self) -> None:
        assert [
            (session.key, session.connection_id, list(session.partitions), session.next_epoch)
            for session in self.cache.sessions()
        ] == [
            (naive.key, naive.connection_id, naive.partitions, naive.last_epoch + 1)
            for naive in self.sessions
        ]
        assert len(self.cache) == len(self.sessions)
        assert self.cache.partition_count == sum(len(naive.partitions) for naive in self.sessions)

    @invariant()
    def sessions_that_were_opened_later_have_higher_numbers(self) -> None:
        numbers = [session.number for session in self.cache.sessions()]
        assert numbers == sorted(set(numbers))

    @invariant()
    def groups_with_sessions_are_known(self) -> None:
        for group_id in (GroupId("g"), GroupId("h")):
            keys = [*(each.key for each in self.sessions), *(each.key for each in self.releasing)]
            expected = any(key.group_id == group_id for key in keys)
            assert self.cache.group_has_sessions(group_id) == expected


TestShareSessionCache = ShareSessionCacheMachine.TestCase
