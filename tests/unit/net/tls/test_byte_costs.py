"""Bytes that make TLS work are told from bytes that say something by the time that they take, and not by one mishap."""

from kproxy.net.tls.byte_costs import FEW_BYTES, LOOK_BYTES, PROOF_BYTES, ByteCosts
from kproxy.net.tls.paced_transport import RECORD_BYTES

LONG, QUICK = 1.0, 0.0


def test_what_is_quick_is_decrypted_record_by_record() -> None:
    costs = ByteCosts()

    costs.note(RECORD_BYTES, QUICK)

    assert (costs.piece_bytes, costs.are_high) == (RECORD_BYTES, False)


def test_behind_one_piece_that_took_long_the_next_ones_are_small_and_no_more() -> None:
    costs = ByteCosts()

    costs.note(RECORD_BYTES, LONG)

    assert (costs.piece_bytes, costs.are_high) == (LOOK_BYTES, False)


def test_costs_are_high_behind_two_pieces_that_took_long_until_as_much_as_a_piece_was_quick() -> None:
    costs = ByteCosts()
    costs.note(RECORD_BYTES, LONG)

    costs.note(LOOK_BYTES, LONG)
    were_high = costs.are_high
    costs.note(LOOK_BYTES - 1, QUICK)
    were_high_still = costs.are_high
    costs.note(1, QUICK)

    assert (were_high, were_high_still, costs.are_high) == (True, True, False)


def test_costs_that_were_high_are_so_again_behind_one_piece() -> None:
    costs = ByteCosts()
    for seconds in (LONG, LONG, QUICK):
        costs.note(LOOK_BYTES, seconds)

    costs.note(LOOK_BYTES, LONG)

    assert costs.are_high


def test_pieces_are_large_again_when_enough_was_quick() -> None:
    costs = ByteCosts()
    costs.note(LOOK_BYTES, LONG)

    costs.note(PROOF_BYTES - 1, QUICK)
    before = costs.piece_bytes
    costs.note(1, QUICK)

    assert (before, costs.piece_bytes) == (LOOK_BYTES, RECORD_BYTES)


def test_of_few_bytes_not_each_one_has_to_be_quick() -> None:
    costs = ByteCosts()

    costs.note(1, FEW_BYTES * 0.9e-7)

    assert costs.piece_bytes == RECORD_BYTES


def test_a_key_update_is_long_and_a_small_record_is_not() -> None:
    """Of this many bytes in so many records, as measured."""
    key_updates, heartbeats = ByteCosts(), ByteCosts()

    for _ in range(2):
        key_updates.note(LOOK_BYTES, 75 * 9e-6)
        heartbeats.note(LOOK_BYTES, 33 * 1.2e-6)

    assert (key_updates.are_high, heartbeats.are_high) == (True, False)
