"""For how long groups went without an answered acceptance, by what had happened and whether it concerned them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from tests.misfortunes.catalogue import Struck
from tests.misfortunes.checks import Span
from tests.misfortunes.load import GroupAtWork

QUIET: Final = "quiet times"
STAYED: Final = "its owner stayed the same, and was not struck"
MOVED: Final = "its owner was struck, or changed"


def longest_gap(answered_at: Sequence[float], began: float, ended: float) -> float:
    """Return the longest time without an answer between two moments, in seconds.

    It counts from the last answer before `began`, and to the first one after `ended`.
    """
    before = [at for at in answered_at if at <= began][-1:]
    after = [at for at in answered_at if at >= ended][:1]
    within = [at for at in answered_at if began < at < ended]
    return max((later - earlier for earlier, later in pairwise([*before, *within, *after])), default=0.0)


def percentile(values: Iterable[float], share: float) -> float:
    """Return the least of `values` that is at least as large as `share` of them; 0 for none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


@dataclass(slots=True)
class Story:
    """All that happened so far; nothing happened between `quiet_since` and `quiet_until`."""

    quiet_since: float
    quiet_until: float
    unquiet: list[Span] = field(default_factory=list)
    """From the beginning of each misfortune to when every group had gone on after it."""
    told: list[str] = field(default_factory=list)
    _gaps: defaultdict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(
        self,
        struck: Struck,
        recovered: float,
        groups: Sequence[GroupAtWork],
        owners_before: Mapping[int, int],
        owners_after: Mapping[int, int],
    ) -> None:
        """Note what happened, and what it meant for each group; owners are numbers of kproxies by slot."""
        self.unquiet.append((struck.began, recovered))
        longest: list[str] = []
        for group in groups:
            owner = owners_before.get(group.slot)
            stayed = owner == owners_after.get(group.slot) and owner not in struck.kproxies
            gap = longest_gap(group.answered_at(), struck.began, recovered)
            self._gaps[struck.kind, STAYED if stayed else MOVED].append(gap)
            longest.append(f"{gap:.2f} s{'' if stayed else ' (moved)'}")
        self.told.append(f"{struck.kind}: {struck.details}; gaps {', '.join(longest)}")

    def summary(self) -> list[dict[str, object]]:
        """The gaps in seconds, by what happened, and to whom."""
        return [
            {
                "what": kind,
                "of": whom,
                "gaps": len(gaps),
                "median": round(percentile(gaps, 0.5), 2),
                "p99": round(percentile(gaps, 0.99), 2),
                "longest": round(max(gaps), 2),
            }
            for (kind, whom), gaps in sorted(self._gaps.items())
        ]
