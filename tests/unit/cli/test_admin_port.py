"""Commands that were told less than the whole truth. tests/unit/clients/test_admin_port.py has every kind of answer."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from kproxy.cli.exit_codes import ExitCode
from kproxy.cli.main import cli
from kproxy.clients.admin_port import TOKEN_FILE
from tests.in_memory.inspectable import ORDERS, Inspectable, serving

TAKEN_OVER = "another kproxy took the state log over: kproxy at host-2; stop one of the two"

LISTS = [
    (["groups", "list", "--no-headers"], "workers  Stable  -  -\n"),
    (["groups", "describe", "workers", "--state", "--no-headers"], "workers  -  Stable  1\n"),
    (["sessions", "list", "--no-headers"], "workers  alice  client-1  1  1  1  1  1000  1.0s\n"),
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
    assert result.stderr.splitlines()[-1] == (f"Error: not the whole truth: {TAKEN_OVER}")


def test_a_group_that_is_not_known_while_share_groups_are_unavailable_is_not_said_to_be_missing() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.unavailable = TAKEN_OVER

    # When
    with serving(inspectable.server()) as url:
        result = CliRunner().invoke(cli, ["groups", "describe", "workers", "--admin-url", url])

    # Then
    assert (result.exit_code, result.stdout) == (ExitCode.FAILED, "")
    assert result.stderr == f"Error: nothing of that is known: {TAKEN_OVER}\n"


@pytest.mark.parametrize("command", [["sessions", "list"], ["groups", "list"], ["status"]])
def test_the_environment_may_say_which_kproxy_is_asked(
    command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    monkeypatch.setenv("KPROXY_ADMIN_URL", "http://127.0.0.1:1")

    # When
    result = CliRunner().invoke(cli, command)

    # Then
    assert (result.exit_code, "http://127.0.0.1:1/" in result.output) == (4, True), result.output


@pytest.mark.parametrize("command", [["sessions", "list"], ["groups", "list"], ["status"]])
def test_a_file_with_a_token_can_be_named_and_counts_for_this_command_alone(
    command: list[str], tmp_path: Path
) -> None:
    # When
    missing = str(tmp_path / "missing")
    result = CliRunner().invoke(cli, [*command, "--admin-token-file", missing])

    # Then
    assert f"the file of the token, {missing}, cannot be read" in result.output
    assert TOKEN_FILE.get() is None
