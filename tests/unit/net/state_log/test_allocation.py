"""The right to claim a slot, and to serve it: what maps, claims and leases make of it."""

import pytest

from kproxy.errors import BrokerUnavailable
from kproxy.fleet.member_metadata import LAST_EPOCH
from kproxy.net.state_log.allocation import ClaimLost, ClaimRight
from kproxy.statelog.claims import NO_MAP_EPOCH, Claim
from tests.worlds.slot_allocations import FLEET, OwnsEverything


@pytest.mark.parametrize(
    ("claim", "map_epoch"), [(Claim("another", 2, 17, "a fleet"), 17), (None, NO_MAP_EPOCH)]
)
def test_a_lost_claim_says_in_words_who_won_and_under_which_map(claim: Claim | None, map_epoch: int) -> None:
    lost = ClaimLost("'another' claimed it", claim)
    assert (str(lost), lost.claim, lost.map_epoch) == ("'another' claimed it", claim, map_epoch)


@pytest.fixture
def fleet() -> OwnsEverything:
    """A fleet that gives everything to this process."""
    return OwnsEverything()


@pytest.mark.parametrize("ahead", [None, -1, 0])
def test_a_slot_that_nobody_claimed_under_a_newer_map_may_be_served(
    ahead: int | None, fleet: OwnsEverything
) -> None:
    right = ClaimRight(fleet)
    map_epoch = right.map_epoch(0)
    highest = None if ahead is None else Claim("another", 2, map_epoch + ahead, FLEET)
    right.require(0, highest, map_epoch)
    assert map_epoch == fleet.map_epoch


@pytest.mark.parametrize("fleet_group", [FLEET, "another fleet"])
def test_a_slot_that_somebody_claimed_under_a_newer_map_may_not_be_served(
    fleet_group: str, fleet: OwnsEverything
) -> None:
    right = ClaimRight(fleet)
    map_epoch = right.map_epoch(0)
    with pytest.raises(
        ClaimLost, match=f"'another' claimed it under map {map_epoch + 1}, and this .* {map_epoch}"
    ):
        right.require(0, Claim("another", 2, map_epoch + 1, fleet_group), map_epoch)


def test_a_slot_may_not_be_served_after_the_lease_has_ended(fleet: OwnsEverything) -> None:
    fleet.has_lease = False
    with pytest.raises(BrokerUnavailable, match="nothing was heard of the fleet's coordinator"):
        ClaimRight(fleet).require(0, None, fleet.map_epoch)


def test_whoever_lost_a_claim_to_a_newer_map_tells_the_fleet_and_claims_again_when_it_knows_one(
    fleet: OwnsEverything,
) -> None:
    # Given
    right, newer = ClaimRight(fleet), fleet.map_epoch + 5

    # When
    said = right.stand_back(ClaimLost("lost", Claim("another", 2, newer, FLEET)))

    # Then
    assert (said, fleet.seen_epoch) == ("", newer)
    with pytest.raises(BrokerUnavailable, match=f"under map {newer}, and this process knows only map"):
        right.map_epoch(0)
    fleet.map_epoch = newer
    assert right.map_epoch(0) == newer


def test_whoever_was_outrun_by_nobody_knows_whom_claims_again(fleet: OwnsEverything) -> None:
    right = ClaimRight(fleet)
    assert right.stand_back(ClaimLost("outrun")) == ""
    assert (right.map_epoch(0), fleet.seen_epoch) == (fleet.map_epoch, NO_MAP_EPOCH)


@pytest.mark.parametrize(
    ("newer", "told"),
    [(1_795_262_400_007, "2026-11-21T12:00:00.007Z"), (LAST_EPOCH, "9999-12-31T23:59:59.999Z")],
)
def test_whoever_lost_a_claim_to_another_fleet_says_so_and_does_not_mind_its_maps(
    fleet: OwnsEverything, newer: int, told: str
) -> None:
    right = ClaimRight(fleet)
    said = right.stand_back(ClaimLost("lost", Claim("another", 2, newer, "another fleet")))
    assert said == (
        "lost, for the fleet 'another fleet'; give both one kproxy.fleet.group, or the other one topics of its own: "
        f"then restart this kproxy, when its clock is past {told}, for claims follow wall clocks"
    )
    assert fleet.seen_epoch == NO_MAP_EPOCH


def test_nothing_is_claimed_once_the_lease_has_ended() -> None:
    # Given
    fleet = OwnsEverything()
    right = ClaimRight(fleet)
    fleet.has_lease = False

    # When / Then
    with pytest.raises(BrokerUnavailable, match="nothing was heard of the fleet's coordinator"):
        right.map_epoch(0)
