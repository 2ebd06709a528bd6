"""The clients that are run, and what each is able to do by itself: the rows of the matrix."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from tests.compatibility.backings import Backing
from tests.compatibility.scenarios import COMPRESSIONS, Condition, Scenario, is_offered


@dataclass(frozen=True, slots=True)
class Client:
    """A client, and the scenarios that its own API allows."""

    name: str
    scenarios: tuple[Scenario, ...]
    limits: Mapping[Scenario, Condition] = field(default_factory=dict)
    """Where its own faults let it do less than the cluster offers."""

    def scenarios_on(self, backing: Backing) -> tuple[Scenario, ...]:
        """Those of its scenarios that the cluster offers."""
        return tuple(
            scenario
            for scenario in self.scenarios
            if is_offered(scenario, backing) and self.limits.get(scenario, _everywhere)(backing)
        )


def _everywhere(_backing: Backing) -> bool:
    return True


_EVERYBODY: Final = (
    *COMPRESSIONS,
    Scenario.CLASSIC_GROUP,
    Scenario.IDEMPOTENCE,
    Scenario.TRANSACTIONS,
    Scenario.TOPICS,
    Scenario.CLUSTER,
    Scenario.CONFIGS,
    Scenario.GROUPS,
)

CONFLUENT: Final = Client(
    "confluent-kafka",
    (*_EVERYBODY, Scenario.CONSUMER_GROUP, Scenario.FOLLOWER_FETCHING, Scenario.ACLS),
)
KAFKA_PYTHON: Final = Client(
    "kafka-python",
    (*_EVERYBODY, Scenario.FOLLOWER_FETCHING, Scenario.ACLS, Scenario.LOG_DIRS, Scenario.REASSIGNMENT),
    # Its describe_cluster raises KeyError on version 0 of the response, which brokers before 3.7 send.
    limits={Scenario.CLUSTER: lambda backing: backing.is_at_least(3, 7)},
)
AIOKAFKA: Final = Client("aiokafka", _EVERYBODY)
KAFKAJS: Final = Client(
    "kafkajs", (*_EVERYBODY, Scenario.FOLLOWER_FETCHING, Scenario.ACLS, Scenario.REASSIGNMENT)
)
JAVA_CLIENTS: Final = Client(
    "Java clients",
    (
        *COMPRESSIONS,
        Scenario.CLASSIC_GROUP,
        Scenario.CONSUMER_GROUP,
        Scenario.IDEMPOTENCE,
        Scenario.TRANSACTIONS,
        Scenario.FOLLOWER_FETCHING,
    ),
)
JAVA_TOOLS: Final = Client(
    "Java tools", tuple(scenario for scenario in Scenario if scenario.value.startswith("kafka-"))
)

CLIENTS: Final = (CONFLUENT, KAFKA_PYTHON, AIOKAFKA, KAFKAJS, JAVA_CLIENTS, JAVA_TOOLS)
"""Every row of the matrix."""
