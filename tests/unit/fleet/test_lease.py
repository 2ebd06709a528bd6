"""A lease ends before any coordinator can have given the slots to somebody else. Times are those of the defaults."""

from kproxy.fleet.lease import Lease
from kproxy.fleet.limits import FleetLimits

SESSION_ENDS_MS = 5_500
"""The session timeout less the margin."""
REBALANCE_ENDS_MS = 9_500
"""The rebalance timeout less the margin."""


def begun(sent_ms: int = 0) -> Lease:
    lease = Lease(FleetLimits())
    lease.begin(sent_ms)
    return lease


def test_there_is_none_before_it_begins() -> None:
    lease = Lease(FleetLimits())
    assert (lease.ends_at_ms, lease.is_held(0)) == (None, False)


def test_it_lasts_a_session_from_when_the_answered_request_was_sent_less_a_margin() -> None:
    lease = begun(1_000)
    assert lease.ends_at_ms == 1_000 + SESSION_ENDS_MS
    assert [lease.is_held(now_ms) for now_ms in (1_000, 6_499, 6_500)] == [True, True, False]


def test_each_answer_from_a_quiet_group_moves_its_end() -> None:
    lease = begun()
    for sent_ms in (1_500, 3_000, 20_000):
        lease.renew(min(sent_ms, (lease.ends_at_ms or 0) - 1), is_quiet=True)
    assert lease.ends_at_ms == (3_000 + SESSION_ENDS_MS - 1) + SESSION_ENDS_MS


def test_signs_of_life_during_a_rebalance_do_not_move_its_end_beyond_the_rebalance_timeout() -> None:
    """The coordinator removes a member that does not join anew, however often it says that it is alive."""
    lease = begun()
    for sent_ms in (3_000, 6_000, 9_000):
        lease.renew(sent_ms, is_quiet=False)
    assert lease.ends_at_ms == REBALANCE_ENDS_MS


def test_an_answer_to_a_request_that_was_sent_after_the_end_moves_nothing() -> None:
    """A coordinator that is loading answers everybody's heartbeat."""
    lease = begun()
    lease.renew(SESSION_ENDS_MS, is_quiet=True)
    assert lease.ends_at_ms == SESSION_ENDS_MS


def test_answers_that_overtake_each_other_do_not_shorten_it() -> None:
    lease = begun()
    lease.renew(3_000, is_quiet=True)
    lease.renew(1_000, is_quiet=True)
    assert lease.ends_at_ms == 3_000 + SESSION_ENDS_MS


def test_what_was_given_up_begins_only_with_a_new_generation() -> None:
    lease = begun()
    lease.end()
    lease.renew(1, is_quiet=True)
    assert not lease.is_held(1)
    lease.begin(2)
    assert lease.is_held(3)
