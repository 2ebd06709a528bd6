"""The options of commands that ask the backing cluster; tests/kafka/test_secured_clusters.py asks some with TLS."""

import socket
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from kproxy.cli.backing_cluster import BackingCluster, with_backing_cluster
from kproxy.clients.failures import CannotConnect
from kproxy.errors import SettingsError


def cluster_of(*arguments: str) -> BackingCluster:
    found: list[BackingCluster] = []

    @click.command()
    @with_backing_cluster
    def command(cluster: BackingCluster, /) -> None:
        found.append(cluster)

    result = CliRunner().invoke(
        command, arguments, catch_exceptions=False, env={"KPROXY_BOOTSTRAP_SERVERS": ""}
    )
    assert result.exit_code == 0, result.output
    return found[0]


def test_it_is_reached_as_kproxy_run_would_or_as_a_file_of_kafkas_tools_says(tmp_path: Path) -> None:
    # Given
    file = tmp_path / "client.properties"
    file.write_text("security.protocol=SSL\n")

    # When
    own = cluster_of("-b", "broker1:9092", "-X", "upstream.security.protocol=SSL")
    clients = cluster_of("-b", "broker1:9092", "--command-config", str(file))

    # Then
    assert [each.security.is_of_client for each in (own, clients)] == [False, True]
    assert not own.security.is_plaintext
    assert not clients.security.is_plaintext
    assert [str(each) for each in clients.settings.bootstrap_servers] == ["broker1:9092"]


def test_without_a_cluster_there_is_nothing_to_ask() -> None:
    with pytest.raises(SettingsError, match=r"bootstrap\.servers is not set"):
        cluster_of()


def test_who_is_let_in_is_found_out_only_where_somebody_asks_who_comes() -> None:
    # Given
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = "127.0.0.1:" + str(closed.getsockname()[1])

    # When
    cluster_of("-b", address).require_access()

    # Then
    with pytest.raises(CannotConnect, match="Connection refused"):
        cluster_of("-b", address, "-X", "upstream.security.protocol=SSL").require_access()
