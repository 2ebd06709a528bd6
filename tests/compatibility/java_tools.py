"""Kafka's own administration tools of 4.3.1, by class; each does what it is for, and its effect is looked at."""

import json
from collections.abc import Mapping
from typing import Final

from tests.compatibility.backings import rack_of
from tests.compatibility.clients.probe import eventually, expect, expect_equal
from tests.compatibility.java_clients import CONSUMER_PERFORMANCE, PRODUCER_PERFORMANCE, JavaCheck
from tests.compatibility.java_ground import JavaGround, expect_text, text_of
from tests.compatibility.scenarios import Scenario
from tests.real_kafka import administration
from tests.real_kafka.administration import unique_name
from tests.real_kafka.tools import CONFIG_COMMAND, END_TO_END_LATENCY, TOPIC_COMMAND

TOOLS: Final = "org.apache.kafka.tools"
ACL_COMMAND: Final = f"{TOOLS}.AclCommand"
BROKER_API_VERSIONS_COMMAND: Final = f"{TOOLS}.BrokerApiVersionsCommand"
CLIENT_METRICS_COMMAND: Final = f"{TOOLS}.ClientMetricsCommand"
CLUSTER_TOOL: Final = f"{TOOLS}.ClusterTool"
CONSUMER_GROUP_COMMAND: Final = f"{TOOLS}.consumer.group.ConsumerGroupCommand"
DELETE_RECORDS_COMMAND: Final = f"{TOOLS}.DeleteRecordsCommand"
FEATURE_COMMAND: Final = f"{TOOLS}.FeatureCommand"
GET_OFFSET_SHELL: Final = f"{TOOLS}.GetOffsetShell"
GROUPS_COMMAND: Final = f"{TOOLS}.GroupsCommand"
LEADER_ELECTION_COMMAND: Final = f"{TOOLS}.LeaderElectionCommand"
LOG_DIRS_COMMAND: Final = f"{TOOLS}.LogDirsCommand"
METADATA_QUORUM_COMMAND: Final = f"{TOOLS}.MetadataQuorumCommand"
REASSIGN_PARTITIONS_COMMAND: Final = f"{TOOLS}.reassign.ReassignPartitionsCommand"
TRANSACTIONS_COMMAND: Final = f"{TOOLS}.TransactionsCommand"


def _topics(ground: JavaGround) -> None:
    topic = unique_name("tool")
    shape = ("--partitions", "2", "--replication-factor", str(ground.backing.broker_count))
    ground.run(TOPIC_COMMAND, "--create", "--topic", topic, *shape)
    expect_text(ground.run(TOPIC_COMMAND, "--describe", "--topic", topic), r"PartitionCount: 2\b")
    ground.run(TOPIC_COMMAND, "--alter", "--topic", topic, "--partitions", "3")
    expect(topic in ground.run(TOPIC_COMMAND, "--list").lines, f"{topic} is listed")
    ground.run(TOPIC_COMMAND, "--delete", "--topic", topic)
    eventually(lambda: topic not in administration.topics(ground.direct_servers), f"{topic} is deleted")


def _configs(ground: JavaGround) -> None:
    topic = ground.new_topic()
    of_topic = ("--entity-type", "topics", "--entity-name", topic)
    ground.run(CONFIG_COMMAND, *of_topic, "--alter", "--add-config", "retention.ms=123456")
    expect_text(ground.run(CONFIG_COMMAND, *of_topic, "--describe"), r"retention\.ms=123456")
    # A broker's settings hold its listeners, as text for an operator.
    of_broker = (
        "--bootstrap-server",
        ground.bootstrap_servers,
        "--entity-type",
        "brokers",
        "--entity-name",
        "1",
    )
    described = ground.run_bare(CONFIG_COMMAND, *of_broker, "--describe", "--all", may_name_brokers=True)
    expect_text(described, r"broker\.rack=rack-1")
    of_user = ("--entity-type", "users", "--entity-name", unique_name("user"))
    ground.run(CONFIG_COMMAND, *of_user, "--alter", "--add-config", "producer_byte_rate=123456")
    expect_text(ground.run(CONFIG_COMMAND, *of_user, "--describe"), r"producer_byte_rate=123456")


