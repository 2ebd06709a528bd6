from kproxy.clients.history.topic_names import names_of
from kproxy.share.identifiers import GroupId, TopicId, topic_id_text
from kproxy.share.share_group_image import StatePartitions
from kproxy.statelog.group_parts import StatePartitionMetadata
from kproxy.statelog.group_records import RecoveryPoint, encode_group_record
from kproxy.wire.records import Record

ORDERS, BILLS = TopicId(b"o" * 16), TopicId(b"b" * 16)


def test_topics_that_have_state_or_are_on_the_way_there_are_named() -> None:
    # Given
    initialized = {ORDERS: StatePartitions("orders", frozenset({0}))}
    initializing = {BILLS: StatePartitions("bills", frozenset({1}))}
    metadata = StatePartitionMetadata(GroupId("workers"), initializing, initialized, {})

    # When
    names = names_of(encode_group_record(metadata, claim_epoch=0))

    # Then
    assert names == {topic_id_text(ORDERS): "orders", topic_id_text(BILLS): "bills"}


def test_other_records_name_nothing() -> None:
    # When
    names = [names_of(encode_group_record(RecoveryPoint(1), claim_epoch=0)), names_of(Record(b"?", None))]

    # Then
    assert names == [{}, {}]
