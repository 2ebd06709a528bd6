import json
from collections.abc import Iterator

import pytest

from kproxy.admin.readiness import CheckResult
from kproxy.admin.views import (
    BrokerView,
    CertificateView,
    MemoryView,
    ProblemView,
    ProxyState,
    ProxyStatus,
    ShareGroupsState,
    ShareGroupsView,
    envelope,
    envelope_of_one,
    envelope_of_texts,
    item,
    readiness_items,
)

NOON_MS = 1_795_262_400_007


def test_a_status_is_shown_in_camel_case_with_numbers_as_numbers() -> None:
    # Given
    status = ProxyStatus(
        version="0.1.0",
        state=ProxyState.NOT_READY,
        cluster_id="mKq1",
        bootstrap="127.0.0.1:19092",
        brokers=[BrokerView(node_id=1, advertised="127.0.0.1:19101", upstream="kafka:9092")],
        share_groups=ShareGroupsView(
            is_enabled=False,
            state=ShareGroupsState.UNAVAILABLE,
            reason="another kproxy took the state log over",
            delivery_count_limit=5,
            authorized_by="acls",
        ),
        connections_open=3,
        memory=MemoryView(10, 100, "kproxy.max.buffered.bytes"),
        uptime_seconds=12.5,
        problems=[ProblemView("state_log", "another kproxy took the state log over")],
        certificates=[CertificateView("listener", "tls.pem", "CN=kproxy", "2027-01-01T00:00:00.000Z", 39)],
    )

    # When
    shown = item(status)

    # Then
    assert shown == {
        "version": "0.1.0",
        "state": "not-ready",
        "clusterId": "mKq1",
        "bootstrap": "127.0.0.1:19092",
        "brokers": [{"nodeId": 1, "advertised": "127.0.0.1:19101", "upstream": "kafka:9092"}],
        "shareGroups": {
            "enabled": False,
            "state": "unavailable",
            "reason": "another kproxy took the state log over",
            "deliveryCountLimit": 5,
            "authorizedBy": "acls",
        },
        "connectionsOpen": 3,
        "uptimeSeconds": 12.5,
        "memory": {"heldBytes": 10, "maxBufferedBytes": 100, "source": "kproxy.max.buffered.bytes"},
        "problems": [{"check": "state_log", "detail": "another kproxy took the state log over"}],
        "fleet": None,
        "tlsBootstrap": "",
        "certificates": [
            {
                "role": "listener",
                "file": "tls.pem",
                "subject": "CN=kproxy",
                "notAfter": "2027-01-01T00:00:00.000Z",
                "daysLeft": 39,
            }
        ],
    }


def test_every_answer_is_an_envelope_around_items() -> None:
    # When
    answer = envelope("ProxyStatus", [{"version": "0.1.0"}], as_of_ms=NOON_MS)

    # Then
    assert json.loads(json.dumps(answer)) == {
        "apiVersion": "kproxy/v1",
        "kind": "ProxyStatus",
        "asOf": "2026-11-21T12:00:00.007Z",
        "items": [{"version": "0.1.0"}],
    }


def test_a_check_is_shown_with_its_complaint() -> None:
    # When
    items = readiness_items(
        [CheckResult("listeners_bound", ""), CheckResult("not_draining", "kproxy is stopping")]
    )

    # Then
    assert items == [
        {"check": "listeners_bound", "passed": True, "detail": ""},
        {"check": "not_draining", "passed": False, "detail": "kproxy is stopping"},
    ]


def test_an_envelope_in_pieces_is_the_envelope() -> None:
    # Given
    items = [{"groupId": "a"}, {"groupId": "\n}"}]

    # When
    pieces = envelope_of_texts("ShareGroups", map(json.dumps, items), as_of_ms=NOON_MS)

    # Then
    assert json.loads("".join(pieces)) == envelope("ShareGroups", items, as_of_ms=NOON_MS)


def test_an_envelope_in_pieces_may_be_empty_and_carry_facts() -> None:
    # When
    pieces = envelope_of_texts("DurableShareStates", [], as_of_ms=NOON_MS, facts={"appliedOffset": 7})

    # Then
    assert json.loads("".join(pieces)) == {
        "apiVersion": "kproxy/v1",
        "kind": "DurableShareStates",
        "asOf": "2026-11-21T12:00:00.007Z",
        "appliedOffset": 7,
        "items": [],
    }


@pytest.mark.parametrize("parts", [[], [{"partition": 0}], [{"partition": 0}, {"partition": 1}]])
def test_an_item_whose_list_comes_in_pieces_is_the_same_text_as_a_whole(parts: list[dict[str, int]]) -> None:
    # Given
    facts = {"groupId": "}"}

    # When
    pieces = envelope_of_one("ShareGroup", facts, "sharePartitions", parts, as_of_ms=NOON_MS)

    # Then
    whole = envelope("ShareGroup", [{**facts, "sharePartitions": parts}], as_of_ms=NOON_MS)
    assert json.loads("".join(pieces)) == whole


def test_an_envelope_in_pieces_asks_for_an_item_when_it_is_due() -> None:
    # Given
    asked: list[int] = []

    def items() -> Iterator[dict[str, object]]:
        for number in range(3):
            asked.append(number)
            yield {"number": number}

    pieces = envelope_of_texts("ShareGroups", map(json.dumps, items()), as_of_ms=NOON_MS)

    # When
    begun = [next(pieces), next(pieces)]

    # Then
    assert len(begun) == 2
    assert asked == [0]


def test_what_is_known_at_the_end_alone_stands_behind_the_items() -> None:
    # When
    pieces = envelope_of_texts("ShareGroups", ["1"], as_of_ms=NOON_MS, at_end=lambda: {"unavailable": "lost"})

    # Then
    answer = json.loads("".join(pieces))
    assert (answer["items"], answer["unavailable"]) == ([1], "lost")
