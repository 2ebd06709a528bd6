"""A command that watches shows one look after the other, and outlives what it looks at."""

from collections.abc import Callable

import click
import pytest
from click.testing import CliRunner

from kproxy.cli.exit_codes import CommandFailed, ExitCode
from kproxy.cli.watch import look_again_and_again, with_watch
from kproxy.clients.failures import CannotConnect


def looks(*outcomes: str | Exception) -> tuple[Callable[[], None], Callable[[], None]]:
    """A look with these outcomes, and a pause that ends the watch after them."""
    coming = list(outcomes)

    def look() -> None:
        outcome = coming.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        click.echo(outcome)

    def pause() -> None:
        if not coming:
            raise KeyboardInterrupt

    return look, pause


def test_off_a_terminal_looks_stand_one_below_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    # Given
    look, pause = looks("one", "two")

    # When
    look_again_and_again(look, is_terminal=False, pause=pause)

    # Then
    assert capsys.readouterr().out == "one\ntwo\n"


def test_a_kproxy_that_is_away_for_a_while_is_said_and_looked_for_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Given
    look, pause = looks(
        "one", CannotConnect("cannot reach it"), CommandFailed("not whole", ExitCode.FAILED), "two"
    )

    # When
    look_again_and_again(look, is_terminal=False, pause=pause)

    # Then
    told = capsys.readouterr()
    assert (told.out, told.err) == ("one\ntwo\n", "Error: cannot reach it\nError: not whole\n")


def test_a_first_look_that_shows_what_is_wrong_is_followed_by_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Given
    pauses = iter([None])

    def look() -> None:
        click.echo("not-ready")
        raise CommandFailed("kproxy is not-ready", ExitCode.CHECK_FAILED)

    def pause() -> None:
        if next(pauses, KeyboardInterrupt) is KeyboardInterrupt:
            raise KeyboardInterrupt

    # When
    look_again_and_again(look, is_terminal=False, pause=pause)

    # Then
    told = capsys.readouterr()
    assert (told.out, told.err) == ("not-ready\n" * 2, "Error: kproxy is not-ready\n" * 2)


@pytest.mark.parametrize(
    "outcomes",
    [
        [CannotConnect("nobody there")],
        ["one", CommandFailed("wrong usage", ExitCode.USAGE)],
    ],
)
def test_a_first_look_that_fails_and_wrong_usage_end_it(outcomes: list[str | Exception]) -> None:
    # Given
    look, pause = looks(*outcomes)

    # When
    with pytest.raises((CannotConnect, CommandFailed)) as raised:
        look_again_and_again(look, is_terminal=False, pause=pause)

    # Then
    assert raised.value in outcomes


def test_without_the_option_a_command_looks_once() -> None:
    # Given
    @click.command()
    @with_watch
    def command() -> None:
        click.echo("once")

    # When
    result = CliRunner().invoke(command, [])

    # Then
    assert (result.exit_code, result.output) == (0, "once\n")
