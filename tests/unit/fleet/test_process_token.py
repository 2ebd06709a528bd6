"""The token in a member id."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.fleet.process_token import client_id, lock_name, token_of_lock, token_of_member

TOKEN = "0123456789abcdef" * 2
UUID = "6c1a6e3c-7b5e-4a7e-9d3a-0d2f4a9f2b11"
TOKENS = st.text("0123456789abcdef", min_size=32, max_size=32)


def test_a_client_id_says_for_people_what_process_it_is() -> None:
    assert client_id(TOKEN, 4711) == f"kproxy-fleet-4711-{TOKEN}"


@given(token=TOKENS, pid=st.integers(1, 2**31 - 1), uuid=st.uuids())
def test_the_token_is_in_the_member_id_that_coordinators_make_of_the_client_id(
    token: str, pid: int, uuid: object
) -> None:
    assert token_of_member(f"{client_id(token, pid)}-{uuid}") == token


@given(token=TOKENS)
def test_the_token_is_in_the_name_of_the_lock(token: str) -> None:
    assert token_of_lock(lock_name(token)) == token


@pytest.mark.parametrize(
    "member_id",
    [
        "",
        f"kproxy-{UUID}",
        f"kproxy-fleet-{UUID}",
        f"kproxy-fleet-1-{TOKEN}",
        f"kproxy-fleet-1-{TOKEN}-",
        f"kproxy-fleet-1-{TOKEN[1:]}-{UUID}",
        f"kproxy-fleet-1-{TOKEN}0-{UUID}",
        f"kproxy-fleet-1-{TOKEN.upper()}-{UUID}",
        f"kproxy-fleet--{TOKEN}-{UUID}",
        f"kproxy-fleet-x-{TOKEN}-{UUID}",
        f"my-kproxy-fleet-1-{TOKEN}-{UUID}",
        f"kproxy-fleet-1-{TOKEN}-{UUID}\n",
        f"kproxy-fleet-1-../../../../etc/passwd{TOKEN[:11]}-{UUID}",
    ],
)
def test_other_member_ids_have_no_token(member_id: str) -> None:
    assert token_of_member(member_id) is None


@given(text=st.text())
def test_whatever_is_in_a_member_id_a_token_is_no_path(text: str) -> None:
    for token in (token_of_member(text), token_of_member(client_id(text, 1)), token_of_lock(text)):
        assert token is None or set(token) <= set("0123456789abcdef")


@pytest.mark.parametrize("name", ["", "kproxy-fleet-", f"kproxy-fleet-{TOKEN}.tmp", f"other-{TOKEN}"])
def test_other_files_are_no_locks(name: str) -> None:
    assert token_of_lock(name) is None
