"""What emitted codecs call."""

import pytest

from kproxy.errors import MalformedMessage
from kproxy.wire.codec_runtime import ONE_BYTE, array_methods, tagged_field_head, unknown_tagged_fields


def test_one_byte_is_found_by_its_number() -> None:
    assert (ONE_BYTE[0], ONE_BYTE[200], len(ONE_BYTE)) == (b"\x00", b"\xc8", 256)


def test_an_array_between_other_values_is_packed_at_once() -> None:
    table = array_methods("pack", "qB", "b", "x")
    assert table[2](1, 3, -1, 5) == b"\x00\x00\x00\x00\x00\x00\x00\x01\x03\xff\x05\x00"


def test_methods_of_short_arrays_are_kept_and_those_of_long_ones_are_not() -> None:
    """A client could fill a table by naming every count there is."""
    # Given
    table = array_methods("unpack_from", "", "i", "H")

    # When
    for count in (1, 128, 129, 2**31 - 1):
        table[count]

    # Then
    assert sorted(table) == [1, 128]


def test_a_table_exists_once() -> None:
    assert array_methods("pack", "", "i", "") is array_methods("pack", "", "i", "")


def test_the_head_of_a_tagged_field_gives_tag_and_extent() -> None:
    seen: set[int] = set()
    assert tagged_field_head(b"?\x07\x02ab", 1, seen) == (7, 3, 5)
    assert seen == {7}


@pytest.mark.parametrize(
    ("buffer", "seen", "reason"),
    [
        (b"\x07\x02a", set(), "tag 7 of 2 bytes at byte 2 of 3"),
        (b"\x07\x00", {7}, "tag 7 stands twice"),
    ],
)
def test_a_tagged_field_that_cannot_be_is_malformed(buffer: bytes, seen: set[int], reason: str) -> None:
    with pytest.raises(MalformedMessage, match=reason):
        tagged_field_head(buffer, 0, seen)


def test_unknown_tagged_fields_are_ordered_by_tag() -> None:
    fields, position = unknown_tagged_fields(b"\x09\x01b\x08\x00rest", 0, 2)
    assert (fields, position) == (((8, b""), (9, b"b")), 5)
