import platform

import pytest
from click.testing import CliRunner

from kproxy import __version__
from kproxy.cli import version
from kproxy.cli.main import cli


@pytest.mark.parametrize("asked", ["version", "--version"])
def test_the_versions_of_kproxy_and_of_python_are_printed_with_the_commit(
    asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    monkeypatch.setattr(version, "own_commit", lambda: "0123456789ab")

    # When
    result = CliRunner().invoke(cli, [asked])

    # Then
    assert (
        result.output == f"kproxy {__version__} (commit 0123456789ab, Python {platform.python_version()})\n"
    )


def test_a_commit_that_nobody_knows_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given
    monkeypatch.setattr(version, "own_commit", lambda: "")

    # When
    result = CliRunner().invoke(cli, ["version"])

    # Then
    assert result.output == f"kproxy {__version__} (Python {platform.python_version()})\n"
