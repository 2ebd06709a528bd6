import gc
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest
from click.testing import CliRunner

from kproxy.cli.main import cli
from kproxy.net.relay.early_ports import EarlyPorts
from kproxy.settings import HostPort, LoadedSettings, Settings
from tests.real_kafka.ports import ReservedPort

COMMIT = "0123456789ab"


@pytest.fixture
def started_with(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Settings]]:
    """Puts an application in place that notes its settings and ends with exit code 1."""
    gc.unfreeze()  # what tests before left
    started: list[Settings] = []
    application = ModuleType("kproxy.application")

    def run_proxy(loaded: LoadedSettings, early_ports: EarlyPorts, *, commit: str) -> int:
        settings = loaded.settings
        assert commit == COMMIT
        assert settings.listen in early_ports
        early_ports.close()
        started.append(settings)
        return 1

    monkeypatch.setattr("kproxy.cli.run.own_commit", lambda: COMMIT)
    application.__dict__["run_proxy"] = run_proxy
    monkeypatch.setitem(sys.modules, "kproxy.application", application)
    yield started
    gc.unfreeze()


def test_the_application_is_started_with_the_settings_and_the_commit_and_its_exit_code_is_kept(
    started_with: list[Settings],
) -> None:
    # When
    with ReservedPort() as port:
        result = CliRunner().invoke(cli, ["run", "-b", "kafka:9092", "--listen", port.address])

    # Then
    assert result.exit_code == 1
    assert [settings.bootstrap_servers for settings in started_with] == [(HostPort("kafka", 9092),)]
    assert [settings.listen for settings in started_with] == [HostPort("127.0.0.1", port.number)]


def test_nothing_is_started_without_a_backing_cluster(started_with: list[Settings]) -> None:
    # When
    result = CliRunner().invoke(cli, ["run"])

    # Then
    assert result.exit_code == 2
    assert "bootstrap.servers is not set" in result.stderr
    assert started_with == []


def test_nothing_is_started_with_a_wrong_configuration(started_with: list[Settings]) -> None:
    # When
    result = CliRunner().invoke(cli, ["run", "-b", "kafka:9092", "--listen", "0.0.0.0:9093"])

    # Then
    assert result.exit_code == 2
    assert "clients cannot connect to 0.0.0.0" in result.stderr
    assert started_with == []


def test_what_the_imports_made_is_kept_out_of_every_collection(
    started_with: list[Settings],
) -> None:
    # Given
    assert gc.get_freeze_count() == 0

    # When
    with ReservedPort() as port:
        CliRunner().invoke(cli, ["run", "-b", "kafka:9092", "--listen", port.address])

    # Then
    assert len(started_with) == 1
    assert gc.get_freeze_count() > 10_000
    assert gc.isenabled()
