"""`POST /api/v1/actions` on a real admin port."""

import asyncio
import json
from collections.abc import Mapping
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.in_memory.described_answers import require_described
from tests.in_memory.inspectable import Inspectable, serving
from tests.worlds.operated_groups import OperatedGroups

BODY = {"action": "archive", "group": "g", "topic": "orders", "partition": 0, "offsets": [[1, 2]]}
JSON = {"Content-Type": "application/json"}


def an_admin_port() -> Inspectable:
    return asyncio.run(OperatedGroups().begin()).inspectable


def post(inspectable: Inspectable, body: bytes, headers: Mapping[str, str] = JSON) -> tuple[int, str]:
    with serving(inspectable.server()) as url:
        request = Request(f"{url}/api/v1/actions", data=body, headers=dict(headers))
        try:
            with urlopen(request, timeout=10) as response:
                return response.status, response.read().decode()
        except HTTPError as refusal:
            with refusal:
                return refusal.code, refusal.read().decode()


def test_a_request_is_answered_in_the_form_of_the_admin_port() -> None:
    # When
    status, body = post(an_admin_port(), json.dumps(BODY).encode())

    # Then
    answer = json.loads(body)
    require_described(answer)
    assert (status, answer["kind"], answer["executed"]) == (200, "OperatorAction", False)


EXECUTED = json.dumps({**BODY, "execute": True, "reason": "x"}).encode()


def test_a_form_of_a_page_changes_nothing() -> None:
    # Given
    inspectable = an_admin_port()

    # When
    status, body = post(inspectable, EXECUTED, {"Content-Type": "text/plain"})

    # Then
    assert status == 403
    assert "pages change nothing here" in body
    assert 'kproxy_operator_actions_total{action="unknown",result="refused"} 1.0' in (
        inspectable.metrics.exposition("").body.decode()
    )


@pytest.mark.parametrize("origin", ["http://evil.example", "null"])
def test_a_page_from_elsewhere_is_not_heard(origin: str) -> None:
    # When
    status, body = post(an_admin_port(), EXECUTED, {**JSON, "Origin": origin})

    # Then
    assert status == 403
    assert "may not ask this admin port" in body


def test_a_port_that_others_reach_changes_nothing() -> None:
    # Given
    inspectable = an_admin_port()
    inspectable.is_guarded = False

    # When
    status, body = post(inspectable, json.dumps(BODY).encode())

    # Then
    assert status == 403
    assert "set kproxy.admin.listener to a loopback address, or kproxy.admin.token.file" in body


def test_a_request_that_is_too_long_is_not_read() -> None:
    assert post(an_admin_port(), b"x" * 5000)[0] == 413


def test_to_ask_with_another_method_is_refused() -> None:
    # Given
    inspectable = an_admin_port()

    # When
    with serving(inspectable.server()) as url, pytest.raises(HTTPError) as refusal:
        urlopen(f"{url}/api/v1/actions", timeout=10)
    refusal.value.close()

    # Then
    assert refusal.value.code == 405


def test_where_nobody_may_act_there_is_no_such_path() -> None:
    assert post(Inspectable(), json.dumps(BODY).encode())[0] == 404
