"""The clients that are run, and what each is able to do by itself: the rows of the matrix."""

from dataclasses import dataclass
from typing import Final

from tests.compatibility.backings import Backing
from tests.compatibility.scenarios import COMPRESSIONS, Scenario, is_offered


@dataclass(frozen=True, slots=True)
class Client:
    """A client, and the scenarios that its own API allows."""

    name: str
    scenarios: tuple[Scenario, ...]

    def scenarios_on(self, backing: Backing) -> tuple[Scenario, ...]:
        """Those of its scenarios that the cluster offers."""
        return tuple(scenario for scenario in self.scenarios if is_offered(scenario, backing))


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
