"""The three hosts: clients cannot reach brokers, what leaks makes them fail, and nothing outlives the test."""

import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.compatibility import isolation, namespaces
from tests.compatibility.results import Result
from tests.compatibility.session import RUN_MODULE
from tests.real_kafka.child import Child
from tests.real_kafka.paths import PROJECT_ROOT
from tests.real_kafka.prerequisites import MissingPrerequisite

FORBID_NAMESPACES = 'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"'
ASK_FOR_NAMESPACES = (
    "from tests.compatibility.namespaces import command_on_brokers_host as ask; ask(['true'])"
)


def test_clients_reach_kproxy_and_kproxy_the_brokers_and_nobody_else_anybody() -> None:
    # When
    with Child("isolation", [sys.executable, "-m", isolation.MODULE]) as hosts:
        failures = json.loads(hosts.next_line(timeout_seconds=60))["failures"]

    # Then
    assert failures == {
        "clients to kproxy": "",
        "kproxy to brokers": "",
        "clients to brokers": "[Errno 101] Network is unreachable",
        "clients to loopback": "[Errno 111] Connection refused",
        "clients to brokers by a route through kproxy": "timed out",
    }


def test_the_hosts_vanish_with_the_program_that_made_them() -> None:
    # Given
    hosts = Child("isolation", [sys.executable, "-m", isolation.MODULE])
    holders = json.loads(hosts.next_line(timeout_seconds=60))["holders"]
    processes = [psutil.Process(process_id) for process_id in holders]

    # When
    hosts.kill()
    _, survivors = psutil.wait_procs(processes, timeout=10)

    # Then
    assert len(processes) == 2
    assert survivors == []


def test_a_proxy_that_leaks_addresses_makes_clients_fail() -> None:
    # Given
    clients = ["--client", "kafkajs", "--client", "kafka-python"]
    arguments = ["4.3.1x1", "--leaky", "--scenario", "none", *clients]

    # When
    with Child("run with a leaky proxy", [sys.executable, "-m", RUN_MODULE, *arguments]) as run:
        results = [Result.from_line(line) for line in run.remaining_lines(timeout_seconds=200)]
        status = run.wait(timeout_seconds=30)

    # Then
    assert {result.client for result in results} == {"kafkajs", "kafka-python"}
    assert [result for result in results if result.has_passed] == []
    assert status == 1


def test_a_kernel_that_forbids_namespaces_is_named_with_what_to_do() -> None:
    # Given
    forbidding = ["unshare", "--user", "--map-root-user", "sh", "-c", FORBID_NAMESPACES, "sh"]

    # When
    asked = subprocess.run(
        [*forbidding, sys.executable, "-c", ASK_FOR_NAMESPACES],
        cwd=PROJECT_ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    # Then
    assert asked.returncode == 1
    assert "NamespacesRefused: these tests need user and network namespaces" in asked.stderr
    assert "user.max_user_namespaces > 0" in asked.stderr


def test_a_machine_without_ip_is_told_which_package_has_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Given
    for name in ("unshare", "nsenter"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(namespaces, "PROGRAM_FOLDERS", str(tmp_path))

    # When
    with pytest.raises(MissingPrerequisite) as missing:
        namespaces.command_on_brokers_host(["true"])

    # Then
    assert str(missing.value) == "ip is not installed: on Debian and Ubuntu, apt-get install iproute2"
