"""How long several groups are asked about. tests/unit/cli/test_groups.py shows what is made of the answers."""

import pytest

from kproxy.cli.described_groups import PATIENCE_S, described_groups
from kproxy.clients.failures import ClientFailed
from kproxy.errors import ExitCode
from tests.in_memory.inspectable import Inspectable, serving
from tests.in_memory.inspectable_fleet import two_processes


def test_when_brokers_take_long_the_last_groups_are_shown_without_asking_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Given
    inspectable = Inspectable()
    for group_id in ("a", "b", "c"):
        inspectable.join("alice", group_id=group_id)
    readings = iter([0.0, 1.0, PATIENCE_S, PATIENCE_S + 1])

    # When
    with serving(inspectable.server()) as url:
        described = described_groups(url, None, has_lag=True, now_s=lambda: next(readings))

    # Then
    described.complain()
    assert [item["groupId"] for item in described.answer["items"]] == ["a", "b", "c"]
    assert described.without_lag_count == 2
    assert {question.topic_name for question in inspectable.backlogs.asked} == {"orders"}
    assert len(inspectable.backlogs.asked) == 2, "the partitions of one group"
    assert capsys.readouterr().err == (
        "2 groups without LAG: asking the brokers about the others took 15 s; "
        "give fewer with -g, or see kproxy groups list\n"
    )


def test_all_groups_are_not_the_whole_truth_if_their_list_was_not() -> None:
    """Whoever cannot be asked for its groups does not make a description of another one's doubtful."""
    # Given
    fleet = two_processes()
    fleet.silent["kproxy-b"] = "kproxy-b shows nothing within 2000 ms"

    # When
    with serving(fleet.processes["kproxy-a"].server()) as url:
        described = described_groups(url, None, has_lag=False)

    # Then
    assert [item["groupId"] for item in described.answer["items"]] == [fleet.group_of("kproxy-a")]
    assert described.answer["unavailable"] == "kproxy-b shows nothing within 2000 ms"


def test_of_several_groups_those_are_described_of_whose_owner_something_is_heard() -> None:
    # Given
    fleet = two_processes()
    fleet.silent["kproxy-b"] = "kproxy-b shows nothing within 2000 ms"
    heard, unheard = fleet.group_of("kproxy-a"), fleet.group_of("kproxy-b")

    # When
    with serving(fleet.processes["kproxy-a"].server()) as url:
        described = described_groups(url, [unheard, heard], has_lag=False)

    # Then
    assert [item["groupId"] for item in described.answer["items"]] == [heard]
    assert "kproxy-b shows nothing within 2000 ms" in described.answer["unavailable"]


def test_a_group_of_whose_owner_nothing_is_heard_is_described_by_nobody() -> None:
    # Given
    fleet = two_processes()
    fleet.silent["kproxy-b"] = "kproxy-b shows nothing within 2000 ms"

    # When
    with (
        serving(fleet.processes["kproxy-a"].server()) as url,
        pytest.raises(ClientFailed, match="kproxy-b shows nothing within 2000 ms") as failed,
    ):
        described_groups(url, [fleet.group_of("kproxy-b")], has_lag=False)

    # Then
    assert failed.value.exit_code is ExitCode.FAILED
