"""What came of a scenario, as it travels in a JSON line from a client to the run and from the run to pytest."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Self

from tests.compatibility.backings import Backing
from tests.compatibility.roster import Client
from tests.compatibility.scenarios import Scenario


@dataclass(frozen=True, slots=True)
class Result:
    """One scenario of one client against one cluster; `error` is empty if it passed."""

    backing: str
    client: str
    scenario: Scenario
    error: str
    seconds: float

    @property
    def has_passed(self) -> bool:
        return not self.error

    def to_line(self) -> str:
        """This result as a JSON object on one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_line(cls, line: str) -> Self:
        """The result that `to_line` wrote. Raises `ValueError` for any other line."""
        fields: Mapping[str, object] = json.loads(line)
        return cls(
            backing=str(fields["backing"]),
            client=str(fields["client"]),
            scenario=Scenario(str(fields["scenario"])),
            error=str(fields["error"]),
            seconds=float(str(fields["seconds"])),
        )


def missing(backing: Backing, client: Client, results: Iterable[Result]) -> set[Scenario]:
    """The scenarios of a cell that have no result."""
    told = {
        result.scenario
        for result in results
        if result.backing == backing.label and result.client == client.name
    }
    return set(client.scenarios_on(backing)) - told
