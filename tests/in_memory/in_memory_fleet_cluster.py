"""`InMemoryFleetCluster`: brokers on loopback sockets of which one coordinates the fleet's group, in real time."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from types import TracebackType
from typing import Final, Self

from kproxy.error_codes import ErrorCode
from kproxy.fleet.group_protocol import (
    Answer,
    Describe,
    Described,
    Heartbeat,
    Join,
    Joined,
    Leave,
    Pulse,
    Refused,
    RemoveDead,
    Step,
    Sync,
    Synced,
)
from kproxy.settings.addresses import HostPort
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages.describe_groups_request import DescribeGroupsRequest
from kproxy.wire.messages.describe_groups_response import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsResponse,
)
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from kproxy.wire.messages.heartbeat_request import HeartbeatRequest
from kproxy.wire.messages.heartbeat_response import HeartbeatResponse
from kproxy.wire.messages.join_group_request import JoinGroupRequest
from kproxy.wire.messages.join_group_response import JoinGroupResponse, JoinGroupResponseMember
from kproxy.wire.messages.leave_group_request import LeaveGroupRequest
from kproxy.wire.messages.leave_group_response import LeaveGroupResponse
from kproxy.wire.messages.sync_group_request import SyncGroupRequest
from kproxy.wire.messages.sync_group_response import SyncGroupResponse
from tests.in_memory.answering_broker import Answer as BrokerAnswer
from tests.in_memory.answering_broker import Reply
from tests.in_memory.in_memory_group_coordinator import InMemoryGroupCoordinator
from tests.in_memory.scripted_cluster import ScriptedCluster

GROUP_VERSIONS: Final[Mapping[int, tuple[int, int]]] = {
    ApiKey.FIND_COORDINATOR: (0, 6),
    ApiKey.JOIN_GROUP: (2, 9),
    ApiKey.SYNC_GROUP: (0, 5),
    ApiKey.HEARTBEAT: (0, 4),
    ApiKey.LEAVE_GROUP: (0, 5),
    ApiKey.DESCRIBE_GROUPS: (0, 6),
}
"""Those of Kafka 4.3."""

TICK_SECONDS: Final = 0.002


class InMemoryFleetCluster:
    """Two brokers; `coordinator_id` is who coordinates, and may be changed. A broker that does not says so.

    With `within` it is a running cluster that coordinates one group more, of the id `group_id`.

    `refusals` are answered to the next requests of an API instead of the truth. While `is_deaf` requests get no answer.
    """

    def __init__(
        self, *, initial_delay_ms: int = 0, within: ScriptedCluster | None = None, group_id: str = "fleet"
    ) -> None:
        self.cluster = within or ScriptedCluster((1, 2))
        self.coordinator = InMemoryGroupCoordinator(initial_delay_ms=initial_delay_ms)
        self.coordinator_id = max(self.cluster.brokers)
        self._is_within = within is not None
        self._group_id = group_id
        self.refusals: dict[int, list[ErrorCode]] = {}
        self.is_deaf = False
        self._running = AsyncExitStack()
        self._began = 0.0

    @property
    def servers(self) -> Sequence[HostPort]:
        """Where the brokers are."""
        return self.cluster.bootstrap_servers

    async def __aenter__(self) -> Self:
        self._began = asyncio.get_running_loop().time()
        if not self._is_within:
            await self._running.enter_async_context(self.cluster)
        for node_id, broker in self.cluster.brokers.items():
            broker.version_ranges.update({**GROUP_VERSIONS, **broker.version_ranges})
            of_others = broker.answers.get(ApiKey.FIND_COORDINATOR, self._find)
            broker.answers[ApiKey.FIND_COORDINATOR] = partial(self._find_or_ask, of_others)
            for api_key in GROUP_VERSIONS.keys() - {ApiKey.FIND_COORDINATOR}:
                broker.answers[api_key] = self._answering(node_id)
        ticking = asyncio.get_running_loop().create_task(self._tick())
        self._running.push_async_callback(_ended, ticking)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._running.aclose()

    def _now_ms(self) -> int:
        return round(1000 * (asyncio.get_running_loop().time() - self._began))

    async def _tick(self) -> None:
        while True:
            self.coordinator.advance(self._now_ms())
            await asyncio.sleep(TICK_SECONDS)

    def _find_or_ask(self, of_others: BrokerAnswer, request: DecodedRequest) -> Reply | Awaitable[Reply]:
        message = request.message
        assert isinstance(message, FindCoordinatorRequest)
        is_ours = not self._is_within or message.coordinator_keys == [self._group_id]
        return self._find(request) if is_ours else of_others(request)

    def _find(self, _: DecodedRequest) -> Message:
        return FindCoordinatorResponse(coordinators=[Coordinator(key="fleet", node_id=self.coordinator_id)])

    def _answering(self, node_id: int) -> BrokerAnswer:
        async def answer(request: DecodedRequest) -> Reply:
            if self.is_deaf:
                await asyncio.Event().wait()
            refusals = self.refusals.get(request.api_key)
            if node_id != self.coordinator_id:
                return _response(request, Refused(ErrorCode.NOT_COORDINATOR))
            if refusals:
                return _response(request, Refused(refusals.pop(0)))
            return _response(request, await self._asked(request.message, request.client_id or ""))

        return answer

    async def _asked(self, request: Message, client_id: str) -> Answer:
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.coordinator.advance(self._now_ms())
        timeouts = {}
        if isinstance(request, JoinGroupRequest):
            timeouts = {
                "session_timeout_ms": request.session_timeout_ms,
                "rebalance_timeout_ms": request.rebalance_timeout_ms,
            }
        self.coordinator.ask(
            _question(request), lambda answer: _settle(answered, answer), client_id=client_id, **timeouts
        )
        return await answered


def _settle(answered: asyncio.Future[Answer], answer: Answer) -> None:
    if not answered.done():
        answered.set_result(answer)


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def _question(request: Message) -> Step | Pulse:
    match request:
        case JoinGroupRequest():
            (protocol,) = request.protocols
            assert (request.protocol_type, protocol.name) == ("kproxy", "slots-1")
            return Join(request.member_id, protocol.metadata)
        case SyncGroupRequest():
            told = {each.member_id: each.assignment for each in request.assignments}
            return Sync(request.member_id, request.generation_id, told)
        case HeartbeatRequest():
            return Heartbeat(request.member_id, request.generation_id)
        case LeaveGroupRequest():
            leaver, *others = [each.member_id for each in request.members]
            # Who sent it the bytes do not say; it makes no difference.
            return RemoveDead("", frozenset({leaver, *others})) if others else Leave(leaver)
        case _:
            assert isinstance(request, DescribeGroupsRequest)
            return Describe("")


def _response(request: DecodedRequest, answer: Answer) -> Message:
    code = answer.error_code if isinstance(answer, Refused) else ErrorCode.NONE
    match request.api_key:
        case ApiKey.JOIN_GROUP:
            return _join_response(answer)
        case ApiKey.SYNC_GROUP:
            return SyncGroupResponse(
                error_code=code, assignment=answer.assignment if isinstance(answer, Synced) else b""
            )
        case ApiKey.HEARTBEAT:
            return HeartbeatResponse(error_code=code)
        case ApiKey.LEAVE_GROUP:
            return LeaveGroupResponse(error_code=code)
        case _:
            described = answer if isinstance(answer, Described) else Described("", frozenset())
            members = [DescribedGroupMember(member_id) for member_id in sorted(described.member_ids)]
            return DescribeGroupsResponse(
                groups=[DescribedGroup(code, None, "fleet", described.state, members=members)]
            )


def _join_response(answer: Answer) -> JoinGroupResponse:
    if isinstance(answer, Refused):
        return JoinGroupResponse(error_code=answer.error_code, protocol_name="", member_id=answer.member_id)
    assert isinstance(answer, Joined)
    members = [JoinGroupResponseMember(each, None, told) for each, told in answer.metadata.items()]
    return JoinGroupResponse(
        generation_id=answer.generation,
        protocol_type="kproxy",
        protocol_name="slots-1",
        leader=answer.leader_id,
        member_id=answer.member_id,
        members=members,
    )
