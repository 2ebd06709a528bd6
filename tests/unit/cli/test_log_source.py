from collections.abc import Sequence

import pytest
from click.testing import CliRunner

from kproxy.cli.main import cli


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("-b", "kafka-1:9092"), "-b, --config, -X and --command-config go with --from-log"),
        (
            ("--from-log", "-b", "kafka-1:9092", "--admin-url", "http://127.0.0.1:1"),
            "give --admin-url or --from-log, not both: each is another answer",
        ),
        (
            ("--from-log", "-b", "kafka-1:9092", "--held", "5"),
            "--member and --held do not go with --from-log: who holds records is not in the log",
        ),
    ],
)
def test_options_of_the_one_source_do_not_go_with_the_other(options: Sequence[str], complaint: str) -> None:
    # When
    result = CliRunner().invoke(cli, ["in-flight", "list", *options])

    # Then
    assert result.exit_code == 2
    assert complaint in result.stderr


def test_the_log_is_somewhere() -> None:
    # When
    result = CliRunner().invoke(cli, ["in-flight", "list", "--from-log"])

    # Then
    assert result.exit_code == 2
    assert "bootstrap.servers" in result.stderr


def test_an_admin_port_of_the_environment_does_not_stand_in_the_way() -> None:
    # When
    result = CliRunner(env={"KPROXY_ADMIN_URL": "http://127.0.0.1:1"}).invoke(
        cli, ["in-flight", "list", "--from-log", "-X", "nonsense"]
    )

    # Then
    assert "not both" not in result.stderr
