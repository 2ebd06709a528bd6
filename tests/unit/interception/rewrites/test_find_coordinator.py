"""Searches for share coordinators, which kproxy answers."""

from typing import Final

import pytest

from kproxy.interception.broker_addresses import AdvertisedAddress, BrokerAddresses
from kproxy.interception.rewrites.find_coordinator import answer_share_coordinator
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest

ADDRESSES = BrokerAddresses({1: AdvertisedAddress("kproxy", 19101), 2: AdvertisedAddress("kproxy", 19102)})
SHARE_KEY: Final = "orders:eu:AAAAAAAAAAAAAAAAAAAAAQ:0"


@pytest.mark.parametrize(("version", "error_code"), [(1, 42), (3, 42), (4, 42), (5, 42), (6, 15)])
def test_a_share_coordinator_that_is_not_served_is_answered_by_version(version: int, error_code: int) -> None:
    request = FindCoordinatorRequest(key=SHARE_KEY, key_type=2, coordinator_keys=[SHARE_KEY])

    answer = answer_share_coordinator(request, version, None)

    assert answer is not None
    codes = [answer.error_code] if version < 4 else [entry.error_code for entry in answer.coordinators]
    assert codes == [error_code]


def test_a_share_coordinator_that_is_served_is_found_at_a_virtual_broker() -> None:
    keys = [f"g:AAAAAAAAAAAAAAAAAAAAAQ:{partition}" for partition in range(100)]

    answer = answer_share_coordinator(FindCoordinatorRequest(key_type=2, coordinator_keys=keys), 6, ADDRESSES)

    assert answer is not None
    assert [entry.key for entry in answer.coordinators] == keys
    found = {(entry.error_code, entry.node_id, entry.host, entry.port) for entry in answer.coordinators}
    assert found == {(0, node_id, told.host, told.port) for node_id, told in ADDRESSES.known().items()}


def test_while_no_broker_is_known_there_is_no_share_coordinator() -> None:
    request = FindCoordinatorRequest(key_type=2, coordinator_keys=[SHARE_KEY])

    answer = answer_share_coordinator(request, 6, BrokerAddresses())

    assert answer is not None
    assert [(entry.error_code, entry.node_id) for entry in answer.coordinators] == [(15, -1)]


@pytest.mark.parametrize(
    "key",
    [
        "",
        "g",
        "g:0",
        ":AAAAAAAAAAAAAAAAAAAAAQ:0",
        "g:AAAAAAAAAAAAAAAAAAAAA:0",
        "g:AAAAAAAAAAAAAAAAAAAAAQ:",
        "g:AAAAAAAAAAAAAAAAAAAAAQ:-1",
        "g:AAAAAAAAAAAAAAAAAAAAAQ:2147483648",
        " :AAAAAAAAAAAAAAAAAAAAAQ:0",
    ],
)
def test_a_key_that_names_no_share_partition_is_refused(key: str) -> None:
    answer = answer_share_coordinator(
        FindCoordinatorRequest(key_type=2, coordinator_keys=[key]), 6, ADDRESSES
    )

    assert answer is not None
    assert [entry.error_code for entry in answer.coordinators] == [42]


@pytest.mark.parametrize("key_type", [0, 1])
def test_groups_and_transactions_are_sought_at_the_broker(key_type: int) -> None:
    assert answer_share_coordinator(FindCoordinatorRequest(key="k", key_type=key_type), 6, ADDRESSES) is None
