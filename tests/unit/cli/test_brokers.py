"""`kproxy brokers` against a real admin port."""

import json

import pytest
from click.testing import CliRunner, Result

from kproxy.cli.main import cli
from tests.in_memory.inspectable import Inspectable, serving


def run(*arguments: str) -> Result:
    inspectable = Inspectable()
    inspectable.know_broker(1, client_connections=7)
    inspectable.know_broker(2, rack=None, is_connected=False, own_connections=0)
    inspectable.know_broker(
        *(3,),
        is_listed=False,
        is_connected=False,
        last_error="refused",
        last_error_age_ms=4000,
    )
    inspectable.know_broker(4, is_listed=False, is_connected=False, unlisted_ms=102_000, is_awaited=True)
    with serving(inspectable.server()) as url:
        return CliRunner().invoke(cli, ["brokers", *arguments, "--admin-url", url])


def test_brokers_are_listed() -> None:
    # When
    result = run()

    # Then
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "NODE  RACK    BROKER        CLIENTS-USE      CONNECTED       #CLIENTS  LAST-ERROR  PROCESS",
        "1     rack-1  broker1:9092  127.0.0.1:19101  yes             7         -           -",
        "2     -       broker2:9092  127.0.0.1:19102  no              0         -           -",
        "3     rack-3  broker3:9092  127.0.0.1:19103  gone            0         refused     -",
        "4     rack-4  broker4:9092  127.0.0.1:19104  down for 1m42s  0         -           -",
    ]


def test_the_wide_list_tells_of_own_connections_and_when_the_error_was() -> None:
    # When
    result = run("-o", "wide", "--no-headers")

    # Then
    assert result.stdout.splitlines()[2].split()[-3:] == ["-", "2", "4000"]


@pytest.mark.parametrize(
    ("form", "count"), [("json", None), ("jsonl", 4), ("yaml", None), ("csv", 5), ("name", 4), ("table", 5)]
)
def test_every_form_of_a_list_is_there(form: str, count: int | None) -> None:
    # When
    result = run("-o", form)

    # Then
    assert result.exit_code == 0
    assert "3" in result.stdout
    if count is not None:
        assert len(result.stdout.splitlines()) == count


def test_names_are_node_ids() -> None:
    assert run("-o", "name").stdout.split() == ["1", "2", "3", "4"]


def test_json_is_the_whole_answer() -> None:
    assert json.loads(run("-o", "json").stdout)["kind"] == "Brokers"
