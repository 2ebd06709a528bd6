"""NodeEndpoints of Produce 10 and above (KIP-951): hints where the new leader is, with the brokers' own addresses."""

from kproxy.interception.broker_addresses import BackingBroker, BrokerAddresses
from kproxy.wire.messages.produce_response import ProduceResponse


def rewrite_produce(response: ProduceResponse, addresses: BrokerAddresses) -> ProduceResponse:
    """Return `response` with advertised addresses; it is changed in place.

    Raises:
        UnknownBrokers: a broker has no port here yet; nothing was changed.
        PeerViolation: a broker with a negative id.
    """
    endpoints = response.node_endpoints
    addresses.require(BackingBroker(endpoint.node_id, endpoint.host, endpoint.port) for endpoint in endpoints)
    for endpoint in endpoints:
        address = addresses.address_of(endpoint.node_id)
        assert address is not None
        endpoint.host, endpoint.port = address.host, address.port
    return response
