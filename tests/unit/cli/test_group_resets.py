"""`kproxy groups reset-offsets` against a kproxy that runs in this process."""

import json

import pytest

from tests.worlds.administered_proxy import ORDERS, AdministeredProxy


def offsets_of(proxy: AdministeredProxy, group_id: str) -> list[list[str]]:
    """Return topic, partition and start offset of each share-partition."""
    lines = proxy.run("offsets", group_id, "--no-headers").stdout.splitlines()
    return [line.split()[1:4] for line in lines]


@pytest.fixture(scope="module", autouse=True)
def records(proxy: AdministeredProxy) -> None:
    """Ten records at one second and five at five seconds in one partition, five at five seconds in the other."""
    proxy.append(ORDERS, 0, 10, timestamp_ms=1_000)
    proxy.append(ORDERS, 0, 5, timestamp_ms=5_000)
    proxy.append(ORDERS, 1, 5, timestamp_ms=5_000)


@pytest.mark.parametrize(
    ("way", "offsets"),
    [
        (["--to-earliest"], ("0", "0")),
        (["--to-latest"], ("15", "5")),
        (["--to-datetime", "1970-01-01T00:00:03Z"], ("10", "0")),
        (["--to-datetime", "1000"], ("0", "0")),
        (["--to-datetime", "0"], ("0", "0")),
    ],
)
def test_a_group_goes_on_where_it_is_told_to(
    proxy: AdministeredProxy, way: list[str], offsets: tuple[str, str]
) -> None:
    # Given
    group_id = proxy.empty_group("way" + "".join(way), "orders")

    # When
    result = proxy.run("reset-offsets", "-g", group_id, "--all-topics", *way, "--execute", "--no-headers")

    # Then
    assert result.exit_code == 0
    assert result.stderr == ""
    assert [line.split()[-3:] for line in result.stdout.splitlines()] == [
        ["orders", "0", offsets[0]],
        ["orders", "1", offsets[1]],
    ]
    assert offsets_of(proxy, group_id) == [["orders", "0", offsets[0]], ["orders", "1", offsets[1]]]


@pytest.mark.parametrize("dry_run", [[], ["--dry-run"]])
def test_without_execute_the_offsets_are_only_shown(proxy: AdministeredProxy, dry_run: list[str]) -> None:
    # Given
    group_id = proxy.empty_group(f"dry{len(dry_run)}", "orders")

    # When
    result = proxy.run("reset-offsets", group_id, "--all-topics", "--to-latest", *dry_run)

    # Then
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "GROUP  TOPIC   PARTITION  NEW-OFFSET",
        f"{group_id}   orders  0          15",
        f"{group_id}   orders  1          5",
    ]
    assert result.stderr == "dry run: nothing was changed; --execute does it\n"
    assert offsets_of(proxy, group_id) == [["orders", "0", "-"], ["orders", "1", "-"]]


def test_topics_and_partitions_are_chosen(proxy: AdministeredProxy) -> None:
    # Given
    group_id = proxy.empty_group("chosen", "orders")

    # When
    result = proxy.run(
        *(
            "reset-offsets",
            "-g",
            group_id,
            "-t",
            "orders:1",
            "--topic",
            "payments",
            "--to-latest",
            "--execute",
        )
    )

    # Then
    assert result.exit_code == 0
    assert offsets_of(proxy, group_id) == [["orders", "0", "-"], ["orders", "1", "5"], ["payments", "0", "0"]]


def test_a_time_after_the_last_record_is_the_end_and_said_to_be(proxy: AdministeredProxy) -> None:
    # Given
    group_id = proxy.empty_group("late", "orders")

    # When
    result = proxy.run("reset-offsets", group_id, "-t", "orders:0", "--to-datetime", "2026-11-20T13:00")

    # Then
    assert result.stdout.splitlines()[1].split() == ["late", "orders", "0", "15"]
    assert "orders-0 has no record of that time or later: its end is taken" in result.stderr


