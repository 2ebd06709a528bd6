"""What one client asks about a share group, request by request, and what of the answers is a matter of its rights."""

import time
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from kproxy.error_codes import ErrorCode
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.message_schema import MessagePart
from kproxy.wire.messages import alter_share_group_offsets_request as alterations
from kproxy.wire.messages import describe_share_group_offsets_request as descriptions
from kproxy.wire.messages import share_acknowledge_request, share_fetch_request
from kproxy.wire.messages.delete_groups_request import DeleteGroupsRequest
from kproxy.wire.messages.delete_share_group_offsets_request import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kproxy.wire.messages.describe_share_group_offsets_response import DescribeShareGroupOffsetsResponse
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kproxy.wire.messages.list_config_resources_request import ListConfigResourcesRequest
from kproxy.wire.messages.list_groups_request import ListGroupsRequest
from kproxy.wire.messages.list_groups_response import ListGroupsResponse
from kproxy.wire.messages.share_group_describe_request import ShareGroupDescribeRequest
from kproxy.wire.messages.share_group_describe_response import ShareGroupDescribeResponse
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kproxy.wire.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from tests.kafka.share_state_requests import (
    FIRST_WITH_SEVERAL_KEYS,
    SHARE_KEY_TYPE,
    share_coordinator_keys,
    state_requests,
)
from tests.real_kafka.raw_connection import RawConnection

DENIALS: Final = frozenset(
    {
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }
)
GROUP_RESOURCE: Final = 32
LABELS: Final = ("group_id", "resource_name", "topic_id", "topic_name", "partition_index", "partition")
JOIN, LEAVE, OPEN, CLOSE = 0, -1, 0, -1

Denied: TypeAlias = tuple[str, ...]
"""Where in an answer a denial stands, the field and the code."""
Outcome: TypeAlias = Mapping[str, object]
"""By request: what was denied, and what else depends on rights."""


def denials_in(message: Message, names: Mapping[bytes, str]) -> frozenset[Denied]:
    """The parts of an answer that are denials; topics by their names, whatever their ids are here."""
    return frozenset(_denials(message, (), names))


def _denials(part: MessagePart, path: tuple[str, ...], names: Mapping[bytes, str]) -> Iterator[Denied]:
    values = {field.name: getattr(part, field.name) for field in part.SCHEMA.fields}
    labels = (values[label] for label in LABELS if label in values)
    named = (names.get(label, "") if isinstance(label, bytes) else str(label) for label in labels)
    path = (*path, *(label for label in named if label))
    for name, value in values.items():
        if name.endswith("error_code") and value in DENIALS:
            yield (*path, name, ErrorCode(value).name)
        elif isinstance(value, list):
            for element in value:
                if isinstance(element, MessagePart):
                    yield from _denials(element, path, names)


def other_group(group: str) -> str:
    """Another share group, whose id begins with something else."""
    return f"crew-beside-{group}"


