"""ApiVersionsRequest: versions 0 to 5.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class ApiVersionsRequest(Message):
    """Asks a broker which APIs and versions it serves; the first request on most connections."""

    client_software_name: str = ""
    """Name of the client library, for the broker's metrics and logs. (from version 3)"""
    client_software_version: str = ""
    """Version of the client library. (from version 3)"""
    cluster_id: str | None = None
    """The cluster the client means to reach; null when it does not know yet (KIP-1242). (from version 5)"""
    node_id: int = -1
    """The broker the client means to reach; -1 when it does not know yet (KIP-1242). (from version 5)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ApiVersionsRequest",
        kind="request",
        api_key=18,
        valid_versions=VersionRange(0, 5),
        flexible_versions=VersionRange(3),
        fields=(
            FieldSchema("client_software_name", "string", VersionRange(3), is_ignorable=True),
            FieldSchema("client_software_version", "string", VersionRange(3), is_ignorable=True),
            FieldSchema(
                "cluster_id", "string", VersionRange(5), nullable_versions=VersionRange(5), is_ignorable=True
            ),
            FieldSchema("node_id", "int32", VersionRange(5), is_ignorable=True),
        ),
    )
