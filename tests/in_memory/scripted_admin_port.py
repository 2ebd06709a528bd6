"""An admin port that answers every question alike."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any


@contextmanager
def an_http_server(body: str, status: int = 200) -> Iterator[str]:
    """Answer every GET with `body`; yield the URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the base class calls it so
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@contextmanager
def admin_port(**status: Any) -> Iterator[str]:
    """Serve the status of a kproxy that is ready, and is what `status` says; yield the URL."""
    answer = {"asOf": "2026-11-21T12:00:00.000Z", "items": [{"state": "ready", **status}]}
    with an_http_server(json.dumps(answer)) as url:
        yield url
