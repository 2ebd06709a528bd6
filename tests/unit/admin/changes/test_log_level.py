"""The level of log lines, changed over HTTP."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import aiohttp
import pytest

from kproxy.admin.changes.log_level import LogLevelChange
from kproxy.admin.entrance.access import AccessRules
from kproxy.admin.readiness import Readiness
from kproxy.admin.server import AdminServer
from kproxy.settings import HostPort
from kproxy.telemetry import logs
from kproxy.telemetry.metrics import Metrics
from tests.in_memory.described_answers import require_described

PATH = "/api/v1/log-level"


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    logs.configure("json", "info")
    yield
    logs.configure("json", "info")


def asked(
    method: str, body: str | None = None, *, access: AccessRules | None = None, **headers: str
) -> tuple[int, dict[str, Any]]:
    """Return the status and the one item of the answer of an admin port on the loopback."""

    async def go() -> tuple[int, dict[str, Any]]:
        server = AdminServer(
            HostPort("127.0.0.1", 0),
            metrics=Metrics(),
            readiness=Readiness({}),
            status=dict,
            access=access,
        )
        server.add_routes(LogLevelChange("info", lambda: 0).routes())
        await server.start()
        try:
            async with (
                aiohttp.ClientSession() as session,
                session.request(
                    method, f"http://{server.address}{PATH}", data=body, headers=headers
                ) as answer,
            ):
                text = await answer.text()
                if not text.startswith("{"):
                    return answer.status, {}
                require_described(json.loads(text))
                return answer.status, json.loads(text)["items"][0]
        finally:
            await server.stop()

    return asyncio.run(go())


def test_the_level_is_told_beside_the_configured_one() -> None:
    # Given
    logs.change_level("warning", by="somebody")

    # Then
    assert asked("GET") == (200, {"level": "warning", "configured": "info"})


def test_the_level_is_changed() -> None:
    # When
    answer = asked("PUT", '{"level": "debug"}')

    # Then
    assert answer == (200, {"level": "debug", "configured": "info"})
    assert logs.level() == "debug"


def test_who_changed_it_stands_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    # When
    asked("PUT", '{"level": "warning"}')

    # Then
    [line] = [each for each in caplog.records if each.msg == "log_level_changed"]
    assert line.__dict__["event_keys"] == {
        "now": "warning",
        "before": "info",
        "by": "admin port, 127.0.0.1",
    }


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"level": "loud"}', "the body of the request says 'loud'"),
        ('{"level": ["debug"]}', "says ['debug']"),
        ("debug", "the request does not say one"),
        ("[" * 50_000, "the request does not say one"),
        ("", "the request does not say one"),
    ],
    ids=["unknown", "no word", "no JSON", "deep", "nothing"],
)
def test_what_is_no_level_changes_nothing_and_says_what_to_send(body: str, said: str) -> None:
    # When
    status, item = asked("PUT", body)

    # Then
    assert status == 400
    assert said in item["message"]
    assert 'send {"level": "debug"}; a level is one of debug, info, warning, error' in item["message"]
    assert logs.level() == "info"


def test_beyond_the_loopback_nobody_changes_it_without_a_token() -> None:
    # When
    status, item = asked("PUT", '{"level": "debug"}', access=AccessRules(HostPort("0.0.0.0", 9644)))

    # Then
    assert status == 403
    assert "set kproxy.admin.token.file" in item["message"]
    assert logs.level() == "info"


def test_a_page_of_another_origin_does_not_change_it() -> None:
    # When
    status, _ = asked("PUT", '{"level": "debug"}', Origin="http://evil.example")

    # Then
    assert status == 403
    assert logs.level() == "info"
