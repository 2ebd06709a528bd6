"""What has to hold whatever befell a fleet, seen from its clients alone."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from tests.misfortunes.catalogue import Struck
from tests.misfortunes.load import LOCK_SECONDS, Load
from tests.real_kafka.accepter import Receipt, RecordId

TOLD: Final = 20
"""How many violations of one kind are told at most."""


def delivered_after_its_answer(load: Load) -> list[str]:
    """Records that a poll gave which began after their acceptance was answered: an acknowledgement was undone."""
    answered_at = {answer.record: answer.at for answer in load.acceptances.answers()}
    return [
        f"{receipt.record} answered at {answered_at[receipt.record]:.3f}, asked for at {receipt.asked_at:.3f}"
        for receipt in _receipts(load)
        if answered_at.get(receipt.record, receipt.asked_at) < receipt.asked_at
    ][:TOLD]


def held_by_two_at_once(load: Load, struck: Sequence[Struck], recovered: Sequence[float]) -> list[str]:
    """Records that were delivered twice within the time of a lock though nothing had happened meanwhile.

    Where something happened, who had a record has lost it, or hears so: of its two holders one is answered only, which
    the journals show. `recovered` tells when all groups went on after each of `struck`.
    """
    unquiet = [(misfortune.began, over) for misfortune, over in zip(struck, recovered, strict=True)]
    receipts: defaultdict[RecordId, list[Receipt]] = defaultdict(list)
    for receipt in sorted(_receipts(load), key=lambda each: each.got_at):
        receipts[receipt.record].append(receipt)
    return [
        f"{record} at {one.got_at:.3f} and at {other.got_at:.3f}"
        for record, of_record in receipts.items()
        for one, other in pairwise(of_record)
        if other.asked_at - one.got_at < LOCK_SECONDS
        and not any(began < other.got_at and one.asked_at < over for began, over in unquiet)
    ][:TOLD]


def _receipts(load: Load) -> list[Receipt]:
    return [receipt for accepter in load.acceptances.accepters for receipt in accepter.received]
