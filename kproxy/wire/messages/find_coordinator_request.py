"""FindCoordinatorRequest: versions 0 to 6.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from dataclasses import field
from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class FindCoordinatorRequest(Message):
    """Asks which broker coordinates a group, a transactional id or a share-partition's state."""

    key: str = ""
    """The one id to look up. (versions 0 to 3)"""
    key_type: int = 0
    """What the ids are: 0 group, 1 transactional id, 2 share-partition (version 6). (from version 1)"""
    coordinator_keys: list[str] = field(default_factory=list)
    """The ids to look up; group:topicId:partition for key type 2. (from version 4)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="FindCoordinatorRequest",
        kind="request",
        api_key=10,
        valid_versions=VersionRange(0, 6),
        flexible_versions=VersionRange(3),
        fields=(
            FieldSchema("key", "string", VersionRange(0, 3)),
            FieldSchema("key_type", "int8", VersionRange(1)),
            FieldSchema("coordinator_keys", "string", VersionRange(4), is_array=True),
        ),
    )
