import json
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest

from kproxy.admin.cluster.broker_views import KnownBrokerView
from kproxy.admin.cluster.slot_places import SlotPlaceView
from kproxy.admin.fleet_views import (
    FleetMemberView,
    FleetSlotsView,
    FleetView,
    SlotMovesView,
    TroubledSlotView,
)
from kproxy.admin.progress_views import SharePartitionProgress
from kproxy.admin.readiness import CheckResult
from kproxy.admin.share_views import (
    InFlightView,
    MemberView,
    SessionView,
    ShareGroupDescription,
    ShareGroupSummary,
    TopicPartitionsView,
)
from kproxy.admin.state_log_views import DurableStateView, StateBatchView
from kproxy.admin.views import (
    BackingClusterView,
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
from kproxy.notation import camel_case
from kproxy.statelog.slot_status import SlotStatus
from tests.in_memory.described_answers import described, require_described

NOON_MS = 1_795_262_400_007


def test_a_status_is_shown_in_camel_case_with_numbers_as_numbers() -> None:
    # Given
    status = ProxyStatus(
        version="0.1.0",
        commit="0123456789ab-dirty",
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
        backing_cluster=BackingClusterView("kafka:9092", "states", "groups", "SASL_SSL"),
    )

    # When
    shown = item(status)

    # Then
    assert shown == {
        "version": "0.1.0",
        "commit": "0123456789ab-dirty",
        "state": "not-ready",
        "clusterId": "mKq1",
        "bootstrap": "127.0.0.1:19092",
        "brokers": [{"nodeId": 1, "advertised": "127.0.0.1:19101", "upstream": "kafka:9092", "listed": True}],
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
        "backingCluster": {
            "bootstrapServers": "kafka:9092",
            "stateTopic": "states",
            "groupsTopic": "groups",
            "securityProtocol": "SASL_SSL",
        },
        "warnings": [],
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
    lists = {"members": [], "sharePartitions": parts}
    pieces = envelope_of_one("ShareGroup", facts, lists, as_of_ms=NOON_MS)

    # Then
    whole = envelope("ShareGroup", [{**facts, **lists}], as_of_ms=NOON_MS)
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


@pytest.mark.parametrize(
    ("name", "view", "beside"),
    [
        ("StatusBroker", BrokerView, set()),
        ("ShareGroupsSwitch", ShareGroupsView, set()),
        ("Problem", ProblemView, set()),
        ("Memory", MemoryView, set()),
        ("Certificate", CertificateView, set()),
        ("FleetSlots", FleetSlotsView, set()),
        ("SlotMoves", SlotMovesView, set()),
        ("FleetMember", FleetMemberView, set()),
        ("TroubledSlot", TroubledSlotView, set()),
        ("Fleet", FleetView, set()),
        ("ProxyStatus", ProxyStatus, set()),
        ("BackingCluster", BackingClusterView, set()),
        ("TopicPartitions", TopicPartitionsView, set()),
        ("Broker", KnownBrokerView, {"process"}),
        ("GroupSummary", ShareGroupSummary, set()),
        ("Group", ShareGroupDescription, {"members", "sharePartitions"}),
        ("Member", MemberView, set()),
        ("SharePartition", SharePartitionProgress, set()),
        ("Session", SessionView, set()),
        ("Run", InFlightView, set()),
        ("Slot", SlotStatus, {"owner", *(camel_case(field.name) for field in fields(SlotPlaceView))}),
        ("StateBatch", StateBatchView, set()),
        ("DurableState", DurableStateView, set()),
    ],
)
def test_each_view_is_described_with_all_its_fields_and_no_others(
    name: str, view: Any, beside: set[str]
) -> None:
    # When
    description = described()["$defs"][name]

    # Then
    names = {camel_case(field.name) for field in fields(view)} | beside
    assert set(description["properties"]) == names
    assert set(description["required"]) == names


def test_every_definition_is_one_of_an_answer_or_event_and_every_answer_is_one_of_the_schema() -> None:
    # When
    schema = described()
    text = json.dumps(schema)

    # Then
    unused = [name for name in schema["$defs"] if f'"#/$defs/{name}"' not in text]
    assert unused == [f"{name}Event" for name in ("Hello", "Group", "Records", "Slot", "Peer")]


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"apiVersion": "kproxy/v1", "kind": "Nothing", "asOf": "2026-11-21T12:00:00.000Z", "items": []},
        {"apiVersion": "kproxy/v1", "kind": "Brokers", "asOf": "yesterday", "items": []},
        {"apiVersion": "kproxy/v1", "kind": "Brokers", "asOf": "2026-11-21T12:00:00.000Z", "items": [{}]},
        {
            "apiVersion": "kproxy/v1",
            "kind": "Brokers",
            "asOf": "2026-11-21T12:00:00.000Z",
            "items": [],
            "x": 1,
        },
    ],
)
def test_what_is_not_described_is_found(answer: dict[str, object]) -> None:
    with pytest.raises(AssertionError, match=r"api_v1\.schema\.json describes something else"):
        require_described(answer)
