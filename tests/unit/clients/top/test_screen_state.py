"""Keys move the cursor, sort, filter, open a group and go back."""

from functools import reduce

import pytest

from kproxy.clients.top.group_rows import SORTS
from kproxy.clients.top.screen_state import SORT_KEYS, ScreenState, Shown, after_key

THREE = Shown(["a", "b", "c"], page=2)


def after(*keys: str, shown: Shown = THREE) -> ScreenState:
    return reduce(lambda state, key: after_key(state, key, shown), keys, ScreenState())


def test_every_sort_has_a_key_and_every_key_a_sort() -> None:
    assert set(SORT_KEYS.values()) == set(SORTS)


@pytest.mark.parametrize(
    ("keys", "selected"),
    [
        (["down"], "b"),
        (["j", "j", "j"], "c"),
        (["down", "up", "up"], "a"),
        (["page-down"], "c"),
        (["end"], "c"),
        (["end", "page-up"], "a"),
        (["end", "home"], "a"),
        (["end", "k"], "b"),
    ],
)
def test_the_cursor_stays_within_the_list(keys: list[str], selected: str) -> None:
    assert after(*keys).selected == selected


def test_without_groups_there_is_nothing_to_select_or_open() -> None:
    assert after("down", "enter", shown=Shown([])) == ScreenState()


def test_the_cursor_stays_on_its_group_when_the_order_changes() -> None:
    # When
    state = after_key(after("down"), "down", Shown(["c", "a", "b", "d"]))

    # Then
    assert state.selected == "d"


def test_a_sort_begins_at_the_top() -> None:
    assert after("end", "R", "l") == ScreenState(sort="lag")


def test_a_filter_is_typed_and_every_key_is_text_until_enter() -> None:
    # When
    state = after("/", "q", "l", "x", "backspace", "enter")

    # Then
    assert (state.text, state.is_typing, state.is_ended) == ("ql", False, False)


def test_escape_takes_the_filter_away() -> None:
    assert after("/", "a", "escape") == after("/", "a", "enter", "escape") == ScreenState()


def test_a_filter_has_an_end() -> None:
    assert len(after("/", *"x" * 100).text) == 60


def test_a_group_is_opened_scrolled_and_left() -> None:
    # When
    opened = after("down", "enter", "down", "page-down", "up")
    left = after_key(opened, "escape", THREE)

    # Then
    assert (opened.opened, opened.first_line) == ("b", 2)
    assert (left.opened, left.selected) == (None, "b")


def test_in_a_group_keys_of_the_list_do_nothing() -> None:
    opened = after("enter")
    assert after_key(opened, "l", THREE) == after_key(opened, "/", THREE) == opened


def test_help_is_shown_until_the_next_key() -> None:
    assert after("?").has_help
    assert after("?", "l") == ScreenState()


def test_a_space_holds_the_screen_still_and_q_ends_it() -> None:
    assert after(" ").is_paused
    assert not after(" ", " ").is_paused
    assert after("q").is_ended
