"""What is loaded before kproxy serves, and what when it does already."""

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.real_kafka.ports import LOOPBACK, ReservedPort

NOBODY: Final = f"{LOOPBACK}:1"
"""Where no cluster answers."""
PATIENCE_SECONDS: Final = 60.0
POLL_SECONDS: Final = 0.001
EVERYWHERE: Final = "0.0.0.0"

HEAVY: Final = ("aiohttp", "asyncio", "construct", "prometheus_client", "uvloop")


def loaded_with(module: str) -> set[str]:
    """Return which heavy packages `module` brings with it."""
    program = (
        f"import json, sys, {module}; print(json.dumps([name for name in {HEAVY} if name in sys.modules]))"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    return set(json.loads(finished.stdout))


def test_ports_listen_before_anything_is_loaded_that_takes_long() -> None:
    assert loaded_with("kproxy.cli.run") == set()


def test_the_http_server_is_not_loaded_with_the_application() -> None:
    assert set(HEAVY) - loaded_with("kproxy.application") == {"aiohttp"}


@contextmanager
def kproxy_without_cluster(
    *, admin: ReservedPort, admin_host: str = LOOPBACK
) -> Iterator[subprocess.Popen[str]]:
    """A kproxy that looks for its cluster in vain."""
    with ReservedPort() as listen:
        admin_listener = f"kproxy.admin.listener={admin_host}:{admin.number}"
        arguments = ["-X", f"kproxy.listen={listen.address}", "-X", admin_listener]
        command = [sys.executable, "-m", "kproxy", "run", "-b", NOBODY, *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                yield process
            finally:
                process.kill()


def status_of(path: str, admin: ReservedPort, process: subprocess.Popen[str]) -> int:
    """Ask the admin port of a process, in the moment in which it listens."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        connection = http.client.HTTPConnection(LOOPBACK, admin.number, timeout=PATIENCE_SECONDS)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        except ConnectionRefusedError:
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < deadline
            time.sleep(POLL_SECONDS)
        finally:
            connection.close()


@pytest.mark.parametrize(("path", "status"), [("/livez", 200), ("/readyz", 503)])
def test_who_asks_first_is_answered_as_soon_as_the_http_server_is_loaded(path: str, status: int) -> None:
    with ReservedPort() as admin, kproxy_without_cluster(admin=admin) as process:
        assert status_of(path, admin, process) == status


def test_a_port_that_others_reach_answers_probes_and_says_what_everything_else_wants() -> None:
    with ReservedPort() as admin, kproxy_without_cluster(admin=admin, admin_host=EVERYWHERE) as process:
        # When
        statuses = [status_of(path, admin, process) for path in ("/livez", "/metrics", "/api/v1/status")]

        # Then
        process.kill()
        _, logged = process.communicate(timeout=PATIENCE_SECONDS)
    assert statuses == [200, 200, 403]
    assert "admin port without a token" in logged
    assert "set kproxy.admin.token.file, or listen on 127.0.0.1" in logged


def test_a_token_that_is_none_keeps_kproxy_from_starting(tmp_path: Path) -> None:
    # Given
    token = tmp_path / "token"
    token.write_text("short")

    # When
    with ReservedPort() as listen, ReservedPort() as admin:
        settings = {
            "kproxy.listen": listen.address,
            "kproxy.admin.listener": admin.address,
            "kproxy.admin.token.file": token,
        }
        options = [option for key, value in settings.items() for option in ("-X", f"{key}={value}")]
        ended = subprocess.run(
            [sys.executable, "-m", "kproxy", "run", "-b", NOBODY, *options],
            capture_output=True,
            check=False,
            text=True,
            timeout=PATIENCE_SECONDS,
        )

    # Then
    assert ended.returncode == 1
    assert (
        f"kproxy.admin.token.file: the token in {token} has 5 characters, expected 16 to 1024" in ended.stderr
    )
