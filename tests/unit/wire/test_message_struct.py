"""The construct tree of a message version, the reference codec."""

from dataclasses import replace
from typing import Any

import pytest
from construct import Construct, Struct

from kproxy.errors import MalformedMessage
from kproxy.wire.byte_streams import UnencodableMessage
from kproxy.wire.message_struct import (
    AbsentField,
    MessageStruct,
    TaggedFields,
    encode_tagged_fields,
    message_struct,
)
from kproxy.wire.messages.request_header import RequestHeader
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kproxy.wire.primitives import WireConstruct
from tests.unit.wire.sample_message import SAMPLE, SAMPLE_V0, SAMPLE_V2, Point, SampleMessage


@pytest.mark.parametrize(("version", "encoded"), [(0, SAMPLE_V0), (2, SAMPLE_V2)])
def test_a_version_has_its_own_fields_and_encodings(version: int, encoded: bytes) -> None:
    tree = message_struct(SampleMessage, version)
    assert tree.build(SAMPLE) == encoded
    assert tree.parse(encoded) == SAMPLE


def test_a_tree_is_made_of_our_own_constructs_only() -> None:
    """Stock leaves lose checks (see `primitives`); the only stock class in a tree is the one that gives names."""

    def kinds_of(construct: Construct) -> set[str]:
        below = [*getattr(construct, "subcons", []), *filter(None, [getattr(construct, "subcon", None)])]
        below += [element for element in [getattr(construct, "element", None)] if element is not None]
        ours = isinstance(construct, WireConstruct | MessageStruct)
        return {"ours" if ours else type(construct).__name__}.union(*map(kinds_of, below))

    tree = message_struct(SampleMessage, 2)
    assert isinstance(tree, Struct)
    assert kinds_of(tree) == {"ours", "Renamed"}


def test_a_tree_is_made_once() -> None:
    assert message_struct(SampleMessage, 1) is message_struct(SampleMessage, 1)


@pytest.mark.parametrize("version", [-1, 3])
def test_a_version_that_the_message_does_not_have_is_refused(version: int) -> None:
    with pytest.raises(LookupError, match=f"SampleMessage has no version {version}"):
        message_struct(SampleMessage, version)


def test_the_tree_says_which_fields_a_version_lacks() -> None:
    absent = [
        member for member in message_struct(SampleMessage, 0).subcons if isinstance(member, AbsentField)
    ]
    assert {member.name: (member.default, member.is_ignorable) for member in absent} == {
        "limit": (-1, False),
        "hint": ("", True),
        "corner": (Point(), False),
        "names": ([], False),
        "tagged_point": (Point(), False),
        "tagged_size": (7, False),
        "unknown_tagged_fields": ((), False),
    }


@pytest.mark.parametrize(
    "newer",
    [
        replace(SAMPLE, limit=5),
        replace(SAMPLE, corner=Point(9)),
        replace(SAMPLE, names=["a"]),
        replace(SAMPLE, unknown_tagged_fields=((9, b"x"),)),
    ],
    ids=lambda message: str(message)[-40:],
)
def test_a_value_that_the_version_cannot_carry_is_refused(newer: SampleMessage) -> None:
    with pytest.raises(UnencodableMessage, match="this version has no "):
        message_struct(SampleMessage, 0).build(newer)


def test_an_ignorable_field_is_dropped_where_the_version_lacks_it() -> None:
    newer = replace(SAMPLE, hint="only for version 2")
    assert message_struct(SampleMessage, 0).build(newer) == SAMPLE_V0


def test_null_is_refused_where_the_version_does_not_allow_it() -> None:
    null: Any = None
    with pytest.raises(UnencodableMessage, match="topic_ids: null is not allowed here"):
        message_struct(SampleMessage, 2).build(replace(SAMPLE, topic_ids=null))


