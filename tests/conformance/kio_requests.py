"""Requests that kproxy has no codec for, because it passes them on unread: written and read by kio."""

import importlib
import io
from typing import Any, Final

from kio.serial import entity_reader, entity_writer

from tests.real_kafka.raw_connection import LENGTH_BYTES, RawConnection

CORRELATION_ID: Final = 7
HEADER_BYTES: Final = 5
"""Of the response: the correlation id and no tagged field."""


def kio_module(api: str, version: int, kind: str) -> Any:
    """The module of one version of an API, such as `describe_groups`; `kind` is request or response."""
    return importlib.import_module(f"kio.schema.{api}.v{version}.{kind}")


def ask(connection: RawConnection, request: Any, response_class: Any) -> Any:
    """Send a request of a flexible version and return its response."""
    body = io.BytesIO()
    entity_writer(type(request))(body, request)
    head = b"".join(
        number.to_bytes(size, "big", signed=True)
        for number, size in ((request.__api_key__, 2), (request.__version__, 2), (CORRELATION_ID, 4))
    )
    client_id = connection.client_id.encode()
    connection.send_frame(head + len(client_id).to_bytes(2, "big") + client_id + b"\x00" + body.getvalue())
    size = int.from_bytes(connection.receive_bytes(LENGTH_BYTES), "big")
    answer, _ = entity_reader(response_class)(connection.receive_bytes(size), HEADER_BYTES)
    return answer
