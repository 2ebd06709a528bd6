"""Every record is settled once and for good, whoever consumes it: any three choices of this matrix meet in a run.

One to eight members and one to thirty-two partitions, acknowledged implicitly or one by one, accepted, released and
rejected, by confluent-kafka, by Java or by both, while members are killed and added, in front of 4.3.1 and of 3.9.2.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pytest

from tests.kafka.test_share_accounting import release_some_reject_some
from tests.real_kafka import accounts
from tests.real_kafka.accounts import FINAL_TYPES, misaccounted
from tests.real_kafka.combinations import Choice, Combination, combinations_in_which_all_meet
from tests.real_kafka.consumption import Delivery, Rule, accept, reject_every, release_first_delivery_of_every
from tests.real_kafka.crew import KILLED, Crew
from tests.real_kafka.kproxy_process import KproxyProcess
from tests.real_kafka.share_endpoint import (
    KPROXY_QUICK_GROUPS,
    KPROXY_WITHOUT_SHARE_GROUPS_QUICK_GROUPS,
    EndpointsOfSession,
    ShareEndpoint,
)
from tests.real_kafka.share_member import ShareMember
from tests.real_kafka.share_members import MEMBER_KINDS

BATCH_RECORDS: Final = 10
"""Of a record batch, and of a fetch."""
BATCHES: Final = 100
"""Before members are killed and added, and again after that: at least so many, over all partitions."""
MOST_ROUNDS: Final = 30
"""Until every member has had records: a client begins to fetch up to a second after it was assigned partitions."""
LOCK_MS: Final = 8_000
"""What a client drops at a rebalance, or a killed one held, stays locked for so long at most."""
PATIENCE_SECONDS: Final = 120.0

RULES: Final[Mapping[Choice, Rule]] = {
    "accept": accept,
    "release": release_first_delivery_of_every(3),
    "reject": reject_every(4),
    "mixed": release_some_reject_some,
}
CHANGES: Final[Mapping[Choice, tuple[bool, bool]]] = {
    "steady": (False, False),
    "killed": (True, False),
    "added": (False, True),
    "killed-added": (True, True),
}
"""Whether members are killed, and whether others are added, when a quarter of the records is settled."""
CLIENTS: Final[Mapping[Choice, Sequence[str]]] = {
    "confluent": ["confluent"],
    "java": ["java"],
    "both": ["confluent", "java"],
}

DIMENSIONS: Final[Mapping[str, Sequence[Choice]]] = {
    "members": [1, 2, 4, 8],
    "partitions": [1, 3, 8, 32],
    "mode": ["explicit", "implicit"],
    "answers": list(RULES),
    "change": list(CHANGES),
    "clients": list(CLIENTS),
    "behind": [KPROXY_QUICK_GROUPS, KPROXY_WITHOUT_SHARE_GROUPS_QUICK_GROUPS],
}


def is_possible(chosen: Combination) -> bool:
    """Implicitly records are accepted; and somebody is left when members have been killed."""
    accepts = chosen["mode"] == "explicit" or chosen["answers"] == "accept"
    alone = chosen["members"] == 1
    return accepts and not (alone and (chosen["change"] == "killed" or chosen["clients"] == "both"))


MATRIX: Final = combinations_in_which_all_meet(DIMENSIONS, together=3, is_possible=is_possible)


@dataclass(frozen=True, slots=True)
class Run:
    """One combination, with a topic and a group of its own."""

    chosen: Combination
    endpoint: ShareEndpoint
    topic: str
    group: str

    @property
    def partitions(self) -> int:
        return int(self.chosen["partitions"])

    @property
    def rule(self) -> Rule:
        return RULES[self.chosen["answers"]]

    @property
    def kinds(self) -> Sequence[str]:
        return CLIENTS[self.chosen["clients"]]

    def crew(self) -> Crew:
        """Nobody so far."""
        return Crew(self.start, self.rule, is_implicit=self.chosen["mode"] == "implicit")

    def start(self, number: int) -> ShareMember:
        """Start the member of this number."""
        start_member = MEMBER_KINDS[self.kinds[number % len(self.kinds)]]
        settings = {
            "share.acknowledgement.mode": str(self.chosen["mode"]),
            "max.poll.records": str(BATCH_RECORDS),
        }
        servers = self.endpoint.bootstrap_servers
        return start_member(servers, group=self.group, topics=[self.topic], settings=settings)

    def produce(self, label: str, batches: int) -> dict[accounts.RecordId, str]:
        """At least so many batches, spread over all partitions."""
        of_each = -(-batches // self.partitions)
        return accounts.produce_to_every_partition(
            self.endpoint.bootstrap_servers,
            self.topic,
            partitions=self.partitions,
            each=of_each * BATCH_RECORDS,
            batches=of_each,
            label=label,
        )

    def is_behind(self) -> bool:
        """Whether any share-partition has records that are not done with."""
        return set(self._kproxy.lags(self.group).values()) != {0}

    @property
    def _kproxy(self) -> KproxyProcess:
        assert self.endpoint.kproxy is not None
        return self.endpoint.kproxy


@pytest.mark.soak
@pytest.mark.parametrize("chosen", MATRIX, ids=lambda chosen: "-".join(map(str, chosen.values())))
def test_every_record_is_settled_once_whoever_consumes_it(
    share_endpoint: EndpointsOfSession, chosen: Combination
) -> None:
    # Given
    endpoint = share_endpoint(str(chosen["behind"]))
    topic = endpoint.new_topic(partitions=int(chosen["partitions"]))
    run = Run(chosen, endpoint, topic, endpoint.new_group(lock_ms=LOCK_MS))
    members, (are_killed, are_added) = int(chosen["members"]), CHANGES[chosen["change"]]
    number_of_changes = 1 + members // 4

    # When
    with run.crew() as crew:
        crew.add(members)
        produced = _until_all_are_at_work(run, crew, members)
        at_work = {delivery.member for delivery in crew.deliveries}
        produced |= run.produce("early", BATCHES)
        _wait_for(crew, len(produced) - BATCHES * BATCH_RECORDS * 3 // 4)
        crew.kill(number_of_changes if are_killed else 0)
        crew.add(number_of_changes if are_added else 0)
        produced |= run.produce("late", BATCHES)
        _wait_for(crew, len(produced))
        crew.wait_until(lambda _: not run.is_behind(), timeout_seconds=PATIENCE_SECONDS)

    # Then
    _report(chosen, crew.deliveries)
    assert at_work == set(range(members))
    assert misaccounted(crew.deliveries, produced, are_settled=are_killed, were_killed=are_killed) == {}
    received, last = accounts.received_after_the_end(
        MEMBER_KINDS[run.kinds[0]],
        endpoint.bootstrap_servers,
        group=run.group,
        topic=topic,
        partitions=run.partitions,
    )
    assert received == last


def _until_all_are_at_work(run: Run, crew: Crew, members: int) -> dict[accounts.RecordId, str]:
    """Produce little by little until every member was given records; all that was produced."""
    produced: dict[accounts.RecordId, str] = {}
    for turn in range(MOST_ROUNDS):
        produced |= run.produce(f"round {turn}", 2 * members)
        _wait_for(crew, len(produced))
        if len({delivery.member for delivery in crew.deliveries}) == members:
            break
    return produced


def _report(chosen: Combination, deliveries: Sequence[Delivery]) -> None:
    """Seen with `-s`, and when a test fails."""
    report = {
        **chosen,
        "deliveries": dict(Counter(f"{each.how} {each.error or 'answered'}" for each in deliveries)),
        "most deliveries of a record": max(each.record.delivery_count for each in deliveries),
        "deliveries by member": dict(sorted(Counter(each.member for each in deliveries).items())),
    }
    print(json.dumps(report))


def _wait_for(crew: Crew, count: int) -> None:
    crew.wait_until(lambda deliveries: _done_with(deliveries) >= count, timeout_seconds=PATIENCE_SECONDS)


def _done_with(deliveries: Sequence[Delivery]) -> int:
    """How many records are settled, or may be: somebody was killed who had them in hand."""
    return len(
        {
            (delivery.record.partition, delivery.record.offset)
            for delivery in deliveries
            if (delivery.how in FINAL_TYPES and delivery.error is None) or delivery.error == KILLED
        }
    )
