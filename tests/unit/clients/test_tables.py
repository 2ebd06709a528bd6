from collections.abc import Iterator

import pytest

from kproxy.clients.tables import cell_text, paged_table_lines, printable, table_lines


def test_columns_are_as_wide_as_their_widest_cell_and_the_last_is_not_padded() -> None:
    assert list(table_lines(("KEY", "VALUE"), [("a", "1"), ("longer", ""), ("b", "22222")])) == [
        "KEY     VALUE",
        "a       1",
        "longer",
        "b       22222",
    ]


def test_a_table_without_rows_is_its_header() -> None:
    assert list(table_lines(("KEY", "VALUE"), [])) == ["KEY  VALUE"]


def test_a_table_may_leave_its_header_out() -> None:
    assert list(table_lines(("KEY", "VALUE"), [("a", "1"), ("b", "2")], with_header=False)) == [
        "a  1",
        "b  2",
    ]


def test_no_rows_and_no_header_are_nothing() -> None:
    assert list(table_lines(("KEY", "VALUE"), [], with_header=False)) == []


def test_a_table_in_pages_gets_wider_and_never_narrower() -> None:
    # Given
    rows = [("a", "1"), ("b", "2"), ("longer", "3"), ("c", "4"), ("d", "5")]

    # When
    lines = list(paged_table_lines(("KEY", "VALUE"), rows, page=2))

    # Then
    assert lines == ["KEY  VALUE", "a    1", "b    2", "longer  3", "c       4", "d       5"]


def test_a_table_in_pages_holds_one_page() -> None:
    # Given
    taken: list[int] = []

    def rows() -> Iterator[tuple[str, str]]:
        for number in range(10):
            taken.append(number)
            yield str(number), ""

    lines = paged_table_lines(("KEY", "VALUE"), rows(), with_header=False, page=3)

    # When
    first = next(lines)

    # Then
    assert first == "0"
    assert taken == [0, 1, 2]


@pytest.mark.parametrize("with_header", [True, False])
def test_a_table_in_pages_may_be_empty(*, with_header: bool) -> None:
    assert (
        list(paged_table_lines(("KEY", "VALUE"), [], with_header=with_header)) == ["KEY  VALUE"] * with_header
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "yes"),
        (False, "no"),
        (None, "-"),
        ("", "-"),
        (0, "0"),
        ("ü 1", "ü 1"),
        ("a\x1b[2Jb\n", "a\\x1b[2Jb\\n"),
        ("\ud800", "\\ud800"),
    ],
)
def test_a_cell_shows_nothing_that_a_terminal_would_obey(value: object, text: str) -> None:
    assert cell_text(value) == text


def test_lines_of_a_message_stay_lines_and_give_no_orders() -> None:
    assert printable("one\x1b[2J\n  zwei ü\r\n\u202e") == "one\\x1b[2J\n  zwei ü\\r\n\\u202e"
