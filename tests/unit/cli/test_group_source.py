from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from kproxy.cli.cluster_access import Security
from kproxy.cli.group_source import AdminPort, Cluster, with_cluster, with_source
from kproxy.settings import load_settings
from kproxy.settings.addresses import HostPort

PLAINTEXT = Security(load_settings(environment={}).settings, is_of_client=False)


@click.command()
@with_source
def either(source: AdminPort | Cluster, /) -> None:
    click.echo(repr(source))


@click.command()
@with_cluster
def wire(cluster: Cluster, /) -> None:
    click.echo(repr(cluster))


def chosen(command: click.Command, *arguments: str) -> str:
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 0, result.output
    return result.stdout.strip()


@pytest.mark.parametrize(
    ("arguments", "source"),
    [
        ((), AdminPort("http://127.0.0.1:9644")),
        (("--admin-url", "http://kproxy:1"), AdminPort("http://kproxy:1")),
        (("-b", "broker1:9092"), Cluster((HostPort("broker1", 9092),), 30_000, PLAINTEXT)),
        (
            ("--bootstrap-server", "broker1:9092,[::1]:9093", "--timeout", "1500"),
            Cluster((HostPort("broker1", 9092), HostPort("::1", 9093)), 1_500, PLAINTEXT),
        ),
    ],
)
def test_a_command_asks_the_admin_port_or_a_cluster(
    arguments: tuple[str, ...], source: AdminPort | Cluster
) -> None:
    assert chosen(either, *arguments) == repr(source)


def test_what_only_the_wire_tells_needs_a_cluster() -> None:
    # When
    result = CliRunner().invoke(wire, [])

    # Then
    assert result.exit_code == 2
    assert "Missing option '-b' / '--bootstrap-server'" in result.stderr


def test_a_cluster_is_asked_for_thirty_seconds() -> None:
    assert chosen(wire, "-b", "broker1:9092") == repr(
        Cluster((HostPort("broker1", 9092),), 30_000, PLAINTEXT)
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("--admin-url", "http://127.0.0.1:9644", "-b", "broker1:9092"),
            "give --admin-url or --bootstrap-server, not both",
        ),
        (("--timeout", "1000"), "--timeout goes with --bootstrap-server"),
        (("-X", "kproxy.log.level=debug"), "--command-config, --config and -X go with --bootstrap-server"),
        (("--command-config", "client.properties"), "--command-config, --config and -X go with"),
        (("-b", "broker1"), "'broker1': expected HOST:PORT, and the port is missing"),
        (("-b", "broker1:9092,"), "'broker1:9092,': expected HOST:PORT"),
        (("-b", "broker1:0"), "expected a port from 1 to 65535, not '0'"),
        (("-b", "broker1:9092", "--timeout", "0"), "0 is not in the range"),
    ],
)
def test_options_that_do_not_go_together_are_wrong_usage(arguments: tuple[str, ...], said: str) -> None:
    # When
    result = CliRunner().invoke(either, arguments)

    # Then
    assert result.exit_code == 2
    assert said in result.stderr


def test_where_the_backing_cluster_is_configured_is_no_matter_of_which_groups_are_asked_about() -> None:
    # When
    result = CliRunner().invoke(either, [], env={"KPROXY_BOOTSTRAP_SERVERS": "broker1:9092"})

    # Then
    assert result.stdout.strip() == repr(AdminPort("http://127.0.0.1:9644"))


@pytest.mark.parametrize("command", [either, wire])
@pytest.mark.parametrize("where", ["environment", "-X", "--config", "--command-config"])
def test_brokers_are_reached_as_by_kproxy_run_or_as_a_file_of_kafkas_tools_says(
    command: click.Command, where: str, tmp_path: Path
) -> None:
    # Given
    key = "security.protocol" if where == "--command-config" else "upstream.security.protocol"
    file = tmp_path / "some.properties"
    file.write_text(f"{key}=SSL\n")
    said = {"environment": (), "-X": ("-X", f"{key}=SSL")}.get(where, (where, str(file)))
    environment = {"KPROXY_UPSTREAM_SECURITY_PROTOCOL": "SSL"} if where == "environment" else {}

    # When
    result = CliRunner().invoke(command, ["-b", "broker1:9092", *said], env=environment)

    # Then
    assert result.exit_code == 0, result.output
    assert "upstream_security_protocol=<UpstreamSecurityProtocol.SSL: 'SSL'>" in result.stdout
