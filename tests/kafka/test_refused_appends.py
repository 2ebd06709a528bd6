"""Appends that brokers did not take: what is certainly not in the state log costs its writers and nobody else."""

from kproxy.error_codes import ErrorCode
from tests.real_kafka import administration
from tests.real_kafka.administration import unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import KproxyProcess, state_topic_settings
from tests.real_kafka.share_state_client import Batch, Initialize, Read, ShareStateClient, Write, request_of

AVAILABLE, ACKNOWLEDGED = 0, 2


def many(count: int) -> tuple[Batch, ...]:
    """Return batches that cannot be joined."""
    return tuple((offset, offset, (AVAILABLE, ACKNOWLEDGED)[offset % 2], 1) for offset in range(count))


def is_refused_as_too_large(bootstrap_servers: str, topic: str) -> bool:
    """Tell whether a broker refuses a record of 2000 bytes."""
    try:
        administration.produce(bootstrap_servers, topic, ["x" * 2_000])
    except administration.NotInTime as refused:
        return "MSG_SIZE_TOO_LARGE" in str(refused)
    return False


def test_a_state_that_is_too_large_is_refused_and_the_slot_serves_on(reference_cluster: KafkaCluster) -> None:
    # Given
    kafka, settings = reference_cluster.bootstrap_servers, state_topic_settings()
    state_topic = str(settings["kproxy.state.topic.name"])
    topic, probe = (administration.create_topic(kafka, unique_name("refused")) for _ in range(2))
    settings["kproxy.share.coordinator.enable"] = "true"
    with KproxyProcess(kafka, settings=settings) as kproxy:
        kproxy.wait_until_ready()
        with ShareStateClient(kproxy.bootstrap_servers, group=unique_name("refused"), topic=topic) as client:
            client.ask(Initialize(0, 0))
            for refusing in (state_topic, probe):
                administration.set_topic_settings(kafka, refusing, {"max.message.bytes": "1000"})
            # The broker applies settings some time after the controller has answered, and in their order.
            kproxy.wait_until(lambda: is_refused_as_too_large(kafka, probe))

            # When
            too_large = request_of(client.group, client.topic_id, [(0, Write(0, 0, 0, 0, many(200)))])
            refused = client.send(too_large).results[0].partitions[0]
            taken = client.ask(Write(0, 0, 0, 1, many(2)))
            state = client.ask(Read(0))

        # Then
        assert (refused.error_code, taken.error_code) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NONE)
        assert state.batches == many(2)
        (line,) = kproxy.log_events("append_refused")
        assert f"max.message.bytes of topic {state_topic}" in line["advice"]
        metrics = kproxy.metrics()
        assert metrics.value("kproxy_statelog_refusals_total", reason="refused") == 1
        assert metrics.total("kproxy_statelog_rebuilds_total") == 0