def _consumer_groups(ground: JavaGround) -> None:
    topic, group = ground.new_topic(["a", "b", "c"]), unique_name("group")
    ground.commit(group, topic, 2)
    expect(group in ground.run(CONSUMER_GROUP_COMMAND, "--list").lines, f"{group} is listed")
    described = ground.run(CONSUMER_GROUP_COMMAND, "--describe", "--group", group)
    expect_text(described, rf"^{group}\s+{topic}\s+0\s+(-\s+)?2\s+3\s+1\b")
    reset = ("--reset-offsets", "--to-earliest", "--execute", "--topic", topic)
    expect_text(ground.run(CONSUMER_GROUP_COMMAND, "--group", group, *reset), rf"{topic}\s+0\s+0\b")
    expect_text(ground.run(CONSUMER_GROUP_COMMAND, "--delete", "--group", group), "successful")


def _groups(ground: JavaGround) -> None:
    topic, group = ground.new_topic(["a"]), unique_name("group")
    ground.commit(group, topic, 1)
    expect_text(ground.run(GROUPS_COMMAND, "--list"), rf"^{group}\s+Classic\b")
    expect_text(ground.run(GROUPS_COMMAND, "--list", "--consumer"), rf"^{group}\s+Classic\b")


def _acls(ground: JavaGround) -> None:
    topic = unique_name("guarded")
    acl = ("--allow-principal", "User:alice", "--operation", "Read", "--topic", topic)
    ground.run(ACL_COMMAND, "--add", *acl)
    listed = ground.run(ACL_COMMAND, "--list", "--topic", topic)
    expect_text(listed, r"principal=User:alice, host=\*, operation=READ, permissionType=ALLOW")
    ground.run(ACL_COMMAND, "--remove", "--force", *acl)
    gone = text_of(ground.run(ACL_COMMAND, "--list", "--topic", topic))
    expect("User:alice" not in gone, f"the ACL is gone: {gone}")


def _transactions(ground: JavaGround) -> None:
    topic = ground.new_topic()
    transactional_id = ground.abort_transaction(topic, ["dropped"])
    expect_text(
        ground.run(TRANSACTIONS_COMMAND, "list"), rf"^{transactional_id}\s+[123]\s+\d+\s+CompleteAbort"
    )
    of_partition = ("--topic", topic, "--partition", "0")
    described = ground.run(TRANSACTIONS_COMMAND, "describe-producers", *of_partition)
    expect_text(described, r"^ProducerId\s+ProducerEpoch")
    expect_equal(len(described.lines), 2, "lines about producers")


def _reassign_partitions(ground: JavaGround) -> None:
    topic = ground.new_topic(["moved"])
    plan = {"version": 1, "partitions": [{"topic": topic, "partition": 0, "replicas": [2]}]}
    file = ("--reassignment-json-file", ground.file(json.dumps(plan)))
    ground.run(REASSIGN_PARTITIONS_COMMAND, *file, "--execute")
    done = f"Reassignment of partition {topic}-0 is completed."
    eventually(lambda: done in ground.run(REASSIGN_PARTITIONS_COMMAND, *file, "--verify").lines, done)
    expect_equal(administration.leader_of(ground.direct_servers, topic, 0), 2, "leader")


def _leader_election(ground: JavaGround) -> None:
    topic = ground.new_topic()
    of_partition = ("--topic", topic, "--partition", "0", "--election-type", "preferred")
    expect_text(
        ground.run(LEADER_ELECTION_COMMAND, *of_partition), rf"Valid replica already elected.*{topic}-0"
    )


def _log_dirs(ground: JavaGround) -> None:
    topic = ground.new_topic(["a"])
    result = ground.run(LOG_DIRS_COMMAND, "--describe", "--topic-list", topic)
    (answer,) = (json.loads(line) for line in result.lines if line.startswith("{"))
    holders = {
        broker["broker"]
        for broker in answer["brokers"]
        for folder in broker["logDirs"]
        for partition in folder["partitions"]
        if partition["partition"] == f"{topic}-0"
    }
    expect_equal(holders, ground.node_ids, "brokers that hold a replica")


def _features(ground: JavaGround) -> None:
    result = ground.run(FEATURE_COMMAND, "describe")
    if not ground.backing.uses_zookeeper:
        expect_text(result, r"Feature: metadata\.version\s.*FinalizedVersionLevel: \S+")


def _broker_api_versions(ground: JavaGround) -> None:
    result = ground.run(BROKER_API_VERSIONS_COMMAND)
    for node_id in ground.node_ids:
        expect_text(result, rf"^\S+:\d+ \(id: {node_id} rack: {rack_of(node_id)}.*\) -> \($")
    expect_equal(text_of(result).count("Produce(0): "), ground.backing.broker_count, "brokers that produce")


