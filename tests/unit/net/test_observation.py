"""Refusals and faults: a counter and a line in the log for each."""

import io
import json
from dataclasses import replace

from kproxy.handlers.refusal_streaks import RefusalStreaks
from kproxy.handlers.request_context import RequestContext
from kproxy.net.observation import ShellObserver, api_name
from kproxy.telemetry import logs
from tests.worlds.state_logs import MeasuredThings

CONTEXT = RequestContext(
    connection_id=1,
    node_id=2,
    api_key=79,
    api_version=1,
    client_id="client",
    client_host="/127.0.0.1",
    peer="127.0.0.1:5000",
)


def written(stream: io.StringIO) -> dict[str, object]:
    line: dict[str, object] = json.loads(stream.getvalue())
    return line


def test_a_refusal_names_the_peer_the_api_and_the_reason() -> None:
    stream, counted = io.StringIO(), MeasuredThings()
    logs.configure("json", stream=stream)

    ShellObserver(counted).refused(CONTEXT, reason="invalid_record_state", detail="offset 7 is not held")

    line = written(stream)
    assert (line["event"], line["reason"], line["api"], line["peer"], line["client_id"], line["detail"]) == (
        "request_refused",
        "invalid_record_state",
        "ShareAcknowledge",
        "127.0.0.1:5000",
        "client",
        "offset 7 is not held",
    )
    assert counted.of("requests_refused", "ShareAcknowledge", "invalid_record_state") == 1


def test_a_connection_that_is_refused_again_and_again_is_one_line_and_counted_each_time() -> None:
    stream, counted = io.StringIO(), MeasuredThings()
    logs.configure("json", stream=stream)
    context = replace(CONTEXT, refusals=RefusalStreaks())

    for _ in range(3):
        ShellObserver(counted).refused(context, reason="not_coordinator", detail="taken over")
        context.refusals.refused(context.api_key)

    assert written(stream)["reason"] == "not_coordinator"
    assert counted.of("requests_refused", "ShareAcknowledge", "not_coordinator") == 3


def test_a_fault_of_kproxys_own_is_written_with_its_stack() -> None:
    stream, counted = io.StringIO(), MeasuredThings()
    logs.configure("json", stream=stream)

    ShellObserver(counted).fault(CONTEXT, ZeroDivisionError("division by zero"))

    line = written(stream)
    assert line["event"] == "request_failed"
    assert "ZeroDivisionError" in str(line["trace"])
    assert counted.of("requests_refused", "ShareAcknowledge", "internal_error") == 1


def test_who_would_touch_what_is_kproxys_own_is_counted_and_told_of() -> None:
    stream, counted = io.StringIO(), MeasuredThings()
    logs.configure("json", stream=stream)

    ShellObserver(counted).closed_group(13)

    assert written(stream)["event"] == "fleet_group_refused"
    assert counted.of("requests_refused", "LeaveGroup", "fleet_group") == 1


def test_apis_have_kafkas_names() -> None:
    assert [api_name(key) for key in (0, 3, 78)] == ["Produce", "Metadata", "ShareFetch"]
