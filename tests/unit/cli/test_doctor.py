"""`kproxy doctor` prints what it finds as it looks, and ends with 5 when something failed."""

import json

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


def run(*arguments: str, may_create: bool = True) -> tuple[Result, str]:
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
            command = ["doctor", "-b", address, "--admin-url", "http://127.0.0.1:1", *arguments]
            return CliRunner().invoke(cli, command), address
        finally:
            loop.run(broker.stop())


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
