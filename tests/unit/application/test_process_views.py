"""What a whole kproxy tells of the brokers in front of which it stands."""

import asyncio
import json
from typing import Any

from kproxy import __version__
from kproxy.admin.views import envelope, item
from kproxy.error_codes import ErrorCode
from tests.in_memory.described_answers import require_described
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.worlds.running_proxy import COMMIT, HERE, RunningProxy
from tests.worlds.waiting import until


async def brokers_told_by(running: RunningProxy) -> Any:
    status, body = await running.proxy._admin.tell_peer("/api/v1/brokers?scope=local")
    assert status == 200, body
    told = json.loads(body)
    require_described(told)
    return {each["nodeId"]: each for each in told["items"]}


async def test_brokers_are_told_with_the_port_that_clients_use_and_the_clients_on_it() -> None:
    async with (
        ScriptedStateLog() as cluster,
        RunningProxy(cluster, ErrorCode.UNSUPPORTED_VERSION) as running,
    ):
        # Given
        await until(lambda: running.is_started and running.failed_checks == {})
        port = running.proxy._listeners.bound_ports[1]
        _, writer = await asyncio.open_connection(HERE, port)
        await until(lambda: bool(running.proxy._relay.connections))

        # When
        told = await brokers_told_by(running)

        # Then
        writer.close()
        broker = told[1]
        assert set(told) == set(cluster.brokers)
        assert broker["upstream"] == str(cluster.brokers[1].address)
        assert broker["advertised"] == f"{HERE}:{port}"
        assert (broker["listed"], broker["connected"], broker["clientConnections"]) == (True, True, 1)
        assert (broker["tlsAdvertised"], broker["lastError"]) == ("", "")
        assert (broker["unlistedMs"], broker["awaited"]) == (None, False)


async def test_the_status_of_a_whole_kproxy_is_what_is_described() -> None:
    async with (
        ScriptedStateLog() as cluster,
        RunningProxy(cluster, ErrorCode.UNSUPPORTED_VERSION) as running,
    ):
        # Given
        await until(lambda: running.is_started and running.failed_checks == {})

        # When
        status = item(running.proxy._vitals.status())
        scraped = b"".join(running.proxy._metrics.portions()[1]).decode()

        # Then
        require_described(json.loads(json.dumps(envelope("ProxyStatus", [status], as_of_ms=0))))
        assert (status["version"], status["commit"]) == (__version__, COMMIT)
        backing = status["backingCluster"]
        assert isinstance(backing, dict)
        assert backing["securityProtocol"] == "PLAINTEXT"
        (build,) = [line for line in scraped.splitlines() if line.startswith("kproxy_build_info{")]
        assert f'version="{__version__}"' in build
        assert f'commit="{COMMIT}"' in build


async def test_slots_are_told_with_the_broker_that_leads_them() -> None:
    async with (
        ScriptedStateLog() as cluster,
        RunningProxy(cluster, ErrorCode.UNSUPPORTED_VERSION) as running,
    ):
        # Given
        await until(lambda: running.is_started and running.failed_checks == {})

        # When
        status, body = await running.proxy._admin.tell_peer("/api/v1/state-log?scope=local")

        # Then
        told = json.loads(body)
        require_described(told)
        assert status == 200
        assert {each["leader"] for each in told["items"]} <= set(cluster.brokers)
        assert {each["unwritable"] for each in told["items"]} == {""}
        assert running.proxy._vitals.status().warnings == []
