"""`kproxy in-flight show` against a real admin port."""

import json

import pytest
from click.testing import CliRunner, Result

from kproxy.cli.main import cli
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch
from tests.in_memory.inspectable import Inspectable, acquire, serving


def run(*arguments: str) -> Result:
    inspectable = Inspectable()
    inspectable.join("alice")
    share_partition = inspectable.share_partition(
        StateBatch(100, 101, RecordState.AVAILABLE, 4), StateBatch(102, 109, RecordState.ACKNOWLEDGED, 1)
    )
    acquire(share_partition, "alice", 100, 100)
    place = ["-g", "workers", "-t", "orders", "-p", "0"]
    with serving(inspectable.server()) as url:
        return CliRunner().invoke(cli, ["in-flight", "show", *place, *arguments, "--admin-url", url])


def test_a_record_that_is_held_is_told_with_its_holder_its_lock_and_what_comes_next() -> None:
    # When
    result = run("100")

    # Then
    assert result.stdout.splitlines() == [
        "offset:      100, in a run of 100 to 100",
        "state:       Acquired",
        "attempt:     5 of 5, the last one",
        "held by:     alice (client-1), for 1.0 s, since 11:59:59 UTC",
        "locks:       last 30.0 s here, by share.record.lock.duration.ms (30.0 s unless it is set)",
        "blocked by:  nothing: it is the first one",
        (
            "next:        its lock ends in 29.0 s, at 12:00:29 UTC: unless it is accepted before, it is archived then, "
            "or when it is released, and never delivered again"
        ),
    ]


@pytest.mark.parametrize(
    ("offset", "coming"),
    [
        (
            "101",
            (
                "the next fetch of this partition gets it: attempt 5 of 5, the last one: "
                "it is archived after that unless it is accepted"
            ),
        ),
        ("105", "the start offset passes it when offset 100 is done with, and all between"),
    ],
)
def test_what_comes_next_goes_by_the_state(offset: str, coming: str) -> None:
    # When
    result = run(offset, "-o", "json")

    # Then
    [record] = json.loads(result.stdout)["items"]
    assert (record["offset"], record["next"]) == (int(offset), coming)


@pytest.mark.parametrize(
    ("offset", "why"),
    [
        ("99", "it is done with: kproxy log audit has its history"),
        ("110", "nobody has fetched it yet"),
    ],
)
def test_a_record_that_is_not_in_flight_is_exit_code_3(offset: str, why: str) -> None:
    # When
    result = run(offset)

    # Then
    assert (result.exit_code, result.stderr) == (
        3,
        f"Error: offset {offset} is not in flight, 100 to 109 are: {why}\n",
    )


def test_the_offset_is_an_argument_or_an_option_and_one_of_both() -> None:
    # When
    said, both, none = run("--offset", "100"), run("100", "--offset", "101"), run()

    # Then
    assert said.stdout == run("100").stdout
    assert (both.exit_code, none.exit_code) == (2, 2)
    assert "100 and --offset 101: which of both?" in both.stderr
    assert "give the offset of a record" in none.stderr
