"""What becomes of every kind of answer. tests/unit/cli/test_status.py has those that end in a connection failure."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import click
import pytest
from click.testing import CliRunner

from kproxy.cli.exit_codes import CommandFailed, ExitCode
from kproxy.cli.main import cli
from kproxy.clients.admin_port import answer_of, items_of
from tests.in_memory.inspectable import ORDERS, Inspectable, serving


@contextmanager
def somebody_who_answers(answer: bytes) -> Iterator[str]:
    """Sends `answer` to whoever connects, and hangs up; yields its URL."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer_once() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

        thread = threading.Thread(target=answer_once)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        thread.join(10)


def test_parts_of_a_path_and_a_query_may_hold_any_character() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.join("alice", group_id="a/b ü?")
    inspectable.open_session("alice", group_id="a/b ü?")

    # When
    with serving(inspectable.server()) as url:
        group = answer_of(f"{url}/", "groups", "a/b ü?")
        sessions = answer_of(url, "sessions", query={"group": "a/b ü?", "member": None})

    # Then
    assert items_of(group)[0]["groupId"] == "a/b ü?"
    assert [session["groupId"] for session in items_of(sessions)] == ["a/b ü?"]


@pytest.mark.parametrize(
    ("path", "query", "exit_code", "message"),
    [
        (("groups", "nobody"), {}, 3, "there is no share group 'nobody'"),
        (("groups",), {"x": 1}, 1, "unknown query parameter 'x'; there are none here"),
        (("nothing",), {}, 1, "answered 404 Not Found"),
    ],
)
def test_what_kproxy_refuses_is_said_in_its_words(
    path: tuple[str, ...], query: dict[str, int], exit_code: int, message: str
) -> None:
    # When
    with serving(Inspectable().server()) as url, pytest.raises(CommandFailed) as failure:
        answer_of(url, *path, query=query)

    # Then
    assert failure.value.exit_code == exit_code
    assert message in failure.value.message


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (b"\x00\x00\x00\x04abcd", "broke its answer off: BadStatusLine"),
        (b'HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{"items": [', "broke its answer off: IncompleteRead"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", "did not answer as a kproxy does: no object"),
        (b'HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\n""', "answered 404 No"),
    ],
)
def test_an_answer_that_is_none_of_kproxy_is_a_failure(answer: bytes, complaint: str) -> None:
    # When
    with somebody_who_answers(answer) as url, pytest.raises(CommandFailed, match=complaint) as failure:
        answer_of(url, "groups")

    # Then
    assert failure.value.exit_code == 1


@pytest.mark.parametrize("answer", [{}, {"items": {}}, {"items": [1]}])
def test_an_answer_without_items_is_a_failure(answer: dict[str, object]) -> None:
    with pytest.raises(CommandFailed, match="no items"):
        items_of(answer)


def test_an_address_that_is_no_url_is_wrong_usage() -> None:
    with pytest.raises(click.BadParameter, match="expected http://HOST:PORT"):
        answer_of("127.0.0.1:9644", "groups")


TAKEN_OVER = "another kproxy took the state log over: kproxy at host-2; stop one of the two"

LISTS = [
    (["groups", "list"], "GROUP    STATE\nworkers  Stable\n"),
    (["groups", "describe", "workers", "--state", "--no-headers"], "workers  -  Stable  1\n"),
    (["sessions", "list", "--no-headers"], "workers  alice  1  1  1  1\n"),
    (["in-flight", "list", "--no-headers"], ""),
]


@pytest.mark.parametrize(("command", "shown"), LISTS, ids=lambda value: " ".join(value[:2]))
def test_what_is_known_while_share_groups_are_unavailable_is_shown_as_not_the_whole_truth(
    command: list[str], shown: str
) -> None:
    # Given
    inspectable = Inspectable()
    inspectable.join("alice")
    inspectable.open_session("alice", (ORDERS, 0))
    inspectable.unavailable = TAKEN_OVER

    # When
    with serving(inspectable.server()) as url:
        result = CliRunner().invoke(cli, [*command, "--admin-url", url])

    # Then
    assert (result.exit_code, result.stdout) == (ExitCode.FAILED, shown)
    assert result.stderr == f"Error: not the whole truth: share groups are unavailable: {TAKEN_OVER}\n"


def test_a_group_that_is_not_known_while_share_groups_are_unavailable_is_not_said_to_be_missing() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.unavailable = TAKEN_OVER

    # When
    with serving(inspectable.server()) as url:
        result = CliRunner().invoke(cli, ["groups", "describe", "workers", "--admin-url", url])

    # Then
    assert (result.exit_code, result.stdout) == (ExitCode.FAILED, "")
    assert result.stderr == f"Error: nothing of that is known: share groups are unavailable: {TAKEN_OVER}\n"
