"""The command that tells how earlier attempts ended, ready for a shell."""

import pytest

from kproxy.clients.admin_port import Item
from kproxy.clients.diagnosis.histories import USUAL_NAMES, audit_command
from kproxy.settings import Settings
from tests.unit.clients.diagnosis.test_findings import found_of, group, run, session

PLACE = {"topicName": "orders", "topicId": "T", "partition": 0}


@pytest.mark.parametrize(
    ("backing", "options"),
    [
        (None, "-b BACKING-BROKER:9092"),
        (
            {
                "bootstrapServers": "kafka-1:9092,kafka-2:9092",
                "stateTopic": "__kproxy_share_state",
                "groupsTopic": "__kproxy_share_groups",
            },
            "-b kafka-1:9092,kafka-2:9092",
        ),
        (
            {"bootstrapServers": "k:9092", "stateTopic": "s", "groupsTopic": "g"},
            "-b k:9092 -X kproxy.state.topic.name=s -X kproxy.groups.topic.name=g",
        ),
        ({"bootstrapServers": "k:9092", "securityProtocol": "PLAINTEXT"}, "-b k:9092"),
        ({"bootstrapServers": "k:9092", "securityProtocol": "SSL"}, "-b k:9092 --command-config FILE"),
        (
            {"bootstrapServers": "k:9092", "securityProtocol": "SASL_PLAINTEXT", "stateTopic": "s"},
            "-b k:9092 --command-config FILE -X kproxy.state.topic.name=s",
        ),
    ],
)
def test_the_command_has_names_that_are_not_usual_and_a_file_where_brokers_want_tls_or_a_login(
    backing: Item | None, options: str
) -> None:
    # When
    command = audit_command("my workers", PLACE, 4711, backing)

    # Then
    assert command == f"kproxy log audit {options} -g 'my workers' -t orders -p 0 --offset 4711"


def test_the_usual_names_are_those_of_the_keys() -> None:
    settings = Settings()
    assert [name for _, _, name in USUAL_NAMES] == [settings.state_topic_name, settings.groups_topic_name]


@pytest.mark.parametrize(
    ("state", "deliveries", "is_told"),
    [("Acquired", 1, False), ("Acquired", 2, True), ("Available", 0, False), ("Available", 1, True)],
)
def test_only_of_what_was_tried_before_a_history_is_told(
    state: str, deliveries: int, *, is_told: bool
) -> None:
    # When
    found = found_of(group("alice"), [run(state, 7, 7, deliveries, "alice")], [session("alice")])

    # Then
    assert ("before" in found.facts) is is_told
    assert bool(found.situation.history_command) is is_told
