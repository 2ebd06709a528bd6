"""Who serves a share group where there is no fleet."""

from kproxy.fleet.owners import NoFleet


def test_a_process_without_a_fleet_serves_every_group_itself() -> None:
    owners = NoFleet()

    assert owners.peer_of_group("orders") is None
    assert not owners.peers()
