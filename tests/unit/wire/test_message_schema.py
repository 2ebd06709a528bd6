"""Field tables."""

import pytest

from kproxy.wire.message_schema import LATEST, VersionRange, default_values
from kproxy.wire.messages.share_fetch_request import FetchTopic, ShareFetchRequest
from tests.unit.wire.sample_message import Point, SampleMessage
from tests.worlds.message_values import message_classes


@pytest.mark.parametrize(
    ("versions", "contained"),
    [(VersionRange(1, 2), [1, 2]), (VersionRange(3), [3, 4]), (VersionRange(0, 0), [0])],
)
def test_a_range_has_both_its_ends(versions: VersionRange, contained: list[int]) -> None:
    assert [version for version in range(5) if version in versions] == contained


def test_an_open_range_ends_at_the_largest_version_there_can_be() -> None:
    assert LATEST in VersionRange(3)
    assert VersionRange(3).last == 32767


def test_the_defaults_of_a_struct_are_those_of_its_class() -> None:
    assert default_values(Point) == {"x": 0, "label": "", "unknown_tagged_fields": ()}
    assert default_values(SampleMessage)["corner"] == Point()


def test_a_message_class_knows_its_place_in_the_protocol() -> None:
    schema = ShareFetchRequest.SCHEMA
    assert (schema.name, schema.kind, schema.api_key) == ("ShareFetchRequest", "request", 78)
    assert schema.valid_versions == VersionRange(1, 2)
    assert schema.flexible_versions == VersionRange(0)


def test_messages_are_slotted_and_every_one_has_its_own_lists() -> None:
    first, second = FetchTopic(), FetchTopic()
    first.partitions.append(None)  # type: ignore[arg-type]  # what stands in the list does not matter
    assert second.partitions == []
    assert not hasattr(first, "__dict__")


SHARE_APIS = (
    *("ShareGroupHeartbeat", "ShareGroupDescribe", "ShareFetch", "ShareAcknowledge"),
    *("InitializeShareGroupState", "ReadShareGroupState", "WriteShareGroupState", "DeleteShareGroupState"),
    *("ReadShareGroupStateSummary", "DescribeShareGroupOffsets", "AlterShareGroupOffsets"),
    "DeleteShareGroupOffsets",
)
OTHER_APIS = (
    *("ApiVersions", "Metadata", "FindCoordinator", "DescribeCluster", "Produce", "Fetch", "ListOffsets"),
    *("InitProducerId", "IncrementalAlterConfigs", "DescribeConfigs", "SaslHandshake", "SaslAuthenticate"),
)
RECORDS = (
    *("ShareSnapshot", "ShareUpdate", "ShareGroupMetadata", "ShareGroupMemberMetadata"),
    *("ShareGroupTargetAssignmentMetadata", "ShareGroupTargetAssignmentMember"),
    *("ShareGroupCurrentMemberAssignment", "ShareGroupStatePartitionMetadata"),
)


def test_there_is_a_class_for_every_message_that_kproxy_reads_or_writes() -> None:
    found = {message_class.__name__ for message_class in message_classes()}
    assert found >= {"RequestHeader", "ResponseHeader"}
    assert found >= {f"{api}{kind}" for api in SHARE_APIS + OTHER_APIS for kind in ("Request", "Response")}
    assert found >= {f"{record}{part}" for record in RECORDS for part in ("Key", "Value")}
