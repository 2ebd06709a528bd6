"""`kproxy decode`: Kafka frames by name and field, out of hex, a file or a capture."""

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from kproxy.cli.exit_codes import CommandFailed, ExitCode
from kproxy.cli.output import with_form
from kproxy.clients.tables import cell_text, printable
from kproxy.notation import iso_time
from kproxy.wording import counted

if TYPE_CHECKING:
    from kproxy.clients.frames.conversations import Unread
    from kproxy.clients.frames.described_frames import DescribedFrame

_FORMS = ("text", "jsonl", "yaml")


@click.command(
    epilog="""Examples:

\b
  kproxy decode 000000180012000300000001000772646b61666b6100036b70023100
  kproxy decode --response ShareFetch:1 -f answer.hex
  tcpdump -i any -w - port 9092 | kproxy decode -f -
  kproxy decode -f trace.pcapng --api ShareFetch --api ShareAcknowledge -o jsonl | jq .fields

Of byte fields and records sizes and offsets are shown, never what is in them. Connections with TLS cannot be read.
The exit code is 1 when nothing could be decoded.
""",
)
@click.argument("hex_text", metavar="[HEX]...", nargs=-1)
@click.option(
    "-f",
    "--file",
    "file",
    metavar="FILE",
    help="A capture (pcap, pcapng), hex text, or the bytes themselves; - is standard input.",
)
@click.option(
    "--response",
    metavar="API:VERSION",
    help="What is given is a response to this, such as ShareFetch:1; a capture knows that by itself.",
)
@click.option("--api", "apis", metavar="API", multiple=True, help="Show this API only; may be repeated.")
@click.option(
    "--port",
    "ports",
    metavar="PORT",
    multiple=True,
    type=click.IntRange(1, 65535),
    help="A port of brokers, where a capture has not seen its connections begin; may be repeated.",
)
@with_form(*_FORMS, default="text")
def decode(
    hex_text: tuple[str, ...],
    file: str | None,
    response: str | None,
    apis: tuple[str, ...],
    ports: tuple[int, ...],
    output: str,
) -> None:
    """Show Kafka frames by name and field.

    HEX is a request with its length before it or without, as it stands in a log or in Wireshark's "copy as hex stream".
    """
    if bool(hex_text) == bool(file):
        raise click.UsageError("give HEX, or a file by -f")
    from kproxy.clients.frames.described_frames import DescribedFrame, api_key_named

    wanted = {api_key_named(name) for name in apis}
    shown = 0
    for found in _found(" ".join(hex_text), file, response, frozenset(ports)):
        if not isinstance(found, DescribedFrame):
            click.echo(printable(f"{iso_time(found.at_ms)} {found.connection}: {found.problem}"), err=True)
        elif not wanted or found.api_key in wanted:
            shown += 1
            click.echo(_shown(found, output))
    if not shown:
        raise CommandFailed(_nothing(apis), ExitCode.FAILED)


def _nothing(apis: tuple[str, ...]) -> str:
    what = f"of {', '.join(apis)} " if apis else ""
    return f"no frame {what}was found; where a capture began after its connections, --port tells which end brokers are"


def _found(
    hex_text: str, file: str | None, response: str | None, ports: frozenset[int]
) -> "Iterator[DescribedFrame | Unread]":
    from kproxy.clients.frames.recorded_bytes import bytes_of_hex

    if file is None:
        yield from _described(bytes_of_hex(hex_text), response)
    elif file == "-":
        yield from _in_file(sys.stdin.buffer, response, ports)
    else:
        try:
            with Path(file).open("rb") as opened:
                yield from _in_file(opened, response, ports)
        except OSError as error:
            raise CommandFailed(f"{file} cannot be read: {error.strerror}", ExitCode.USAGE) from error


def _in_file(
    file: BinaryIO, response: str | None, ports: frozenset[int]
) -> "Iterable[DescribedFrame | Unread]":
    from kproxy.clients.frames.captured_packets import MAGIC_BYTES, is_capture, segments_of
    from kproxy.clients.frames.conversations import conversations_in
    from kproxy.clients.frames.recorded_bytes import bytes_of_hex, is_hex_text

    content = _Peekable(file)
    if is_capture(content.peek(MAGIC_BYTES)):
        return conversations_in(segments_of(content), ports=ports)  # type: ignore[arg-type]  # it can read
    whole = content.read()
    return _described(bytes_of_hex(whole.decode("ascii")) if is_hex_text(whole) else whole, response)


class _Peekable:
    """A file whose first bytes are looked at before somebody else reads them; a pipe cannot be rewound."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._seen = b""
        self.name = getattr(file, "name", "")

    def peek(self, size: int) -> bytes:
        self._seen = self._file.read(size)
        return self._seen

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            seen, self._seen = self._seen, b""
            return seen + self._file.read()
        seen, self._seen = self._seen[:size], self._seen[size:]
        return seen + self._file.read(size - len(seen))


def _described(content: bytes, response: str | None) -> "Iterator[DescribedFrame]":
    from kproxy.clients.frames.described_frames import described_request, described_response
    from kproxy.clients.frames.recorded_bytes import frames_in

    answers = None if response is None else _api_and_version(response)
    for frame in frames_in(content):
        yield described_request(frame) if answers is None else described_response(frame, *answers)


def _api_and_version(text: str) -> tuple[int, int]:
    from kproxy.clients.frames.described_frames import api_key_named

    api, colon, version = text.rpartition(":")
    if not colon or not version.isdigit():
        raise click.UsageError(f"--response {text}: it is API:VERSION, such as ShareFetch:1")
    return api_key_named(api), int(version)


def _shown(frame: "DescribedFrame", output: str) -> str:
    match output:
        case "jsonl":
            return json.dumps(_data_of(frame))
        case "yaml":
            return "---\n" + _yaml(_data_of(frame)).rstrip()
        case _:
            return "\n".join(_lines(frame))


def _data_of(frame: "DescribedFrame") -> dict[str, Any]:
    told = {
        "time": None if frame.at_ms is None else iso_time(frame.at_ms),
        "connection": frame.connection,
        "kind": frame.kind,
        "api": frame.api_name,
        "apiKey": frame.api_key,
        "apiVersion": frame.version,
        "correlationId": frame.correlation_id,
        "clientId": frame.client_id,
        "sizeBytes": frame.size_bytes,
        "fields": frame.fields,
        "problem": frame.problem,
    }
    return {name: value for name, value in told.items() if value is not None}


def _lines(frame: "DescribedFrame") -> Iterator[str]:
    if frame.connection is not None:
        yield f"{iso_time(frame.at_ms or 0)} {frame.connection}"
    client = "" if frame.client_id is None else f", client id {cell_text(frame.client_id)}"
    yield (
        f"{frame.api_name} {frame.kind} v{frame.version}, correlation id {frame.correlation_id}{client}, "
        f"{counted(frame.size_bytes, 'byte')}"
    )
    if frame.problem is not None:
        yield f"  not decoded: {cell_text(frame.problem)}"
    elif frame.fields:
        yield from (f"  {line}" for line in _yaml(frame.fields).splitlines())


def _yaml(data: dict[str, Any]) -> str:
    import yaml

    return str(yaml.safe_dump(data, sort_keys=False, allow_unicode=False, width=2**20))
