"""Metadata (3): every broker's host and port become those of its virtual broker. Node ids, racks and topics stay."""

from kproxy.interception.broker_addresses import BackingBroker, BrokerAddresses
from kproxy.wire.messages.metadata_response import MetadataResponse


def rewrite_metadata(response: MetadataResponse, addresses: BrokerAddresses) -> MetadataResponse:
    """Return `response` with advertised addresses; it is changed in place.

    Raises:
        UnknownBrokers: a broker has no port here yet; nothing was changed.
    """
    addresses.require(BackingBroker(broker.node_id, broker.host, broker.port) for broker in response.brokers)
    for broker in response.brokers:
        address = addresses.address_of(broker.node_id)
        assert address is not None
        broker.host, broker.port = address.host, address.port
    return response
