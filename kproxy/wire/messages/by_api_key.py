"""The message classes of every API that has schemas.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from collections.abc import Mapping
from typing import Final

from kproxy.wire.message_schema import Message
from kproxy.wire.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from kproxy.wire.messages.add_offsets_to_txn_response import AddOffsetsToTxnResponse
from kproxy.wire.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest
from kproxy.wire.messages.add_partitions_to_txn_response import AddPartitionsToTxnResponse
from kproxy.wire.messages.alter_configs_request import AlterConfigsRequest
from kproxy.wire.messages.alter_configs_response import AlterConfigsResponse
from kproxy.wire.messages.alter_share_group_offsets_request import AlterShareGroupOffsetsRequest
from kproxy.wire.messages.alter_share_group_offsets_response import AlterShareGroupOffsetsResponse
from kproxy.wire.messages.api_versions_request import ApiVersionsRequest
from kproxy.wire.messages.api_versions_response import ApiVersionsResponse
from kproxy.wire.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from kproxy.wire.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse
from kproxy.wire.messages.create_partitions_request import CreatePartitionsRequest
from kproxy.wire.messages.create_partitions_response import CreatePartitionsResponse
from kproxy.wire.messages.create_topics_request import CreateTopicsRequest
from kproxy.wire.messages.create_topics_response import CreateTopicsResponse
from kproxy.wire.messages.delete_groups_request import DeleteGroupsRequest
from kproxy.wire.messages.delete_groups_response import DeleteGroupsResponse
from kproxy.wire.messages.delete_records_request import DeleteRecordsRequest
from kproxy.wire.messages.delete_records_response import DeleteRecordsResponse
from kproxy.wire.messages.delete_share_group_offsets_request import DeleteShareGroupOffsetsRequest
from kproxy.wire.messages.delete_share_group_offsets_response import DeleteShareGroupOffsetsResponse
from kproxy.wire.messages.delete_share_group_state_request import DeleteShareGroupStateRequest
from kproxy.wire.messages.delete_share_group_state_response import DeleteShareGroupStateResponse
from kproxy.wire.messages.delete_topics_request import DeleteTopicsRequest
from kproxy.wire.messages.delete_topics_response import DeleteTopicsResponse
from kproxy.wire.messages.describe_acls_request import DescribeAclsRequest
from kproxy.wire.messages.describe_acls_response import DescribeAclsResponse
from kproxy.wire.messages.describe_cluster_request import DescribeClusterRequest
from kproxy.wire.messages.describe_cluster_response import DescribeClusterResponse
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest
from kproxy.wire.messages.describe_configs_response import DescribeConfigsResponse
from kproxy.wire.messages.describe_groups_request import DescribeGroupsRequest
from kproxy.wire.messages.describe_groups_response import DescribeGroupsResponse
from kproxy.wire.messages.describe_share_group_offsets_request import DescribeShareGroupOffsetsRequest
from kproxy.wire.messages.describe_share_group_offsets_response import DescribeShareGroupOffsetsResponse
from kproxy.wire.messages.end_txn_request import EndTxnRequest
from kproxy.wire.messages.end_txn_response import EndTxnResponse
from kproxy.wire.messages.fetch_request import FetchRequest
from kproxy.wire.messages.fetch_response import FetchResponse
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import FindCoordinatorResponse
from kproxy.wire.messages.heartbeat_request import HeartbeatRequest
from kproxy.wire.messages.heartbeat_response import HeartbeatResponse
from kproxy.wire.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from kproxy.wire.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from kproxy.wire.messages.init_producer_id_request import InitProducerIdRequest
from kproxy.wire.messages.init_producer_id_response import InitProducerIdResponse
from kproxy.wire.messages.initialize_share_group_state_request import InitializeShareGroupStateRequest
from kproxy.wire.messages.initialize_share_group_state_response import InitializeShareGroupStateResponse
from kproxy.wire.messages.join_group_request import JoinGroupRequest
from kproxy.wire.messages.join_group_response import JoinGroupResponse
from kproxy.wire.messages.leave_group_request import LeaveGroupRequest
from kproxy.wire.messages.leave_group_response import LeaveGroupResponse
from kproxy.wire.messages.list_config_resources_request import ListConfigResourcesRequest
from kproxy.wire.messages.list_config_resources_response import ListConfigResourcesResponse
from kproxy.wire.messages.list_groups_request import ListGroupsRequest
from kproxy.wire.messages.list_groups_response import ListGroupsResponse
from kproxy.wire.messages.list_offsets_request import ListOffsetsRequest
from kproxy.wire.messages.list_offsets_response import ListOffsetsResponse
from kproxy.wire.messages.metadata_request import MetadataRequest
from kproxy.wire.messages.metadata_response import MetadataResponse
from kproxy.wire.messages.offset_commit_request import OffsetCommitRequest
from kproxy.wire.messages.offset_commit_response import OffsetCommitResponse
from kproxy.wire.messages.offset_delete_request import OffsetDeleteRequest
from kproxy.wire.messages.offset_delete_response import OffsetDeleteResponse
from kproxy.wire.messages.offset_for_leader_epoch_request import OffsetForLeaderEpochRequest
from kproxy.wire.messages.offset_for_leader_epoch_response import OffsetForLeaderEpochResponse
from kproxy.wire.messages.produce_request import ProduceRequest
from kproxy.wire.messages.produce_response import ProduceResponse
from kproxy.wire.messages.read_share_group_state_request import ReadShareGroupStateRequest
from kproxy.wire.messages.read_share_group_state_response import ReadShareGroupStateResponse
from kproxy.wire.messages.read_share_group_state_summary_request import ReadShareGroupStateSummaryRequest
from kproxy.wire.messages.read_share_group_state_summary_response import ReadShareGroupStateSummaryResponse
from kproxy.wire.messages.sasl_authenticate_request import SaslAuthenticateRequest
from kproxy.wire.messages.sasl_authenticate_response import SaslAuthenticateResponse
from kproxy.wire.messages.sasl_handshake_request import SaslHandshakeRequest
from kproxy.wire.messages.sasl_handshake_response import SaslHandshakeResponse
from kproxy.wire.messages.share_acknowledge_request import ShareAcknowledgeRequest
from kproxy.wire.messages.share_acknowledge_response import ShareAcknowledgeResponse
from kproxy.wire.messages.share_fetch_request import ShareFetchRequest
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse
from kproxy.wire.messages.share_group_describe_request import ShareGroupDescribeRequest
from kproxy.wire.messages.share_group_describe_response import ShareGroupDescribeResponse
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kproxy.wire.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from kproxy.wire.messages.streams_group_heartbeat_request import StreamsGroupHeartbeatRequest
from kproxy.wire.messages.streams_group_heartbeat_response import StreamsGroupHeartbeatResponse
from kproxy.wire.messages.sync_group_request import SyncGroupRequest
from kproxy.wire.messages.sync_group_response import SyncGroupResponse
from kproxy.wire.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from kproxy.wire.messages.txn_offset_commit_response import TxnOffsetCommitResponse
from kproxy.wire.messages.write_share_group_state_request import WriteShareGroupStateRequest
from kproxy.wire.messages.write_share_group_state_response import WriteShareGroupStateResponse
from kproxy.wire.messages.write_txn_markers_request import WriteTxnMarkersRequest
from kproxy.wire.messages.write_txn_markers_response import WriteTxnMarkersResponse

REQUEST_CLASSES: Final[Mapping[int, type[Message]]] = {
    0: ProduceRequest,
    1: FetchRequest,
    2: ListOffsetsRequest,
    3: MetadataRequest,
    8: OffsetCommitRequest,
    10: FindCoordinatorRequest,
    11: JoinGroupRequest,
    12: HeartbeatRequest,
    13: LeaveGroupRequest,
    14: SyncGroupRequest,
    15: DescribeGroupsRequest,
    16: ListGroupsRequest,
    17: SaslHandshakeRequest,
    18: ApiVersionsRequest,
    19: CreateTopicsRequest,
    20: DeleteTopicsRequest,
    21: DeleteRecordsRequest,
    22: InitProducerIdRequest,
    23: OffsetForLeaderEpochRequest,
    24: AddPartitionsToTxnRequest,
    25: AddOffsetsToTxnRequest,
    26: EndTxnRequest,
    27: WriteTxnMarkersRequest,
    28: TxnOffsetCommitRequest,
    29: DescribeAclsRequest,
    32: DescribeConfigsRequest,
    33: AlterConfigsRequest,
    36: SaslAuthenticateRequest,
    37: CreatePartitionsRequest,
    42: DeleteGroupsRequest,
    44: IncrementalAlterConfigsRequest,
    47: OffsetDeleteRequest,
    60: DescribeClusterRequest,
    68: ConsumerGroupHeartbeatRequest,
    74: ListConfigResourcesRequest,
    76: ShareGroupHeartbeatRequest,
    77: ShareGroupDescribeRequest,
    78: ShareFetchRequest,
    79: ShareAcknowledgeRequest,
    83: InitializeShareGroupStateRequest,
    84: ReadShareGroupStateRequest,
    85: WriteShareGroupStateRequest,
    86: DeleteShareGroupStateRequest,
    87: ReadShareGroupStateSummaryRequest,
    88: StreamsGroupHeartbeatRequest,
    90: DescribeShareGroupOffsetsRequest,
    91: AlterShareGroupOffsetsRequest,
    92: DeleteShareGroupOffsetsRequest,
}
"""The class of the request by API key."""

RESPONSE_CLASSES: Final[Mapping[int, type[Message]]] = {
    0: ProduceResponse,
    1: FetchResponse,
    2: ListOffsetsResponse,
    3: MetadataResponse,
    8: OffsetCommitResponse,
    10: FindCoordinatorResponse,
    11: JoinGroupResponse,
    12: HeartbeatResponse,
    13: LeaveGroupResponse,
    14: SyncGroupResponse,
    15: DescribeGroupsResponse,
    16: ListGroupsResponse,
    17: SaslHandshakeResponse,
    18: ApiVersionsResponse,
    19: CreateTopicsResponse,
    20: DeleteTopicsResponse,
    21: DeleteRecordsResponse,
    22: InitProducerIdResponse,
    23: OffsetForLeaderEpochResponse,
    24: AddPartitionsToTxnResponse,
    25: AddOffsetsToTxnResponse,
    26: EndTxnResponse,
    27: WriteTxnMarkersResponse,
    28: TxnOffsetCommitResponse,
    29: DescribeAclsResponse,
    32: DescribeConfigsResponse,
    33: AlterConfigsResponse,
    36: SaslAuthenticateResponse,
    37: CreatePartitionsResponse,
    42: DeleteGroupsResponse,
    44: IncrementalAlterConfigsResponse,
    47: OffsetDeleteResponse,
    60: DescribeClusterResponse,
    68: ConsumerGroupHeartbeatResponse,
    74: ListConfigResourcesResponse,
    76: ShareGroupHeartbeatResponse,
    77: ShareGroupDescribeResponse,
    78: ShareFetchResponse,
    79: ShareAcknowledgeResponse,
    83: InitializeShareGroupStateResponse,
    84: ReadShareGroupStateResponse,
    85: WriteShareGroupStateResponse,
    86: DeleteShareGroupStateResponse,
    87: ReadShareGroupStateSummaryResponse,
    88: StreamsGroupHeartbeatResponse,
    90: DescribeShareGroupOffsetsResponse,
    91: AlterShareGroupOffsetsResponse,
    92: DeleteShareGroupOffsetsResponse,
}
"""The class of the response by API key."""
