"""`ProducerIdentities`: InitProducerId, the first half of a claim.

Each slot has one transactional id, which is used for nothing but this: whoever asks next gets the same producer id
with a higher epoch, and from its first batch on the partition's leader refuses the batches of everybody before.
"""

from dataclasses import dataclass
from typing import Final, cast

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable
from kproxy.net.broker_client import BrokerClient
from kproxy.net.broker_connections import BrokerConnections
from kproxy.net.cluster_metadata import ClusterMetadataCache
from kproxy.net.leader_doubts import known_code
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import FindCoordinatorResponse
from kproxy.wire.messages.init_producer_id_request import InitProducerIdRequest
from kproxy.wire.messages.init_producer_id_response import InitProducerIdResponse

TRANSACTION_TIMEOUT_MS: Final = 60_000
"""There never is a transaction; brokers refuse a timeout above their transaction.max.timeout.ms."""

_TRANSACTION_KEY_TYPE: Final = 1
_FIRST_BATCHED_VERSION: Final = 4


@dataclass(frozen=True, slots=True)
class ProducerIdentity:
    """Under what name batches are written: the higher epoch of one id fences the lower ones."""

    producer_id: int
    producer_epoch: int


class ProducerIdentities:
    """Asks the coordinators of transactional ids, and remembers who they are."""

    def __init__(self, *, metadata: ClusterMetadataCache, connections: BrokerConnections) -> None:
        self._metadata = metadata
        self._connections = connections
        self._coordinators: dict[str, int] = {}

    async def next(self, transactional_id: str) -> ProducerIdentity:
        """Return an identity that outranks all that were given out for `transactional_id` before.

        Raises:
            BrokerUnavailable: the coordinator does not answer, is not ready, or refuses; the text says which.
        """
        node_id = self._coordinators.pop(transactional_id, None)
        if node_id is None:
            node_id = await self._find_coordinator(transactional_id)
        client = await self._connections.control(node_id)
        request = InitProducerIdRequest(transactional_id, TRANSACTION_TIMEOUT_MS)
        response = cast("InitProducerIdResponse", await client.request(ApiKey.INIT_PRODUCER_ID, request))
        _require_success(response.error_code, f"InitProducerId of {transactional_id} at {client.peer}")
        # Only after a success: whoever is no coordinator any more is asked once.
        self._coordinators[transactional_id] = node_id
        return ProducerIdentity(response.producer_id, response.producer_epoch)

    async def _find_coordinator(self, transactional_id: str) -> int:
        client = await self._some_broker()
        version = client.version_for(ApiKey.FIND_COORDINATOR)
        request = FindCoordinatorRequest(key_type=_TRANSACTION_KEY_TYPE)
        if version < _FIRST_BATCHED_VERSION:
            request.key = transactional_id
        else:
            request.coordinator_keys = [transactional_id]
        answer = await client.request(ApiKey.FIND_COORDINATOR, request, version)
        response = cast("FindCoordinatorResponse", answer)
        where = f"FindCoordinator of {transactional_id} at {client.peer}"
        if version < _FIRST_BATCHED_VERSION:
            _require_success(response.error_code, where)
            return response.node_id
        if len(response.coordinators) != 1:
            raise BrokerUnavailable(f"{where}: {len(response.coordinators)} answers to one question")
        _require_success(response.coordinators[0].error_code, where)
        return response.coordinators[0].node_id

    async def _some_broker(self) -> BrokerClient:
        failure = BrokerUnavailable("no broker of the backing cluster is known")
        for broker in self._metadata.brokers:
            try:
                return await self._connections.control(broker.node_id)
            except BrokerUnavailable as unavailable:
                failure = unavailable
        raise failure


def _require_success(error_code: int, where: str) -> None:
    code = known_code(error_code)
    if code is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
        raise BrokerUnavailable(
            f"{where}: kproxy's principal needs Describe and Write on this transactional id"
        )
    if code is not ErrorCode.NONE:
        raise BrokerUnavailable(f"{where}: {code.name} ({error_code})")
