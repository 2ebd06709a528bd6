from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import SettingsError
from kproxy.settings import KEYS, Assignment, HostPort, load_settings, property_line

LOG_LEVEL = "kproxy.log.level"


@given(
    in_file=st.none() | st.just("debug"),
    in_environment=st.none() | st.just("warning"),
    on_command_line=st.none() | st.just("error"),
)
def test_the_command_line_wins_over_the_environment_and_that_over_the_file(
    tmp_path_factory: pytest.TempPathFactory,
    in_file: str | None,
    in_environment: str | None,
    on_command_line: str | None,
) -> None:
    # Given
    file = tmp_path_factory.mktemp("settings") / "kproxy.properties"
    file.write_text(property_line(LOG_LEVEL, in_file) if in_file else "", encoding="utf-8")
    environment = {"KPROXY_LOG_LEVEL": in_environment} if in_environment else {}
    command_line = [Assignment(LOG_LEVEL, on_command_line, "-X")] if on_command_line else []

    # When
    loaded = load_settings(file=file, environment=environment, command_line=command_line)

    # Then
    assert loaded.settings.log_level == (on_command_line or in_environment or in_file or "info")


def test_the_origin_of_every_value_is_remembered(tmp_path: Path) -> None:
    # Given
    file = tmp_path / "kproxy.properties"
    file.write_text("kproxy.keepalive.ms=1000\n", encoding="utf-8")

    # When
    loaded = load_settings(
        file=file,
        environment={"KPROXY_LOG_LEVEL": "debug"},
        command_line=[Assignment("kproxy.listen", "a:1", "--listen")],
    )

    # Then
    assert loaded.origins["kproxy.keepalive.ms"] == f"file {file} line 1"
    assert loaded.origins["kproxy.log.level"] == "environment variable KPROXY_LOG_LEVEL"
    assert loaded.origins["kproxy.listen"] == "--listen"
    assert loaded.origins["kproxy.log.format"] == "default"
    assert list(loaded.origins) == list(KEYS)


def test_everything_that_is_wrong_is_said_at_once_with_value_and_origin() -> None:
    # Given
    environment = {"KPROXY_KEEPALIVE_MS": "4min", "KPROXY_LISTN": "a:1"}
    command_line = [Assignment("kproxy.broker.port.start", "0", "--broker-port-start")]

    # When
    with pytest.raises(SettingsError) as refusal:
        load_settings(environment=environment, command_line=command_line)

    # Then
    assert str(refusal.value).splitlines() == [
        "unknown key 'KPROXY_LISTN' (environment variable KPROXY_LISTN): did you mean KPROXY_LISTEN?",
        (
            "kproxy.keepalive.ms = '4min' (environment variable KPROXY_KEEPALIVE_MS): expected a whole "
            "number of milliseconds from 100 to 2147483647, without a unit: write 240000"
        ),
        "kproxy.broker.port.start = '0' (--broker-port-start): expected a whole number from 1 to 65535",
    ]


def test_a_contradiction_shows_both_values_and_both_origins() -> None:
    # Given
    command_line = [Assignment("group.share.record.lock.duration.ms", "5000", "-X")]

    # When
    with pytest.raises(SettingsError) as refusal:
        load_settings(environment={}, command_line=command_line)

    # Then
    assert str(refusal.value) == (
        "group.share.min.record.lock.duration.ms = 15000 (default) must be at most "
        "group.share.record.lock.duration.ms = 5000 (-X)"
    )


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]"])
def test_binding_every_address_asks_for_an_advertised_host(host: str) -> None:
    with pytest.raises(SettingsError, match=r"set kproxy\.advertised\.host to a name or address"):
        load_settings(environment={"KPROXY_LISTEN": f"{host}:9092"})


def test_a_backing_cluster_is_all_that_a_run_needs() -> None:
    # Given
    loaded = load_settings(environment={"KPROXY_BOOTSTRAP_SERVERS": "kafka:9092"})

    # When
    settings = loaded.ready_to_run()

    # Then
    assert settings.bootstrap_servers == (HostPort("kafka", 9092),)


def test_a_run_without_a_backing_cluster_is_refused_with_the_ways_to_name_it() -> None:
    with pytest.raises(SettingsError, match=r"bootstrap\.servers is not set: name .* with -b HOST:PORT"):
        load_settings(environment={}).ready_to_run()