def _cluster(ground: JavaGround) -> None:
    bootstrap = ("--bootstrap-server", ground.bootstrap_servers)
    cluster_id = administration.cluster_id(ground.direct_servers)
    expect_text(ground.run_bare(CLUSTER_TOOL, "cluster-id", *bootstrap), f"Cluster ID: {cluster_id}$")
    listed = ground.run_bare(CLUSTER_TOOL, "list-endpoints", *bootstrap)
    for node_id in ground.node_ids:
        expect_text(listed, rf"^{node_id}\s+\S+\s+\d+\s+{rack_of(node_id)}\b")


def _get_offsets(ground: JavaGround) -> None:
    topic = ground.new_topic(["a", "b", "c"], partitions=2)
    result = ground.run(GET_OFFSET_SHELL, "--topic", topic)
    expect_equal(sorted(result.lines), [f"{topic}:0:3", f"{topic}:1:0"], "offsets")


def _delete_records(ground: JavaGround) -> None:
    topic = ground.new_topic(["a", "b", "c"])
    plan = {"version": 1, "partitions": [{"topic": topic, "partition": 0, "offset": 2}]}
    result = ground.run(DELETE_RECORDS_COMMAND, "--offset-json-file", ground.file(json.dumps(plan)))
    expect_text(result, rf"partition: {topic}-0\s+low_watermark: 2")
    expect_equal(administration.consume(ground.direct_servers, topic, 1), ["c"], "what is left")


def _metadata_quorum(ground: JavaGround) -> None:
    """This names brokers as they are: it lists the controllers, whom no client connects to."""
    arguments = ("--bootstrap-server", ground.bootstrap_servers, "describe", "--status")
    result = ground.run_bare(METADATA_QUORUM_COMMAND, *arguments, may_name_brokers=True)
    expect_text(result, r"^LeaderId:\s+[123]$")


def _client_metrics(ground: JavaGround) -> None:
    name = unique_name("metrics")
    ground.run(
        CLIENT_METRICS_COMMAND, "--alter", "--name", name, "--interval", "100000", "--metrics", "org.x"
    )
    described = ground.run(CLIENT_METRICS_COMMAND, "--describe", "--name", name)
    expect_text(described, r"interval\.ms=100000")
    ground.run(CLIENT_METRICS_COMMAND, "--delete", "--name", name)


def _producer_perf_test(ground: JavaGround) -> None:
    topic = ground.new_topic()
    shape = ("--topic", topic, "--num-records", "2000", "--record-size", "1000", "--throughput", "-1")
    expect_text(ground.run(PRODUCER_PERFORMANCE, *shape), r"^2000 records sent")
    expect_equal(administration.end_offset(ground.direct_servers, topic, 0), 2000, "end offset")


def _consumer_perf_test(ground: JavaGround) -> None:
    topic = ground.new_topic(["x" * 1000] * 2000)
    result = ground.run(CONSUMER_PERFORMANCE, "--topic", topic, "--num-records", "2000", "--hide-header")
    expect_text(result, r", 2000, ")


def _end_to_end_latency(ground: JavaGround) -> None:
    topic = ground.new_topic()
    options = ("--num-records", "20", "--producer-acks", "all", "--record-size", "100")
    expect_text(ground.run(END_TO_END_LATENCY, "--topic", topic, *options), r"Percentiles: ")


JAVA_TOOL_CHECKS: Final[Mapping[Scenario, JavaCheck]] = {
    Scenario.KAFKA_TOPICS: _topics,
    Scenario.KAFKA_CONFIGS: _configs,
    Scenario.KAFKA_CONSUMER_GROUPS: _consumer_groups,
    Scenario.KAFKA_GROUPS: _groups,
    Scenario.KAFKA_ACLS: _acls,
    Scenario.KAFKA_TRANSACTIONS: _transactions,
    Scenario.KAFKA_REASSIGN_PARTITIONS: _reassign_partitions,
    Scenario.KAFKA_LEADER_ELECTION: _leader_election,
    Scenario.KAFKA_LOG_DIRS: _log_dirs,
    Scenario.KAFKA_FEATURES: _features,
    Scenario.KAFKA_BROKER_API_VERSIONS: _broker_api_versions,
    Scenario.KAFKA_CLUSTER: _cluster,
    Scenario.KAFKA_GET_OFFSETS: _get_offsets,
    Scenario.KAFKA_DELETE_RECORDS: _delete_records,
    Scenario.KAFKA_METADATA_QUORUM: _metadata_quorum,
    Scenario.KAFKA_CLIENT_METRICS: _client_metrics,
    Scenario.KAFKA_PRODUCER_PERF_TEST: _producer_perf_test,
    Scenario.KAFKA_CONSUMER_PERF_TEST: _consumer_perf_test,
    Scenario.KAFKA_E2E_LATENCY: _end_to_end_latency,
}
