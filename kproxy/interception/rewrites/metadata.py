"""Metadata (3): every broker's host and port become those of its virtual broker. Node ids, racks and topics stay.

A broker that has just started may know topics and no broker at all. librdkafka takes that for a cluster without
brokers and stays off line for good, so such an answer gets the brokers that kproxy knows, without racks.
"""

from collections.abc import Sequence
from typing import Protocol

from kproxy.interception.broker_addresses import BackingBroker, BrokerAddresses
from kproxy.wire.messages.metadata_response import MetadataResponse, MetadataResponseBroker


def rewrite_metadata(response: MetadataResponse, addresses: BrokerAddresses) -> MetadataResponse:
    """Return `response` with advertised addresses; it is changed in place.

    Raises:
        UnknownBrokers: a broker has no port here yet; nothing was changed.
        PeerViolation: a broker with a negative id.
    """
    if not response.brokers and response.topics and not response.error_code:
        response.brokers = _known_brokers(addresses)
    told = advertised_addresses(response.brokers, addresses)
    for broker, (host, port) in zip(response.brokers, told, strict=True):
        broker.host, broker.port = host, port
    return response


class _Named(Protocol):
    """A broker as some response names it."""

    @property
    def node_id(self) -> int: ...
    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...


def advertised_addresses(brokers: Sequence[_Named], addresses: BrokerAddresses) -> list[tuple[str, int]]:
    """Return host and port to name for each of `brokers`, in order. Raises as `rewrite_metadata`."""
    addresses.require(BackingBroker(broker.node_id, broker.host, broker.port) for broker in brokers)
    told = [addresses.address_of(broker.node_id) for broker in brokers]
    return [(address.host, address.port) for address in told if address is not None]


def _known_brokers(addresses: BrokerAddresses) -> list[MetadataResponseBroker]:
    return [
        MetadataResponseBroker(node_id=node_id, host=address.host, port=address.port)
        for node_id, address in sorted(addresses.known().items())
    ]
