from pathlib import Path

from click.testing import CliRunner

from kproxy.cli.main import cli
from kproxy.settings import KEYS


def test_show_prints_a_properties_file_that_gives_the_same_settings_again(tmp_path: Path) -> None:
    # Given
    first = CliRunner().invoke(
        cli, ["config", "show", "-b", "a:1,b:2", "-X", "kproxy.broker.port.map=1=9301"]
    )
    file = tmp_path / "shown.properties"
    file.write_text(first.output, encoding="utf-8")

    # When
    second = CliRunner().invoke(cli, ["config", "show", "-c", str(file)])

    # Then
    assert "bootstrap.servers=a:1,b:2\n" in first.output
    assert "kproxy.broker.port.map=1=9301\n" in first.output
    assert second.output == first.output


def test_show_lists_every_key_once_in_the_order_of_the_table() -> None:
    # When
    result = CliRunner().invoke(cli, ["config", "show"])

    # Then
    assert [line.partition("=")[0] for line in result.output.splitlines()] == list(KEYS)


def test_show_with_origin_says_where_each_value_comes_from() -> None:
    # When
    result = CliRunner().invoke(
        cli, ["config", "show", "--origin", "--listen", "a:1"], env={"KPROXY_LOG_LEVEL": "debug"}
    )

    # Then
    rows = [line.split(maxsplit=2) for line in result.output.splitlines()]
    assert rows[0] == ["KEY", "VALUE", "ORIGIN"]
    assert ["kproxy.listen", "a:1", "--listen"] in rows
    assert ["kproxy.log.level", "debug", "environment variable KPROXY_LOG_LEVEL"] in rows
    assert ["bootstrap.servers", "-", "default"] in rows


def test_a_valid_configuration_is_confirmed_on_standard_error() -> None:
    # When
    result = CliRunner().invoke(cli, ["config", "validate", "-b", "kafka:9092"])

    # Then
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "The configuration is valid.\n"


def test_a_configuration_without_a_backing_cluster_is_not_valid() -> None:
    # When
    result = CliRunner().invoke(cli, ["config", "validate"])

    # Then
    assert result.exit_code == 2
    assert "bootstrap.servers is not set" in result.stderr


def test_files_of_tls_that_cannot_be_used_are_not_valid() -> None:
    # When
    options = ["-b", "kafka:9092", "-X", "kproxy.listener.security.protocol=SSL"]
    result = CliRunner().invoke(
        cli, ["config", "validate", *options, "-X", "ssl.keystore.location=/none/tls.pem"]
    )

    # Then
    assert result.exit_code == 2
    assert "ssl.keystore.location /none/tls.pem cannot be read: No such file" in result.stderr
