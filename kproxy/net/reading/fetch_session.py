"""`FetchSession`: kproxy's half of an incremental fetch session (KIP-227). No I/O."""

from typing import Final

from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.net.reading.fetch_topics import FetchEntry, fetch_topics, forgotten_topics
from kproxy.share.identifiers import TopicIdPartition
from kproxy.wire.messages.fetch_request import FetchRequest
from kproxy.wire.messages.fetch_response import FetchResponse

NO_SESSION_ID: Final = 0
FULL_FETCH_EPOCH: Final = 0
MAX_SESSION_EPOCH: Final = 2**31 - 1


class FetchSession:
    """What the broker has been told to watch, and what it has yet to be told.

    The first request names every topic-partition and opens the session; the next ones name those that
    changed and those that are forgotten. A broker without room for the session answers with session id 0:
    then every request names everything. `restart` begins again, after a session error or on another
    connection. All of it is read under one `isolation`.
    """

    def __init__(self, isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED) -> None:
        self._isolation = isolation
        self._session_id = NO_SESSION_ID
        self._next_epoch = FULL_FETCH_EPOCH
        self._entries: dict[TopicIdPartition, FetchEntry] = {}
        self._changed: dict[TopicIdPartition, FetchEntry] = {}
        self._forgotten: dict[TopicIdPartition, FetchEntry] = {}
        self._told: set[TopicIdPartition] = set()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, topic_partition: TopicIdPartition) -> bool:
        return topic_partition in self._entries

    def put(self, entry: FetchEntry) -> None:
        """Watch a topic-partition, or watch it from another offset."""
        topic_partition = TopicIdPartition(entry.topic_id, entry.partition)
        if self._entries.get(topic_partition) == entry:
            return
        self._entries[topic_partition] = self._changed[topic_partition] = entry
        # A broker drops what a request both adds and forgets.
        self._forgotten.pop(topic_partition, None)

    def forget(self, topic_partition: TopicIdPartition) -> None:
        """Watch a topic-partition no more."""
        entry = self._entries.pop(topic_partition, None)
        self._changed.pop(topic_partition, None)
        if entry is not None and topic_partition in self._told:
            self._forgotten[topic_partition] = entry

    def restart(self) -> None:
        """Open a new session with the next request."""
        self._session_id = NO_SESSION_ID
        self._next_epoch = FULL_FETCH_EPOCH

    def next_request(self, *, max_wait_ms: int, max_bytes: int) -> FetchRequest:
        """Return what to send now. It must be sent, or followed by `restart`."""
        if self._next_epoch == FULL_FETCH_EPOCH:
            self._changed = dict(self._entries)
            self._forgotten.clear()
        request = FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=1,
            max_bytes=max_bytes,
            isolation_level=self._isolation,
            session_id=self._session_id,
            session_epoch=self._next_epoch,
            topics=fetch_topics(self._changed.values()),
            forgotten_topics_data=forgotten_topics(self._forgotten.values()),
        )
        self._note_told()
        return request

    def absorb(self, response: FetchResponse) -> None:
        """Take note of the session that a response without a session error names."""
        if response.session_id == NO_SESSION_ID:
            self.restart()
            return
        self._session_id = response.session_id
        self._next_epoch = 1 if self._next_epoch == MAX_SESSION_EPOCH else self._next_epoch + 1

    def _note_told(self) -> None:
        if self._next_epoch == FULL_FETCH_EPOCH:
            self._told.clear()
        self._told.difference_update(self._forgotten)
        self._told.update(self._changed)
        self._changed.clear()
        self._forgotten.clear()
