"""`ProducerIdentities`: InitProducerId, the first half of a claim.

Each slot has one transactional id, which is used for nothing but this: whoever asks next gets the same producer id
with a higher epoch, and from its first batch on the partition's leader refuses the batches of everybody before.
"""

from dataclasses import dataclass
from typing import Final, cast

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable
from kproxy.net.cluster.broker_answers import BrokerRefusal, require_success
from kproxy.net.cluster.broker_connections import BrokerConnections
from kproxy.net.cluster.coordinators import CoordinatorKind, coordinators_of, find_coordinator
from kproxy.net.cluster.metadata import ClusterMetadataCache
from kproxy.telemetry import logs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.init_producer_id_request import InitProducerIdRequest
from kproxy.wire.messages.init_producer_id_response import InitProducerIdResponse

log = logs.logger("net.state_log.producer_identities")

TRANSACTION_TIMEOUT_MS: Final = 60_000
"""There never is a transaction; brokers refuse a timeout above their transaction.max.timeout.ms."""


@dataclass(frozen=True, slots=True)
class ProducerIdentity:
    """Under what name batches are written: the higher epoch of one id fences the lower ones."""

    producer_id: int
    producer_epoch: int


def slot_transactional_id(state_topic: str, slot: int) -> str:
    """Return the transactional id under which a slot is claimed."""
    return f"{state_topic}-{slot}"


class ProducerIdentities:
    """Asks the coordinators of transactional ids, and remembers who they are."""

    def __init__(self, *, metadata: ClusterMetadataCache, connections: BrokerConnections) -> None:
        self._metadata = metadata
        self._connections = connections
        self._coordinators: dict[str, int] = {}

    async def look_ahead(self, *transactional_ids: str) -> None:
        """Find coordinators before they are needed, in one request as far as brokers take several ids at once.

        A cluster that has no transaction log yet creates it meanwhile.
        """
        try:
            found = await coordinators_of(self._metadata, CoordinatorKind.TRANSACTION, transactional_ids)
        except BrokerUnavailable as failure:
            log.debug("coordinator_not_found_yet", detail=failure)
        else:
            self._coordinators = {**found, **self._coordinators}

    async def next(self, transactional_id: str) -> ProducerIdentity:
        """Return an identity that outranks all that were given out for `transactional_id` before.

        Raises:
            BrokerUnavailable: the coordinator does not answer, is not ready, or refuses; the text says which.
        """
        try:
            return await self._next(transactional_id)
        except BrokerRefusal as refusal:
            if refusal.error_code is not ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
                raise
            needs = "kproxy's principal needs Describe and Write on this transactional id"
            raise BrokerUnavailable(f"{refusal}: {needs}") from refusal

    async def _next(self, transactional_id: str) -> ProducerIdentity:
        node_id = self._coordinators.pop(transactional_id, None)
        if node_id is None:
            node_id = await find_coordinator(self._metadata, CoordinatorKind.TRANSACTION, transactional_id)
        # A broker serves the requests of one connection one by one, and this one waits for its replicas.
        client = await self._connections.reader(node_id)
        request = InitProducerIdRequest(transactional_id, TRANSACTION_TIMEOUT_MS)
        response = cast("InitProducerIdResponse", await client.request(ApiKey.INIT_PRODUCER_ID, request))
        require_success(response.error_code, f"InitProducerId of {transactional_id} at {client.peer}")
        # Only after a success: whoever is no coordinator any more is asked once.
        self._coordinators[transactional_id] = node_id
        return ProducerIdentity(response.producer_id, response.producer_epoch)
