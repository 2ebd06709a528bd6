"""`kproxy doctor` prints what it finds as it looks, and ends with 5 when something failed."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from click.testing import CliRunner, Result

from kproxy.cli.main import cli
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from kproxy.wire.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from kproxy.wire.messages.describe_acls_response import DescribeAclsResponse
from kproxy.wire.messages.describe_groups_response import DescribedGroup, DescribeGroupsResponse
from kproxy.wire.messages.end_txn_response import EndTxnResponse
from kproxy.wire.messages.heartbeat_response import HeartbeatResponse
from kproxy.wire.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponseTopic,
)
from tests.in_memory.answering_broker import AnsweringBroker
from tests.in_memory.loop_in_a_thread import loop_in_a_thread
from tests.in_memory.scripted_admin_port import admin_port


@contextmanager
def a_cluster(*, may_create: bool = True) -> Iterator[str]:
    """Yield the address of a broker without any topic."""
    asked = (
        ApiKey.CREATE_TOPICS,
        ApiKey.DESCRIBE_ACLS,
        ApiKey.HEARTBEAT,
        ApiKey.END_TXN,
        ApiKey.DESCRIBE_GROUPS,
    )
    keys = [ApiVersion(key, 0, 3) for key in (18, *asked)]
    topic = CreatableTopicResult(name="t", error_code=0 if may_create else 29)
    broker = AnsweringBroker()
    broker.answers = {
        ApiKey.API_VERSIONS: lambda _: ApiVersionsResponse(api_keys=[*keys, ApiVersion(3, 0, 12)]),
        ApiKey.METADATA: lambda _: MetadataResponse(
            cluster_id="cluster-1",
            brokers=[MetadataResponseBroker(1, broker.address.host, broker.address.port)],
            topics=[MetadataResponseTopic(error_code=3, name="t")],
        ),
        ApiKey.CREATE_TOPICS: lambda _: CreateTopicsResponse(topics=[topic]),
        ApiKey.DESCRIBE_ACLS: lambda _: DescribeAclsResponse(error_code=54),
        ApiKey.HEARTBEAT: lambda _: HeartbeatResponse(error_code=25),
        ApiKey.END_TXN: lambda _: EndTxnResponse(error_code=49),
        ApiKey.DESCRIBE_GROUPS: lambda _: DescribeGroupsResponse(groups=[DescribedGroup()]),
    }
    with loop_in_a_thread() as loop:
        loop.run(broker.start())
        try:
            address = f"{broker.address.host}:{broker.address.port}"
            yield address
        finally:
            loop.run(broker.stop())


def run(*arguments: str, may_create: bool = True) -> tuple[Result, str]:
    with a_cluster(may_create=may_create) as address:
        command = ["doctor", "-b", address, "--admin-url", "http://127.0.0.1:1", *arguments]
        return CliRunner().invoke(cli, command), address


def test_a_cluster_that_is_well_is_told_check_by_check() -> None:
    # When
    result, address = run()

    # Then
    assert result.exit_code == 0, result.output
    lines = [line for line in result.stdout.splitlines() if line]
    assert lines[:5] == [
        address,
        "  ok       name: 127.0.0.1",
        lines[2],
        lines[3],
        "the cluster",
    ]
    assert lines[3].startswith("  ok       login: a broker answers in plaintext, in ")
    assert lines[-1] == "all is well: 12 checks, 1 of which could not be made"


def test_what_failed_comes_with_its_remedy_and_ends_with_5() -> None:
    # When
    result, _ = run(may_create=False)

    # Then
    assert (result.exit_code, result.stderr) == (5, "Error: 2 checks of 12 failed\n")
    assert "  FAILED   topic: is not there, and kproxy's principal may not create it" in result.stdout
    assert "           -> allow it Read, Write, Create, Delete" in result.stdout


def test_scripts_get_every_check_as_an_item() -> None:
    # When
    result, _ = run("-o", "json", may_create=False)

    # Then
    items = json.loads(result.stdout)["items"]
    assert [each["subject"].split()[0] for each in items if each["outcome"] == "failed"] == ["topic", "topic"]
    assert [each["check"] for each in items if each["outcome"] == "skipped"] == ["admin port"]


def subjects_of(*arguments: str, cluster_id: str = "cluster-1") -> list[str]:
    """Return what is looked at where a kproxy runs whose state topics are called s-1 and g-1."""
    with a_cluster() as address:
        there = {"stateTopic": "s-1", "groupsTopic": "g-1", "bootstrapServers": f"nowhere:9092,{address}"}
        with admin_port(clusterId=cluster_id, shareGroups={"state": "on"}, backingCluster=there) as url:
            command = ["doctor", "-b", address, "--admin-url", url, "-o", "json", *arguments]
            result = CliRunner().invoke(cli, command)
    items = json.loads(result.stdout.replace(url, "URL"))["items"]
    return [f"{each['subject']}, {each['check']}: {each['outcome']}, {each['detail']}" for each in items]


def test_the_state_topics_of_the_kproxy_that_runs_are_looked_at_and_that_is_said() -> None:
    # When
    found = subjects_of()

    # Then
    assert "the state log, names: ok, s-1 and g-1, as the kproxy at URL calls them" in found
    assert "topic s-1, topic: ok, is not there, and kproxy may create it" in found
    assert "kproxy's rights, rights: ok, Read on the fleet's group s-1" in found
    assert "kproxy at URL, state topics: ok, s-1 and g-1, which were looked at above" in found


def test_a_kproxy_in_front_of_another_cluster_is_said_to_have_other_state_topics() -> None:
    # When
    found = subjects_of(cluster_id="cluster-2")

    # Then
    (said,) = [each for each in found if each.startswith("kproxy at URL, state topics")]
    assert "warning, its are s-1 and g-1" in said
    assert "cluster cluster-2; looked at above was cluster cluster-1" in said


def test_state_topics_that_are_named_are_looked_at_whatever_the_kproxy_that_runs_has() -> None:
    # When
    found = subjects_of("-X", "kproxy.state.topic.name=mine")

    # Then
    assert "topic mine, topic: ok, is not there, and kproxy may create it" in found
    assert not [each for each in found if each.startswith("the state log")]
    assert [each for each in found if "state topics: warning, its are s-1 and g-1" in each]
