"""One connection whose refused requests are held, and APIs that answer what a test says."""

import asyncio
from dataclasses import dataclass

from kproxy.handlers.held_refusals import HeldRefusals
from kproxy.handlers.refusal_streaks import RefusalStreaks
from kproxy.handlers.request_context import UNLIMITED_ANSWERS, AnswerBudget, RequestContext
from kproxy.share.identifiers import GroupId, MemberId, TopicId, TopicIdPartition
from kproxy.share.share_session import ShareSessionCache, ShareSessionKey, ShareSessionLimits
from kproxy.wire.codecs import DecodedRequest, Message
from kproxy.wire.messages.share_acknowledge_request import ShareAcknowledgeRequest
from kproxy.wire.messages.share_fetch_request import ShareFetchRequest
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from tests.in_memory.in_memory_waits import InMemoryWaits
from tests.in_memory.manual_clock import ManualClock

NODE_ID, ANOTHER_NODE = 1, 2
CONNECTION_ID = 7
FETCH, HEARTBEAT, ACKNOWLEDGE = 78, 76, 79
API_KEYS: dict[type[Message], int] = {
    ShareFetchRequest: FETCH,
    ShareGroupHeartbeatRequest: HEARTBEAT,
    ShareAcknowledgeRequest: ACKNOWLEDGE,
}


@dataclass(slots=True)
class Caller:
    """A client that may be gone."""

    is_gone: bool = False
    has_more: bool = False


class World:
    """APIs that answer what a test says, after `serving_ms`, and one connection that asks them."""

    def __init__(self, answer: Message, *, serving_ms: int = 0, granted_bytes: int = 0) -> None:
        self.answer = answer
        self.closed: list[int] = []
        self.forsaken: list[int] = []
        self.hurried: list[int] = []
        self.caller = Caller()
        self.clock = ManualClock(1_000)
        self.waits = InMemoryWaits(self.clock)
        self.sessions = ShareSessionCache(ShareSessionLimits())
        self.held = HeldRefusals(self, self.waits, sessions=self.sessions, clock=self.clock)
        self.streaks = RefusalStreaks()
        self.answer_budget: AnswerBudget = UNLIMITED_ANSWERS
        self._serving_ms = serving_ms
        self._granted_bytes = granted_bytes

    def open_session(self, member_id: str, *, partition_count: int) -> None:
        """Open a share session of a member of group `g`."""
        self.sessions.open(
            ShareSessionKey(NODE_ID, GroupId("g"), MemberId(member_id)),
            connection_id=CONNECTION_ID,
            partitions=[TopicIdPartition(TopicId(b"topic-id-orders."), n) for n in range(partition_count)],
            has_acknowledgements=False,
        )

    async def serve(self, request: DecodedRequest, context: RequestContext) -> Message:
        del request
        context.answer_budget.grant(self._granted_bytes)
        self.clock.advance(self._serving_ms)
        return self.answer

    def forsake(self, connection_id: int) -> None:
        self.forsaken.append(connection_id)

    def more_arrived(self, connection_id: int) -> None:
        self.hurried.append(connection_id)

    async def connection_closed(self, connection_id: int) -> None:
        self.closed.append(connection_id)

    async def begin(self, message: Message | None = None) -> asyncio.Task[Message]:
        """Send a request; return its answer under way, or there already."""
        message = ShareFetchRequest(share_session_epoch=1) if message is None else message
        api_key = API_KEYS[type(message)]
        context = RequestContext(
            *(CONNECTION_ID, NODE_ID, api_key, 1, "client", "/127.0.0.1"),
            answer_budget=self.answer_budget,
            caller=self.caller,
            refusals=self.streaks,
        )
        request = DecodedRequest(api_key, 1, 1, "client", message)
        task = asyncio.get_running_loop().create_task(self.held.serve(request, context))
        for _ in range(3):
            await asyncio.sleep(0)
        return task

    async def holds_ms(self, count: int, message: Message | None = None) -> list[int]:
        """Send one request after the other; return how long after its arrival each was answered."""
        holds = []
        for _ in range(count):
            began_ms = self.clock.now_ms()
            task = await self.begin(message)
            while not task.done():
                self.clock.advance(1)
                await asyncio.sleep(0)
            await task
            holds.append(self.clock.now_ms() - began_ms)
        return holds
