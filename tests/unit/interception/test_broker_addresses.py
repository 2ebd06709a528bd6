"""`BrokerAddresses`: who may be named to clients."""

import pytest

from kproxy.interception.broker_addresses import (
    AdvertisedAddress,
    BackingBroker,
    BrokerAddresses,
    UnknownBrokers,
)


def test_brokers_without_a_port_are_named_in_the_refusal() -> None:
    addresses = BrokerAddresses({1: AdvertisedAddress("kproxy", 19101)})
    newcomer = BackingBroker(2, "b", 9092)

    with pytest.raises(UnknownBrokers, match=r"\[2\]") as refusal:
        addresses.require([BackingBroker(1, "a", 9092), newcomer])

    assert refusal.value.brokers == (newcomer,)


def test_a_broker_with_a_port_keeps_its_address_whatever_its_own_address_becomes() -> None:
    addresses = BrokerAddresses()
    addresses.advertise(1, AdvertisedAddress("kproxy", 19101))

    addresses.require([BackingBroker(1, "moved", 9999)])

    assert addresses.address_of(1) == AdvertisedAddress("kproxy", 19101)
    assert addresses.address_of(2) is None
