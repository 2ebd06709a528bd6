"""What looks at one share-partition has to be told which."""

import pytest
from click.testing import CliRunner

from kproxy.cli.main import cli


@pytest.mark.parametrize("command", [["show", "4"], ["window"]])
@pytest.mark.parametrize(
    ("place", "missing"),
    [
        (["-t", "orders", "-p", "0"], "--group"),
        (["-g", "workers", "-p", "0"], "--topic"),
        (["-g", "workers", "-t", "orders"], "--partition"),
    ],
)
def test_a_place_that_is_not_whole_is_wrong_usage(command: list[str], place: list[str], missing: str) -> None:
    # When
    result = CliRunner().invoke(cli, ["in-flight", *command, *place])

    # Then
    assert (result.exit_code, missing in result.stderr) == (2, True)