def test_a_group_that_is_not_there_is_created(proxy: AdministeredProxy) -> None:
    # When
    result = proxy.run("reset-offsets", "created", "-t", "orders:0", "--to-latest", "--execute")

    # Then
    assert result.exit_code == 0
    assert "there is no share group 'created' yet: --execute creates it" in result.stderr
    assert offsets_of(proxy, "created") == [["orders", "0", "15"]]


def test_a_group_with_members_is_not_reset(proxy: AdministeredProxy) -> None:
    # Given
    proxy.join("busy", "orders")

    # When
    result = proxy.run("reset-offsets", "busy", "--all-topics", "--to-earliest", "--execute")

    # Then
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr == "Error: Share group 'busy' is not empty, but Stable: stop its members first.\n"


def test_a_group_without_offsets_has_nothing_to_reset(proxy: AdministeredProxy) -> None:
    # Given
    group_id = proxy.empty_group("bare", "payments")
    proxy.run("delete-offsets", group_id, "-t", "payments", "--execute")

    # When
    result = proxy.run(
        "reset-offsets", group_id, "--all-topics", "--to-earliest", "--execute", "--no-headers"
    )

    # Then
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "Share group 'bare' has no offset information.\n"


@pytest.mark.parametrize(
    ("group_id", "scope", "said"),
    [
        ("nobody", ["--all-topics"], "share group 'nobody' cannot be described"),
        ("some", ["-t", "nothing"], "topic 'nothing' cannot be found"),
        ("some", ["-t", "orders:7,1"], 'The partitions "orders-7" do not exist'),
    ],
)
def test_what_is_not_there_is_not_found(
    proxy: AdministeredProxy, group_id: str, scope: list[str], said: str
) -> None:
    # When
    result = proxy.run("reset-offsets", group_id, *scope, "--to-earliest", "--execute")

    # Then
    assert (result.exit_code, result.stdout) == (3, "")
    assert said in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--to-earliest"], "give --topic, once or more, or --all-topics"),
        (["-t", "orders", "--all-topics", "--to-earliest"], "give --topic, once or more, or --all-topics"),
        (["--all-topics"], "give one of --to-earliest, --to-latest and --to-datetime"),
        (["--all-topics", "--to-earliest", "--to-latest"], "give one of --to-earliest"),
        (["--all-topics", "--to-earliest", "--to-datetime", "0"], "give one of --to-earliest"),
        (["--all-topics", "--to-datetime", "tomorrow"], "'tomorrow' is no time: expected 2026-11-20T13:00Z"),
        (["-t", "orders:", "--to-earliest"], "'orders:': expected TOPIC or TOPIC:PARTITION"),
        (["-t", "orders:a", "--to-earliest"], "'orders:a': expected TOPIC or TOPIC:PARTITION"),
        (["-t", "orders:-1", "--to-earliest"], "'orders:-1': expected TOPIC or TOPIC:PARTITION"),
        (["-t", ":1", "--to-earliest"], "':1': expected TOPIC or TOPIC:PARTITION"),
        (["--all-topics", "--to-earliest", "--admin-url", "http://x:1"], "No such option"),
    ],
)
def test_a_command_that_contradicts_itself_is_wrong_usage(
    proxy: AdministeredProxy, arguments: list[str], said: str
) -> None:
    # When
    result = proxy.run("reset-offsets", "some", *arguments)

    # Then
    assert result.exit_code == 2
    assert said in result.stderr


def test_json_says_whether_it_was_done(proxy: AdministeredProxy) -> None:
    # Given
    group_id = proxy.empty_group("scripted", "orders")

    # When
    result = proxy.run("reset-offsets", group_id, "-t", "orders:0", "--to-latest", "-o", "json", "--execute")

    # Then
    assert json.loads(result.stdout) == {
        "apiVersion": "kproxy/v1",
        "kind": "ShareGroupOffsets",
        "executed": True,
        "items": [{"groupId": "scripted", "topicName": "orders", "partition": 0, "newOffset": 15}],
    }
