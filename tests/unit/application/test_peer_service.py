"""Two whole kproxies in front of one cluster: each serves its clients whatever the other one owns."""

import asyncio
from pathlib import Path

import pytest

from kproxy.application.peer_service import fleet_secret, warn_of_unguarded_listener
from kproxy.error_codes import ErrorCode
from kproxy.net.peers.secret import SecretUnusable
from kproxy.net.relay.memory.buffer_budget import BufferBudget
from kproxy.settings import Settings
from kproxy.share.identifiers import GroupId, TopicId
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.api_versions_request import ApiVersionsRequest
from kproxy.wire.messages.share_fetch_request import FetchPartition, FetchTopic, ShareFetchRequest
from kproxy.wire.messages.share_group_describe_request import ShareGroupDescribeRequest
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from tests.in_memory.scripted_state_log import ScriptedStateLog
from tests.unit.application.test_proxy import NODE, Client
from tests.worlds.administered_proxy import answer_about_groups
from tests.worlds.running_proxy import HERE, RunningProxy
from tests.worlds.state_logs import SLOT_COUNT, alarms, group_of_slot
from tests.worlds.waiting import until

ORDERS = TopicId(b"topic-id-orders.")
GROUPS = [group_of_slot(slot) for slot in range(SLOT_COUNT)]


def owned_by(running: RunningProxy) -> list[GroupId]:
    """Return the groups whose slots a process serves."""
    slots = running.proxy._share.state_log.slots
    return [] if slots is None else [group for group in GROUPS if slots.slot_of_group(group).is_ready]


async def test_members_behind_either_process_join_the_groups_of_both() -> None:
    async with ScriptedStateLog() as cluster:
        # Given
        cluster.create_topic("orders", ORDERS)
        answer_about_groups(cluster)
        said = ErrorCode.UNSUPPORTED_VERSION
        async with (
            RunningProxy(cluster, said) as one,
            RunningProxy(cluster, said, beside=one) as other,
        ):
            await until(lambda: len(owned_by(one)) == len(owned_by(other)) == 1 and other.is_started)
            port = one.proxy._listeners.bound_ports[NODE]
            client = Client(*await asyncio.open_connection(HERE, port))

            # When
            async with asyncio.timeout(10):
                await client.ask(ApiKey.API_VERSIONS, 3, ApiVersionsRequest("test", "1"))
                for group in GROUPS:
                    joining = ShareGroupHeartbeatRequest(group, "alice", 0, None, ["orders"])
                    joined = await client.ask(ApiKey.SHARE_GROUP_HEARTBEAT, 1, joining)
                    assert joined.error_code == ErrorCode.NONE
                described = await client.ask(
                    ApiKey.SHARE_GROUP_DESCRIBE, 1, ShareGroupDescribeRequest(group_ids=list(GROUPS))
                )

            # Then
            members = [[member.member_id for member in group.members] for group in described.groups]
            assert members == [["alice"]] * SLOT_COUNT
            coordinators = [running.proxy._share.groups.coordinator for running in (one, other)]
            assert [len(each.group_ids) for each in coordinators] == [1, 1]
            client.writer.close()


async def test_a_member_is_told_the_ports_of_the_process_that_it_is_connected_to_and_no_other_s() -> None:
    async with ScriptedStateLog((1, 2)) as cluster:
        # Given
        cluster.create_topic("orders", ORDERS)
        answer_about_groups(cluster)
        said = ErrorCode.UNSUPPORTED_VERSION
        async with (
            RunningProxy(cluster, said) as one,
            RunningProxy(cluster, said, beside=one) as other,
        ):
            await until(lambda: len(owned_by(one)) == len(owned_by(other)) == 1 and other.is_started)
            ports = one.proxy._listeners.bound_ports
            told = []

            # When
            for group in GROUPS:
                client = Client(*await asyncio.open_connection(HERE, ports[2]))
                async with asyncio.timeout(10):
                    await client.ask(ApiKey.API_VERSIONS, 3, ApiVersionsRequest("test", "1"))
                    told.append(await client.ask(ApiKey.SHARE_FETCH, 1, misdirected(group)))
                client.writer.close()

            # Then
            leaders = [
                part.current_leader.leader_id for each in told for part in each.responses[0].partitions
            ]
            endpoints = {group: each.node_endpoints for group, each in zip(GROUPS, told, strict=True)}
            [near], [far] = owned_by(one), owned_by(other)
            assert leaders == [1, 1]
            assert [(point.node_id, point.port) for point in endpoints[near]] == [(1, ports[1])]
            assert endpoints[far] == []


def misdirected(group: GroupId) -> ShareFetchRequest:
    """Return a fetch of a partition that broker 1 leads."""
    return ShareFetchRequest(
        group_id=group,
        member_id="alice",
        max_wait_ms=100,
        min_bytes=1,
        max_records=1,
        batch_size=1,
        topics=[FetchTopic(ORDERS, [FetchPartition(0)])],
    )


def test_the_secret_is_what_stands_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("0123456789abcdef0123\n")

    assert fleet_secret(Settings(fleet_secret_file=str(file))) == b"0123456789abcdef0123"
    assert fleet_secret(Settings()) is None


def test_a_secret_that_cannot_be_read_is_named_with_its_file(tmp_path: Path) -> None:
    missing = tmp_path / "no-such-file"

    with pytest.raises(SecretUnusable, match="no-such-file cannot be read"):
        fleet_secret(Settings(fleet_secret_file=str(missing)))


@pytest.mark.parametrize(
    ("settings", "warnings"),
    [
        (Settings(), []),
        (Settings(admin_token_file="t"), ["fleet_listener_unguarded"]),
        (Settings(admin_token_file="t", fleet_secret_file="s"), []),
        (
            Settings(
                admin_token_file="t",
                fleet_ssl_keystore_location=("k",),
                fleet_ssl_truststore_location="a",
            ),
            [],
        ),
    ],
)
def test_a_token_that_local_processes_can_go_round_by_the_fleet_listener_is_warned_of(
    settings: Settings, warnings: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    # When
    warn_of_unguarded_listener(settings)

    # Then
    assert [record.msg for record in alarms(caplog)] == warnings


async def test_the_warning_of_an_unguarded_fleet_listener_comes_at_the_start_and_says_what_to_do(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with (
        ScriptedStateLog() as cluster,
        RunningProxy(cluster, ErrorCode.UNSUPPORTED_VERSION, admin_token_file="token") as running,
    ):
        # When
        await until(lambda: running.is_started)

    # Then
    (line,) = [record for record in alarms(caplog) if record.msg == "fleet_listener_unguarded"]
    assert "kproxy.fleet.secret.file" in str(line.__dict__)


async def test_one_sweeper_of_a_process_looks_after_the_budget_that_all_connections_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two would give who has the place beyond the limit half of the time."""
    lookers, look = list[str](), BufferBudget.look

    def noted(budget: BufferBudget, now_ms: int, frame_deadline_ms: int) -> None:
        task = asyncio.current_task()
        lookers.append("" if task is None else task.get_name())
        look(budget, now_ms, frame_deadline_ms)

    monkeypatch.setattr(BufferBudget, "look", noted)

    async with ScriptedStateLog() as cluster:
        answer_about_groups(cluster)
        async with RunningProxy(cluster, ErrorCode.UNSUPPORTED_VERSION):
            await until(lambda: len(lookers) >= 3)

    assert set(lookers) == {"sweeper"}
