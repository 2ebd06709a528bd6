"""ApiVersionsResponse: versions 0 to 5.

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
class ApiVersion(MessagePart):
    """An element of `ApiVersionsResponse.api_keys`. One entry per API served."""

    api_key: int = 0
    """The API."""
    min_version: int = 0
    """Oldest version served, inclusive."""
    max_version: int = 0
    """Newest version served, inclusive."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("api_key", "int16", VersionRange(0)),
            FieldSchema("min_version", "int16", VersionRange(0)),
            FieldSchema("max_version", "int16", VersionRange(0)),
        ),
    )


@message_part
class SupportedFeatureKey(MessagePart):
    """An element of `ApiVersionsResponse.supported_features`. Feature levels the broker's software
    could run with.
    """

    name: str = ""
    """Name of the feature, such as share.version. (from version 3)"""
    min_version: int = 0
    """Lowest level it can run. (from version 3)"""
    max_version: int = 0
    """Highest level it can run. (from version 3)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("name", "string", VersionRange(3)),
            FieldSchema("min_version", "int16", VersionRange(3)),
            FieldSchema("max_version", "int16", VersionRange(3)),
        ),
    )


@message_part
class FinalizedFeatureKey(MessagePart):
    """An element of `ApiVersionsResponse.finalized_features`. Feature levels in force in the cluster;
    valid only when the epoch is not negative.
    """

    name: str = ""
    """Name of the feature. (from version 3)"""
    max_version_level: int = 0
    """Level in force. (from version 3)"""
    min_version_level: int = 0
    """Lowest level that is still honoured. (from version 3)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("name", "string", VersionRange(3)),
            FieldSchema("max_version_level", "int16", VersionRange(3)),
            FieldSchema("min_version_level", "int16", VersionRange(3)),
        ),
    )


@message_part
class ApiVersionsResponse(Message):
    """The APIs, versions and feature levels of a broker. A request version that is too new is answered
    in version 0 with UNSUPPORTED_VERSION.
    """

    error_code: int = 0
    """NONE, or why no list is given."""
    api_keys: list[ApiVersion] = field(default_factory=list)
    """One entry per API served."""
    throttle_time_ms: int = 0
    """How long the client was or should be held back because of a quota; 0 for not at all. (from
    version 1)
    """
    supported_features: list[SupportedFeatureKey] = field(default_factory=list)
    """Feature levels the broker's software could run with. (from version 3)"""
    finalized_features_epoch: int = -1
    """Grows whenever the finalized features change; -1 when unknown. (from version 3)"""
    finalized_features: list[FinalizedFeatureKey] = field(default_factory=list)
    """Feature levels in force in the cluster; valid only when the epoch is not negative. (from version 3)"""
    zk_migration_ready: bool = False
    """Whether a KRaft controller is ready to take over from ZooKeeper. (from version 3)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ApiVersionsResponse",
        kind="response",
        api_key=18,
        valid_versions=VersionRange(0, 5),
        flexible_versions=VersionRange(3),
        fields=(
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("api_keys", "struct", VersionRange(0), struct=ApiVersion, is_array=True),
            FieldSchema("throttle_time_ms", "int32", VersionRange(1), is_ignorable=True),
            FieldSchema(
                "supported_features",
                "struct",
                VersionRange(3),
                struct=SupportedFeatureKey,
                is_array=True,
                tag=0,
                tagged_versions=VersionRange(3),
                is_ignorable=True,
            ),
            FieldSchema(
                "finalized_features_epoch",
                "int64",
                VersionRange(3),
                tag=1,
                tagged_versions=VersionRange(3),
                is_ignorable=True,
            ),
            FieldSchema(
                "finalized_features",
                "struct",
                VersionRange(3),
                struct=FinalizedFeatureKey,
                is_array=True,
                tag=2,
                tagged_versions=VersionRange(3),
                is_ignorable=True,
            ),
            FieldSchema(
                "zk_migration_ready",
                "bool",
                VersionRange(3),
                tag=3,
                tagged_versions=VersionRange(3),
                is_ignorable=True,
            ),
        ),
    )
