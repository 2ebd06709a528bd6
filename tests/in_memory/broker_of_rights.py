"""A broker that tells what somebody may do, in all the answers that say so."""

from kproxy.security.acls import AclOperation
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages.describe_groups_request import DescribeGroupsRequest
from kproxy.wire.messages.describe_groups_response import DescribedGroup, DescribeGroupsResponse
from kproxy.wire.messages.fetch_request import FetchRequest
from kproxy.wire.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from kproxy.wire.messages.heartbeat_request import HeartbeatRequest
from kproxy.wire.messages.heartbeat_response import HeartbeatResponse
from kproxy.wire.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from kproxy.wire.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from kproxy.wire.messages.metadata_request import MetadataRequest
from kproxy.wire.messages.metadata_response import MetadataResponse, MetadataResponseTopic

READ, DESCRIBE = AclOperation.READ, AclOperation.DESCRIBE


class Broker:
    """Answers what kproxy asks: topics and groups have these operations, and what has none is denied."""

    def __init__(self) -> None:
        self.operations: dict[str, tuple[AclOperation, ...]] = {}
        self.asked: list[Message] = []
        self.is_coordinator = True
        self.is_silent = self.knows_group_configs = False

    def bits(self, name: str) -> int:
        return sum(1 << operation for operation in self.operations.get(name, ()))

    def answer(self, question: DecodedRequest) -> Message:
        self.asked.append(question.message)
        match question.message:
            case MetadataRequest():
                topics = [self._topic(topic.name or "") for topic in question.message.topics or ()]
                return MetadataResponse(topics=topics, cluster_authorized_operations=self.bits("cluster"))
            case FetchRequest():
                return FetchResponse(
                    responses=[self._fetched(topic.topic) for topic in question.message.topics]
                )
            case DescribeGroupsRequest():
                return DescribeGroupsResponse(groups=[self._group(name) for name in question.message.groups])
            case IncrementalAlterConfigsRequest():
                names = [resource.resource_name for resource in question.message.resources]
                code = 0 if self.knows_group_configs else 42
                answers = [AlterConfigsResourceResponse(code, None, 32, name) for name in names]
                return IncrementalAlterConfigsResponse(responses=answers)
            case HeartbeatRequest():
                may_read = READ in self.operations.get(question.message.group_id, ())
                return HeartbeatResponse(error_code=25 if may_read else 30)
            case _:
                raise AssertionError(question)

    def _fetched(self, name: str) -> FetchableTopicResponse:
        code = 3 if READ in self.operations.get(name, ()) else 29
        return FetchableTopicResponse(name, partitions=[PartitionData(-1, code)])

    def _topic(self, name: str) -> MetadataResponseTopic:
        if not self.bits(name):
            return MetadataResponseTopic(error_code=29, name=name)
        return MetadataResponseTopic(name=name, topic_authorized_operations=self.bits(name))

    def _group(self, name: str) -> DescribedGroup:
        if DESCRIBE not in self.operations.get(name, ()):
            return DescribedGroup(error_code=30, group_id=name)
        if not self.is_coordinator:
            return DescribedGroup(error_code=16, group_id=name)
        return DescribedGroup(group_id=name, authorized_operations=self.bits(name))
