"""Every client does through kproxy, on every cluster, all that it can do there."""

import pytest

from tests.compatibility.backings import BACKINGS, EVERYDAY_BACKINGS, Backing
from tests.compatibility.matrix import MATRIX_FILE, headings, matrix, row_names, table_between_markers
from tests.compatibility.results import Result
from tests.compatibility.roster import CLIENTS, CONFLUENT, KAFKAJS, Client
from tests.compatibility.scenarios import Scenario
from tests.compatibility.session import Columns

REFERENCE_BACKING = BACKINGS[0]


def cells(backings: tuple[Backing, ...]) -> list[object]:
    return [
        pytest.param(backing, client, id=f"{client.name}-{backing.label}")
        for backing in backings
        for client in CLIENTS
    ]


def rest_of_backings() -> tuple[Backing, ...]:
    return tuple(backing for backing in BACKINGS if backing not in EVERYDAY_BACKINGS)


def expect_all_to_pass(columns: Columns, backing: Backing, client: Client) -> None:
    # When
    column = columns.of(backing)

    # Then
    outcomes = {result.scenario: result.error for result in column.results if result.client == client.name}
    assert outcomes == dict.fromkeys(client.scenarios_on(backing), ""), column.told


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("backing", "client"), cells(EVERYDAY_BACKINGS))
def test_a_client_does_all_it_can_through_kproxy(columns: Columns, backing: Backing, client: Client) -> None:
    expect_all_to_pass(columns, backing, client)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "backing",
    [
        pytest.param(
            backing, id=backing.label, marks=[] if backing in EVERYDAY_BACKINGS else pytest.mark.soak
        )
        for backing in BACKINGS
    ],
)
def test_kproxy_complains_of_none_of_them(columns: Columns, backing: Backing) -> None:
    # When
    column = columns.of(backing)

    # Then
    assert column.exit_status == 0, column.told


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("backing", "client"), cells(rest_of_backings()))
def test_a_client_does_all_it_can_through_kproxy_on_the_other_clusters(
    columns: Columns, backing: Backing, client: Client
) -> None:
    expect_all_to_pass(columns, backing, client)


def test_the_matrix_counts_what_passed_and_shows_what_did_not() -> None:
    # Given
    passed = [
        Result(REFERENCE_BACKING.label, CONFLUENT.name, scenario, "", 1.0)
        for scenario in CONFLUENT.scenarios_on(REFERENCE_BACKING)
    ]
    failed = Result(REFERENCE_BACKING.label, KAFKAJS.name, Scenario.GZIP, "no route to host", 1.0)

    # When
    lines = matrix([*passed, failed]).splitlines()

    # Then
    assert lines[0].startswith("| client | 4.3.1, 1 broker | 4.3.1, 3 brokers | 3.9.2, 1 broker |")
    assert lines[2].startswith("| confluent-kafka 2.16.1 | 14 of 14 |  |")
    assert lines[5].startswith("| kafkajs 2.2.4 | **0 of 13** |  |")


def test_the_table_of_a_document_is_read_as_it_was_written() -> None:
    # Given
    document = f"before\n<!-- matrix begin -->\n{matrix([])}<!-- matrix end -->\n| not | part |\n"

    # When
    first_line, *lines = table_between_markers(document)

    # Then
    assert first_line == headings()
    assert [line[0] for line in lines] == row_names()


def test_every_scenario_is_run_by_somebody_on_some_cluster() -> None:
    # When
    run = {
        scenario for backing in BACKINGS for client in CLIENTS for scenario in client.scenarios_on(backing)
    }

    # Then
    assert run == set(Scenario)
    assert MATRIX_FILE.name == "matrix.md"