class Client:
    """One principal at one target; its requests are about one group."""

    def __init__(self, address: str, own_host: str, group: str, topics: Mapping[str, bytes]) -> None:
        self.connection = RawConnection(address, own_host=own_host)
        self.group = group
        self.topics = topics
        self.outcome: dict[str, object] = {}

    @property
    def two_groups(self) -> list[str]:
        """The group, behind one that other rights are about."""
        return [other_group(self.group), self.group]

    def ask(self, label: str, api_key: int, version: int, message: Message) -> Message:
        """Ask, note what was denied, and return the answer."""
        answer = self.connection.ask(api_key, version, message, Message)
        self.outcome[label] = denials_in(answer, {topic_id: name for name, topic_id in self.topics.items()})
        return answer

    def heartbeat(
        self, label: str, member_id: str, epoch: int, *topics: str, group: str | None = None
    ) -> ShareGroupHeartbeatResponse:
        """Join with `topics`, go on, or leave."""
        names = list(topics) if topics else None
        request = ShareGroupHeartbeatRequest(group or self.group, member_id, epoch, None, names)
        answer = self.ask(label, ApiKey.SHARE_GROUP_HEARTBEAT, 1, request)
        assert isinstance(answer, ShareGroupHeartbeatResponse)
        return answer

    def fetch(self, label: str, epoch: int, *, max_wait_ms: int = 0) -> Message:
        """Fetch from partition 0 of every topic."""
        part = share_fetch_request.FetchPartition
        topics = [share_fetch_request.FetchTopic(each, [part(0)]) for each in self.topics.values()]
        request = share_fetch_request.ShareFetchRequest(
            group_id=self.group,
            member_id="fetcher",
            share_session_epoch=epoch,
            max_wait_ms=max_wait_ms,
            min_bytes=1,
            max_records=10,
            batch_size=10,
            topics=topics if epoch == OPEN else [],
        )
        return self.ask(label, ApiKey.SHARE_FETCH, 1, request)

    def acknowledge(self, label: str, epoch: int) -> Message:
        """Accept the first record of partition 0 of every topic."""
        batch = share_acknowledge_request.AcknowledgementBatch(0, 0, [1])
        part = share_acknowledge_request.AcknowledgePartition(0, [batch])
        topics = [share_acknowledge_request.AcknowledgeTopic(each, [part]) for each in self.topics.values()]
        request = share_acknowledge_request.ShareAcknowledgeRequest(
            self.group, "fetcher", epoch, topics=topics if epoch != CLOSE else []
        )
        return self.ask(label, ApiKey.SHARE_ACKNOWLEDGE, 1, request)

    def about_members(self) -> None:
        """Ask what members and those who look at them ask."""
        described = self.ask(
            "describe",
            ApiKey.SHARE_GROUP_DESCRIBE,
            1,
            ShareGroupDescribeRequest([self.group], include_authorized_operations=True),
        )
        assert isinstance(described, ShareGroupDescribeResponse)
        self.outcome["operations"] = described.groups[0].authorized_operations
        self.outcome["members shown"] = len(described.groups[0].members)
        self.ask(
            "describe two groups",
            ApiKey.SHARE_GROUP_DESCRIBE,
            1,
            ShareGroupDescribeRequest(self.two_groups),
        )
        for names in (("orders",), ("orders", "payments")):
            joined = self.heartbeat(f"join for {names}", "joiner", JOIN, *names)
            if joined.error_code == ErrorCode.NONE:
                self.heartbeat("leave", "joiner", LEAVE)
        self.fetch("open", OPEN, max_wait_ms=500)
        self.acknowledge("acknowledge", 1)
        self.fetch("fetch again", 2)
        self.acknowledge("close", CLOSE)

    def about_states(self) -> None:
        """Ask what brokers and administrators ask."""
        topic_id = self.topics["orders"]
        for label, api_key, version, request in state_requests(f"states-{self.group}", topic_id):
            self.ask(label, api_key, version, request)
        for label, version, key in share_coordinator_keys(self.group, topic_id):
            search = FindCoordinatorRequest(key, SHARE_KEY_TYPE)
            if version >= FIRST_WITH_SEVERAL_KEYS:
                search = FindCoordinatorRequest(key_type=SHARE_KEY_TYPE, coordinator_keys=[key])
            self.ask(label, ApiKey.FIND_COORDINATOR, version, search)
        wanted = [descriptions.DescribeShareGroupOffsetsRequestTopic(name, [0]) for name in self.topics]
        both = [descriptions.DescribeShareGroupOffsetsRequestGroup(name, wanted) for name in self.two_groups]
        self.ask(
            "offsets of two groups",
            ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
            0,
            descriptions.DescribeShareGroupOffsetsRequest(both),
        )
        for label, named in (("named offsets", wanted), ("all offsets", None)):
            group = descriptions.DescribeShareGroupOffsetsRequestGroup(self.group, named)
            answer = self.ask(
                label,
                ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
                0,
                descriptions.DescribeShareGroupOffsetsRequest([group]),
            )
            assert isinstance(answer, DescribeShareGroupOffsetsResponse)
            self.outcome[f"topics of {label}"] = sorted(topic.topic_name for topic in answer.groups[0].topics)

    def about_configs(self) -> None:
        """Ask what may be configured."""
        asked = [
            DescribeConfigsResource(GROUP_RESOURCE, name, ["share.session.timeout.ms"])
            for name in self.two_groups
        ]
        self.ask("describe configs", ApiKey.DESCRIBE_CONFIGS, 4, DescribeConfigsRequest(asked))
        change = AlterableConfig("share.record.lock.duration.ms", 0, "30000")
        altered = [AlterConfigsResource(GROUP_RESOURCE, name, [change]) for name in self.two_groups]
        request = IncrementalAlterConfigsRequest(altered, validate_only=True)
        self.ask("alter configs", ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request)
        self.ask(
            "list config resources",
            ApiKey.LIST_CONFIG_RESOURCES,
            1,
            ListConfigResourcesRequest([GROUP_RESOURCE]),
        )

    def about_empty_group(self) -> None:
        """Change a group that has no members, and delete it at last."""
        listed = self.ask("list", ApiKey.LIST_GROUPS, 5, ListGroupsRequest(types_filter=["share"]))
        assert isinstance(listed, ListGroupsResponse)
        self.outcome["is listed"] = self.group in {group.group_id for group in listed.groups}
        part = alterations.AlterShareGroupOffsetsRequestPartition(0, 0)
        named = [alterations.AlterShareGroupOffsetsRequestTopic(name, [part]) for name in self.topics]
        alteration = alterations.AlterShareGroupOffsetsRequest(self.group, named)
        self.ask("alter offsets", ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, alteration)
        topics = [DeleteShareGroupOffsetsRequestTopic(name) for name in self.topics]
        deletion = DeleteShareGroupOffsetsRequest(self.group, topics)
        self.ask("delete offsets", ApiKey.DELETE_SHARE_GROUP_OFFSETS, 0, deletion)
        self.ask("delete groups", ApiKey.DELETE_GROUPS, 2, DeleteGroupsRequest(self.two_groups))

    def keep(self, member_id: str) -> int:
        """Join with every topic, and stay until there is an assignment; the member's epoch."""
        deadline = time.monotonic() + 30.0
        # Nobody coordinates a group before somebody has looked for its coordinator.
        search = FindCoordinatorRequest(key_type=0, coordinator_keys=[self.group])
        self.ask("search", ApiKey.FIND_COORDINATOR, 4, search)
        answer = self.heartbeat("keep", member_id, JOIN, *self.topics)
        while answer.assignment is None or not answer.assignment.topic_partitions:
            assert time.monotonic() < deadline, f"no assignment: {answer}"
            time.sleep(0.05)
            topics = () if answer.member_epoch else tuple(self.topics)
            answer = self.heartbeat("keep", member_id, answer.member_epoch, *topics)
        return answer.member_epoch

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()