def test_tagged_fields_are_written_by_rising_tag_among_the_unknown_ones() -> None:
    # Given
    message = replace(
        SAMPLE,
        tagged_size=258,
        names=["n"],
        unknown_tagged_fields=((1, b"?"), (200, b"")),
    )

    # When
    encoded = message_struct(SampleMessage, 2).build(message)

    # Then
    assert encoded == (
        SAMPLE_V2[:-1] + b"\x04"
        b"\x00\x03\x02\x02n"  # 0: names
        b"\x01\x01?"
        b"\x04\x02\x01\x02"  # 4: tagged_size
        b"\xc8\x01\x00"
    )  # fmt: skip
    assert message_struct(SampleMessage, 2).parse(encoded) == message


def test_tagged_fields_may_arrive_in_any_order() -> None:
    parsed = message_struct(SampleMessage, 2).parse(
        SAMPLE_V2[:-1] + b"\x03" + b"\x09\x01b" + b"\x04\x02\x00\x05" + b"\x08\x01a"
    )
    assert parsed == replace(SAMPLE, tagged_size=5, unknown_tagged_fields=((8, b"a"), (9, b"b")))


MALFORMED_TAGS = {
    "a known tag twice": b"\x02" + b"\x04\x02\x00\x05" + b"\x04\x02\x00\x06",
    "an unknown tag twice": b"\x02" + b"\x09\x01b" + b"\x09\x01c",
    "content that is too short": b"\x01" + b"\x04\x01\x00\x05",
    "content that is too long": b"\x01" + b"\x04\x03\x00\x05\x00",
    "content beyond the end": b"\x01" + b"\x09\x05abc",
    "a size beyond all bounds": b"\x01" + b"\x09\xff\xff\xff\xff\x0fabc",
    "more fields than there are": b"\x02" + b"\x09\x01b",
}


@pytest.mark.parametrize("section", MALFORMED_TAGS.values(), ids=MALFORMED_TAGS)
def test_tagged_fields_that_cannot_be_are_malformed(section: bytes) -> None:
    with pytest.raises(MalformedMessage):
        message_struct(SampleMessage, 2).parse(SAMPLE_V2[:-1] + section)


def test_what_is_wrong_is_named_with_its_place() -> None:
    with pytest.raises(MalformedMessage, match="points -> label: needs 5 bytes, 1 remain"):
        message_struct(SampleMessage, 0).parse(SAMPLE_V0[:-2] + b"\x05b")


def test_a_tag_cannot_be_written_twice() -> None:
    with pytest.raises(UnencodableMessage, match="tag 4 stands twice"):
        message_struct(SampleMessage, 2).build(
            replace(SAMPLE, tagged_size=1, unknown_tagged_fields=((4, b""),))
        )


def test_a_tag_must_be_a_varint() -> None:
    with pytest.raises(UnencodableMessage, match="-1"):
        encode_tagged_fields([(-1, b"")])


def test_the_client_id_of_a_header_never_becomes_compact() -> None:
    header = RequestHeader(78, 1, 5, "abc")
    assert message_struct(RequestHeader, 1).build(header) == b"\x00\x4e\x00\x01\x00\x00\x00\x05\x00\x03abc"
    assert (
        message_struct(RequestHeader, 2).build(header) == b"\x00\x4e\x00\x01\x00\x00\x00\x05\x00\x03abc\x00"
    )


def test_the_least_size_of_a_message_is_known_from_its_tree() -> None:
    """Five fields (1, 1, 4, 1 and 1 bytes) and the count of tagged fields."""
    assert message_struct(ShareGroupHeartbeatRequest, 1).minimum_size == 9


def test_tagged_fields_know_their_constructs_by_tag() -> None:
    section = message_struct(SampleMessage, 2).subcons[-1]
    assert isinstance(section, TaggedFields)
    assert {tag: field.name for tag, field in section.known.items()} == {
        0: "names",
        3: "tagged_point",
        4: "tagged_size",
    }
