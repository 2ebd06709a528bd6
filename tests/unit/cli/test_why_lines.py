"""The lines of `kproxy why` for groups made up here; tests/unit/cli/test_why.py has those of a real admin port."""

from typing import Any

from kproxy.cli.why_lines import MOST_SILENT, group_lines, paragraphs
from kproxy.clients.diagnosis.looks import HUNG_MS, FleetDiagnosis, GroupDiagnosis
from tests.unit.clients.diagnosis.test_findings import NOON_MS, found_of, member, run, session


def diagnosis(silent: int) -> GroupDiagnosis:
    members = [member(f"member-{number}", heartbeat_ms=60_000) for number in range(silent)]
    group = {"groupId": "workers", "state": "Stable", "members": members, "sharePartitions": [{"lag": 10}]}
    found = found_of(group, [run("Acquired", 7, 7, 5, "member-0")], [])
    return GroupDiagnosis({}, group, [found], 0, NOON_MS)


def test_of_very_many_dead_members_the_first_are_named_and_the_others_counted() -> None:
    # When
    lines = list(group_lines(diagnosis(MOST_SILENT + 2)))

    # Then
    assert sum("seems to be dead" in line for line in lines) == MOST_SILENT
    assert "2 more members not heard for long: kproxy groups describe workers --members" in lines


def test_a_paragraph_names_one_dead_member_and_says_that_an_attempt_is_the_last() -> None:
    # When
    lines = list(paragraphs(FleetDiagnosis({}, [diagnosis(2)], 0)))

    # Then
    assert sum("seems to be dead" in line for line in lines) == 1
    assert "    member-0 (worker) holds offset 7, at attempt 5 of 5, the last one" in lines
    assert lines[-1] == "  all of it: kproxy why -g workers"


def test_where_no_group_has_anything_to_do_that_is_said() -> None:
    assert list(paragraphs(FleetDiagnosis({}, [], 0))) == [
        "nothing waits: every group is done with all that was produced"
    ]


def test_where_not_all_was_told_it_is_not_said_that_nothing_waits() -> None:
    # Given
    answer = {"unavailable": "there shows nothing within 2000 ms"}
    group = {"groupId": "workers", "state": "Stable", "members": [], "sharePartitions": []}

    # When
    of_all = list(paragraphs(FleetDiagnosis(answer, [], 0)))
    of_one = list(group_lines(GroupDiagnosis(answer, group, [], 0, NOON_MS)))

    # Then
    said = "nothing waits in what was told, which is not all: there shows nothing within 2000 ms"
    assert of_all == [said]
    assert of_one[1:] == [said]


def hanging(idle_ms: int, count: int = 1, *, is_fetching: bool = False, **said: Any) -> GroupDiagnosis:
    names = [f"member-{number}" for number in range(count)]
    members = [member(name) for name in names]
    group = {"groupId": "workers", "state": "Stable", "members": members, "sharePartitions": [{"lag": 10}]}
    runs = [run("Acquired", 7 + number, 7 + number, 1, name) for number, name in enumerate(names)]
    sessions = [session(name, idle_ms=idle_ms, is_fetching=is_fetching) for name in names]
    found = found_of(group, runs, sessions, **said)
    return GroupDiagnosis({}, group, [found], 0, NOON_MS, held=dict.fromkeys(names, 1))


def test_a_member_that_is_heard_and_holds_records_and_asks_for_nothing_is_named_above() -> None:
    # When
    lines = list(group_lines(hanging(HUNG_MS)))

    # Then
    assert lines[1] == (
        "member-0 (worker) seems to hang: its heartbeats come, but it has asked for nothing for 1m00s, "
        "and it holds 1 record"
    )


def test_a_member_that_asked_a_moment_ago_does_not_hang() -> None:
    assert not any("seems to hang" in line for line in group_lines(hanging(HUNG_MS - 1)))


def test_a_member_whose_fetch_waits_does_not_hang_however_long() -> None:
    lines = list(group_lines(hanging(HUNG_MS, is_fetching=True)))
    assert not any("seems to hang" in line for line in lines)


def test_of_many_members_that_hang_the_first_are_named() -> None:
    # When
    lines = list(group_lines(hanging(HUNG_MS, MOST_SILENT + 2)))

    # Then
    assert sum("seems to hang:" in line for line in lines) == MOST_SILENT
    assert "2 more members that seem to hang" in lines


def test_a_paragraph_tells_of_a_full_window() -> None:
    # When
    lines = list(paragraphs(FleetDiagnosis({}, [hanging(0, inFlightCount=2000)], 0)))

    # Then
    assert any(line.startswith("    window: full: 2000 records in flight") for line in lines)
