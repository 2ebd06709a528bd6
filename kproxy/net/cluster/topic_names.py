"""`TopicNames`: the names of topics that clients ask for by id where the brokers know names only (before Kafka 3.1)."""

import asyncio
from collections.abc import Mapping
from typing import Final

from kproxy.errors import BrokerUnavailable
from kproxy.handlers.ports import Clock
from kproxy.net.backoff import Backoff
from kproxy.net.cluster.broker_answers import answer_of_any_length
from kproxy.net.cluster.broker_client import BrokerClient
from kproxy.net.cluster.metadata import ClusterMetadataCache
from kproxy.net.cluster.metadata_looks import version_with_topic_ids
from kproxy.net.tasks import TaskKeeper
from kproxy.share.identifiers import TopicId
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages.metadata_request import MetadataRequest
from kproxy.wire.messages.metadata_response import MetadataResponse

FIRST_PAUSE_MS: Final = 1_000
LAST_PAUSE_MS: Final = 60_000
"""Between two looks, each of which brings every topic of the cluster; longer and longer while they find nothing."""
MOST_WANTED: Final = 1_000
"""Ids that are looked for together; what else is asked for meanwhile is looked for when it is asked for again."""


class TopicNames:
    """Knows what the metadata cache knows, and looks for the rest in the background.

    A process serves members of groups that other processes own, and so never heard of their topics: these members name
    them by id, from their assignments.
    """

    def __init__(self, metadata: ClusterMetadataCache, clock: Clock, tasks: TaskKeeper) -> None:
        self._metadata = metadata
        self._tasks = tasks
        self._wanted: set[TopicId] = set()
        self._backoff = Backoff(clock, first_ms=FIRST_PAUSE_MS, last_ms=LAST_PAUSE_MS)

    def name_of(self, topic_id: bytes) -> str | None:
        """Return the name if it is known; else None, and look for it."""
        description = self._metadata.describe(TopicId(topic_id))
        if description is not None:
            return description.name
        is_looking = bool(self._wanted)
        if len(self._wanted) < MOST_WANTED:
            self._wanted.add(TopicId(topic_id))
        if not is_looking:
            self._tasks.spawn(self._look(), name="names of topics")
        return None

    async def _look(self) -> None:
        try:
            await asyncio.sleep(self._backoff.remaining_ms / 1000)
            await self._ask_for_every_topic()
        except BrokerUnavailable:
            self._backoff.failed()
        finally:
            self._wanted.clear()

    async def _ask_for_every_topic(self) -> None:
        names_of = await self._metadata.ask(_every_topic)
        names = [names_of[topic_id] for topic_id in self._wanted if topic_id in names_of]
        await self._metadata.topics_named(names)
        if len(names) == len(self._wanted):
            self._backoff.succeeded()
        else:
            self._backoff.failed()


async def _every_topic(client: BrokerClient) -> Mapping[bytes, str]:
    """Return the names of all topics of the cluster, however many these are, by their ids."""
    request = MetadataRequest(topics=None, allow_auto_topic_creation=False)
    version = version_with_topic_ids(client)
    return await answer_of_any_length(client, ApiKey.METADATA, request, version, _names_in)


def _names_in(response: Message) -> Mapping[bytes, str]:
    assert isinstance(response, MetadataResponse)
    return {topic.topic_id: topic.name for topic in response.topics if topic.name}
