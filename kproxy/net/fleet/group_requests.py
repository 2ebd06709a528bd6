"""The questions and answers of `kproxy.fleet.group_protocol` as Kafka's requests and responses."""

from typing import Final, assert_never

from kproxy.error_codes import ErrorCode, known_code
from kproxy.errors import BrokerUnavailable
from kproxy.fleet.group_protocol import (
    PROTOCOL_NAME,
    PROTOCOL_TYPE,
    Alive,
    Answer,
    Describe,
    Described,
    Heartbeat,
    Join,
    Joined,
    Leave,
    Left,
    Pulse,
    Refused,
    RemoveDead,
    Step,
    Sync,
    Synced,
)
from kproxy.fleet.limits import FleetLimits
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages.describe_groups_request import DescribeGroupsRequest
from kproxy.wire.messages.describe_groups_response import DescribeGroupsResponse
from kproxy.wire.messages.heartbeat_request import HeartbeatRequest
from kproxy.wire.messages.heartbeat_response import HeartbeatResponse
from kproxy.wire.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from kproxy.wire.messages.join_group_response import JoinGroupResponse
from kproxy.wire.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from kproxy.wire.messages.leave_group_response import LeaveGroupResponse
from kproxy.wire.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from kproxy.wire.messages.sync_group_response import SyncGroupResponse

NEWEST_VERSIONS: Final = {
    ApiKey.JOIN_GROUP: 7,
    ApiKey.SYNC_GROUP: 5,
    ApiKey.HEARTBEAT: 4,
    ApiKey.LEAVE_GROUP: 4,
    ApiKey.DESCRIBE_GROUPS: 5,
}
"""Those of Kafka 2.8, which Kafka 4.3 has, too: what a fleet does is the same on every broker. JoinGroup 9 lets a
leader skip the assignment, and tells so static members alone."""


def request_of(question: Step | Pulse, group_id: str, limits: FleetLimits) -> tuple[ApiKey, Message]:
    """Return the request with which a member of `group_id` asks `question`."""
    member_id = question.member_id
    match question:
        case Join():
            return ApiKey.JOIN_GROUP, _join_request(question, group_id, limits)
        case Sync():
            return ApiKey.SYNC_GROUP, _sync_request(question, group_id)
        case Heartbeat():
            return ApiKey.HEARTBEAT, HeartbeatRequest(group_id, question.generation, member_id)
        case Leave():
            return ApiKey.LEAVE_GROUP, LeaveGroupRequest(group_id, members=[MemberIdentity(member_id)])
        case RemoveDead():
            dead = [MemberIdentity(each) for each in sorted(question.dead)]
            return ApiKey.LEAVE_GROUP, LeaveGroupRequest(group_id, members=dead)
        case Describe():
            return ApiKey.DESCRIBE_GROUPS, DescribeGroupsRequest([group_id])
    assert_never(question)


def answer_of(response: Message) -> Answer:
    """Return what a response says.

    Raises:
        BrokerUnavailable: it is an answer to something else.
    """
    match response:
        case JoinGroupResponse():
            return _joined(response)
        case SyncGroupResponse():
            return _unless_refused(response.error_code, Synced(response.assignment))
        case HeartbeatResponse():
            return _unless_refused(response.error_code, Alive())
        case LeaveGroupResponse():
            return _unless_refused(response.error_code, Left())
        case DescribeGroupsResponse(groups=[group]):
            member_ids = frozenset(member.member_id for member in group.members)
            return _unless_refused(group.error_code, Described(group.group_state, member_ids))
        case _:
            raise BrokerUnavailable(f"{type(response).__name__} does not tell of one group")


def _join_request(question: Join, group_id: str, limits: FleetLimits) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=limits.session_timeout_ms,
        rebalance_timeout_ms=limits.rebalance_timeout_ms,
        member_id=question.member_id,
        protocol_type=PROTOCOL_TYPE,
        protocols=[JoinGroupRequestProtocol(PROTOCOL_NAME, question.metadata)],
    )


def _sync_request(question: Sync, group_id: str) -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id=group_id,
        generation_id=question.generation,
        member_id=question.member_id,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=PROTOCOL_NAME,
        assignments=[
            SyncGroupRequestAssignment(member_id, assignment)
            for member_id, assignment in question.assignments.items()
        ],
    )


def _joined(response: JoinGroupResponse) -> Answer:
    metadata = {member.member_id: member.metadata for member in response.members}
    joined = Joined(response.member_id, response.generation_id, response.leader, metadata)
    return _unless_refused(response.error_code, joined, member_id=response.member_id)


def _unless_refused(error_code: int, answer: Answer, *, member_id: str = "") -> Answer:
    code = known_code(error_code)
    return answer if code is ErrorCode.NONE else Refused(code, member_id)
