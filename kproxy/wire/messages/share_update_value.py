"""ShareUpdateValue: version 0.

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
class StateBatch(MessagePart):
    """An element of `ShareUpdateValue.state_batches`. Runs of offsets whose state changed."""

    first_offset: int = 0
    """First offset of the run, inclusive."""
    last_offset: int = 0
    """Last offset of the run, inclusive."""
    delivery_state: int = 0
    """State of its records: 0 available, 2 acknowledged, 4 archived."""
    delivery_count: int = 0
    """How often its records have been delivered."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("first_offset", "int64", VersionRange(0)),
            FieldSchema("last_offset", "int64", VersionRange(0)),
            FieldSchema("delivery_state", "int8", VersionRange(0)),
            FieldSchema("delivery_count", "int16", VersionRange(0)),
        ),
    )


@message_part
class ShareUpdateValue(Message):
    """A change of a share-partition's state, to be laid over the snapshot before it."""

    snapshot_epoch: int = 0
    """The snapshot that this changes."""
    leader_epoch: int = 0
    """Leader epoch of the writer."""
    start_offset: int = 0
    """The new start offset; -1 leaves it unchanged."""
    delivery_complete_count: int = -1
    """How many records above the start offset are finally done; -1 when unknown."""
    state_batches: list[StateBatch] = field(default_factory=list)
    """Runs of offsets whose state changed."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ShareUpdateValue",
        kind="coordinator-value",
        api_key=1,
        valid_versions=VersionRange(0, 0),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("snapshot_epoch", "int32", VersionRange(0)),
            FieldSchema("leader_epoch", "int32", VersionRange(0)),
            FieldSchema("start_offset", "int64", VersionRange(0)),
            FieldSchema(
                "delivery_complete_count", "int32", VersionRange(0), tag=0, tagged_versions=VersionRange(0)
            ),
            FieldSchema("state_batches", "struct", VersionRange(0), struct=StateBatch, is_array=True),
        ),
    )
