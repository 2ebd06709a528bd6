import json

import click
import yaml
from click.testing import CliRunner

from kproxy.cli.output import Column, Output, partitions_text, with_output
from kproxy.clients.admin_port import Item

COLUMNS = (
    Column("GROUP", "groupId"),
    Column("STATE", lambda item: item["state"].upper()),
    Column("EPOCH", "groupEpoch", is_wide=True),
)
ITEMS: list[Item] = [
    {"groupId": "workers", "state": "Stable", "groupEpoch": 7},
    {"groupId": "g", "state": ""},
]
ANSWER = {"kind": "ShareGroups", "items": ITEMS}


@click.command()
@with_output
def command(output: str, *, no_headers: bool) -> None:
    Output(output, not no_headers).show(ANSWER, ITEMS, COLUMNS)


def lines_of(*arguments: str) -> list[str]:
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout.splitlines()


def test_a_table_has_the_plain_columns() -> None:
    assert lines_of() == ["GROUP    STATE", "workers  STABLE", "g        -"]


def test_a_wide_table_has_all_columns_and_a_dash_for_what_is_missing() -> None:
    assert lines_of("-o", "wide") == [
        "GROUP    STATE   EPOCH",
        "workers  STABLE  7",
        "g        -       -",
    ]


def test_the_titles_can_be_left_out() -> None:
    assert lines_of("--no-headers") == ["workers  STABLE", "g        -"]


def test_json_is_the_whole_answer() -> None:
    assert json.loads("\n".join(lines_of("-o", "json"))) == ANSWER


def test_yaml_is_the_whole_answer() -> None:
    assert yaml.safe_load("\n".join(lines_of("-o", "yaml"))) == ANSWER


def test_jsonl_has_a_line_for_each_item() -> None:
    assert [json.loads(line) for line in lines_of("-o", "jsonl")] == ITEMS


def test_csv_has_every_column() -> None:
    assert lines_of("-o", "csv") == ["GROUP,STATE,EPOCH", "workers,STABLE,7", "g,-,-"]


def test_csv_may_do_without_titles() -> None:
    assert lines_of("-o", "csv", "--no-headers") == ["workers,STABLE,7", "g,-,-"]


def test_names_stand_alone() -> None:
    assert lines_of("-o", "name") == ["workers", "g"]


def test_partitions_are_written_as_kafkas_tools_write_them() -> None:
    assert (
        partitions_text(
            [
                {"topicName": "orders", "topicId": "x", "partitions": [0, 1]},
                {"topicName": None, "topicId": "dG9waWMtaWQtcGF5bWVudA", "partitions": [2]},
            ]
        )
        == "orders:0,1;dG9waWMtaWQtcGF5bWVudA:2"
    )
