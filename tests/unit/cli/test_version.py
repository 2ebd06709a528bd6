import platform

from click.testing import CliRunner

from kproxy import __version__
from kproxy.cli.main import cli


def test_the_versions_of_kproxy_and_of_python_are_printed() -> None:
    # When
    result = CliRunner().invoke(cli, ["version"])

    # Then
    assert result.output == f"kproxy {__version__} (Python {platform.python_version()})\n"
