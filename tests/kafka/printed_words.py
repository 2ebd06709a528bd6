"""What a tool printed, without what may differ between two runs of it: so that the rest can be compared.

Left out are addresses, the order of lines, what is not about our groups, frames of stack traces, the epochs of groups
and members, which kproxy counts with fewer steps, and what the clusters of tests have configured otherwise.
"""

import os
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final

FOREIGN: Final = "FOREIGN"
"""In place of names that are not ours."""

_UNIQUE_NAME: Final = re.compile(rf"[a-z]+-{os.getpid()}-\d+|[a-z]+(-[a-z]+)*-\d{{13}}")
"""As `administration.unique_name` makes them, and as the examples of other clients do of the time."""
_EPOCHS: Final = frozenset({"GROUP-EPOCH", "ASSIGNMENT-EPOCH", "MEMBER-EPOCH"})
_WORDS_IN_NO_ORDER: Final = re.compile(r"deleted successfully|Valid states are")
_CONFIGS_OF: Final = re.compile(r"(?:Dynamic|All) configs for group (\S+) are:")
_LIST_COLUMNS: Final = ["GROUP", "TYPE", "PROTOCOL"]
_FRAME: Final = re.compile(r"\s*(at |\.\.\. \d+ more)")
_CONFIGURED_FOR_TESTS: Final = "share.heartbeat.interval.ms="


def relabelled(text: str, labels: Mapping[str, str]) -> str:
    """Return `text` with labels, which are given by name, and without addresses and the epoch of features."""
    named = _UNIQUE_NAME.sub(lambda found: labels.get(found[0], FOREIGN), text)
    return re.sub(r"Epoch: \d+", "Epoch: N", re.sub(r"127\.0\.0\.1:\d+", "ADDRESS", named))


def comparable_lines(lines: Sequence[str], ours: Collection[str]) -> list[str]:
    """Return what `lines`, relabelled, say of groups with the labels `ours`: each line once, as its words."""
    told: set[str] = set()
    columns: list[str] = []
    is_foreign = False
    for line in lines:
        # What is set in belongs to the line before it.
        is_foreign = _is_of_others(line, columns, ours) or (is_foreign and line.startswith("  "))
        if is_foreign or not line.strip() or _FRAME.match(line) or _CONFIGURED_FOR_TESTS in line:
            continue
        words = line.split()
        if words[0] == "GROUP":
            columns = words
        told.add(" ".join(_without_epochs(words, columns)))
    return sorted(told)


def _is_of_others(line: str, columns: Sequence[str], ours: Collection[str]) -> bool:
    """Whether a line, or a row of a list of all groups, is about a group that other tests have left."""
    named = _CONFIGS_OF.match(line)
    if named:
        return named[1] not in ours
    is_row = columns == _LIST_COLUMNS and bool(line.strip())
    return FOREIGN in line or (is_row and line.split(maxsplit=1)[0] not in (*ours, "GROUP"))


def _without_epochs(words: Sequence[str], columns: Sequence[str]) -> Sequence[str]:
    if _WORDS_IN_NO_ORDER.search(" ".join(words)):
        return sorted(word.rstrip(",") for word in words)
    if len(words) != len(columns):
        return words
    return ["EPOCH" if column in _EPOCHS else word for word, column in zip(words, columns, strict=True)]
