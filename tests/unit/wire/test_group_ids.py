"""`kproxy.wire.group_ids`: which group a request is about, told from its first bytes."""

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import PeerViolation
from kproxy.wire import codecs, group_ids
from kproxy.wire.group_ids import NO_GROUP, UNDECIDED, group_id_of, group_id_of_member, max_wait_ms_of
from kproxy.wire.messages.by_api_key import REQUEST_CLASSES
from kproxy.wire.messages.join_group_request import JoinGroupRequest
from kproxy.wire.messages.share_fetch_request import ShareFetchRequest
from kproxy.wire.request_prefixes import MAX_PREFIX_BYTES

JOIN_GROUP = 11
TXN_OFFSET_COMMIT = 28
REQUESTS = [
    (api_key, version)
    for api_key in sorted(group_ids.API_KEYS)
    for version in range(
        REQUEST_CLASSES[api_key].SCHEMA.valid_versions.first,
        REQUEST_CLASSES[api_key].SCHEMA.valid_versions.last + 1,
    )
]


def request(api_key: int, version: int, group_id: str, client_id: str | None = "client") -> bytes:
    request_class: Any = REQUEST_CLASSES[api_key]
    message = request_class(group_id=group_id)
    if api_key == TXN_OFFSET_COMMIT:
        message.transactional_id = "transaction"
    return b"".join(codecs.encode_request(api_key, version, 7, client_id, message))


@pytest.mark.parametrize(("api_key", "version"), REQUESTS)
@given(
    group_id=st.text(st.characters(codec="utf-8"), max_size=200), client_id=st.none() | st.text(max_size=9)
)
def test_the_group_id_is_what_decoding_the_request_finds(
    api_key: int, version: int, group_id: str, client_id: str | None
) -> None:
    frame = request(api_key, version, group_id, client_id)

    assert group_id_of(frame, api_key, version) == group_id


@pytest.mark.parametrize(("api_key", "version"), REQUESTS)
def test_it_is_undecided_until_its_last_byte_has_come(api_key: int, version: int) -> None:
    frame = request(api_key, version, "orders")
    end = frame.index(b"orders") + len(b"orders")

    found = {group_id_of(frame[:cut], api_key, version) for cut in range(12, end)}

    assert found == {UNDECIDED}
    assert group_id_of(frame[:end], api_key, version) == "orders"


def test_the_frame_may_begin_anywhere_in_the_buffer() -> None:
    frame = b"before" + request(JOIN_GROUP, 9, "orders")

    assert group_id_of(memoryview(frame), JOIN_GROUP, 9, start=6) == "orders"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"\xff\xff\xff\xff\xff\xff", id="a number of tags without end"),
        pytest.param(b"\x41", id="too many tags"),
        pytest.param(b"\x00\xff\xff\xff\x7f", id="a group id of a gigabyte"),
        pytest.param(b"\x00\x87\x80\x80\x80\x10orders", id="a length that brokers read modulo 2^32"),
        pytest.param(b"\x80\x80\x80\x80\x10\x07orders", id="a number of tags that brokers read as 0"),
        pytest.param(b"\xff\xff\xff\xff\x0f\x07orders", id="a number of tags that brokers read as -1"),
    ],
)
def test_what_no_client_would_send_is_refused_for_a_broker_may_find_a_group_in_it(body: bytes) -> None:
    frame = struct.pack(">ihhih", 2**30, JOIN_GROUP, 9, 7, -1) + body

    with pytest.raises(PeerViolation, match="malformed_request"):
        group_id_of(frame, JOIN_GROUP, 9)


def test_a_client_id_of_a_length_that_brokers_take_for_null_is_refused() -> None:
    frame = struct.pack(">ihhih", 2**30, JOIN_GROUP, 3, 7, -2) + b"\x00\x06orders"

    with pytest.raises(PeerViolation, match="length -2"):
        group_id_of(frame, JOIN_GROUP, 3)


def test_null_is_no_groups_id() -> None:
    frame = struct.pack(">ihhih", 2**30, JOIN_GROUP, 9, 7, -1) + b"\x00\x00"

    assert group_id_of(frame, JOIN_GROUP, 9) == NO_GROUP


def test_a_field_that_is_too_far_in_is_neither_waited_for_nor_left_to_the_broker() -> None:
    tag_without_end = b"\x01\x00\xff\xff\x0f" + bytes(MAX_PREFIX_BYTES)
    frame = struct.pack(">ihhih", 2**30, JOIN_GROUP, 9, 7, -1) + tag_without_end

    with pytest.raises(PeerViolation, match="no group id within 131072 bytes"):
        group_id_of(frame, JOIN_GROUP, 9)


