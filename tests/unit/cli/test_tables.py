from kproxy.cli.tables import table_lines


def test_columns_are_as_wide_as_their_widest_cell_and_the_last_is_not_padded() -> None:
    assert list(table_lines(("KEY", "VALUE"), [("a", "1"), ("longer", ""), ("b", "22222")])) == [
        "KEY     VALUE",
        "a       1",
        "longer",
        "b       22222",
    ]


def test_a_table_without_rows_is_its_header() -> None:
    assert list(table_lines(("KEY", "VALUE"), [])) == ["KEY  VALUE"]
