"""DescribeCluster (60): brokers get the addresses of their virtual brokers; a list of controllers stays as it is."""

from typing import Final

from kproxy.interception.broker_addresses import BackingBroker, BrokerAddresses
from kproxy.wire.messages.describe_cluster_response import DescribeClusterResponse

_BROKERS: Final = 1
"""EndpointType of brokers; 2 are controllers, which a broker refuses to list (MISMATCHED_ENDPOINT_TYPE)."""


def rewrite_describe_cluster(
    response: DescribeClusterResponse, addresses: BrokerAddresses
) -> DescribeClusterResponse:
    """Return `response` with advertised addresses; it is changed in place.

    Fenced brokers (version 2) keep an address like the others: they come back under the same node id.

    Raises:
        UnknownBrokers: a broker has no port here yet; nothing was changed.
        PeerViolation: a broker with a negative id.
    """
    if response.endpoint_type != _BROKERS:
        return response
    addresses.require(
        BackingBroker(broker.broker_id, broker.host, broker.port) for broker in response.brokers
    )
    for broker in response.brokers:
        address = addresses.address_of(broker.broker_id)
        assert address is not None
        broker.host, broker.port = address.host, address.port
    return response
