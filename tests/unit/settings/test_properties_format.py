from hypothesis import given
from hypothesis import strategies as st

from kproxy.settings.properties_format import Property, property_line, read_properties


def test_key_and_value_are_separated_by_an_equals_sign_a_colon_or_white_space() -> None:
    assert read_properties("a=1\nb:2\nc 3\nd = 4\n e\t:\t5") == [
        Property("a", "1", 1),
        Property("b", "2", 2),
        Property("c", "3", 3),
        Property("d", "4", 4),
        Property("e", "5", 5),
    ]


def test_only_the_first_separator_separates() -> None:
    assert read_properties("url=http://a:1/?b=c") == [Property("url", "http://a:1/?b=c", 1)]


def test_blank_lines_and_comments_are_passed_over_even_if_they_end_in_a_backslash() -> None:
    assert read_properties("# one \\\n! two\n\n   \na=1") == [Property("a", "1", 5)]


def test_a_line_goes_on_after_a_backslash_without_the_blanks_it_begins_with() -> None:
    assert read_properties("servers=a:1,\\\n    b:2,\\\n\tc:3\nnext=4") == [
        Property("servers", "a:1,b:2,c:3", 1),
        Property("next", "4", 4),
    ]


def test_an_even_number_of_backslashes_ends_the_line() -> None:
    assert read_properties("path=C:\\\\\nb=2") == [Property("path", "C:\\", 1), Property("b", "2", 2)]


def test_a_backslash_at_the_very_end_of_the_file_is_dropped() -> None:
    assert read_properties("a=1\\") == [Property("a", "1", 1)]


def test_escapes_stand_for_their_characters() -> None:
    assert read_properties(r"k\:e\=y\ =\u00e9\t\q\\") == [Property("k:e=y ", "é\tq\\", 1)]


def test_a_key_without_a_value_is_empty() -> None:
    assert read_properties("a\nb=") == [Property("a", "", 1), Property("b", "", 2)]


def test_every_way_to_end_a_line_ends_it() -> None:
    assert [found.key for found in read_properties("a=1\r\nb=2\rc=3\n")] == ["a", "b", "c"]


def test_a_key_that_stands_there_twice_is_returned_twice() -> None:
    assert read_properties("a=1\na=2") == [Property("a", "1", 1), Property("a", "2", 2)]


@given(st.text())
def test_a_written_property_is_read_back(value: str) -> None:
    assert read_properties(property_line("kproxy.listen", value)) == [Property("kproxy.listen", value, 1)]
