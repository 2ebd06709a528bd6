"""`kproxy why` against a real admin port."""

import json

from click.testing import CliRunner, Result

from kproxy.admin.cluster.slot_places import SlotPlaceView
from kproxy.cli.main import cli
from kproxy.share.identifiers import TopicIdPartition
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch
from tests.in_memory.inspectable import NOON_MS, ORDERS, Inspectable, acquire, serving
from tests.in_memory.scripted_partition_reader import InMemoryLog


def run(inspectable: Inspectable, *arguments: str) -> Result:
    with serving(inspectable.server()) as url:
        return CliRunner().invoke(cli, ["why", *arguments, "--admin-url", url])


def run_of_workers(inspectable: Inspectable, *arguments: str) -> Result:
    return run(inspectable, "-g", "workers", *arguments)


def stuck_group() -> Inspectable:
    """One of 5,000 records is held by alice, and those behind it are done with; nobody fetches from partition 1."""
    inspectable = Inspectable()
    inspectable.join("alice")
    share_partition = inspectable.share_partition(
        StateBatch(100, 100, RecordState.AVAILABLE, 1), StateBatch(101, 199, RecordState.ACKNOWLEDGED, 1)
    )
    acquire(share_partition, "alice", 100, 100)
    inspectable.open_session("alice", (ORDERS, 0))
    for partition in (0, 1):
        log = inspectable.backlogs.logs[TopicIdPartition(ORDERS, partition)] = InMemoryLog()
        log.append([b"a"] * 5000, timestamp_ms=NOON_MS - 7_500_000)
    return inspectable


SILENT = [
    "alice (client-1) seems to be dead: no heartbeat for 25.0 s, one is due every 5.0 s",
    (
        "  its session ends in 20.0 s, at 12:00:20 UTC: its partitions go to nobody then, as it is the only member; "
        "what it holds comes back when its locks end, or when its connection closes"
    ),
]


def test_the_record_that_blocks_a_group_is_told_with_who_holds_it_and_what_comes_next() -> None:
    # When
    result = run_of_workers(stuck_group(), "-p", "0")

    # Then
    assert result.stdout.splitlines() == [
        "workers is Stable: 1 member, lag not known",
        "",
        "orders, partition 0: its oldest unfinished record was written 2h05m ago",
        "  alice (client-1) holds offset 100",
        "  lag:         4801 records",
        "  blocked by:  offset 100, Acquired, attempt 2 of 5",
        "  behind it:   99 Acknowledged, 4800 never fetched",
        (
            "  held by:     alice (client-1), for 1.0 s, since 11:59:59 UTC, "
            "last heartbeat 1.0 s ago, last request 1.0 s ago"
        ),
        "  next:        its lock ends in 29.0 s, at 12:00:29 UTC, then it is for any member: attempt 3 of 5",
        (
            "  before:      how earlier attempts ended: "
            "kproxy log audit -b BACKING-BROKER:9092 -g workers -t orders -p 0 --offset 100"
        ),
    ]


def test_a_member_that_seems_to_be_dead_is_named_above() -> None:
    # Given
    inspectable = stuck_group()
    inspectable.clock.advance(24_000)

    # When
    result = run_of_workers(inspectable, "-p", "0")

    # Then
    assert result.stdout.splitlines()[1:3] == SILENT


def test_scripts_get_the_findings_as_items_with_numbers_and_names_as_fields() -> None:
    # When
    result = run_of_workers(stuck_group(), "-o", "json")

    # Then
    told = json.loads(result.stdout)
    assert (told["kind"], told["leftOut"], told["silentMembers"]) == ("ShareGroupFindings", 0, [])
    first, second = told["items"]
    assert (first["groupId"], first["partition"], first["lag"]) == ("workers", 0, 4801)
    assert first["verdict"] == "alice (client-1) holds offset 100"
    assert first["blockedBy"]["firstOffset"] == 100
    assert (first["holder"]["memberId"], first["holder"]["clientHost"]) == ("alice", "10.0.0.7")
    assert first["holder"]["lockEndsAtMs"] == NOON_MS + 29_000
    assert (
        second["verdict"]
        == "nobody fetches: it is assigned to alice (client-1), without a share session for it"
    )
    assert second["assignedTo"][0]["memberId"] == "alice"


def test_members_that_seem_to_be_dead_are_fields_too() -> None:
    # Given
    inspectable = stuck_group()
    inspectable.clock.advance(24_000)

    # When
    told = json.loads(run_of_workers(inspectable, "-o", "json").stdout)

    # Then
    (silent,) = told["silentMembers"]
    assert (silent["groupId"], silent["memberId"], silent["lastHeartbeatAgeMs"]) == (
        "workers",
        "alice",
        25_000,
    )
    assert silent["sessionEndsAtMs"] == NOON_MS + 20_000


