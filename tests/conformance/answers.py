"""The table that a run writes: each case, what it is held to, and what every target answered."""

from dataclasses import dataclass, field
from typing import Final

from tests.conformance.case import Case
from tests.conformance.stage import Playing
from tests.real_kafka.paths import PROJECT_ROOT

ANSWERS_FILE: Final = PROJECT_ROOT / "build" / "conformance" / "answers.md"
HEADING: Final = (
    "# Answers of Kafka's share groups and of kproxy, case by case\n\n"
    "Fields that have their default are left out. `N` is an epoch above 0.\n"
)


@dataclass(slots=True)
class AnswersTable:
    """Rows as they come; written in the order of the numbers."""

    _rows: dict[int, str] = field(default_factory=dict)

    def add(self, case: Case, state: str, playings: list[Playing]) -> None:
        """Add a case; `state` is same, as Kafka 4.4, different or missing."""
        lines = [f"\n## {case.number}. {case.sentence}\n", f"**{state}**\n"]
        longest = max(len(playing.notes) for playing in playings)
        lines += ["| asked | " + " | ".join(playing.target for playing in playings) + " |"]
        lines += ["|---" * (len(playings) + 1) + "|"]
        for row in range(longest):
            noted = [playing.notes[row] if row < len(playing.notes) else None for playing in playings]
            asked = next(each.asked for each in noted if each is not None)
            texts = ["-" if each is None else f"`{each.answer}`" for each in noted]
            lines += [f"| {row + 1}. {asked} | " + " | ".join(_same_as_first(texts)) + " |"]
        self._rows[case.number] = "\n".join(lines) + "\n"

    def write(self) -> None:
        """Write the file."""
        ANSWERS_FILE.parent.mkdir(parents=True, exist_ok=True)
        ANSWERS_FILE.write_text(HEADING + "".join(self._rows[number] for number in sorted(self._rows)))


def _same_as_first(texts: list[str]) -> list[str]:
    escaped = [text.replace("|", "\\|") for text in texts]
    return [escaped[0], *("same" if text == escaped[0] else text for text in escaped[1:])]
