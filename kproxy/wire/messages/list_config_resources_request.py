"""ListConfigResourcesRequest: versions 0 to 1.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from dataclasses import field
from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class ListConfigResourcesRequest(Message):
    """Asks for the names of all resources that have configurations (KIP-1142). Version 0 is about
    client metrics alone (KIP-714).
    """

    resource_types: list[int] = field(default_factory=list)
    """Types of the resources that are wanted; empty asks for those of every type that is supported.
    (from version 1)
    """
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ListConfigResourcesRequest",
        kind="request",
        api_key=74,
        valid_versions=VersionRange(0, 1),
        flexible_versions=VersionRange(0),
        fields=(FieldSchema("resource_types", "int8", VersionRange(1), is_array=True),),
    )
