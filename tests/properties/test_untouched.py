"""Untouched means untouched: every API and version that is let through, with random bodies, in both directions.

What is rewritten differs in the named fields only.
"""

import struct
from dataclasses import fields, is_dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kproxy.errors import PeerViolation
from kproxy.interception.broker_addresses import AdvertisedAddress, BrokerAddresses
from kproxy.interception.rewrites.responses import ResponseRewriter
from kproxy.interception.routing import Disposition, RoutingTable
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from tests.worlds.conversing import Conversation, response
from tests.worlds.message_values import messages_of

FEW = settings(max_examples=5)
"""There are nearly three hundred routes."""

TABLE = RoutingTable({}).rows()
FORWARDED = sorted(route for route, disposition in TABLE.items() if disposition is Disposition.FORWARD)
GUARDED = sorted(
    route for route, disposition in Conversation().routes.rows().items() if disposition is Disposition.GUARD
)
PRODUCE = int(ApiKey.PRODUCE)
NAMING_BROKERS = [
    (key, version)
    for key in map(int, (ApiKey.METADATA, ApiKey.FIND_COORDINATOR, ApiKey.DESCRIBE_CLUSTER, ApiKey.PRODUCE))
    for version in range(codecs.valid_versions(key)[0], codecs.valid_versions(key)[1] + 1)
    if TABLE[key, version] is not Disposition.FORWARD
]


def request_bytes(api_key: int, version: int, body: bytes) -> bytes:
    return struct.pack(">ihhi", 8 + len(body), api_key, version, 77) + body


def response_bytes(body: bytes) -> bytes:
    return struct.pack(">ii", 4 + len(body), 77) + body


def chunks(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


@pytest.mark.parametrize("route", [route for route in FORWARDED if route[0] != PRODUCE], ids=str)
@FEW
@given(body=st.binary(max_size=200), answer=st.binary(max_size=200), size=st.integers(1, 50))
def test_a_forwarded_request_and_its_response_leave_byte_for_byte(
    route: tuple[int, int], body: bytes, answer: bytes, size: int
) -> None:
    conversation = Conversation(served={})
    asked, answered = request_bytes(*route, body), response_bytes(answer)

    to_broker = b"".join(conversation.client_sends(part) for part in chunks(asked, size))
    to_client = b"".join(conversation.broker_sends(part) for part in chunks(answered, size))

    assert (to_broker, to_client) == (asked, answered)
    assert conversation.session.owed_responses == 0


@pytest.mark.parametrize("route", GUARDED, ids=str)
@FEW
@given(body=st.binary(max_size=200), size=st.integers(1, 50))
def test_a_request_that_might_write_to_a_group_leaves_byte_for_byte_unless_it_is_a_share_group(
    route: tuple[int, int], body: bytes, size: int
) -> None:
    conversation = Conversation(share_group_ids={"a share group with a name of its own"})
    asked = request_bytes(*route, body)

    try:
        to_broker = b"".join(conversation.client_sends(part) for part in chunks(asked, size))
    except PeerViolation:
        # What a broker may read in another way than kproxy ends the connection.
        return

    assert to_broker == asked
    assert conversation.session.owed_responses == 1


@pytest.mark.parametrize("version", range(14))
@FEW
@given(acks=st.sampled_from([0, 1, -1]), records=st.binary(max_size=200), size=st.integers(1, 50))
def test_a_produce_request_leaves_byte_for_byte_and_owes_a_response_unless_its_acks_are_0(
    version: int, acks: int, records: bytes, size: int
) -> None:
    conversation = Conversation()
    ids = b"\x00\x01c" + (b"\x00\x00" if version >= 9 else b"\xff\xff" if version >= 3 else b"")
    asked = request_bytes(PRODUCE, version, ids + struct.pack(">h", acks) + records)

    to_broker = b"".join(conversation.client_sends(part) for part in chunks(asked, size))

    assert to_broker == asked
    assert conversation.session.owed_responses == (0 if acks == 0 else 1)


def differing_fields(before: Any, after: Any) -> set[str]:
    """Return the names of the fields in which two messages differ, at any depth."""
    if isinstance(before, list):
        assert len(before) == len(after)
        return {name for pair in zip(before, after, strict=True) for name in differing_fields(*pair)}
    assert type(before) is type(after)
    names: set[str] = set()
    for field in fields(before):
        mine, theirs = getattr(before, field.name), getattr(after, field.name)
        is_nested = is_dataclass(mine) or (isinstance(mine, list) and mine and is_dataclass(mine[0]))
        if is_nested:
            names |= differing_fields(mine, theirs)
        elif mine != theirs:
            names.add(field.name)
    return names


def node_ids(value: Any) -> set[int]:
    """Return every node id in a message that stands beside a host."""
    if isinstance(value, list):
        return {node_id for each in value for node_id in node_ids(each)}
    if not is_dataclass(value):
        return set()
    found = {node_id for field in fields(value) for node_id in node_ids(getattr(value, field.name))}
    own = getattr(value, "node_id", getattr(value, "broker_id", None))
    return found | ({own} if own is not None and hasattr(value, "host") else set())


@pytest.mark.parametrize("route", NAMING_BROKERS, ids=lambda route: f"{ApiKey(route[0]).name}-{route[1]}")
@FEW
@given(data=st.data())
def test_a_response_that_names_brokers_differs_in_hosts_and_ports_only(
    route: tuple[int, int], data: st.DataObject
) -> None:
    """Racks, ids, epochs, topics and unknown tagged fields stay what they were."""
    api_key, version = route
    message = data.draw(messages_of(codecs.response_class(api_key), version, short=True))
    frame = memoryview(response(api_key, version, 77, message))[4:]
    addresses = BrokerAddresses({node_id: AdvertisedAddress("kproxy", 1) for node_id in node_ids(message)})

    rewritten = ResponseRewriter(addresses, dict).rewrite(api_key, version, frame)

    _, before = codecs.decode_response(api_key, version, frame)
    _, after = codecs.decode_response(api_key, version, b"".join(rewritten)[4:])
    assert differing_fields(before, after) <= {"host", "port"}
