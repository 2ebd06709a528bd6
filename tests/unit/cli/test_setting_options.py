from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from kproxy.cli.setting_options import FLAGS, with_cluster_settings, with_settings
from kproxy.settings import KEYS, HostPort, LoadedSettings


def loaded_from(*arguments: str, **environment: str) -> LoadedSettings:
    loaded: list[LoadedSettings] = []

    @click.command()
    @with_settings
    def command(settings: LoadedSettings) -> None:
        loaded.append(settings)

    result = CliRunner().invoke(command, arguments, env=dict(environment), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return loaded[0]


@pytest.mark.parametrize("flag", FLAGS, ids=lambda flag: flag.parameter)
def test_a_flag_names_its_key_in_its_help(flag: object) -> None:
    assert flag in FLAGS
    assert all(flag.key in KEYS and flag.help.endswith(f"[{flag.key}]") for flag in FLAGS)


def test_every_flag_sets_its_key() -> None:
    # When
    loaded = loaded_from(
        *("-b", "a:1,b:2"),
        *("--listen", "127.0.0.1:9092"),
        *("--broker-port-start", "9200"),
        *("--advertised-host", "kproxy.svc"),
        *("--admin-listener", "none"),
    )

    # Then
    assert loaded.settings.bootstrap_servers == (HostPort("a", 1), HostPort("b", 2))
    assert loaded.settings.listen == HostPort("127.0.0.1", 9092)
    assert loaded.settings.broker_port_start == 9200
    assert loaded.settings.advertised_host == "kproxy.svc"
    assert loaded.settings.admin_listener is None
    assert loaded.origins["bootstrap.servers"] == "--bootstrap-server"


def test_any_key_can_be_overridden() -> None:
    # When
    loaded = loaded_from("-X", "kproxy.log.level=debug", "-X", "kproxy.keepalive.ms=1000")

    # Then
    assert loaded.settings.log_level == "debug"
    assert loaded.settings.keepalive_ms == 1000


def test_the_file_and_the_environment_are_read(tmp_path: Path) -> None:
    # Given
    file = tmp_path / "kproxy.toml"
    file.write_text('kproxy.listen = "127.0.0.1:9092"\nkproxy.keepalive.ms = 1000\n', encoding="utf-8")

    # When
    loaded = loaded_from("-c", str(file), KPROXY_KEEPALIVE_MS="2000")

    # Then
    assert loaded.settings.listen == HostPort("127.0.0.1", 9092)
    assert loaded.settings.keepalive_ms == 2000


def test_a_command_that_only_finds_the_cluster_has_no_flag_for_anything_else() -> None:
    # Given
    loaded: list[LoadedSettings] = []

    @click.command()
    @with_cluster_settings
    def command(settings: LoadedSettings) -> None:
        loaded.append(settings)

    # When
    result = CliRunner().invoke(command, ["-b", "a:1", "-X", "kproxy.state.topic.name=states"])

    # Then
    assert result.exit_code == 0
    assert loaded[0].settings.bootstrap_servers == (HostPort("a", 1),)
    assert loaded[0].settings.state_topic_name == "states"
    assert {name for option in command.params for name in option.opts} == {
        *("-b", "--bootstrap-server"),
        *("-c", "--config"),
        "-X",
    }
