from collections.abc import Sequence

import click
import pytest
from click.testing import CliRunner

from kproxy.cli.group_choice import with_group, with_groups


@click.command()
@with_groups
def several(wanted: Sequence[str] | None, /) -> None:
    click.echo("all" if wanted is None else ",".join(wanted))


@click.command()
@with_group
def one(group_id: str, /) -> None:
    click.echo(group_id)


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (("a", "b"), "a,b"),
        (("-g", "a", "--group", "b"), "a,b"),
        (("b", "-g", "a", "-g", "b"), "b,a"),
        (("--all-groups",), "all"),
    ],
)
def test_groups_are_given_as_arguments_or_options_each_once(arguments: tuple[str, ...], wanted: str) -> None:
    assert CliRunner().invoke(several, arguments).stdout.strip() == wanted


@pytest.mark.parametrize("arguments", [(), ("a", "--all-groups")])
def test_which_groups_are_meant_is_said_one_way(arguments: tuple[str, ...]) -> None:
    # When
    result = CliRunner().invoke(several, arguments)

    # Then
    assert result.exit_code == 2
    assert "give one GROUP or more, or --all-groups" in result.stderr


@pytest.mark.parametrize("arguments", [("a",), ("-g", "a"), ("a", "-g", "a")])
def test_a_group_is_given_as_argument_or_option(arguments: tuple[str, ...]) -> None:
    assert CliRunner().invoke(one, arguments).stdout.strip() == "a"


@pytest.mark.parametrize("arguments", [(), ("a", "b"), ("a", "-g", "b")])
def test_one_group_is_one(arguments: tuple[str, ...]) -> None:
    # When
    result = CliRunner().invoke(one, arguments)

    # Then
    assert result.exit_code == 2
    assert "give one GROUP" in result.stderr
