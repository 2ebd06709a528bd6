"""`LogInMemory`: both topics of the state log, each with one partition, as kafka-python's consumer gives them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final
from uuid import UUID

from kproxy.share.identifiers import GroupId
from kproxy.share.share_group_image import StatePartitions
from kproxy.statelog.group_parts import StatePartitionMetadata
from kproxy.statelog.group_records import encode_group_record
from kproxy.wire.records import Record
from tests.in_memory.in_memory_consumer import InMemoryConsumer
from tests.worlds.consumptions import TOPIC_ID

GROUPS_TOPIC: Final = "__kproxy_share_groups"
_STATE: Final = "__kproxy_share_state"


class LogInMemory(InMemoryConsumer):
    """The last topic that somebody asked for is the one that is read. Besides there is `consumed`, which is empty."""

    def __init__(
        self,
        state: Sequence[Record],
        groups: Sequence[Record],
        *,
        consumed: str = "",
        leaderless_topics: Collection[str] = (),
    ) -> None:
        super().__init__({0: state})
        self._records = {_STATE: state, GROUPS_TOPIC: groups} | ({consumed: ()} if consumed else {})
        self._leaderless_topics = leaderless_topics

    @property
    def _client(self) -> Any:
        client = super()._client
        client.cluster.topic_id = lambda _: UUID(bytes=TOPIC_ID)
        return client

    @contextmanager
    def opened(self, _servers: Sequence[str], _options: Mapping[str, object]) -> Iterator["LogInMemory"]:
        yield self

    def partitions_for_topic(self, topic: str) -> set[int]:
        records = self._records.get(topic)
        if records is None:
            return set()
        self._partitions = {0: records}
        self.leaderless = {0} if topic in self._leaderless_topics else ()
        return super().partitions_for_topic(topic)


def names_of_jobs(group_id: str = "orders-0") -> Record:
    """Return the record of a group that consumes the topic of `tests.worlds.consumptions`, under the name jobs."""
    jobs = {TOPIC_ID: StatePartitions("jobs", frozenset({0}))}
    return encode_group_record(StatePartitionMetadata(GroupId(group_id), {}, jobs, {}), claim_epoch=0)
