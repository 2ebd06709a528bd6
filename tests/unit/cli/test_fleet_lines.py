from typing import Any

from kproxy.cli.fleet_lines import fleet_facts

FLEET: dict[str, Any] = {
    "group": "__kproxy_share_state",
    "name": "kproxy-a",
    "state": "settled",
    "problem": "",
    "mapEpoch": 77,
    "leaseMs": 5_240,
    "slots": {"count": 64, "owned": 22, "ready": 20, "loading": 2, "wanted": 1, "unassigned": 0},
    "moves": {"taken": 40, "givenUp": 18, "lost": 0},
    "members": [{"name": "kproxy-a"}, {"name": "kproxy-b"}],
}


def test_a_fleet_is_told_in_a_few_lines() -> None:
    assert list(fleet_facts(FLEET)) == [
        ("fleet.group", "__kproxy_share_state, 2 members"),
        ("fleet.name", "kproxy-a, settled"),
        ("fleet.slots", "22 of 64 owned (20 ready, 2 loading), 1 wanted from others, 0 unassigned"),
        ("fleet.moves", "40 taken, 18 given up, 0 lost so far"),
        ("fleet.lease", "5.2 s, map epoch 77"),
    ]


def test_a_problem_stands_beside_the_state() -> None:
    # When
    facts = dict(fleet_facts({**FLEET, "state": "joining", "problem": "no coordinator answers"}))

    # Then
    assert facts["fleet.name"] == "kproxy-a, joining: no coordinator answers"
