"""What is known of a claim that was lost. Who may serve what, and what follows: tests/models/test_slots_taken.py."""

import pytest

from kproxy.net.state_log.allocation import ClaimLost
from kproxy.statelog.claims import NO_MAP_EPOCH, Claim


@pytest.mark.parametrize(
    ("claim", "map_epoch"), [(Claim("another", 2, 17, "a fleet"), 17), (None, NO_MAP_EPOCH)]
)
def test_a_lost_claim_says_in_words_who_won_and_under_which_map(claim: Claim | None, map_epoch: int) -> None:
    lost = ClaimLost("'another' claimed it", claim)
    assert (str(lost), lost.claim, lost.map_epoch) == ("'another' claimed it", claim, map_epoch)
