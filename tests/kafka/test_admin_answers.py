"""Everything that the admin port of a real kproxy answers, held against the file that describes it."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from click.testing import CliRunner

from kproxy.admin.questions import Endpoint
from kproxy.cli.main import cli
from tests.in_memory.described_answers import described, require_described
from tests.real_kafka.administration import create_topic, produce, unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import STATE_TOPIC_PARTITIONS, KproxyProcess
from tests.real_kafka.raw_share_member import RawShareMember

TOKEN: Final = "a-token-of-the-admin-port"
MEMBER: Final = "member-of-this-test-00"
PATIENCE_SECONDS: Final = 20.0


@pytest.fixture(scope="module")
def token_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("admin") / "token"
    path.write_text(TOKEN)
    return path


@pytest.fixture(scope="module")
def kproxy(reference_cluster: KafkaCluster, token_file: Path) -> Iterator[KproxyProcess]:
    settings = {"kproxy.admin.token.file": str(token_file)}
    with KproxyProcess(reference_cluster.bootstrap_servers, settings=settings) as kproxy:
        kproxy.wait_until_ready()
        yield kproxy


@pytest.fixture(scope="module")
def group(reference_cluster: KafkaCluster, kproxy: KproxyProcess) -> Iterator[str]:
    """A group whose member holds records of a topic."""
    topic, group = unique_name("told"), unique_name("group")
    create_topic(reference_cluster.bootstrap_servers, topic)
    with RawShareMember(kproxy.bootstrap_servers, group=group, topic=topic, member_id=MEMBER) as member:
        member.join_until_assigned(partitions=1)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not any(each.acquired_records for each in member.fetch(max_wait_ms=100)):
            assert time.monotonic() < deadline, "nothing was acquired"
            produce(reference_cluster.bootstrap_servers, topic, ["v"])
        yield group


def asked(kproxy: KproxyProcess, path: str, **headers: str) -> tuple[int, Any]:
    """Return the status and the JSON of an answer."""
    try:
        with urlopen(Request(kproxy.admin_url + path, headers=headers), timeout=10) as answer:
            return answer.status, json.load(answer)
    except HTTPError as refusal:
        with refusal:
            return refusal.code, json.load(refusal)


def test_every_answer_is_what_is_described(kproxy: KproxyProcess, group: str) -> None:
    # Given
    lists = [path.value for path in Endpoint if "{" not in path]
    paths = [
        *("/livez", "/readyz", "/readyz?verbose", "/api/v1/status", "/api/v1/log-level"),
        *lists,
        *(f"{path}?scope=local" for path in lists),
        f"/api/v1/groups/{group}",
        f"/api/v1/groups/{group}?lag=false",
        *(f"/api/v1/state-log/{slot}/state?at=end" for slot in range(STATE_TOPIC_PARTITIONS)),
        *("/api/v1/groups/nobody", "/api/v1/groups?x=1", "/api/v1/sessions?member=nobody&scope=local"),
    ]

    # When
    answers = [asked(kproxy, path, Authorization=f"Bearer {TOKEN}")[1] for path in paths]

    # Then
    for answer in answers:
        require_described(answer)
    kinds = {answer["kind"] for answer in answers if answer["items"]}
    assert {f"{kind}Answer" for kind in kinds} == {
        name for name in described()["$defs"] if name.endswith("Answer") and name != "OperatorActionAnswer"
    }


def test_what_is_refused_is_described_too_and_probes_are_not(kproxy: KproxyProcess) -> None:
    # When
    foreign = asked(kproxy, "/livez", Host="evil.example")
    page = asked(kproxy, "/api/v1/groups", Origin="http://evil.example", Authorization=f"Bearer {TOKEN}")
    nobody = asked(kproxy, "/api/v1/groups")
    probe = asked(kproxy, "/readyz")

    # Then
    assert [status for status, _ in (foreign, page, nobody, probe)] == [403, 403, 401, 200]
    for _, answer in (foreign, page, nobody, probe):
        require_described(answer)
    refused = kproxy.metrics()
    for reason in ("host", "origin", "token"):
        assert refused.value("kproxy_admin_requests_refused_total", reason=reason) >= 1


def test_commands_show_brokers_and_the_session_of_a_member(
    kproxy: KproxyProcess, group: str, token_file: Path
) -> None:
    def told(*command: str) -> str:
        options = ["--admin-url", kproxy.admin_url, "--admin-token-file", str(token_file)]
        result = CliRunner().invoke(cli, [*command, *options])
        assert result.exit_code == 0, result.output
        return result.stdout

    # When
    brokers = told("brokers", "--no-headers").splitlines()
    session = told("sessions", "describe", "-g", group, "-m", MEMBER)

    # Then
    assert [line.split()[4] for line in brokers] == ["yes"] * len(brokers)
    assert brokers
    assert "  principal:   User:ANONYMOUS" in session
    assert "attempt 1 of 5, lock ends in " in session
