"""Answers that pass through and say that the cluster's topics are others now."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.errors import MalformedMessage
from kproxy.interception.response_slots import Buffers
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.frames import RequestHead
from kproxy.wire.messages.delete_records_response import DeleteRecordsResponse

TOPIC_CHANGE_KEYS: Final = frozenset(
    {ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.CREATE_PARTITIONS, ApiKey.DELETE_RECORDS}
)
"""The APIs that change topics, their partitions, or where their logs begin."""

LARGEST_READ_BYTES: Final = 64 * 1024
"""Of an answer of DeleteRecords. So it tells of 4,000 partitions and takes 6 ms, in which nobody else has a turn."""


@dataclass(frozen=True, slots=True)
class TopicChange:
    """Something was changed, or not: most is found out by asking the cluster.

    `log_starts` are the offsets at which logs begin now, by topic name and partition: after DeleteRecords, which leaves
    no trace in the cluster's metadata.
    """

    log_starts: Mapping[tuple[str, int], int] = field(default_factory=dict)


def topic_change_in(api_key: int, api_version: int, frame: memoryview) -> TopicChange:
    """Return what a response of one of the `TOPIC_CHANGE_KEYS` tells. One that cannot be read tells no more.

    Nor does one that is larger than `LARGEST_READ_BYTES`: reads find out where the logs begin.
    """
    if api_key != ApiKey.DELETE_RECORDS or len(frame) > LARGEST_READ_BYTES:
        return TopicChange()
    try:
        _, response = codecs.decode_response(api_key, api_version, frame)
    except MalformedMessage:
        return TopicChange()
    assert isinstance(response, DeleteRecordsResponse)
    return TopicChange(
        {
            (topic.name, partition.partition_index): partition.low_watermark
            for topic in response.topics
            for partition in topic.partitions
            if partition.error_code == ErrorCode.NONE
        }
    )


def pass_and_tell(
    on_topic_change: Callable[[TopicChange], None], head: RequestHead, frame: memoryview
) -> Buffers:
    """Return an answer as it is, and tell `on_topic_change` of what it tells of topics."""
    on_topic_change(topic_change_in(head.api_key, head.api_version, frame))
    return [len(frame).to_bytes(4, "big"), frame]
