"""What probes hear of a kproxy in trouble: `/livez` stays 200, for no restart would help; `/readyz` names the trouble.

A restart ends every client connection and every lock: only a process whose event loop does not answer is to have one.
"""

import asyncio
import http.client
import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from kproxy.error_codes import ErrorCode
from kproxy.settings import HostPort
from kproxy.statelog.claims import Claim
from kproxy.statelog.group_records import encode_group_record
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest, encode_request
from kproxy.wire.messages.list_groups_request import ListGroupsRequest
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.real_kafka.child import Child
from tests.real_kafka.ports import ReservedPort
from tests.worlds.running_proxy import HERE, RunningProxy
from tests.worlds.state_logs import state_log
from tests.worlds.waiting import until

OK: Final = 200
UNAVAILABLE: Final = 503
PROBE_SECONDS: Final = 0.3
POLL_SECONDS: Final = 0.05
PATIENCE_SECONDS: Final = 30.0
NOBODY: Final = "127.0.0.1:9"
"""The port of the discard protocol, where nobody listens."""
NO_SHARE_GROUPS: Final = ErrorCode.UNSUPPORTED_VERSION


class Probed:
    """A kproxy that runs, and its admin port as probes ask it."""

    def __init__(self, running: RunningProxy, admin: ReservedPort) -> None:
        self.running = running
        self._admin = admin

    async def status_of(self, path: str) -> int:
        return (await self.answer(path))[0]

    async def answer(self, path: str) -> tuple[int, dict[str, Any]]:
        """Return the status and the body of an answer."""
        async with asyncio.timeout(10):
            reader, writer = await asyncio.open_connection(HERE, self._admin.number)
            writer.write(f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
            writer.close()
        return int(head.split()[1]), json.loads(body)

    async def failed(self) -> dict[str, str]:
        """Return the checks of `/readyz` that fail, with what they say."""
        _, body = await self.answer("/readyz")
        return {each["check"]: each["detail"] for each in body["items"] if not each["passed"]}


@asynccontextmanager
async def probed(cluster: ScriptedStateLog, *, grace_ms: int = 10_000) -> AsyncIterator[Probed]:
    """Yield a kproxy that is ready."""
    with ReservedPort() as admin:
        running = RunningProxy(
            cluster,
            NO_SHARE_GROUPS,
            admin=HostPort(HERE, admin.number),
            grace_ms=grace_ms,
        )
        async with running:
            await until(lambda: running.is_started and running.failed_checks == {})
            yield Probed(running, admin)


async def test_a_process_that_stepped_down_is_live_and_not_ready_and_comes_back_by_itself() -> None:
    async with ScriptedStateLog() as cluster, probed(cluster) as kproxy:
        assert await kproxy.status_of("/readyz") == OK
        coordination = kproxy.running.coordination
        assert coordination is not None

        # When: nothing is heard of the fleet's coordinator, until the lease has ended
        coordination.is_deaf = True
        await until(lambda: "fleet" in kproxy.running.failed_checks, seconds=20)

        # Then
        assert [await kproxy.status_of(path) for path in ("/livez", "/readyz")] == [OK, UNAVAILABLE]
        assert (await kproxy.failed())["fleet"]
        coordination.is_deaf = False
        await until(lambda: kproxy.running.failed_checks == {})
        assert await kproxy.status_of("/readyz") == OK


async def test_a_process_whose_backing_cluster_is_gone_is_live_and_not_ready() -> None:
    async with ScriptedStateLog() as cluster, probed(cluster) as kproxy:
        # When
        for broker in cluster.brokers.values():
            await broker.__aexit__(None, None, None)
        await until(lambda: "metadata" in kproxy.running.failed_checks)

        # Then
        assert [await kproxy.status_of(path) for path in ("/livez", "/readyz")] == [OK, UNAVAILABLE]


async def test_a_process_with_a_slot_that_is_stopped_is_live_and_not_ready() -> None:
    async with ScriptedStateLog() as cluster:
        # Given
        newer = encode_group_record(Claim("kproxy of next year", 3), claim_epoch=None)
        with ReservedPort() as admin:
            running = RunningProxy(cluster, NO_SHARE_GROUPS, admin=HostPort(HERE, admin.number))
            cluster.write_foreign(state_log(1), newer)
            kproxy = Probed(running, admin)

            # When
            async with running:
                await until(
                    lambda: "run the kproxy that wrote it" in running.failed_checks.get("state_log", "")
                )

                # Then
                assert [await kproxy.status_of(path) for path in ("/livez", "/readyz")] == [OK, UNAVAILABLE]


async def test_a_process_that_drains_is_live_to_its_end_and_takes_no_new_clients() -> None:
    async def never(_: DecodedRequest) -> None:
        await asyncio.Event().wait()

    async with ScriptedStateLog() as cluster, probed(cluster, grace_ms=2_000) as kproxy:
        # Given: a client that waits for an answer of its broker
        (node_id,) = cluster.brokers
        cluster.brokers[node_id].answers[ApiKey.LIST_GROUPS] = never
        _, writer = await asyncio.open_connection(HERE, kproxy.running.proxy._listeners.bound_ports[node_id])
        writer.writelines(encode_request(ApiKey.LIST_GROUPS, 4, 1, "client", ListGroupsRequest()))
        await cluster.brokers[node_id].until_asked(ApiKey.LIST_GROUPS)

        # When
        ending = asyncio.get_running_loop().create_task(kproxy.running.stop())
        await until(lambda: "draining" in kproxy.running.failed_checks)

        # Then
        assert [await kproxy.status_of(path) for path in ("/livez", "/readyz")] == [OK, UNAVAILABLE]
        await ending
        writer.close()


def kproxy_without_cluster(admin: ReservedPort, listen: ReservedPort) -> Child:
    """Return a process of kproxy that finds no cluster."""
    settings = (f"kproxy.listen={listen.address}", f"kproxy.admin.listener={admin.address}")
    options = [option for setting in settings for option in ("-X", setting)]
    return Child("kproxy", [sys.executable, "-m", "kproxy", "run", "-b", NOBODY, *options])


def live_status(admin: ReservedPort, timeout_s: float) -> int:
    """Return what `/livez` answers a probe with this timeout; 0 for no answer in time."""
    connection = http.client.HTTPConnection(admin.host, admin.number, timeout=timeout_s)
    try:
        connection.request("GET", "/livez")
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()


def test_a_process_that_does_not_go_on_fails_its_liveness_probe_and_only_as_long_as_that() -> None:
    with ReservedPort() as admin, ReservedPort() as listen, kproxy_without_cluster(admin, listen) as kproxy:
        # Given
        deadline = time.monotonic() + PATIENCE_SECONDS
        while live_status(admin, PATIENCE_SECONDS) != OK:
            assert time.monotonic() < deadline, kproxy.errors()
            time.sleep(POLL_SECONDS)

        # When
        kproxy.pause()
        frozen = live_status(admin, PROBE_SECONDS)
        kproxy.resume()

        # Then
        assert (frozen, live_status(admin, PATIENCE_SECONDS)) == (0, OK)
