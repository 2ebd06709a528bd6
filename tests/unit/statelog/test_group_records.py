"""Records of the groups topic, Kafka's types and our own."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import CorruptStateRecord, UnsupportedStateRecord
from kproxy.share.identifiers import GroupEpoch
from kproxy.share.share_group_image import ShareGroupImage
from kproxy.statelog.claims import Claim
from kproxy.statelog.group_parts import GroupMetadata, MemberMetadata, parts_of
from kproxy.statelog.group_records import (
    GroupConfigs,
    GroupRecord,
    GroupTombstone,
    RecoveryPoint,
    SignOfLife,
    StateTopicFacts,
    decode_group_record,
    encode_group_record,
    encode_group_tombstone,
)
from kproxy.wire.records import Record
from tests.in_memory.group_images import ALICE, GROUP, images, texts

configs = st.builds(GroupConfigs, st.just(GROUP), st.dictionaries(texts, texts, max_size=3))
signs = st.builds(SignOfLife, texts.filter(bool), st.integers(-1, 2**63 - 1), st.booleans())
own_records = st.one_of(
    configs,
    st.builds(RecoveryPoint, st.integers(0, 2**63 - 1), st.integers(-1, 2**63 - 1), st.none() | signs),
    st.builds(StateTopicFacts, st.integers(1, 2**31 - 1), st.integers(1, 9)),
    st.builds(Claim, texts, st.just(1)),
)


@given(own_records, st.none() | st.integers(0, 2**63 - 1))
def test_a_record_of_our_own_is_read_back(record: GroupRecord, claim_epoch: int | None) -> None:
    decoded = decode_group_record(encode_group_record(record, claim_epoch=claim_epoch))
    assert decoded.record == record
    assert decoded.claim_epoch == claim_epoch


@given(images())
def test_every_part_of_a_group_is_read_back_and_has_a_key_of_its_own(image: ShareGroupImage) -> None:
    # When
    written = [encode_group_record(part, claim_epoch=3) for part in parts_of(image)]

    # Then
    assert [decode_group_record(record).record for record in written] == list(parts_of(image))
    assert len({record.key for record in written}) == len(written)


@given(images())
def test_equal_images_have_equal_bytes(image: ShareGroupImage) -> None:
    # Given
    rebuilt = dataclasses.replace(
        image,
        initialized=dict(reversed(list(image.initialized.items()))),
        members={
            member_id: dataclasses.replace(member, assigned=frozenset(sorted(member.assigned, reverse=True)))
            for member_id, member in image.members.items()
        },
    )

    # When
    written, again = (
        [encode_group_record(part, claim_epoch=None) for part in parts_of(one)] for one in (image, rebuilt)
    )

    # Then
    assert written == again


@pytest.mark.parametrize(
    ("record", "key", "value"),
    [
        (Claim("me", 1), "6b70", "0000036d65000100"),
        (
            GroupConfigs(GROUP, {"b": "2", "a": "1"}),
            "6b71000c" + b"orders-group".hex(),
            "0000030261023100026202320000",
        ),
        (RecoveryPoint(255), "6b72", "000000000000000000ff00"),
        (RecoveryPoint(255, 258), "6b72", "000000000000000000ff0100080000000000000102"),
        (StateTopicFacts(50, 1), "6b73", "000000000032000100"),
    ],
)
def test_our_own_types_stand_apart_from_kafkas(record: GroupRecord, key: str, value: str) -> None:
    assert encode_group_record(record, claim_epoch=None) == Record(bytes.fromhex(key), bytes.fromhex(value))


def test_the_claim_epoch_stands_in_a_header_of_tombstones_too() -> None:
    header = ("kproxy.claim", (9).to_bytes(8, "big"))
    assert encode_group_record(RecoveryPoint(1), claim_epoch=9).headers == (header,)
    assert encode_group_tombstone(b"\x6b\x72", claim_epoch=9) == Record(b"\x6b\x72", None, (header,))


@pytest.mark.parametrize(
    ("record", "record_type", "group_id", "member_id"),
    [
        (GroupMetadata(GROUP, GroupEpoch(1)), 11, GROUP, None),
        (MemberMetadata(GROUP, ALICE, None, "", "", frozenset()), 10, GROUP, ALICE),
        (GroupConfigs(GROUP, {}), 27505, GROUP, None),
        (RecoveryPoint(1), 27506, None, None),
    ],
)
def test_a_tombstone_names_what_is_gone(
    record: GroupRecord, record_type: int, group_id: str | None, member_id: str | None
) -> None:
    # Given
    key = encode_group_record(record, claim_epoch=None).key
    assert key is not None

    # When
    decoded = decode_group_record(encode_group_tombstone(key, claim_epoch=4))

    # Then
    assert decoded.record == GroupTombstone(key, record_type, group_id, member_id)  # type: ignore[arg-type]  # plain str
    assert decoded.claim_epoch == 4


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (encode_group_record(RecoveryPoint(-1), claim_epoch=None), "recovery point -1"),
        (encode_group_record(StateTopicFacts(0, 1), claim_epoch=None), "state topics of 0 partitions"),
        (encode_group_record(GroupMetadata(GROUP, GroupEpoch(-1)), claim_epoch=None), "group epoch -1"),
        (Record(b"\x00\x00", b""), "unknown record type 0"),
        (Record(None, b""), "no key"),
    ],
)
def test_a_record_that_cannot_be_is_corrupt_and_names_its_offset(record: Record, reason: str) -> None:
    with pytest.raises(CorruptStateRecord, match=f"offset 7: {reason}"):
        decode_group_record(dataclasses.replace(record, offset=7))


@pytest.mark.parametrize(
    "record", [Record(b"\x6b\x74", b""), encode_group_record(Claim("newer", 3), claim_epoch=None)]
)
def test_what_only_a_newer_kproxy_reads_is_unsupported(record: Record) -> None:
    with pytest.raises(UnsupportedStateRecord):
        decode_group_record(record)


@given(images(), st.data())
def test_a_flipped_bit_is_corrupt_or_another_record_but_never_anything_else(
    image: ShareGroupImage, data: st.DataObject
) -> None:
    # Given
    whole = encode_group_record(data.draw(st.sampled_from(list(parts_of(image)))), claim_epoch=1)
    content = bytearray((whole.key or b"") + (whole.value or b""))
    bit = data.draw(st.integers(0, 8 * len(content) - 1))
    content[bit // 8] ^= 1 << bit % 8
    key_length = len(whole.key or b"")

    # When
    try:
        decoded = decode_group_record(Record(bytes(content[:key_length]), bytes(content[key_length:])))
    except CorruptStateRecord:
        return

    # Then
    assert not isinstance(decoded.record, GroupTombstone)
