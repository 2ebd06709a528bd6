"""AddPartitionsToTxnResponse: versions 0 to 5.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from dataclasses import field
from typing import ClassVar

from kproxy.wire.message_schema import (
    FieldSchema,
    Message,
    MessagePart,
    MessageSchema,
    StructSchema,
    VersionRange,
    message_part,
)


@message_part
class AddPartitionsToTxnPartitionResult(MessagePart):
    """An element of `AddPartitionsToTxnTopicResult.results_by_partition`. What became of each partition."""

    partition_index: int = 0
    """The number of the partition."""
    partition_error_code: int = 0
    """What went wrong, or 0."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("partition_index", "int32", VersionRange(0)),
            FieldSchema("partition_error_code", "int16", VersionRange(0)),
        ),
    )


@message_part
class AddPartitionsToTxnTopicResult(MessagePart):
    """An element of `AddPartitionsToTxnResponse.results_by_topic_v3_and_below` and an element of
    `AddPartitionsToTxnResult.topic_results`. What became of each topic.
    """

    name: str = ""
    """The name of the topic."""
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = field(default_factory=list)
    """What became of each partition."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("name", "string", VersionRange(0)),
            FieldSchema(
                "results_by_partition",
                "struct",
                VersionRange(0),
                struct=AddPartitionsToTxnPartitionResult,
                is_array=True,
            ),
        ),
    )


@message_part
class AddPartitionsToTxnResult(MessagePart):
    """An element of `AddPartitionsToTxnResponse.results_by_transaction`. What became of each transaction."""

    transactional_id: str = ""
    """The transactional id. (from version 4)"""
    topic_results: list[AddPartitionsToTxnTopicResult] = field(default_factory=list)
    """What became of each topic. (from version 4)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("transactional_id", "string", VersionRange(4)),
            FieldSchema(
                "topic_results",
                "struct",
                VersionRange(4),
                struct=AddPartitionsToTxnTopicResult,
                is_array=True,
            ),
        ),
    )


@message_part
class AddPartitionsToTxnResponse(Message):
    """Which partitions are part of the transaction now."""

    throttle_time_ms: int = 0
    """For how long a quota held the request back, in milliseconds."""
    error_code: int = 0
    """What went wrong, or 0. (from version 4)"""
    results_by_transaction: list[AddPartitionsToTxnResult] = field(default_factory=list)
    """What became of each transaction. (from version 4)"""
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = field(default_factory=list)
    """What became of each topic. (versions 0 to 3)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="AddPartitionsToTxnResponse",
        kind="response",
        api_key=24,
        valid_versions=VersionRange(0, 5),
        flexible_versions=VersionRange(3),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(0)),
            FieldSchema("error_code", "int16", VersionRange(4), is_ignorable=True),
            FieldSchema(
                "results_by_transaction",
                "struct",
                VersionRange(4),
                struct=AddPartitionsToTxnResult,
                is_array=True,
            ),
            FieldSchema(
                "results_by_topic_v3_and_below",
                "struct",
                VersionRange(0, 3),
                struct=AddPartitionsToTxnTopicResult,
                is_array=True,
            ),
        ),
    )
