"""The names of the topics that share groups consume, as records of the groups topic have them. Pure."""

from collections.abc import Mapping

from kproxy.errors import CorruptStateRecord
from kproxy.share.identifiers import topic_id_text
from kproxy.statelog.group_parts import StatePartitionMetadata
from kproxy.statelog.group_records import decode_group_record
from kproxy.wire.records import Record


def names_of(record: Record) -> Mapping[str, str]:
    """Return the names in one record: it has some if it is the metadata of a group's state partitions."""
    try:
        decoded = decode_group_record(record).record
    except CorruptStateRecord:
        return {}
    if not isinstance(decoded, StatePartitionMetadata):
        return {}
    listed = (decoded.initializing, decoded.initialized, decoded.deleting)
    return {
        topic_id_text(topic_id): partitions.topic_name
        for topics in listed
        for topic_id, partitions in topics.items()
        if partitions.topic_name
    }
