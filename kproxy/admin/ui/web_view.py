"""`WebView`: the files of `/ui`, and what browsers are told of them.

Every file is known by its path from the beginning, so no path leads out of the folder. A browser may run, load and ask
what comes from here and nothing else, and shows the pages in no frame of others.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

from aiohttp import web

INDEX: Final = "index.html"
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The Content-Security-Policy: nothing inline, nothing from elsewhere."""
CONTENT_TYPES: Final[Mapping[str, str]] = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml; charset=utf-8",
    "LICENSE": "text/plain; charset=utf-8",
}
"""By what a name has behind its last dot, or the name where there is none."""
_HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    # Asked for again each time, and answered 304: modules of two versions never meet in one page.
    "Cache-Control": "no-cache",
}


@dataclass(frozen=True, slots=True)
class ServedFile:
    """A file with what is said of it. `tag` tells its content from every other."""

    body: bytes
    content_type: str
    tag: str


def served_files() -> Mapping[str, ServedFile]:
    """Return every file of the view by its path below `/ui/`."""
    return dict(_files_in(resources.files("kproxy.admin.ui") / "static", ""))


def _files_in(folder: Traversable, place: str) -> Iterator[tuple[str, ServedFile]]:
    for each in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if each.is_dir():
            yield from _files_in(each, f"{place}{each.name}/")
        elif (content_type := CONTENT_TYPES.get(each.name.rpartition(".")[2])) is not None:
            body = each.read_bytes()
            yield f"{place}{each.name}", ServedFile(body, content_type, hashlib.sha256(body).hexdigest()[:16])


class WebView:
    """Serves the files. It asks nothing and changes nothing."""

    __slots__ = ("_files",)

    def __init__(self) -> None:
        self._files = served_files()

    def routes(self) -> list[web.RouteDef]:
        """Return the routes to serve."""
        return [web.get("/ui", self._to_index), web.get("/ui/{path:.*}", self._answer)]

    async def _to_index(self, _request: web.Request) -> web.Response:
        # Relative, for whoever puts the admin port below a path of another server.
        return web.Response(status=308, headers={**_HEADERS, "Location": "ui/"})

    async def _answer(self, request: web.Request) -> web.Response:
        found = self._files.get(request.match_info["path"] or INDEX)
        if found is None:
            return web.Response(
                status=404, text="there is no such page; the view is at /ui/\n", headers=_HEADERS
            )
        headers = {**_HEADERS, "Content-Type": found.content_type, "ETag": f'"{found.tag}"'}
        if any(tag.value in {found.tag, "*"} for tag in request.if_none_match or ()):
            return web.Response(status=304, headers=headers)
        return web.Response(body=found.body, headers=headers)
