"""Metadata (3): every broker's host and port become those of its virtual broker. Node ids, racks and topics stay.

A broker that has just started may know topics and no broker at all. librdkafka takes that for a cluster without
brokers and stays off line for good, so such an answer gets the brokers that kproxy knows, without racks.
"""

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
    addresses.require(BackingBroker(broker.node_id, broker.host, broker.port) for broker in response.brokers)
    for broker in response.brokers:
        address = addresses.address_of(broker.node_id)
        assert address is not None
        broker.host, broker.port = address.host, address.port
    return response


def _known_brokers(addresses: BrokerAddresses) -> list[MetadataResponseBroker]:
    return [
        MetadataResponseBroker(node_id=node_id, host=address.host, port=address.port)
        for node_id, address in sorted(addresses.known().items())
    ]
