"""How far behind one share group is: its share-partitions added up. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kproxy.admin.progress_views import SharePartitionProgress


@dataclass(frozen=True, slots=True)
class GroupLag:
    """How far behind a share group is, over all its share-partitions.

    `lag` counts the records that are not done with, up to the ends of the logs, as far as they are known: unless
    `is_lag_exact` there may be more. `oldest_ms` is when the first of them was written, counted from the epoch, and
    unless `is_oldest_exact` there may be an older one. None is not known or, of a time, that there is none: then it is
    exact. `reason` says why something is not known, and is empty if all is.
    """

    lag: int | None = None
    is_lag_exact: bool = False
    oldest_ms: int | None = None
    is_oldest_exact: bool = False
    reason: str = ""


NOT_ASKED_FOR: Final = GroupLag()
NOT_LOOKED_AT: Final = GroupLag(reason="kproxy has not looked at it yet; ask again")


def lag_of_group(progress: Iterable[SharePartitionProgress], *, now_ms: int) -> GroupLag:
    """Add up the share-partitions of a group; `now_ms` is the time that their ages count from.

    The reason is the first one of what is not known.
    """
    lags: list[int] = []
    ages_ms: list[int] = []
    is_lag_exact = is_oldest_exact = True
    reason = ""
    for each in progress:
        is_age_known = each.lag == 0 or (each.oldest_age_ms is not None and each.is_oldest_age_exact)
        lags += [] if each.lag is None else [each.lag]
        ages_ms += [] if each.oldest_age_ms is None else [each.oldest_age_ms]
        is_lag_exact &= each.lag is not None
        is_oldest_exact &= is_age_known
        if each.lag is None or (each.oldest_age_ms is None and not is_age_known):
            reason = reason or each.reason
    return GroupLag(
        lag=sum(lags) if lags or is_lag_exact else None,
        is_lag_exact=is_lag_exact,
        oldest_ms=now_ms - max(ages_ms) if ages_ms else None,
        is_oldest_exact=is_oldest_exact,
        reason=reason,
    )