def test_bytes_that_are_no_text_are_no_share_groups_id() -> None:
    frame = request(JOIN_GROUP, 9, "orders").replace(b"orders", b"ord\xffrs")

    found = group_id_of(frame, JOIN_GROUP, 9)

    assert found is not None
    with pytest.raises(UnicodeEncodeError):
        found.encode()


def test_a_request_of_defaults_names_no_group() -> None:
    frame = b"".join(codecs.encode_request(JOIN_GROUP, 9, 7, "client", JoinGroupRequest()))

    assert group_id_of(frame, JOIN_GROUP, 9) == NO_GROUP


# ------------------------------------------------ what members of share groups send

TEXTS = st.text(st.characters(codec="utf-8"), max_size=200)
MEMBER_REQUESTS = [
    (api_key, version)
    for api_key in sorted(group_ids.MEMBER_API_KEYS)
    for version in range(
        REQUEST_CLASSES[api_key].SCHEMA.valid_versions.first,
        REQUEST_CLASSES[api_key].SCHEMA.valid_versions.last + 1,
    )
]


def member_request(
    api_key: int, version: int, group_id: str | None, client_id: str | None = "client"
) -> memoryview:
    request_class: Any = REQUEST_CLASSES[api_key]
    message = request_class(group_id=group_id, member_id="member")
    return memoryview(b"".join(codecs.encode_request(api_key, version, 7, client_id, message))[4:])


@pytest.mark.parametrize(("api_key", "version"), MEMBER_REQUESTS)
@given(group_id=TEXTS, client_id=st.none() | st.text(max_size=9))
def test_the_group_id_of_a_member_is_what_decoding_the_request_finds(
    api_key: int, version: int, group_id: str, client_id: str | None
) -> None:
    assert group_id_of_member(member_request(api_key, version, group_id, client_id)) == group_id


@pytest.mark.parametrize("api_key", [78, 79])
def test_a_group_that_is_left_out_is_none(api_key: int) -> None:
    assert group_id_of_member(member_request(api_key, 1, None)) == NO_GROUP


@given(
    group_id=st.none() | TEXTS,
    member_id=st.none() | TEXTS,
    wait_ms=st.integers(-(2**31), 2**31 - 1),
    version=st.sampled_from([1, 2]),
)
def test_a_fetch_waits_as_long_as_decoding_it_finds(
    group_id: str | None, member_id: str | None, wait_ms: int, version: int
) -> None:
    message = ShareFetchRequest(group_id=group_id, member_id=member_id, max_wait_ms=wait_ms)
    frame = b"".join(codecs.encode_request(78, version, 7, "client", message))[4:]

    assert max_wait_ms_of(memoryview(frame)) == max(wait_ms, 0)


@pytest.mark.parametrize("cut", range(80))
def test_a_request_that_ends_early_has_no_group_or_waits_for_nothing(cut: int) -> None:
    message = ShareFetchRequest(group_id="orders", member_id="member", max_wait_ms=500)
    frame = memoryview(b"".join(codecs.encode_request(78, 1, 7, "client", message))[4:])

    assert group_id_of_member(frame[:cut]) in {NO_GROUP, "orders"}
    assert max_wait_ms_of(frame[:cut]) in {0, 500}


@given(data=st.binary(max_size=60))
def test_any_bytes_have_some_group_or_none(data: bytes) -> None:
    assert isinstance(group_id_of_member(memoryview(data)), str)
    assert max_wait_ms_of(memoryview(data)) >= 0


def test_a_group_id_that_is_no_text_is_what_no_group_is_called() -> None:
    frame = bytes(member_request(76, 1, "orders")).replace(b"orders", b"\xff\xfe\xfd\xfc\xfb\xfa")

    assert "\udcff" in group_id_of_member(memoryview(frame))


@pytest.mark.parametrize(("length", "is_told"), [(32_767, True), (32_768, False), (8_000_000, False)])
def test_an_id_that_is_longer_than_any_string_of_kafka_s_is_left_to_whoever_decodes_it(
    *, length: int, is_told: bool
) -> None:
    # Given
    header = (78).to_bytes(2, "big") + (1).to_bytes(2, "big") + bytes(4) + b"\xff\xff" + b"\x00"
    size, length_and_one = b"", length + 1
    while length_and_one >= 0x80:
        size += bytes([length_and_one & 0x7F | 0x80])
        length_and_one >>= 7
    frame = memoryview(header + size + bytes([length_and_one]) + b"g" * length)

    # When
    found = group_id_of_member(frame)

    # Then
    assert found == ("g" * length if is_told else NO_GROUP)
