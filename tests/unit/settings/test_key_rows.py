"""A row of the table is a field whose default is what its text says."""

from dataclasses import dataclass, fields

from kproxy.settings.key_rows import key_row
from kproxy.settings.value_kinds import whole_number


@dataclass
class _Table:
    pieces: int = key_row("kproxy.pieces", whole_number(1), "7", "How many.")


def test_a_row_says_its_name_and_its_default() -> None:
    [row] = fields(_Table)
    assert (_Table().pieces, row.metadata["name"], row.metadata["doc"]) == (7, "kproxy.pieces", "How many.")
