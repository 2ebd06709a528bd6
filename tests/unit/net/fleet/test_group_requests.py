"""Questions as Kafka's requests, in versions that Kafka 2.8 and 4.3 both serve; responses as answers."""

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable
from kproxy.fleet.group_protocol import (
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
from kproxy.net.fleet.group_requests import NEWEST_VERSIONS, answer_of, request_of
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages.describe_groups_request import DescribeGroupsRequest
from kproxy.wire.messages.describe_groups_response import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsResponse,
)
from kproxy.wire.messages.heartbeat_request import HeartbeatRequest
from kproxy.wire.messages.heartbeat_response import HeartbeatResponse
from kproxy.wire.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from kproxy.wire.messages.join_group_response import JoinGroupResponse, JoinGroupResponseMember
from kproxy.wire.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from kproxy.wire.messages.leave_group_response import LeaveGroupResponse, MemberResponse
from kproxy.wire.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from kproxy.wire.messages.sync_group_response import SyncGroupResponse

JOIN_REQUEST = JoinGroupRequest(
    group_id="fleet",
    session_timeout_ms=6_000,
    rebalance_timeout_ms=10_000,
    member_id="a",
    protocol_type="kproxy",
    protocols=[JoinGroupRequestProtocol("slots-1", b"metadata")],
)
SYNC_REQUEST = SyncGroupRequest(
    group_id="fleet",
    generation_id=3,
    member_id="a",
    protocol_type="kproxy",
    protocol_name="slots-1",
    assignments=[SyncGroupRequestAssignment("a", b"map")],
)
QUESTIONS: list[tuple[Step | Pulse, ApiKey, Message]] = [
    (Join("a", b"metadata"), ApiKey.JOIN_GROUP, JOIN_REQUEST),
    (Sync("a", 3, {"a": b"map"}), ApiKey.SYNC_GROUP, SYNC_REQUEST),
    (Heartbeat("a", 3), ApiKey.HEARTBEAT, HeartbeatRequest("fleet", 3, "a")),
    (Leave("a"), ApiKey.LEAVE_GROUP, LeaveGroupRequest("fleet", members=[MemberIdentity("a")])),
    (
        RemoveDead("a", frozenset({"c", "b"})),
        ApiKey.LEAVE_GROUP,
        LeaveGroupRequest("fleet", members=[MemberIdentity("b"), MemberIdentity("c")]),
    ),
    (Describe("a"), ApiKey.DESCRIBE_GROUPS, DescribeGroupsRequest(["fleet"])),
]


@pytest.mark.parametrize(("question", "api_key", "request_"), QUESTIONS)
def test_each_question_is_a_request_that_can_be_written(
    question: Step | Pulse, api_key: ApiKey, request_: Message
) -> None:
    assert request_of(question, "fleet", FleetLimits()) == (api_key, request_)
    assert codecs.encode(request_, NEWEST_VERSIONS[api_key])


MEMBERS = [JoinGroupResponseMember("a", None, b"of a")]
DESCRIBED = DescribedGroup(
    group_state="Stable", members=[DescribedGroupMember("a"), DescribedGroupMember("b")]
)
ANSWERS: list[tuple[Message, Answer]] = [
    (
        JoinGroupResponse(generation_id=3, leader="a", member_id="a", members=MEMBERS),
        Joined("a", 3, "a", {"a": b"of a"}),
    ),
    (JoinGroupResponse(error_code=79, member_id="a"), Refused(ErrorCode.MEMBER_ID_REQUIRED, "a")),
    (SyncGroupResponse(assignment=b"map"), Synced(b"map")),
    (SyncGroupResponse(error_code=27), Refused(ErrorCode.REBALANCE_IN_PROGRESS)),
    (HeartbeatResponse(), Alive()),
    (HeartbeatResponse(error_code=22), Refused(ErrorCode.ILLEGAL_GENERATION)),
    (LeaveGroupResponse(), Left()),
    (LeaveGroupResponse(members=[MemberResponse("b", error_code=25)]), Left()),
    (LeaveGroupResponse(error_code=16), Refused(ErrorCode.NOT_COORDINATOR)),
    (DescribeGroupsResponse(groups=[DESCRIBED]), Described("Stable", frozenset({"a", "b"}))),
    (
        DescribeGroupsResponse(groups=[DescribedGroup(error_code=30)]),
        Refused(ErrorCode.GROUP_AUTHORIZATION_FAILED),
    ),
]


@pytest.mark.parametrize(("response", "answer"), ANSWERS)
def test_each_response_is_an_answer(response: Message, answer: Answer) -> None:
    assert answer_of(response) == answer


@pytest.mark.parametrize("response", [DescribeGroupsResponse(), JOIN_REQUEST])
def test_what_tells_of_no_group_is_no_answer(response: Message) -> None:
    with pytest.raises(BrokerUnavailable, match="does not tell of one group"):
        answer_of(response)
