"""What a kproxy says that was started wrongly, as an image starts it: in one line, with what to set.

That its principal may not create the topics of the state log: tests/kafka/test_own_rights.py.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Final

import pytest

from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import KproxyProcess

TIMEOUT_S: Final = 60
USAGE: Final = 2
CHECK_FAILED: Final = 5
UNKNOWN_HOST: Final = "kproxy.invalid"
"""Nobody has a name in this domain (RFC 6761)."""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kproxy", *arguments],
        env={key: value for key, value in os.environ.items() if not key.startswith("KPROXY_")},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run"], "bootstrap.servers is not set: name the backing cluster with -b HOST:PORT"),
        (
            ["run", "-b", "broker1:9092", "--listen", "0.0.0.0:19092"],
            "set kproxy.advertised.host to a name or address of this machine",
        ),
    ],
    ids=["no address to bootstrap at", "no address to advertise"],
)
def test_a_start_without_an_address_ends_with_one_line_that_says_what_to_set(
    arguments: Sequence[str], said: str
) -> None:
    # When
    ended = run(*arguments)

    # Then
    assert (ended.returncode, ended.stdout) == (USAGE, "")
    [line] = ended.stderr.splitlines()
    assert said in line


def test_a_host_to_advertise_that_nobody_knows_is_told_by_kproxy_and_by_doctor(
    reference_cluster: KafkaCluster,
) -> None:
    # Given
    settings = {"kproxy.advertised.host": UNKNOWN_HOST}
    with KproxyProcess(reference_cluster.bootstrap_servers, settings=settings) as kproxy:
        kproxy.wait_until_ready()

        # When
        kproxy.wait_until(lambda: kproxy.log_events("advertised_host_unknown") != [])
        looked = run("doctor", "-b", reference_cluster.bootstrap_servers, "--admin-url", kproxy.admin_url)

        # Then
        [line] = kproxy.log_events("advertised_host_unknown")
    assert line["host"] == UNKNOWN_HOST
    assert "set kproxy.advertised.host" in line["advice"]
    assert looked.returncode == CHECK_FAILED
    assert f"FAILED   name: {UNKNOWN_HOST} is not known here" in looked.stdout
    assert "set kproxy.advertised.host to a name or address that they know" in looked.stdout


def test_a_port_that_clients_cannot_reach_is_told_by_doctor_with_the_keys_to_set(
    reference_cluster: KafkaCluster,
) -> None:
    # Given: an address at which nobody listens
    settings = {"kproxy.advertised.host": "127.0.0.2"}
    with KproxyProcess(reference_cluster.bootstrap_servers, settings=settings) as kproxy:
        kproxy.wait_until_ready()

        # When
        looked = run("doctor", "-b", reference_cluster.bootstrap_servers, "--admin-url", kproxy.admin_url)

        # Then
        port = kproxy.broker_addresses[1].rpartition(":")[2]
    assert looked.returncode == CHECK_FAILED
    assert f"FAILED   connection: cannot connect to 127.0.0.2:{port}" in looked.stdout
    assert "set kproxy.advertised.host to what they reach, and open the port" in looked.stdout
