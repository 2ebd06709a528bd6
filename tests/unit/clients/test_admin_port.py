"""What becomes of every kind of answer. tests/unit/cli/test_status.py has those that end in a connection failure."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kproxy.admin.entrance.access import AccessRules
from kproxy.admin.entrance.token_file import TokenFile
from kproxy.admin.readiness import Readiness
from kproxy.admin.server import AdminServer
from kproxy.clients.admin_port import TOKEN_FILE_VARIABLE, acted, answer_of, items_of
from kproxy.clients.failures import CannotConnect, ClientFailed, NotAllowed, UnusableToken, WrongAddress
from kproxy.errors import ExitCode
from kproxy.settings import HostPort
from kproxy.telemetry.metrics import Metrics
from tests.in_memory.inspectable import Inspectable, serving


@contextmanager
def somebody_who_answers(answer: bytes, heard: list[bytes] | None = None) -> Iterator[str]:
    """Sends `answer` to whoever connects, and hangs up; yields its URL."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer_once() -> None:
            connection, _ = server.accept()
            with connection:
                request = connection.recv(65536)
                if heard is not None:
                    heard.append(request)
                connection.sendall(answer)
                # Closed with a part of the request unread, a connection is reset, and what was sent may be lost.
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    pass

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


class Tokened:
    """An admin port that others reach, with its token in a file."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "token"
        self.file.write_text("0123456789abcdef\n")
        rules = AccessRules(HostPort("0.0.0.0", 9644), has_token=True)
        self.server = AdminServer(
            HostPort("127.0.0.1", 0),
            metrics=Metrics(),
            readiness=Readiness({}),
            status=lambda: {"version": "0.1.0"},
            access=rules,
            token=TokenFile(self.file),
        )


def test_the_token_that_the_environment_names_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    tokened = Tokened(tmp_path)
    monkeypatch.setenv(TOKEN_FILE_VARIABLE, str(tokened.file))

    # When
    with serving(tokened.server) as url:
        items = items_of(answer_of(url, "status"))

    # Then
    assert items == [{"version": "0.1.0"}]


def test_a_token_that_is_wanted_and_not_there_is_no_access_and_says_what_to_give(tmp_path: Path) -> None:
    # When
    with serving(Tokened(tmp_path).server) as url, pytest.raises(NotAllowed) as refused:
        answer_of(url, "status")

    # Then
    assert refused.value.exit_code is ExitCode.CANNOT_CONNECT
    assert "give --admin-token-file FILE or KPROXY_ADMIN_TOKEN_FILE" in str(refused.value)


def test_a_token_goes_to_the_server_that_was_named_and_to_none_that_this_one_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    file = tmp_path / "token"
    file.write_text("0123456789abcdef")
    monkeypatch.setenv(TOKEN_FILE_VARIABLE, str(file))
    heard: list[bytes] = []

    # When
    with somebody_who_answers(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", heard) as elsewhere:
        moved = f"HTTP/1.1 302 Found\r\nLocation: {elsewhere}/\r\nContent-Length: 0\r\n\r\n".encode()
        with somebody_who_answers(moved, heard) as url:
            answer_of(url, "status")

    # Then
    assert [b"Bearer 0123456789abcdef" in request for request in heard] == [True, False]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [(None, "cannot be read: No such file"), ("", "has no line with a token"), ("\u00e4", "more than ASCII")],
)
def test_a_file_without_a_token_is_wrong_usage(
    content: str | None, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    file = tmp_path / "token"
    if content is not None:
        file.write_text(content)
    monkeypatch.setenv(TOKEN_FILE_VARIABLE, str(file))

    # When
    with pytest.raises(UnusableToken, match=complaint) as refused:
        answer_of("http://127.0.0.1:1", "status")

    # Then
    assert refused.value.exit_code is ExitCode.USAGE


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(b"", "does not answer"), (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", "broke its answer off")],
    ids=["none", "half of one"],
)
def test_of_an_action_without_an_answer_nobody_knows_whether_it_was_done(answer: bytes, reason: str) -> None:
    # When
    with somebody_who_answers(answer) as url, pytest.raises(ClientFailed, match=reason) as raised:
        acted(url, {"action": "accept", "execute": True})

    # Then
    assert str(raised.value).endswith("; whether it was done is not known: look again before you repeat it")


def test_a_dry_run_without_an_answer_leaves_nothing_open() -> None:
    with somebody_who_answers(b"") as url, pytest.raises(ClientFailed, match=r"does not answer: [^;]*$"):
        acted(url, {"action": "accept", "execute": False})


def test_an_action_that_nobody_was_asked_for_was_not_done() -> None:
    with pytest.raises(CannotConnect, match="cannot reach"):
        acted("http://127.0.0.1:9", {"action": "accept", "execute": True})
