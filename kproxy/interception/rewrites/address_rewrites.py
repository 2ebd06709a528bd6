"""The responses that name brokers: every host and port become those of the virtual broker; all else stays.

| response | what names brokers |
|---|---|
| Metadata (3) | brokers |
| FindCoordinator (10) | fields of the response in versions 0-3, a list from 4 on; who was not found has no host |
| DescribeCluster (60) | brokers, fenced ones (version 2) too: they come back under the same node id |
| Produce (0) from version 10 on | NodeEndpoints (KIP-951): hints where the new leader is |

Each function changes its response in place and returns it. It raises UnknownBrokers when a broker has no port here yet,
and PeerViolation when one has a negative id; then no address was changed. A Metadata response that names brokers is not
decoded at all, but for these (`responses`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from kproxy.interception.broker_addresses import BackingBroker, BrokerAddresses
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages.describe_cluster_response import DescribeClusterResponse
from kproxy.wire.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from kproxy.wire.messages.metadata_response import MetadataResponse, MetadataResponseBroker
from kproxy.wire.messages.produce_response import ProduceResponse

_BROKERS: Final = 1
"""EndpointType of brokers; 2 are controllers, which a broker refuses to list (MISMATCHED_ENDPOINT_TYPE)."""


class _Named(Protocol):
    """A broker as some response names it."""

    @property
    def node_id(self) -> int: ...
    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...


class _Place(Protocol):
    """Where a response has the address of a broker."""

    host: str
    port: int


def rewrite_metadata(response: MetadataResponse, addresses: BrokerAddresses) -> MetadataResponse:
    """Return `response` with advertised addresses.

    A broker that has just started may know topics and no broker at all. librdkafka takes that for a cluster without
    brokers and stays off line for good, so such an answer gets the brokers that kproxy knows, without racks.
    """
    if not response.brokers and response.topics and not response.error_code:
        response.brokers = _known_brokers(addresses)
    _readdress(response.brokers, response.brokers, addresses)
    return response


def rewrite_find_coordinator(
    response: FindCoordinatorResponse, addresses: BrokerAddresses
) -> FindCoordinatorResponse:
    """Return `response` with advertised addresses. An entry with an error names node -1 and no host, and stays."""
    entries: list[FindCoordinatorResponse | Coordinator] = [response, *response.coordinators]
    found = [entry for entry in entries if entry.host]
    _readdress(found, found, addresses)
    return response


def rewrite_describe_cluster(
    response: DescribeClusterResponse, addresses: BrokerAddresses
) -> DescribeClusterResponse:
    """Return `response` with advertised addresses; a list of controllers stays as it is."""
    if response.endpoint_type == _BROKERS:
        named = [BackingBroker(broker.broker_id, broker.host, broker.port) for broker in response.brokers]
        _readdress(response.brokers, named, addresses)
    return response


def rewrite_produce(response: ProduceResponse, addresses: BrokerAddresses) -> ProduceResponse:
    """Return `response` with advertised addresses."""
    _readdress(response.node_endpoints, response.node_endpoints, addresses)
    return response


ADDRESS_REWRITES: Final[Mapping[int, Callable[[Any, BrokerAddresses], Message]]] = {
    ApiKey.METADATA: rewrite_metadata,
    ApiKey.FIND_COORDINATOR: rewrite_find_coordinator,
    ApiKey.DESCRIBE_CLUSTER: rewrite_describe_cluster,
    ApiKey.PRODUCE: rewrite_produce,
}
"""By API key."""


def advertised_addresses(brokers: Sequence[_Named], addresses: BrokerAddresses) -> list[tuple[str, int]]:
    """Return host and port to name for each of `brokers`, in order."""
    addresses.require(BackingBroker(broker.node_id, broker.host, broker.port) for broker in brokers)
    told = [addresses.address_of(broker.node_id) for broker in brokers]
    return [(address.host, address.port) for address in told if address is not None]


def _readdress(places: Sequence[_Place], named: Sequence[_Named], addresses: BrokerAddresses) -> None:
    """Give each of `places` the address of the virtual broker that is named there, or none of them."""
    told = advertised_addresses(named, addresses)
    for place, (host, port) in zip(places, told, strict=True):
        place.host, place.port = host, port


def _known_brokers(addresses: BrokerAddresses) -> list[MetadataResponseBroker]:
    return [
        MetadataResponseBroker(node_id=node_id, host=address.host, port=address.port)
        for node_id, address in sorted(addresses.known().items())
    ]
