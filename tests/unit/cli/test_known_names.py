"""Names that a shell completes, asked of a real admin port."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

import pytest
from click.shell_completion import ShellComplete

from kproxy.cli.admin_port import ADMIN_URL_VARIABLE
from kproxy.cli.completion import COMPLETION_VARIABLE
from kproxy.cli.main import cli
from tests.in_memory.inspectable import ORDERS, Inspectable, serving


@pytest.fixture(scope="module")
def admin_url() -> Iterator[str]:
    inspectable = Inspectable()
    inspectable.join("alice")
    inspectable.join("alan")
    inspectable.join("zoe", group_id="auditors")
    inspectable.join("eve", group_id="work in progress")
    for group_id in (
        "works;reboot",
        "works|sh",
        "works&",
        "works(a)",
        "works*",
        "works<x",
        "works!1",
        "works#",
        "~",
        "=ls",
    ):
        inspectable.join("mallory", group_id=group_id)
    inspectable.open_session("alice", (ORDERS, 0))
    inspectable.open_session("zoe", (ORDERS, 1), group_id="auditors")
    inspectable.write_state(0, start_offset=5)
    with serving(inspectable.server()) as url:
        yield url


def completed(*words: str) -> list[str]:
    """Return what may stand in place of the last word."""
    shell = ShellComplete(cli, {}, "kproxy", COMPLETION_VARIABLE)
    return [item.value for item in shell.get_completions(list(words[:-1]), words[-1])]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("in-flight", "list", "-g", ""), ["auditors", "workers"]),
        (("in-flight", "list", "--group", "w"), ["workers"]),
        (("groups", "describe", "a"), ["auditors"]),
        (("why", "-g", "wo"), ["workers"]),
        (("log", "audit", "-g", "x"), []),
        (("sessions", "end", "-g", "workers", "-m", "al"), ["alan", "alice"]),
        (("sessions", "list", "-m", ""), ["alice", "zoe"]),
        (("in-flight", "archive", "-g", "workers", "-t", "o"), ["orders"]),
        (("in-flight", "list", "-t", ""), ["orders"]),
        (("sessions", "describe", "-g", "w"), ["workers"]),
        (("sessions", "describe", "-g", "workers", "-m", "ali"), ["alice"]),
        (("top", "--filter", "au"), ["auditors"]),
    ],
)
def test_names_are_asked_of_the_running_kproxy(
    admin_url: str, monkeypatch: pytest.MonkeyPatch, words: Sequence[str], names: Sequence[str]
) -> None:
    # Given
    monkeypatch.setenv(ADMIN_URL_VARIABLE, admin_url)

    # Then
    assert completed(*words) == list(names)


def test_the_admin_port_may_be_named_in_the_command(admin_url: str) -> None:
    assert completed("in-flight", "list", "--admin-url", admin_url, "-g", "work") == ["workers"]


def test_nobody_who_answers_has_no_names_and_says_nothing(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    # Given
    monkeypatch.setenv(ADMIN_URL_VARIABLE, "http://127.0.0.1:9")

    # Then
    assert completed("in-flight", "list", "-g", "") == []
    assert capfd.readouterr() == ("", "")


def test_a_server_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        monkeypatch.setenv(ADMIN_URL_VARIABLE, f"http://127.0.0.1:{hanging.getsockname()[1]}")
        began = time.monotonic()

        # When
        names = completed("in-flight", "list", "-g", "")

    # Then
    assert not names
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("shell", "asked", "answer"),
    [
        ("bash", {"COMP_WORDS": "kproxy why -g w", "COMP_CWORD": "3"}, "plain,workers"),
        ("zsh", {"COMP_WORDS": "kproxy why -g w", "COMP_CWORD": "3"}, "plain\nworkers\n_"),
        ("fish", {"COMP_WORDS": "kproxy why -g", "COMP_CWORD": "w"}, "plain,workers"),
    ],
)
def test_every_shell_gets_them(admin_url: str, shell: str, asked: dict[str, str], answer: str) -> None:
    # When
    ended = subprocess.run(
        [sys.executable, "-m", "kproxy"],
        env={**os.environ, **asked, COMPLETION_VARIABLE: f"{shell}_complete", ADMIN_URL_VARIABLE: admin_url},
        capture_output=True,
        text=True,
        check=True,
    )

    # Then
    assert (ended.stdout.strip(), ended.stderr) == (answer, "")
