import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any
from uuid import UUID

import pytest

from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.verify.live_state import LiveSlot, live_delivery_limit, live_log, live_slots
from kproxy.share.identifiers import TopicId, topic_id_text

STATE = {"groupId": "workers", "startOffset": 5}


class AdminPort:
    """An admin port that answers what it was told to, by path."""

    def __init__(self, answers: dict[str, Any]) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                answer = answers.get(self.path)
                self.send_response(404 if answer is None else 200)
                self.end_headers()
                self.wfile.write(answer if isinstance(answer, bytes) else json.dumps(answer).encode())

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self._thread = Thread(target=self._server.serve_forever)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def answers() -> dict[str, Any]:
    return {
        "/api/v1/state-log": {
            "clusterId": "cluster-1",
            "stateTopic": "__kproxy_share_state",
            "stateTopicId": topic_id_text(TopicId(UUID(int=7).bytes)),
            "items": [{"partition": 3, "state": "ready", "reason": ""}],
        },
        "/api/v1/state-log/3/state?at=end": {"appliedOffset": 41, "items": [STATE]},
    }


@pytest.fixture
def admin_url(answers: dict[str, Any]) -> Iterator[str]:
    port = AdminPort(answers)
    yield port.url
    port.close()


def test_every_slot_tells_its_states_and_the_offset_they_are_the_state_at(admin_url: str) -> None:
    # When
    slots = list(live_slots(admin_url))

    # Then
    assert slots == [LiveSlot(3, 41, [STATE])]


def test_a_slot_that_is_not_ready_cannot_be_compared(admin_url: str, answers: dict[str, Any]) -> None:
    # Given
    answers["/api/v1/state-log"]["items"] = [{"partition": 3, "state": "loading", "reason": "it replays"}]

    # When
    with pytest.raises(JobFailed) as refusal:
        list(live_slots(admin_url))

    # Then
    assert str(refusal.value) == "slot 3 of the running kproxy is loading: it replays"


def test_a_slot_whose_owner_does_not_tell_cannot_be_compared(admin_url: str, answers: dict[str, Any]) -> None:
    # Given
    doubt = "kproxy-b shows nothing within 10000 ms"
    answers["/api/v1/state-log/3/state?at=end"] |= {"appliedOffset": -1, "items": [], "unavailable": doubt}

    # When
    with pytest.raises(JobFailed) as failure:
        list(live_slots(admin_url))

    # Then
    assert str(failure.value) == f"slot 3 of the running kproxy cannot be compared with: {doubt}"


def test_the_log_of_a_kproxy_is_named_as_readers_name_the_topics_of_clusters(admin_url: str) -> None:
    # When
    identity = live_log(admin_url)

    # Then
    assert identity == f"cluster-1:__kproxy_share_state:{UUID(int=7)}"


def test_a_kproxy_without_slots_cannot_be_compared_with(admin_url: str, answers: dict[str, Any]) -> None:
    # Given
    answers["/api/v1/state-log"]["items"] = []

    # When
    with pytest.raises(JobFailed, match="has no state log") as refusal:
        live_log(admin_url)

    # Then
    assert refusal.value.exit_code is ExitCode.CHECK_FAILED


@pytest.mark.parametrize("told", [{"stateTopicId": "?"}, {"stateTopicId": None}, {"clusterId": ""}])
def test_a_kproxy_that_does_not_name_its_log_cannot_be_compared_with(
    admin_url: str, answers: dict[str, Any], told: dict[str, Any]
) -> None:
    # Given
    answers["/api/v1/state-log"] |= told

    # When
    with pytest.raises(JobFailed, match="does not say which log it keeps") as refusal:
        live_log(admin_url)

    # Then
    assert refusal.value.exit_code is ExitCode.CHECK_FAILED


@pytest.mark.parametrize("answer", [b"<html>", [], {"items": None}, None])
def test_somebody_else_at_the_port_is_told_apart(
    admin_url: str, answers: dict[str, Any], answer: Any
) -> None:
    # Given
    answers["/api/v1/state-log"] = answer

    # When
    with pytest.raises(JobFailed, match="answer") as refusal:
        list(live_slots(admin_url))

    # Then
    assert refusal.value.exit_code is ExitCode.FAILED


def test_nobody_at_the_port_cannot_be_connected_to() -> None:
    # Given
    port = AdminPort({})
    port.close()

    # When
    with pytest.raises(JobFailed, match="is kproxy running there") as refusal:
        list(live_slots(port.url))

    # Then
    assert refusal.value.exit_code is ExitCode.CANNOT_CONNECT


@pytest.mark.parametrize("url", ["localhost:9644", "ftp://localhost", "http://"])
def test_what_is_no_address_is_a_usage_error(url: str) -> None:
    # When
    with pytest.raises(JobFailed, match="expected http://HOST:PORT") as refusal:
        list(live_slots(url))

    # Then
    assert refusal.value.exit_code is ExitCode.USAGE


@pytest.mark.parametrize(
    ("items", "limit"),
    [
        ([{"shareGroups": {"enabled": True, "deliveryCountLimit": 7}}], 7),
        ([{"shareGroups": {"enabled": True}}], None),
        ([{"version": "0.0.1"}], None),
        ([], None),
    ],
)
def test_a_kproxy_tells_how_often_it_delivers_a_record_at_most_unless_it_is_older(
    admin_url: str, answers: dict[str, Any], items: list[Any], limit: int | None
) -> None:
    # Given
    answers["/api/v1/status"] = {"items": items}

    # When
    told = live_delivery_limit(admin_url)

    # Then
    assert told == limit
