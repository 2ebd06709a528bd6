"""What processes say of themselves, and with whom one has anything to do."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import PeerRefused, UnreadableFleetData
from kproxy.fleet.peer_hello import (
    NONCE_BYTES,
    FleetIdentity,
    Hello,
    Purpose,
    RelayedClient,
    hello_of,
    refuse_stranger,
)

IDENTITY = FleetIdentity("cluster-1", "states", 2, 16, "fleet", "token-a", "kproxy a")
HELLO = Hello(Purpose.REQUESTS, IDENTITY, bytes(NONCE_BYTES), RelayedClient(3, "10.0.0.1:4711", "User:x", 7))
TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=255)


@given(
    purpose=st.sampled_from(Purpose),
    texts=st.tuples(TEXTS, TEXTS, TEXTS, TEXTS, TEXTS),
    nonce=st.binary(min_size=NONCE_BYTES, max_size=NONCE_BYTES),
    node_id=st.integers(-1, 2**31 - 1),
    connection_id=st.integers(-(2**63), 2**63 - 1),
)
def test_a_hello_is_read_as_it_was_written(
    purpose: Purpose, texts: tuple[str, str, str, str, str], nonce: bytes, node_id: int, connection_id: int
) -> None:
    cluster_id, topic, group, token, address = texts
    identity = replace(IDENTITY, cluster_id=cluster_id, state_topic=topic, fleet_group=group, token=token)
    hello = Hello(purpose, identity, nonce, RelayedClient(node_id, address, "", connection_id))

    assert hello_of(hello.message()) == hello


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"purpose": 4}, r"purpose 4, expected one of \[1, 2, 3\]"),
        ({"cluster_id": ""}, "cluster id of 0 characters"),
        ({"state_topic": "t" * 256}, "state topic of 256 characters"),
        ({"slot_count": 0}, "slot count 0"),
        ({"fleet_group": ""}, "fleet group of 0 characters"),
        ({"token": ""}, "token of 0 characters"),
        ({"name": ""}, "name of 0 characters"),
        ({"nonce": b"short"}, "length of the nonce 5, expected 32 to 32"),
        ({"node_id": -2}, "node id -2"),
        ({"client_address": "a" * 256}, "client address of 256 characters"),
        ({"client_principal": "a" * 2049}, "length of the client principal 2049, expected 0 to 2048"),
    ],
)
def test_what_cannot_be_is_refused_in_words(wrong: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnreadableFleetData, match=reason):
        hello_of(replace(HELLO.message(), **wrong))


@pytest.mark.parametrize(
    ("difference", "reason", "words"),
    [
        ({"cluster_id": "cluster-2"}, "cluster", "its cluster is cluster-2, that of kproxy a is cluster-1"),
        ({"state_topic": "other"}, "state_topic", "its state topic is other, that of kproxy a is states"),
        ({"state_format_version": 1}, "state_format", "its state log format is 1, that of kproxy a is 2"),
        ({"slot_count": 8}, "slot_count", "its number of slots is 8, that of kproxy a is 16"),
        ({"fleet_group": "g"}, "fleet_group", "its kproxy.fleet.group is g, that of kproxy a is fleet"),
    ],
)
def test_who_is_of_another_fleet_is_refused_with_what_differs(
    difference: dict[str, Any], reason: str, words: str
) -> None:
    with pytest.raises(PeerRefused) as refused:
        refuse_stranger(IDENTITY, replace(IDENTITY, token="token-b", **difference))

    assert (refused.value.reason, str(refused.value)) == (reason, words)


def test_who_differs_in_name_and_token_alone_is_of_the_same_fleet() -> None:
    refuse_stranger(IDENTITY, replace(IDENTITY, token="token-b", name="kproxy b"))
