"""The services of deploy/compose find each other, and kproxy is told what it knows. No engine here starts them."""

from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from kproxy.settings import KEYS, Settings
from tests.deploy.commands import settings_of_run

FOLDER: Final = Path(__file__).resolve().parents[2] / "deploy" / "compose"


def services() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))[
        "services"
    ]
    return found


def settings_of_kproxy(folder: Path) -> Settings:
    def no_file(path: str) -> str:
        raise AssertionError(path)

    service = services()["kproxy"]
    return settings_of_run(service["command"], service["environment"], no_file, folder).settings


def published(service: dict[str, Any]) -> set[str]:
    """HOST:PORT of this machine, for each port that has the same number inside."""
    triples = [port.rsplit(":", 2) for port in service["ports"]]
    assert all(outside == inside for _, outside, inside in triples)
    return {f"{host}:{outside}" for host, outside, _ in triples}


def test_there_are_kafka_kproxy_prometheus_and_grafana() -> None:
    assert set(services()) == {"kafka", "kproxy", "prometheus", "grafana"}


@pytest.mark.parametrize("name", ["kafka", "prometheus", "grafana"])
def test_what_is_not_built_here_has_a_version(name: str) -> None:
    # When
    image, _, tag = services()[name]["image"].partition(":")

    # Then
    assert image in {"apache/kafka", "prom/prometheus", "grafana/grafana"}
    assert tag.strip("v")[0].isdigit()


def test_kproxy_is_built_from_the_dockerfile() -> None:
    # When
    build = services()["kproxy"]["build"]

    # Then
    context = FOLDER / build["context"]
    assert (context / "pyproject.toml").exists()
    assert (context / build["dockerfile"]).exists()


def test_kproxy_is_in_front_of_the_broker_and_clients_reach_what_they_are_told(tmp_path: Path) -> None:
    # Given
    kafka = services()["kafka"]["environment"]

    # When
    settings = settings_of_kproxy(tmp_path)

    # Then
    assert f"PLAINTEXT://{settings.bootstrap_servers[0]}" == kafka["KAFKA_ADVERTISED_LISTENERS"]
    broker_port = settings.broker_port_start + int(kafka["KAFKA_NODE_ID"])
    told = {settings.listen.port, broker_port}
    assert {f"{settings.advertised_host}:{port}" for port in told} <= published(services()["kproxy"])


def test_one_broker_holds_one_replica_of_everything(tmp_path: Path) -> None:
    # When
    settings = settings_of_kproxy(tmp_path)

    # Then
    assert settings.share_coordinator_state_topic_replication_factor == 1
    assert settings.share_coordinator_state_topic_min_isr == 1
    kafka = services()["kafka"]["environment"]
    assert {value for name, value in kafka.items() if name.endswith(("_REPLICATION_FACTOR", "_MIN_ISR"))} == {
        "1"
    }


def test_prometheus_may_ask_kproxy_by_its_name(tmp_path: Path) -> None:
    # When
    settings = settings_of_kproxy(tmp_path)

    # Then
    assert settings.admin_listener is not None
    assert not settings.admin_listener.is_loopback
    assert services()["kproxy"]["hostname"] in settings.admin_allowed_hosts


def test_the_token_of_the_admin_port_is_a_secret_that_no_commit_has(tmp_path: Path) -> None:
    # Given
    compose = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))

    # When
    (secret,) = services()["kproxy"]["secrets"]

    # Then
    assert settings_of_kproxy(tmp_path).admin_token_file == f"/run/secrets/{secret}"
    file = compose["secrets"][secret]["file"]
    assert Path(file).name in (FOLDER / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_nothing_is_published_beyond_this_machine() -> None:
    # When
    ports = {port for service in services().values() for port in service.get("ports", ())}

    # Then
    assert {port.partition(":")[0] for port in ports} == {"127.0.0.1"}


def test_kproxy_has_no_more_rights_than_in_a_pod(tmp_path: Path) -> None:
    # When
    service = services()["kproxy"]

    # Then
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    seconds = int(service["stop_grace_period"].removesuffix("s"))
    assert seconds * 1000 >= settings_of_kproxy(tmp_path).shutdown_grace_ms + 5_000


def test_every_variable_of_kproxy_is_a_key() -> None:
    # When
    variables = set(services()["kproxy"]["environment"])

    # Then
    assert variables <= {key.environment_name for key in KEYS.values()}
