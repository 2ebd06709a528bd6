from kproxy.net.cluster.topic_names import MOST_WANTED, TopicNames
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.metadata_request import MetadataRequest
from tests.in_memory.scripted_cluster import ScriptedCluster
from tests.worlds.backing import ORDERS, PAYMENTS, Backing
from tests.worlds.waiting import until

BEFORE_IDS = (0, 11)
"""Versions of Metadata of brokers that cannot be asked by id."""


def looks(cluster: ScriptedCluster) -> int:
    """Return how often every topic was asked for."""
    requests = [request.message for request in cluster.asked(ApiKey.METADATA)]
    return sum(isinstance(request, MetadataRequest) and request.topics is None for request in requests)


async def test_a_topic_that_only_others_have_heard_of_is_found_by_its_id_when_it_is_asked_for_again() -> None:
    # Given
    async with (
        ScriptedCluster(metadata_versions=BEFORE_IDS) as cluster,
        Backing(cluster.bootstrap_servers) as backing,
    ):
        cluster.create_topic("orders", ORDERS)
        names = TopicNames(backing.metadata, backing.clock, backing.tasks)

        # When
        assert names.name_of(ORDERS) is None

        # Then
        await until(lambda: names.name_of(ORDERS) == "orders")
        assert looks(cluster) == 1


async def test_ids_that_nobody_knows_are_looked_for_together_and_not_again_at_once() -> None:
    # Given
    async with (
        ScriptedCluster(metadata_versions=BEFORE_IDS) as cluster,
        Backing(cluster.bootstrap_servers) as backing,
    ):
        cluster.create_topic("orders", ORDERS)
        names = TopicNames(backing.metadata, backing.clock, backing.tasks)
        for number in range(MOST_WANTED + 1):
            names.name_of(number.to_bytes(16))
        await until(lambda: looks(cluster) == 1)

        # When
        found = [names.name_of(PAYMENTS) for _ in range(100)]

        # Then
        assert set(found) == {None}
        assert looks(cluster) == 1


async def test_brokers_that_do_not_answer_are_asked_another_time() -> None:
    # Given
    async with ScriptedCluster(metadata_versions=BEFORE_IDS) as cluster:
        bootstrap_servers = cluster.bootstrap_servers
    async with Backing(bootstrap_servers) as backing:
        names = TopicNames(backing.metadata, backing.clock, backing.tasks)

        # When / Then
        assert names.name_of(ORDERS) is None
        assert names.name_of(ORDERS) is None
