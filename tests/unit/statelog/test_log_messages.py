"""The two bytes before every key and value, and what is made of those that nobody knows."""

import pytest

from kproxy.errors import CorruptStateRecord, UnsupportedStateRecord, UnwritableStateRecord
from kproxy.statelog.log_messages import decode_key, decode_value, encode_key, encode_value
from kproxy.wire.messages.share_group_metadata_key import ShareGroupMetadataKey
from kproxy.wire.messages.share_group_metadata_value import ShareGroupMetadataValue

KEY_CLASSES = {11: ShareGroupMetadataKey}


def test_a_key_begins_with_its_record_type_and_a_value_with_its_version() -> None:
    assert encode_key(ShareGroupMetadataKey("g1")).hex() == "000b00026731"
    assert encode_value(ShareGroupMetadataValue(3, 4)).hex() == "000000000003000000000000000400"


def test_both_are_read_back() -> None:
    assert decode_key(encode_key(ShareGroupMetadataKey("g1")), KEY_CLASSES) == ShareGroupMetadataKey("g1")
    value = ShareGroupMetadataValue(3, 4)
    assert decode_value(encode_value(value), ShareGroupMetadataValue) == value


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        (None, "no key"),
        (b"", "a key of 0 bytes"),
        (b"\x00", "a key of 1 byte"),
        (b"\x00\x0c\x00\x00", "unknown record type 12"),
        (b"\xff\xff", "unknown record type -1"),
        (b"\x00\x0b\x00\x05abc", "ShareGroupMetadataKey"),
        (b"\x00\x0b\x00\x01ab", "1 byte too many"),
        (b"\x00\x0b\x00\x01\xff", "ShareGroupMetadataKey"),
    ],
)
def test_a_key_that_cannot_be_is_corrupt(key: bytes | None, reason: str) -> None:
    with pytest.raises(CorruptStateRecord, match=reason) as refusal:
        decode_key(key, KEY_CLASSES)
    assert not isinstance(refusal.value, UnsupportedStateRecord)


def test_a_private_type_that_nobody_knows_is_of_a_newer_kproxy() -> None:
    with pytest.raises(
        UnsupportedStateRecord, match=r"record type 27519, which .*: run the kproxy that wrote"
    ):
        decode_key((27519).to_bytes(2, "big"), KEY_CLASSES)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "no value for ShareGroupMetadataValue"),
        (b"\x00", "of 1 byte"),
        (b"\xff\xff", "in version -1"),
        (b"\x00\x00\x00", "ShareGroupMetadataValue v0"),
    ],
)
def test_a_value_that_cannot_be_is_corrupt(value: bytes | None, reason: str) -> None:
    with pytest.raises(CorruptStateRecord, match=reason):
        decode_value(value, ShareGroupMetadataValue)


def test_a_newer_version_of_a_value_is_unsupported() -> None:
    with pytest.raises(UnsupportedStateRecord, match=r"in version 1; .* up to 0: run the kproxy that wrote"):
        decode_value(b"\x00\x01", ShareGroupMetadataValue)


def test_what_a_message_has_no_room_for_cannot_be_written() -> None:
    with pytest.raises(UnwritableStateRecord, match="ShareGroupMetadataKey v0"):
        encode_key(ShareGroupMetadataKey("g" * 40_000))
    with pytest.raises(UnwritableStateRecord, match="ShareGroupMetadataValue v0"):
        encode_value(ShareGroupMetadataValue(2**31, 0))
