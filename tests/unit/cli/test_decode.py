"""`kproxy decode` shows frames by name and field, whatever they were recorded in."""

import json
from pathlib import Path
from typing import Any

import click
import dpkt
import pytest
import yaml
from click.testing import CliRunner, Result

from kproxy.cli.decode import decode
from kproxy.cli.main import cli
from kproxy.wire.codecs import encode_request, encode_response
from kproxy.wire.messages.share_fetch_request import ShareFetchRequest
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse
from tests.real_kafka.readme_snippets import guides, snippets_of
from tests.unit.clients.frames.captures import Capture

REQUEST = b"".join(encode_request(78, 1, 7, "rdkafka", ShareFetchRequest(group_id="orders", member_id="m-1")))
RESPONSE = b"".join(encode_response(78, 1, 7, ShareFetchResponse(error_code=122)))


def run(*arguments: str, given: bytes | None = None) -> Result:
    return CliRunner().invoke(cli, ["decode", *arguments], input=given)


def test_a_request_in_hex_is_shown_by_name_and_field() -> None:
    # When
    result = run(REQUEST.hex())

    # Then
    assert result.output.splitlines()[:3] == [
        "ShareFetch request v1, correlation id 7, client id rdkafka, 60 bytes",
        "  groupId: orders",
        "  memberId: m-1",
    ]


def test_the_example_of_the_help_is_a_frame() -> None:
    # Given
    assert isinstance(decode, click.Command)
    example = next(
        line for line in str(decode.epilog).splitlines() if line.strip().startswith("kproxy decode 0")
    )

    # When
    result = run(*example.split()[2:])

    # Then
    assert result.output.startswith("ApiVersions request v3, correlation id 1, client id rdkafka, 28 bytes")


def test_a_response_is_read_by_what_it_answers() -> None:
    # When
    result = run("--response", "ShareFetch:1", RESPONSE.hex(" "))

    # Then
    assert "  error: SHARE_SESSION_NOT_FOUND" in result.output.splitlines()


@pytest.mark.parametrize("content", [REQUEST, REQUEST.hex(" ").encode()], ids=["bytes", "hex"])
def test_a_file_may_have_bytes_or_hex(content: bytes, tmp_path: Path) -> None:
    # Given
    file = tmp_path / "frame"
    file.write_bytes(content)

    # When
    result = run("-f", str(file), "-o", "yaml")

    # Then
    [shown] = yaml.safe_load_all(result.output)
    assert (shown["api"], shown["fields"]["groupId"]) == ("ShareFetch", "orders")


@pytest.mark.parametrize("form", [dpkt.pcap, dpkt.pcapng], ids=["pcap", "pcapng"])
def test_a_capture_on_standard_input_gives_a_line_for_each_frame_of_an_api(form: Any) -> None:
    # Given
    capture = Capture(form=form)
    capture.open()
    capture.send(REQUEST)
    capture.answer(RESPONSE)

    # When
    result = run("-f", "-", "-o", "jsonl", "--api", "ShareFetch", given=capture.file().read())

    # Then
    lines = [json.loads(line) for line in result.output.splitlines()]
    assert [(line["kind"], line["connection"]) for line in lines] == [
        ("request", "10.0.0.7:50112 > 10.0.0.9:9092"),
        ("response", "10.0.0.9:9092 > 10.0.0.7:50112"),
    ]


@pytest.mark.parametrize(
    ("arguments", "exit_code", "why"),
    [
        ([], 2, "give HEX, or a file by -f"),
        (["00", "-f", "-"], 2, "give HEX, or a file by -f"),
        (["0a0"], 2, "3 digits make no whole byte"),
        (["-f", "/nowhere"], 2, "/nowhere cannot be read: No such file or directory"),
        (["--response", "ShareFetch", "00"], 2, "it is API:VERSION, such as ShareFetch:1"),
        (["--api", "Shar", REQUEST.hex()], 2, "no API is called 'Shar'"),
        (["--api", "Produce", REQUEST.hex()], 1, "no frame of Produce was found"),
    ],
)
def test_what_cannot_be_done_is_said_with_its_exit_code(
    arguments: list[str], exit_code: int, why: str
) -> None:
    # When
    result = run(*arguments)

    # Then
    assert (result.exit_code, why in result.output) == (exit_code, True), result.output


def test_the_page_shows_what_is_printed() -> None:
    # Given
    [block] = [each.text for each in snippets_of(guides()) if each.text.startswith("$ kproxy decode ")]
    command, _, printed = block.partition("\n")

    # When
    result = run(*command.split()[3:])

    # Then
    assert result.output.strip() == printed.strip()
