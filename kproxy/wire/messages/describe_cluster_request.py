"""DescribeClusterRequest: versions 0 to 2.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class DescribeClusterRequest(Message):
    """Asks an admin's question: who is in the cluster?"""

    include_cluster_authorized_operations: bool = False
    """Whether to say what the client may do to the cluster."""
    endpoint_type: int = 1
    """Which nodes are meant: 1 brokers, 2 controllers. (from version 1)"""
    include_fenced_brokers: bool = False
    """Whether brokers that are registered but fenced are listed as well. (from version 2)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="DescribeClusterRequest",
        kind="request",
        api_key=60,
        valid_versions=VersionRange(0, 2),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("include_cluster_authorized_operations", "bool", VersionRange(0)),
            FieldSchema("endpoint_type", "int8", VersionRange(1)),
            FieldSchema("include_fenced_brokers", "bool", VersionRange(2)),
        ),
    )
