from collections.abc import Mapping

import click
import pytest
from click.testing import CliRunner

from kproxy.cli.execution import end, status_text, with_execution
from kproxy.cli.exit_codes import CommandFailed, ExitCode
from kproxy.clients.failures import ClientFailed, NotAllowed, NotThere

BUSY = ClientFailed("it has members")
GONE = NotThere("there is none")


@click.command()
@with_execution
def change(*, is_executed: bool) -> None:
    click.echo(is_executed)


@pytest.mark.parametrize(
    ("arguments", "is_executed"), [((), "False"), (("--dry-run",), "False"), (("--execute",), "True")]
)
def test_nothing_is_done_unless_it_is_said(arguments: tuple[str, ...], is_executed: str) -> None:
    assert CliRunner().invoke(change, arguments).stdout.strip() == is_executed


@pytest.mark.parametrize("arguments", [("--dry-run", "--execute"), ("--execute", "--dry-run")])
def test_a_dry_run_that_is_executed_is_wrong_usage(arguments: tuple[str, ...]) -> None:
    # When
    result = CliRunner().invoke(change, arguments)

    # Then
    assert result.exit_code == 2
    assert "give --dry-run or --execute, not both" in result.stderr


def test_the_status_is_what_became_of_it() -> None:
    # When
    texts = [status_text(each, is_executed=done) for each in (None, BUSY) for done in (True, False)]

    # Then
    assert texts == ["Successful", "To be deleted", "Error: it has members", "Error: it has members"]


@pytest.mark.parametrize(
    ("outcomes", "exit_code", "message"),
    [
        ({"a": None, "b": GONE}, ExitCode.PARTIAL_FAILURE, "1 group of 2 could not be changed"),
        ({"a": GONE}, ExitCode.NOT_FOUND, "1 group of 1 could not be changed"),
        ({"a": GONE, "b": GONE}, ExitCode.NOT_FOUND, "2 groups of 2 could not be changed"),
        ({"a": GONE, "b": BUSY}, ExitCode.FAILED, "2 groups of 2 could not be changed"),
        ({"a": NotAllowed("not you")}, ExitCode.CANNOT_CONNECT, "1 group of 1 could not be changed"),
    ],
)
def test_a_command_ends_as_its_failures_say(
    outcomes: Mapping[str, ClientFailed | None], exit_code: ExitCode, message: str
) -> None:
    # When
    with pytest.raises(CommandFailed) as failed:
        end(outcomes, "group", is_executed=True)

    # Then
    assert (failed.value.exit_code, failed.value.message) == (exit_code, message)


def test_a_success_ends_in_silence(capsys: pytest.CaptureFixture[str]) -> None:
    # When
    end({"a": None}, "group", is_executed=True)

    # Then
    assert capsys.readouterr() == ("", "")


def test_a_dry_run_says_that_it_was_one(capsys: pytest.CaptureFixture[str]) -> None:
    # When
    end({"a": None}, "group", is_executed=False)

    # Then
    assert capsys.readouterr().err == "dry run: nothing was changed; --execute does it\n"
