"""`kproxy in-flight window` against a real admin port."""

import pytest
from click.testing import CliRunner, Result

from kproxy.cli.main import cli
from kproxy.share.limits import ShareLimits
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch
from tests.in_memory.inspectable import Inspectable, acquire, serving


def run(inspectable: Inspectable, *, columns: str = "40", colours: bool = False) -> Result:
    arguments = ["in-flight", "window", "-g", "workers", "-t", "orders", "-p", "0"]
    with serving(inspectable.server()) as url:
        return CliRunner(env={"COLUMNS": columns}).invoke(
            cli, [*arguments, "--admin-url", url], color=colours
        )


def a_window(size: int = 20) -> Inspectable:
    inspectable = Inspectable()
    inspectable.join("alice")
    share_partition = inspectable.share_partition(
        StateBatch(100, 101, RecordState.AVAILABLE, 2),
        StateBatch(102, 100 + size, RecordState.ACKNOWLEDGED, 1),
        StateBatch(101 + size, 101 + size, RecordState.ARCHIVED, 5),
    )
    acquire(share_partition, "alice", 100, 100)
    return inspectable


def test_every_offset_is_a_character_with_the_number_of_its_attempt_beneath() -> None:
    # When
    result = run(a_window())

    # Then
    assert result.stdout.splitlines() == [
        "22 offsets in flight, 100 to 121",
        "100  █░───────────────────x",
        "     32",
        "█ Acquired 1  ░ Available 1  x Archived 1  ─ Acknowledged 19",
        "offset 100 blocks the start offset: held by alice (client-1), attempt 3 of 5, lock ends in 29.0 s",
    ]


def test_a_long_window_is_drawn_with_several_offsets_to_a_character() -> None:
    # When
    result = run(a_window(10_000))

    # Then
    lines = result.stdout.splitlines()
    assert lines[0] == "10002 offsets in flight, 100 to 10101, 38 to a character"
    assert all(len(line) <= 40 for line in lines[1:-3])


def test_colours_come_beside_the_characters_and_never_instead() -> None:
    # When
    plain, coloured = run(a_window()), run(a_window(), colours=True)

    # Then
    assert "\x1b[" in coloured.stdout
    assert "\x1b[" not in plain.stdout


def test_a_window_with_nothing_in_it_is_said_to_be_empty() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.join("alice")
    inspectable.share_partition()

    # When
    result = run(inspectable)

    # Then
    assert (result.exit_code, result.stdout) == (0, "nothing is in flight\n")


def test_the_window_of_a_group_that_everybody_left_is_drawn_with_a_word_about_that() -> None:
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
    result = run(inspectable)

    # Then
    assert result.stdout.splitlines() == [
        "10 offsets in flight, 100 to 109",
        "100  ░░░───────",
        "     222",
        "░ Available 3  ─ Acknowledged 7",
        "offset 100 blocks the start offset: held by nobody, 2 of 5 attempts over",
        "not in memory (kproxy why says why), this is what the state log has: the next fetch takes over from there",
    ]


def test_a_window_that_is_overfull_says_why() -> None:
    # Given
    inspectable = Inspectable()
    inspectable.join("alice")
    share_partition = inspectable.share_partition()
    share_partition.limits = inspectable.limits = ShareLimits(partition_max_record_locks=10)
    acquire(share_partition, "alice", 100, 159)

    # When
    result = run(inspectable)

    # Then
    assert result.stdout.splitlines()[-1].startswith(
        "the window is overfull: 60 records in flight, the limit of the group (share.partition.max.record.locks) "
        "is 10. The record batch in which the limit was reached is larger than the room that was left"
    )


@pytest.mark.parametrize("missing", [["-g", "nobody"], ["-t", "nothing"], ["-p", "7"]])
def test_what_is_not_there_is_exit_code_3(missing: list[str]) -> None:
    # Given
    arguments = ["in-flight", "window", "-g", "workers", "-t", "orders", "-p", "0", *missing]

    # When
    with serving(a_window().server()) as url:
        result = CliRunner().invoke(cli, [*arguments, "--admin-url", url])

    # Then
    assert result.exit_code == 3, result.output