def test_a_group_with_nothing_to_do_is_said_to_be_done() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.join("alice", group_id="workers")
    inspectable.leave("alice", group_id="workers")

    # When
    result = run_of_workers(inspectable)

    # Then
    assert result.stdout.splitlines()[0].startswith("workers is Empty: 0 members")


def test_a_partition_that_is_not_there_is_exit_code_3() -> None:
    # When
    result = run_of_workers(stuck_group(), "-t", "orders", "-p", "7")

    # Then
    assert (result.exit_code, result.stderr) == (
        3,
        "Error: share group 'workers' has nothing of topic 'orders' partition 7; it consumes orders\n",
    )


def test_without_a_group_the_worst_of_all_are_told_of_in_a_paragraph_each() -> None:
    # Given
    inspectable = stuck_group()
    inspectable.join("bob", group_id="auditors")
    inspectable.share_partition(group_id="auditors", start_offset=4_999)

    # When
    result = run(inspectable)

    # Then
    assert result.exit_code == 0, result.output
    first, _, second = result.stdout.partition("\n\n")
    assert {first.splitlines()[0], second.splitlines()[0]} == {
        "workers is Stable: 1 member, lag not known",
        "auditors is Stable: 1 member, lag not known",
    }
    workers = first if first.startswith("workers") else second
    assert workers.splitlines()[1:] == [
        "  orders, partition 0: its oldest unfinished record was written 2h05m ago",
        "    alice (client-1) holds offset 100, at attempt 2 of 5",
        "    next: its lock ends in 29.0 s, at 12:00:29 UTC, then it is for any member: attempt 3 of 5",
        "  all of it and of 1 more share-partition: kproxy why -g workers",
    ]


def test_a_group_that_everybody_left_is_told_of_with_the_record_that_blocks_it() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.join("alice")
    inspectable.leave("alice")
    batches = (
        StateBatch(100, 102, RecordState.AVAILABLE, 2),
        StateBatch(103, 109, RecordState.ACKNOWLEDGED, 1),
    )
    inspectable.write_state(0, *batches, start_offset=100)

    # When
    lines = run(inspectable).stdout.splitlines()

    # Then
    assert lines[0] == "workers is Empty: 0 members, lag not known"
    assert (
        "    offsets 100 to 102: a member has to fetch; the group has no members; 2 of 5 attempts over"
        in lines
    )


def test_of_very_many_groups_the_worst_are_told_of_and_the_others_counted() -> None:
    # Given
    inspectable = Inspectable()
    for number in range(7):
        inspectable.join(f"member-{number}", group_id=f"group-{number}")

    # When
    result = run(inspectable)

    # Then
    assert result.stdout.count(" is Stable") == 5
    assert result.stdout.splitlines()[-1] == (
        "2 more groups with something to do: --all shows more, kproxy groups list all of them"
    )


def test_a_partition_of_no_group_is_wrong_usage() -> None:
    # When
    result = run(stuck_group(), "-p", "0")

    # Then
    assert (result.exit_code, "-t and -p go with -g" in result.stderr) == (2, True)


def test_a_broker_that_is_down_is_named_above_and_with_the_groups_whose_state_is_on_it() -> None:
    # Given
    inspectable = stuck_group()
    inspectable.state_log.add(0)
    inspectable.places[0] = SlotPlaceView(None, 2, "states-0 has no leader: broker 1 is down", [1])

    # When
    of_all, of_one = run(inspectable), run_of_workers(inspectable)

    # Then
    cannot = (
        "its state cannot be written (slot 0 of the state log): states-0 has no leader: broker 1 is down; "
        "acknowledgements wait or are refused until broker 1 is back"
    )
    assert of_all.stdout.splitlines()[0] == (
        "broker 1 down: 1 slot of 1 of the state log cannot be written to, and so share group workers: "
        "kproxy brokers tells since when"
    )
    assert of_all.stdout.splitlines()[3] == f"  {cannot}"
    assert of_one.stdout.splitlines()[1] == cannot


def test_scripts_are_told_the_slot_of_a_group_with_its_leaders() -> None:
    # Given
    inspectable = stuck_group()
    inspectable.state_log.add(0)
    inspectable.places[0] = SlotPlaceView(3, 2)

    # When
    told = json.loads(run_of_workers(inspectable, "-o", "json").stdout)

    # Then
    assert told["stateSlots"] == [
        {
            "groupId": "workers",
            "slot": 0,
            "leader": 3,
            "groupsLeader": 2,
            "unwritable": "",
            "downBrokers": [],
        }
    ]
