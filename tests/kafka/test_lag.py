"""The plainest stuck queue: one consumer hangs on the first record, and everything else waits behind it."""

import json
from collections.abc import Mapping
from typing import Any, Final

import pytest
from click.testing import CliRunner

from kproxy.cli.main import cli
from tests.real_kafka import administration
from tests.real_kafka.kproxy_process import KproxyProcess
from tests.real_kafka.share_endpoint import KPROXY_OLDEST, KPROXY_REFERENCE, EndpointsOfSession
from tests.real_kafka.share_members import ConfluentShareMember

RECORDS: Final = 5000


@pytest.mark.parametrize("behind", [KPROXY_REFERENCE, KPROXY_OLDEST])
def test_a_queue_that_stands_still_shows_its_lag_and_its_age_while_somebody_holds_it_and_after(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    """Kafka's lag (KIP-1226) is of everything from the start offset to the high watermark that is not done with."""
    # Given
    endpoint = share_endpoint(behind)
    kproxy = endpoint.kproxy
    assert kproxy is not None
    topic, group = endpoint.new_topic(partitions=2), endpoint.new_group()
    administration.produce(endpoint.bootstrap_servers, topic, [f"{number}" for number in range(RECORDS)])

    # When
    with ConfluentShareMember(endpoint.bootstrap_servers, group=group, topics=[topic]) as member:
        member.poll_until_records()
        held = _share_partition(kproxy, group)
    kproxy.wait_until(lambda: not _share_partition(kproxy, group)["live"])
    left = _share_partition(kproxy, group)

    # Then
    for seen in (held, left):
        assert (seen["startOffset"], seen["logEndOffset"], seen["lag"]) == (0, RECORDS, RECORDS)
        assert 0 < seen["oldestAgeMs"] < 120_000
        assert seen["reason"] == ""
    assert held["live"]
    assert held["oldestAgeMs"] < left["oldestAgeMs"]
    admin_url = ["--admin-url", kproxy.admin_url]
    listed = CliRunner().invoke(cli, ["groups", "list", "-o", "json", *admin_url])
    (of_group,) = [each for each in json.loads(listed.stdout)["items"] if each["groupId"] == group]
    metrics = kproxy.metrics()
    assert (of_group["lag"], of_group["lagExact"], of_group["reason"]) == (RECORDS, True, "")
    assert left["oldestAgeMs"] <= of_group["oldestAgeMs"] < 120_000
    assert metrics.value("kproxy_share_lag_records", group=group) == RECORDS
    assert 0 < metrics.value("kproxy_share_oldest_unfinished_seconds", group=group) < 120
    described = CliRunner().invoke(
        cli, ["groups", "describe", group, "--admin-url", kproxy.admin_url, "--no-headers"]
    )
    assert described.stdout.splitlines()[0].split()[:6] == [group, topic, "0", "0", "5000", "5000"]


def _share_partition(kproxy: KproxyProcess, group: str) -> Mapping[str, Any]:
    (found,) = [each for each in kproxy.group_item(group)["sharePartitions"] if each["partition"] == 0]
    assert isinstance(found, Mapping)
    return found
