"""`kproxy log` reads the state log from a real Kafka; and what a running kproxy says of the same."""

import json
import os
import subprocess
import sys
import time
import warnings

from confluent_kafka import Consumer, KafkaException, TopicPartition

from kproxy.wire.records import Record
from tests.in_memory.written_log import a_claim, a_snapshot, a_tombstone, an_update
from tests.real_kafka.administration import create_topic, produce, set_group_settings, unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import KproxyProcess, state_topic_settings
from tests.real_kafka.raw_share_member import NOT_YET, RawShareMember

# It reads its schemas, while it is imported, in a way that Python 3.11 warns about.
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaProducer

RECORDS = (a_claim(), a_snapshot(), an_update(), a_tombstone())
ACCEPT = 1
COORDINATOR_SECONDS = 30.0
PAUSE_SECONDS = 0.1
UNKNOWN = Record(b"\x00\x09", b"?")


def write(cluster: KafkaCluster, topic: str, partition: int, *records: Record) -> None:
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, acks="all")
    try:
        answers = [
            producer.send(topic, record.value, record.key, headers=list(record.headers), partition=partition)
            for record in records
        ]
        for answer in answers:
            answer.get(30)
    finally:
        producer.close()


def kproxy_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KPROXY_")}
    return subprocess.run(
        [sys.executable, "-m", "kproxy", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=environment,
    )


def run(bootstrap_servers: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return kproxy_command("log", *arguments, "-b", bootstrap_servers)


def wait_for_a_group_coordinator(bootstrap_servers: str) -> None:
    """Return when the cluster has its offsets topic: until then heartbeats are told to come again.

    The broker is named as the coordinator some time before it has loaded what it coordinates.
    """
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": unique_name("first")})
    deadline = time.monotonic() + COORDINATOR_SECONDS
    try:
        while True:
            try:
                consumer.committed([TopicPartition("any", 0)], timeout=COORDINATOR_SECONDS)
            except KafkaException as refusal:
                if refusal.args[0].code() not in NOT_YET or time.monotonic() > deadline:
                    raise
                time.sleep(PAUSE_SECONDS)
            else:
                return
    finally:
        consumer.close()


def a_state_log(cluster: KafkaCluster) -> str:
    return create_topic(cluster.bootstrap_servers, unique_name("states"), partitions=3)


def test_a_dump_has_every_record_with_its_offset_and_its_headers(reference_cluster: KafkaCluster) -> None:
    # Given
    topic = a_state_log(reference_cluster)
    write(reference_cluster, topic, 0, *RECORDS)
    write(reference_cluster, topic, 2, a_claim())

    # When
    ended = run(reference_cluster.bootstrap_servers, "dump", "-X", f"kproxy.state.topic.name={topic}")

    # Then
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [(line["partition"], line["offset"]) for line in lines] == [(0, 0), (0, 1), (0, 2), (0, 3), (2, 0)]
    assert [line["key"]["type"] for line in lines] == [27504, 0, 1, 0, 27504]
    assert lines[2]["headers"][1]["value"]["memberId"] == "alice"
    assert lines[3]["value"] is None
    assert all(line["timestamp"] > 0 for line in lines)


def test_a_record_of_somebody_else_makes_the_success_partial(reference_cluster: KafkaCluster) -> None:
    # Given
    topic = a_state_log(reference_cluster)
    write(reference_cluster, topic, 1, a_claim(), UNKNOWN, a_snapshot())

    # When
    ended = run(reference_cluster.bootstrap_servers, "stats", "-X", f"kproxy.state.topic.name={topic}")

    # Then
    assert ended.returncode == 6
    assert ended.stdout.splitlines()[1].split()[-1] == "KproxyClaim=1,ShareSnapshot=1,Undecodable=1"
    assert ended.stderr == "Error: 1 record cannot be decoded\n"


def test_a_topic_that_does_not_exist_is_one_line_and_is_not_created(reference_cluster: KafkaCluster) -> None:
    # Given
    topic = unique_name("nothing")

    # When
    first, second = (
        run(reference_cluster.bootstrap_servers, "dump", "-X", f"kproxy.state.topic.name={topic}")
        for _ in range(2)
    )

    # Then
    assert (first.returncode, second.returncode) == (3, 3)
    assert first.stderr.startswith(f"Error: the backing cluster has no topic {topic}")
    assert len(first.stderr.splitlines()) == 1


def test_who_acknowledged_what_stands_in_the_log_of_a_running_kproxy(reference_cluster: KafkaCluster) -> None:
    # Given
    brokers, settings = reference_cluster.bootstrap_servers, state_topic_settings()
    topic, group = create_topic(brokers, unique_name("jobs")), unique_name("workers")
    wait_for_a_group_coordinator(brokers)
    produce(brokers, topic, [str(number) for number in range(10)])
    with KproxyProcess(brokers, settings=settings) as kproxy:
        kproxy.wait_until_ready()
        set_group_settings(kproxy.bootstrap_servers, group, {"share.auto.offset.reset": "earliest"})
        with RawShareMember(
            kproxy.broker_addresses[1], group=group, topic=topic, member_id="alice"
        ) as member:
            member.join()
            member.fetch_until_acquired()
            member.acknowledge(2, 4, ACCEPT)

            # When
            in_flight = kproxy_command(
                "in-flight", "list", "-g", group, "-o", "json", "--admin-url", kproxy.admin_url
            )
            dump = run(
                brokers, "dump", "-X", f"kproxy.state.topic.name={settings['kproxy.state.topic.name']}"
            )

    # Then
    runs = json.loads(in_flight.stdout)["items"]
    assert [(run["firstOffset"], run["lastOffset"], run["state"], run["memberId"]) for run in runs] == [
        (0, 1, "Acquired", "alice"),
        (2, 4, "Acknowledged", None),
        (5, 9, "Acquired", "alice"),
    ]
    assert dump.returncode == 0, dump.stderr
    last = [line for line in map(json.loads, dump.stdout.splitlines()) if line["key"]["type"] == 1][-1]
    (actor,) = [header["value"] for header in last["headers"] if header["key"] == "kproxy.actor"]
    assert (actor["memberId"], actor["cause"]) == ("alice", "acknowledge")
    assert actor["offsetRanges"] == [{"firstOffset": 2, "lastOffset": 4}]
    assert last["value"]["data"]["stateBatches"] == [
        {"firstOffset": 2, "lastOffset": 4, "deliveryState": 2, "deliveryCount": 1}
    ]
