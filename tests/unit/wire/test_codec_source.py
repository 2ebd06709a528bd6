"""Python text under construction."""

import pytest

from kproxy.wire.codec_source import CodecSource, spans_numbers
from kproxy.wire.length_prefixes import COMPACT_LENGTH
from kproxy.wire.primitives import INT32, UUID, Array, String
from tests.unit.wire.sample_message import Point


def test_blocks_are_indented_under_their_heads() -> None:
    # Given
    source = CodecSource()

    # When
    with source.block("if a"):
        source.line("b = 1")
        with source.block("if b"):
            source.line("c = 2")
    source.line("d = 3")

    # Then
    assert source.text == "if a:\n    b = 1\n    if b:\n        c = 2\nd = 3\n"


def test_names_are_never_used_twice() -> None:
    source = CodecSource()
    assert source.fresh("end") != source.fresh("end")


def test_a_constant_keeps_its_name_and_another_one_gets_a_name_like_it() -> None:
    # Given
    source = CodecSource()
    first, second = object(), object()

    # When
    names = [source.constant("Point", value) for value in (first, second, first)]

    # Then
    assert names == ["Point", "Point_", "Point"]
    assert source.namespace == {"Point": first, "Point_": second}


def test_the_methods_of_structs_are_found_under_names_that_show_their_format() -> None:
    # Given
    source = CodecSource()

    # When
    name = source.struct_method("pack", "h?")
    table = source.array_methods("pack", "B", "i", "x")

    # Then
    assert (name, table) == ("pack_hbool", "pack_B_N_i_x")
    assert source.namespace[name](258, True) == b"\x01\x02\x01"  # type: ignore[operator]  # any object may be there
    assert source.namespace[table][1](9, 5) == b"\x09\x00\x00\x00\x05\x00"  # type: ignore[index]  # same


@pytest.mark.parametrize(
    ("value", "expression"),
    [(None, "None"), (-1, "-1"), ("a", "'a'"), ([], "[]"), ((), "()"), (Point(), "Point()")],
)
def test_a_default_is_made_afresh(value: object, expression: str) -> None:
    assert CodecSource().default(value) == expression


def test_a_default_is_compared_with_one_that_exists() -> None:
    # Given
    source = CodecSource()
    default = Point()

    # When
    expression = source.comparand(default)

    # Then
    assert source.namespace[expression] is default
    assert source.comparand(5) == "5"


def test_arrays_of_numbers_are_those_that_one_struct_can_hold() -> None:
    assert spans_numbers(Array(COMPACT_LENGTH, INT32, is_nullable=False))
    assert not spans_numbers(Array(COMPACT_LENGTH, UUID, is_nullable=False))
    assert not spans_numbers(String(COMPACT_LENGTH, is_nullable=False))
    assert not spans_numbers(None)
