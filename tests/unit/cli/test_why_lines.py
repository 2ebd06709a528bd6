"""The lines of `kproxy why` for groups made up here; tests/unit/cli/test_why.py has those of a real admin port."""

from kproxy.cli.why_lines import MOST_SILENT, group_lines, paragraphs
from kproxy.clients.diagnosis.looks import FleetDiagnosis, GroupDiagnosis
from tests.unit.clients.diagnosis.test_findings import NOON_MS, found_of, member, run


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
