"""Who asks for nothing is answered and closed on, and is counted."""

import asyncio
from typing import Final

import pytest

from kproxy.admin.entrance.access import Reason
from kproxy.telemetry.metrics import Metrics
from tests.unit.admin.test_server import an_admin_server

PATIENCE_S: Final = 20.0


@pytest.mark.parametrize("line", [b"CONNECT \r\n", b"CONNECT \n"])
def test_a_request_without_a_target_is_answered_closed_and_counted(line: bytes) -> None:
    # Given
    metrics = Metrics()
    server = an_admin_server(metrics=metrics)

    async def speak() -> bytes:
        await server.start()
        try:
            reader, writer = await asyncio.open_connection(server.address.host, server.address.port)
            writer.write(line + b"Host: localhost\r\n\r\n")
            answer = await asyncio.wait_for(reader.read(), PATIENCE_S)
            writer.close()
            return answer
        finally:
            await server.stop()

    # When
    answer = asyncio.run(speak())

    # Then
    assert answer.split()[1] in {b"400", b"404"}
    assert metrics.counted("admin_requests_refused", Reason.MALFORMED) == 1
