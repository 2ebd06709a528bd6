"""`CoordinatorLink`: the connections to the broker that coordinates the fleet's group, found when needed."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from typing import Final, Protocol

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable
from kproxy.fleet.group_protocol import (
    Answer,
    Described,
    Join,
    Leave,
    Left,
    Pulse,
    Refused,
    RemoveDead,
    Step,
    Sync,
    Unanswered,
)
from kproxy.fleet.limits import FleetLimits
from kproxy.net.cluster.broker_client import CLIENT_ID, BrokerClient
from kproxy.net.cluster.broker_connections import BrokerConnections
from kproxy.net.cluster.coordinators import CoordinatorKind, find_coordinator
from kproxy.net.cluster.metadata import ClusterMetadataCache
from kproxy.net.fleet.group_requests import NEWEST_VERSIONS, answer_of, request_of
from kproxy.settings.addresses import HostPort
from kproxy.telemetry import logs

log = logs.logger("net.fleet.coordinator_link")

LONGER_MS: Final = 5_000
"""How much longer than the rebalance timeout a join may take (`JOIN_GROUP_TIMEOUT_LAPSE` of Kafka's clients)."""

_ANOTHER_BROKER: Final = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE})
"""Who says so is not asked again before the coordinator was looked for."""


class ProcessIdentity(Protocol):
    """This process among those of its machine; `ProcessLock`."""

    @property
    def client_id(self) -> str:
        """What it joins with; the coordinator makes the member id of it."""
        ...

    def dead_among(self, member_ids: Iterable[str]) -> frozenset[str]:
        """Return those of these members whose processes have ended for certain."""
        ...

    def forget(self, member_ids: Iterable[str]) -> None:
        """Know that these, who are dead, are in the group no more."""
        ...


class CoordinatorLink:
    """Two connections, for a broker answers the requests of one in turn: a join that is held would hold heartbeats up.

    Args:
        group_id: the fleet's group.
        limits: how long joins may take, and what they ask for.
        metadata: knows brokers, and finds the coordinator.
        connections: dials.
        process: has the client id to join with, which the member id is made of, and tells who is dead.
    """

    def __init__(
        self,
        group_id: str,
        limits: FleetLimits,
        *,
        metadata: ClusterMetadataCache,
        connections: BrokerConnections,
        process: ProcessIdentity,
    ) -> None:
        self.group_id = group_id
        self.last_failure = ""
        """Why the last question had no answer; empty when it had one."""
        self.has_left = False
        """Whether a coordinator said that the member which left is in the group no more."""
        self._limits = limits
        self._metadata = metadata
        self._connections = connections
        self._process = process
        self._address: HostPort | None = None
        self._is_in_doubt = False
        """Where the last one was, nobody answers, or another broker, which is all that is known of it."""
        self._finding = asyncio.Lock()
        self._for_steps: BrokerClient | None = None
        self._for_pulses: BrokerClient | None = None

    async def ask_step(self, question: Step) -> Answer:
        """Return the answer to a step; Unanswered when there is none. A join or a sync waits for other members."""
        # A join without a member id is answered at once, with one (KIP-394).
        waits = isinstance(question, Sync) or (isinstance(question, Join) and bool(question.member_id))
        try:
            client = self._for_steps = await self._client(self._for_steps)
            answer = await self._asked(client, question, self._waiting_ms if waits else 0)
        except BrokerUnavailable as failure:
            return self._unanswered(failure)
        self.has_left = isinstance(question, Leave) and _is_out(answer)
        return answer

    async def ask_pulse(self, question: Pulse, *, patience_ms: int) -> Answer:
        """Return the answer to a pulse; Unanswered when there is none after `patience_ms`."""
        try:
            async with asyncio.timeout(patience_ms / 1000):
                client = self._for_pulses = await self._client(self._for_pulses)
                return self._judged(question, await self._asked(client, question, 0))
        except TimeoutError:
            return self._unanswered(BrokerUnavailable(f"no answer within {patience_ms} ms"))
        except BrokerUnavailable as failure:
            return self._unanswered(failure)

    def abandon_step(self) -> None:
        """Let the step that is being asked be Unanswered now."""
        if self._for_steps is not None:
            self._for_steps.close()

    def close(self) -> None:
        """Close both connections."""
        self._forget()

    # ------------------------------------------------ private

    @property
    def _waiting_ms(self) -> int:
        return self._limits.rebalance_timeout_ms + LONGER_MS

    async def _asked(self, client: BrokerClient, question: Step | Pulse, broker_wait_ms: int) -> Answer:
        api_key, request = request_of(question, self.group_id, self._limits)
        version = min(client.version_for(api_key), NEWEST_VERSIONS[api_key])
        response = await client.request(
            api_key,
            request,
            version,
            broker_wait_ms=broker_wait_ms,
            client_id=self._process.client_id if isinstance(question, Join) else CLIENT_ID,
        )
        answer = answer_of(response)
        self.last_failure = ""
        if isinstance(answer, Refused) and answer.error_code in _ANOTHER_BROKER:
            self._forget()
        return answer

    def _judged(self, question: Pulse, answer: Answer) -> Answer:
        """Tell who of those in the group is dead, and know who was removed for it."""
        if isinstance(answer, Described):
            return replace(answer, dead=self._process.dead_among(answer.member_ids))
        if isinstance(question, RemoveDead) and isinstance(answer, Left):
            log.info("fleet_dead_members_removed", group=self.group_id, members=sorted(question.dead))
            self._process.forget(question.dead)
        return answer

    async def _client(self, client: BrokerClient | None) -> BrokerClient:
        if client is not None and client.is_open:
            return client
        return await self._connections.dialler.open(await self._coordinator())

    async def _coordinator(self) -> HostPort:
        async with self._finding:
            if self._address is None:
                self._address = await self._found_coordinator()
            return self._address

    async def _found_coordinator(self) -> HostPort:
        node_id = await find_coordinator(self._metadata, CoordinatorKind.GROUP, self.group_id)
        address = None if self._is_in_doubt else self._address_of(node_id)
        if address is None:
            await self._metadata.ask_for_brokers()
            address = self._address_of(node_id)
        if address is None:
            raise BrokerUnavailable(f"broker {node_id}, which coordinates {self.group_id}, is not known")
        self._is_in_doubt = False
        return address

    def _address_of(self, node_id: int) -> HostPort | None:
        found = (broker for broker in self._metadata.brokers if broker.node_id == node_id)
        return next((HostPort(broker.host, broker.port) for broker in found), None)

    def _unanswered(self, failure: BrokerUnavailable) -> Unanswered:
        if not self.last_failure:
            log.info("coordinator_did_not_answer", group=self.group_id, detail=failure)
        self.last_failure = str(failure)
        self._forget()
        return Unanswered()

    def _forget(self) -> None:
        self._address, self._is_in_doubt = None, True
        for client in (self._for_steps, self._for_pulses):
            if client is not None:
                client.close()


def _is_out(answer: Answer) -> bool:
    """Tell whether a member that left is in the group no more; any other error says nothing of that."""
    return isinstance(answer, Left) or (
        isinstance(answer, Refused) and answer.error_code is ErrorCode.UNKNOWN_MEMBER_ID
    )
