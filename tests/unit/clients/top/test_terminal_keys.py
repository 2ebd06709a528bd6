"""What a terminal sends is told apart into keys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.clients.top.terminal_keys import keys_in


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("q", ["q"]),
        ("\x1b[A\x1b[B", ["up", "down"]),
        ("\x1bOA", ["up"]),
        ("\x1b[5~\x1b[6~", ["page-up", "page-down"]),
        ("\x1b", ["escape"]),
        ("\x1b[1;5Cq", ["q"]),
        ("\r\n\x7f\x08", ["enter", "enter", "backspace", "backspace"]),
        ("ab\x00ü", ["a", "b", "ü"]),
        ("\x1b[", []),
    ],
)
def test_keys_have_names_or_are_characters(text: str, keys: list[str]) -> None:
    assert keys_in(text) == keys


@given(st.text())
def test_whatever_is_typed_is_made_of_keys(text: str) -> None:
    assert all(key.isprintable() for key in keys_in(text))
