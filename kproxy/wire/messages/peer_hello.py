"""PeerHello: version 0.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class PeerHello(Message):
    """What a kproxy says first on a connection to the internal listener of another one."""

    purpose: int = 0
    """What the connection is for: 1 requests of one client, 2 to see whether the listener can be
    reached, 3 views.
    """
    cluster_id: str = ""
    """The id of the backing cluster."""
    state_topic: str = ""
    """The name of the topic with the state of share-partitions."""
    state_format_version: int = 0
    """The format of the state log that it reads and writes."""
    slot_count: int = 0
    """How many slots the state log has."""
    fleet_group: str = ""
    """The fleet's group on the backing cluster."""
    token: str = ""
    """Tells the process that dials from every other."""
    name: str = ""
    """The process that dials in words for people."""
    nonce: bytes = b""
    """Bytes that nobody used before."""
    node_id: int = 0
    """The virtual broker that the client is connected to; -1 for the bootstrap port, or for no client."""
    client_address: str = ""
    """The client's host and port; empty for no client."""
    client_principal: str = ""
    """Who the client is, as Kafka writes it; empty for no client."""
    client_connection_id: int = 0
    """The number of the client's connection in the process that dials, for logs; 0 for no client."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="PeerHello",
        kind="data",
        api_key=None,
        valid_versions=VersionRange(0, 0),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("purpose", "int8", VersionRange(0)),
            FieldSchema("cluster_id", "string", VersionRange(0)),
            FieldSchema("state_topic", "string", VersionRange(0)),
            FieldSchema("state_format_version", "int16", VersionRange(0)),
            FieldSchema("slot_count", "int32", VersionRange(0)),
            FieldSchema("fleet_group", "string", VersionRange(0)),
            FieldSchema("token", "string", VersionRange(0)),
            FieldSchema("name", "string", VersionRange(0)),
            FieldSchema("nonce", "bytes", VersionRange(0)),
            FieldSchema("node_id", "int32", VersionRange(0)),
            FieldSchema("client_address", "string", VersionRange(0)),
            FieldSchema("client_principal", "string", VersionRange(0)),
            FieldSchema("client_connection_id", "int64", VersionRange(0)),
        ),
    )
