"""What becomes of every kind of answer. tests/unit/cli/test_status.py has those that end in a connection failure."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kproxy.clients.admin_port import answer_of, items_of
from kproxy.clients.failures import ClientFailed, WrongAddress
from kproxy.errors import ExitCode
from tests.in_memory.inspectable import Inspectable, serving


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
        (("groups", "nobody"), {}, ExitCode.NOT_FOUND, "there is no share group 'nobody'"),
        (("groups",), {"x": 1}, ExitCode.FAILED, "unknown query parameter 'x'; known: lag"),
        (("nothing",), {}, ExitCode.FAILED, "answered 404 Not Found"),
    ],
)
def test_what_kproxy_refuses_is_said_in_its_words(
    path: tuple[str, ...], query: dict[str, int], exit_code: ExitCode, message: str
) -> None:
    # When
    with serving(Inspectable().server()) as url, pytest.raises(ClientFailed) as failure:
        answer_of(url, *path, query=query)

    # Then
    assert failure.value.exit_code is exit_code
    assert message in str(failure.value)


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
    with somebody_who_answers(answer) as url, pytest.raises(ClientFailed, match=complaint) as failure:
        answer_of(url, "groups")

    # Then
    assert failure.value.exit_code is ExitCode.FAILED


@pytest.mark.parametrize("answer", [{}, {"items": {}}, {"items": [1]}])
def test_an_answer_without_items_is_a_failure(answer: dict[str, object]) -> None:
    with pytest.raises(ClientFailed, match="no items"):
        items_of(answer)


def test_an_address_that_is_no_url_is_wrong_usage() -> None:
    # When
    with pytest.raises(
        WrongAddress, match=r"--admin-url '127\.0\.0\.1:9644': expected http://HOST:PORT"
    ) as refusal:
        answer_of("127.0.0.1:9644", "groups")

    # Then
    assert refusal.value.exit_code is ExitCode.USAGE
