import json
from typing import Any

import pytest

from kproxy.admin.operators.requests import MOST_BYTES, asked_by_peer, path_for_peer, request_of
from kproxy.admin.queries import RefusedQuery

ARCHIVE = {"action": "archive", "group": "g", "topic": "orders", "partition": 0, "offsets": [[1, 2]]}


def refused(fields: Any) -> str:
    with pytest.raises(RefusedQuery) as raised:
        request_of(fields if isinstance(fields, bytes) else json.dumps(fields).encode())
    return str(raised.value)


def test_what_is_asked_for_is_read() -> None:
    # When
    asked = request_of(
        json.dumps({**ARCHIVE, "execute": True, "reason": " poison ", "operator": "root"}).encode()
    )

    # Then
    assert (asked.action, asked.topic, asked.partition, asked.spans) == ("archive", "orders", 0, ((1, 2),))
    assert asked.is_executed
    assert asked.words("/127.0.0.1") == "archive by root@/127.0.0.1: poison"


def test_nothing_is_executed_unless_that_is_said() -> None:
    assert not request_of(json.dumps(ARCHIVE).encode()).is_executed


def test_another_process_is_asked_for_the_same() -> None:
    # Given
    body = json.dumps({**ARCHIVE, "group": "g&ü=1"}).encode()

    # When
    passed_on = asked_by_peer(path_for_peer(body, "/10.0.0.7"))

    # Then
    assert passed_on == (body, "/10.0.0.7")
    assert asked_by_peer("/api/v1/groups?lag=false") is None


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        (b"{", "no JSON"),
        (b"[]", "no JSON object"),
        (b" " * (MOST_BYTES + 1), "4096 bytes at most"),
        ({**ARCHIVE, "force": True}, "unknown field 'force'"),
        ({**ARCHIVE, "action": "delete"}, "action='delete': expected release, accept, archive, end-session"),
        ({**ARCHIVE, "group": 7}, "group=7: expected printable text"),
        ({**ARCHIVE, "topic": "a\nb"}, "expected printable text"),
        ({**ARCHIVE, "partition": "0"}, "partition='0': expected a number"),
        ({**ARCHIVE, "partition": True}, "partition=True: expected a number"),
        ({**ARCHIVE, "offsets": []}, "expected 1 to 100 ranges"),
        ({**ARCHIVE, "offsets": [[2, 1]]}, "[2, 1] is no range"),
        ({**ARCHIVE, "offsets": [[0, 2**63]]}, "is no range"),
        ({**ARCHIVE, "offsets": [[True, 2]]}, "is no range"),
        ({**ARCHIVE, "execute": "yes"}, "execute='yes': expected true or false"),
        ({**ARCHIVE, "execute": True}, "give a reason"),
        ({**ARCHIVE, "execute": True, "reason": "  "}, "give a reason"),
        ({**ARCHIVE, "reason": "x" * 201}, "reason: expected 200 characters at most, and it has 201"),
        ({**ARCHIVE, "node": 1}, "'node' does not go with archive"),
        ({"action": "archive", "group": "g", "topic": "orders", "partition": 0}, "archive needs 'offsets'"),
        ({"action": "end-session", "group": "g"}, "end-session needs 'member'"),
        (
            {"action": "end-session", "group": "g", "member": "a", "topic": "t"},
            "'topic' does not go with end-session",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(fields: Any, complaint: str) -> None:
    assert complaint in refused(fields)
