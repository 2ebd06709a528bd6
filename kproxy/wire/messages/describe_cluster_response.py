"""DescribeClusterResponse: versions 0 to 2.

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
class DescribeClusterBroker(MessagePart):
    """An element of `DescribeClusterResponse.brokers`. One entry per node."""

    broker_id: int = 0
    """The node's id."""
    host: str = ""
    """The host name at which it is reached."""
    port: int = 0
    """The port that goes with the host name."""
    rack: str | None = None
    """The node's rack; null when it has none."""
    is_fenced: bool = False
    """Whether the broker is fenced off and serves nobody. (from version 2)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("broker_id", "int32", VersionRange(0)),
            FieldSchema("host", "string", VersionRange(0)),
            FieldSchema("port", "int32", VersionRange(0)),
            FieldSchema("rack", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema("is_fenced", "bool", VersionRange(2)),
        ),
    )


@message_part
class DescribeClusterResponse(Message):
    """The nodes of the cluster."""

    throttle_time_ms: int = 0
    """How long the client was or should be held back because of a quota; 0 for not at all."""
    error_code: int = 0
    """NONE, or why the request failed."""
    error_message: str | None = None
    """The error in words; null when there is none."""
    endpoint_type: int = 1
    """Which nodes are listed: 1 brokers, 2 controllers. (from version 1)"""
    cluster_id: str = ""
    """The cluster's id."""
    controller_id: int = -1
    """Id of the node that controller requests go to; -1 when there is none."""
    brokers: list[DescribeClusterBroker] = field(default_factory=list)
    """One entry per node."""
    cluster_authorized_operations: int = -2147483648
    """Bit set of what the client may do to the cluster; the minimum int32 when it was not asked for."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="DescribeClusterResponse",
        kind="response",
        api_key=60,
        valid_versions=VersionRange(0, 2),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(0)),
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("error_message", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema("endpoint_type", "int8", VersionRange(1)),
            FieldSchema("cluster_id", "string", VersionRange(0)),
            FieldSchema("controller_id", "int32", VersionRange(0)),
            FieldSchema("brokers", "struct", VersionRange(0), struct=DescribeClusterBroker, is_array=True),
            FieldSchema("cluster_authorized_operations", "int32", VersionRange(0)),
        ),
    )
