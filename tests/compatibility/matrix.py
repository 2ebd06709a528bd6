"""Writes the matrix of clients and clusters as a Markdown table, from the results of runs.

`python -m tests.compatibility.matrix RESULTS.jsonl…` prints the table; the tests write it to
`build/compatibility/matrix.md` as results come in.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

from tests.compatibility.backings import BACKINGS, Backing
from tests.compatibility.results import Result
from tests.compatibility.roster import AIOKAFKA, CLIENTS, CONFLUENT, KAFKA_PYTHON, Client
from tests.compatibility.scenarios import Scenario
from tests.real_kafka.paths import PROJECT_ROOT

MATRIX_FILE: Final = PROJECT_ROOT / "build" / "compatibility" / "matrix.md"
BEGIN_MARKER: Final = "<!-- matrix begin -->"
END_MARKER: Final = "<!-- matrix end -->"
FIRST_HEADING: Final = "client"
NOT_RUN: Final = ""

CLIENT_VERSIONS: Final = {
    client.name: version(client.name) for client in (CONFLUENT, KAFKA_PYTHON, AIOKAFKA)
} | {"kafkajs": "2.2.4", "Java clients": "4.3.1", "Java tools": "4.3.1"}


def headings() -> list[str]:
    """The table's first line: Kafka's versions, and how many brokers."""
    return [FIRST_HEADING, *(_column(backing) for backing in BACKINGS)]


def row_names() -> list[str]:
    """The table's first column: the clients with their versions."""
    return [row_name(client) for client in CLIENTS]


def row_name(client: Client) -> str:
    """How the table calls a client."""
    return f"{client.name} {CLIENT_VERSIONS[client.name]}"


def matrix(results: Iterable[Result]) -> str:
    """The table: in each cell how many of the scenarios that were run have passed."""
    latest = {(result.backing, result.client, result.scenario): result for result in results}
    rows = [
        [row_name(client), *(_cell(backing, client, list(latest.values())) for backing in BACKINGS)]
        for client in CLIENTS
    ]
    rule = ["---"] * len(headings())
    return "\n".join(_line(cells) for cells in [headings(), rule, *rows]) + "\n"


def table_between_markers(text: str) -> list[list[str]]:
    """The cells of the table that stands between the markers in a document, line by line, without its rule."""
    table = text.partition(BEGIN_MARKER)[2].partition(END_MARKER)[0]
    lines = [line.strip() for line in table.splitlines() if line.strip().startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [line for line in cells if not all(set(cell) <= set("-:") and cell for cell in line)]


def _cell(backing: Backing, client: Client, results: Sequence[Result]) -> str:
    wanted: set[Scenario] = set(client.scenarios_on(backing))
    outcomes = Counter(
        result.has_passed
        for result in results
        if (result.backing, result.client) == (backing.label, client.name) and result.scenario in wanted
    )
    if not outcomes:
        return NOT_RUN
    if outcomes[True] == len(wanted):
        return f"{len(wanted)} of {len(wanted)}"
    return f"**{outcomes[True]} of {len(wanted)}**"


def _column(backing: Backing) -> str:
    return (
        f"{backing.version}, {'1 broker' if backing.broker_count == 1 else f'{backing.broker_count} brokers'}"
    )


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    lines = [line for path in sys.argv[1:] for line in Path(path).read_text().splitlines()]
    print(matrix(Result.from_line(line) for line in lines), end="")
