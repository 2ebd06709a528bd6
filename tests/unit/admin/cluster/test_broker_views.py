"""Brokers, as all processes of a fleet see them, whichever is asked."""

import pytest

from tests.in_memory.inspectable import Inspectable, answer_to
from tests.in_memory.inspectable_fleet import InspectableFleet


def two_views() -> InspectableFleet:
    fleet = InspectableFleet("kproxy-b", "kproxy-a")
    for process in fleet.processes.values():
        process.know_broker(2)
        process.know_broker(1)
    return fleet


def test_one_process_tells_of_each_broker_what_it_knows() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.know_broker(
        3, is_listed=False, is_connected=False, own_connections=0, last_error="refused", last_error_age_ms=700
    )

    # When
    answer = answer_to(inspectable, "/api/v1/brokers")

    # Then
    assert (answer.status, answer.body["kind"]) == (200, "Brokers")
    assert "slotsTold" not in answer.body
    assert answer.items == [
        {
            "process": "",
            "nodeId": 3,
            "rack": "rack-3",
            "upstream": "broker3:9092",
            "listed": False,
            "advertised": "127.0.0.1:19103",
            "tlsAdvertised": "",
            "connected": False,
            "ownConnections": 0,
            "clientConnections": 0,
            "lastError": "refused",
            "lastErrorAgeMs": 700,
            "unlistedMs": None,
            "awaited": False,
        }
    ]


@pytest.mark.parametrize("asked", ["kproxy-a", "kproxy-b"])
def test_whoever_is_asked_tells_what_each_process_sees_by_node_id(asked: str) -> None:
    # When
    answer = two_views().answer(asked, "/api/v1/brokers")

    # Then
    assert [(each["nodeId"], each["process"]) for each in answer.items] == [
        *((1, "kproxy-a"), (1, "kproxy-b")),
        *((2, "kproxy-a"), (2, "kproxy-b")),
    ]
    assert "unavailable" not in answer.body


def test_a_process_that_cannot_be_asked_makes_the_list_say_so() -> None:
    # Given
    fleet = two_views()
    fleet.silent["kproxy-b"] = "kproxy-b did not answer within 2000 ms"

    # When
    answer = fleet.answer("kproxy-a", "/api/v1/brokers")

    # Then
    assert [each["process"] for each in answer.items] == ["kproxy-a", "kproxy-a"]
    assert answer.body["unavailable"] == "kproxy-b did not answer within 2000 ms"


def test_brokers_are_told_whatever_becomes_of_share_groups() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.unavailable = "another kproxy took the state log over"
    inspectable.know_broker(1)

    # When
    answer = answer_to(inspectable, "/api/v1/brokers")

    # Then
    assert len(answer.items) == 1
    assert "unavailable" not in answer.body


def test_one_process_tells_of_itself_if_that_is_asked_for() -> None:
    assert len(two_views().answer("kproxy-a", "/api/v1/brokers?scope=local").items) == 2
