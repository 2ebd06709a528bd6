"""The files of the web view: served as they are, with nothing inline, nothing from elsewhere and no way out."""

import http.client
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest

from kproxy.admin.ui.web_view import POLICY, served_files
from tests.in_memory.inspectable import Inspectable, serving

FILES: Final = served_files()
OURS: Final = sorted(name for name in FILES if not name.startswith("vendor/"))
LONGEST_MODULE: Final = 400


def text_of(name: str) -> str:
    return FILES[name].body.decode()


@pytest.fixture(scope="module")
def place() -> Iterator[str]:
    with serving(Inspectable().server()) as url:
        yield urlsplit(url).netloc


def answer(place: str, path: str, **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
    """What is answered to a path that is sent as it stands."""
    connection = http.client.HTTPConnection(place, timeout=10)
    try:
        connection.request("GET", path, headers={name.replace("_", "-"): headers[name] for name in headers})
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        ("/ui/", "text/html; charset=utf-8"),
        ("/ui/index.html", "text/html; charset=utf-8"),
        ("/ui/main.js", "text/javascript; charset=utf-8"),
        ("/ui/style.css", "text/css; charset=utf-8"),
        ("/ui/icon.svg", "image/svg+xml; charset=utf-8"),
        ("/ui/vendor/uplot/uPlot.esm.js", "text/javascript; charset=utf-8"),
        ("/ui/vendor/uplot/LICENSE", "text/plain; charset=utf-8"),
    ],
)
def test_a_file_is_served_as_what_it_is(place: str, path: str, content_type: str) -> None:
    # When
    response, body = answer(place, path)

    # Then
    assert (response.status, response.getheader("Content-Type")) == (200, content_type)
    assert body == FILES[path.removeprefix("/ui/") or "index.html"].body
    assert response.getheader("X-Content-Type-Options") == "nosniff"


@pytest.mark.parametrize("path", ["/ui", "/ui/", "/ui/main.js", "/ui/nothing.js"])
def test_whatever_is_answered_browsers_are_told_the_policy(place: str, path: str) -> None:
    # When
    response, _ = answer(place, path)

    # Then
    assert response.getheader("Content-Security-Policy") == POLICY
    assert "unsafe" not in POLICY
    assert POLICY.startswith("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'")


@pytest.mark.parametrize(
    "path",
    [
        "/ui/../server.py",
        "/ui/../ui/web_view.py",
        "/ui/%2e%2e/web_view.py",
        "/ui/..%2fweb_view.py",
        "/ui/vendor/..%2f..%2fweb_view.py",
        "/ui/..\\web_view.py",
        "/ui//etc/passwd",
        "/ui/%2fetc%2fpasswd",
        "/ui/vendor",
        "/ui/vendor/",
        "/ui/main.js/",
        "/ui/main.js%00",
        "/ui/__init__.py",
    ],
)
def test_no_path_leads_to_what_is_no_file_of_the_view(place: str, path: str) -> None:
    assert answer(place, path)[0].status == 404


def test_the_address_without_a_slash_leads_to_the_one_with_it(place: str) -> None:
    # When
    response, _ = answer(place, "/ui")

    # Then
    assert (response.status, response.getheader("Location")) == (308, "ui/")


def test_a_browser_that_has_the_file_is_told_so(place: str) -> None:
    # Given
    tag = answer(place, "/ui/main.js")[0].getheader("ETag")
    assert tag is not None

    # When
    response, body = answer(place, "/ui/main.js", If_None_Match=tag)

    # Then
    assert (response.status, body) == (304, b"")
    assert answer(place, "/ui/main.js", If_None_Match='"another"')[0].status == 200
    assert response.getheader("Cache-Control") == "no-cache"


def test_the_view_changes_nothing(place: str) -> None:
    connection = http.client.HTTPConnection(place, timeout=10)
    connection.request("POST", "/ui/main.js", body=b"")
    assert connection.getresponse().status == 405
    connection.close()


def test_the_page_has_nothing_inline() -> None:
    # When
    page = text_of("index.html")

    # Then
    assert re.findall(r"<script(?![^>]*\ssrc=)", page) == []
    assert re.findall(r"<style|\sstyle=|\son[a-z]+=|javascript:", page) == []


@pytest.mark.parametrize("name", OURS)
def test_nothing_comes_from_elsewhere(name: str) -> None:
    assert re.findall(r"(?:https?:)?//(?!www\.w3\.org/2000/svg)[\w-]+\.[\w.]+", text_of(name)) == []


@pytest.mark.parametrize("name", [name for name in OURS if name.endswith(".js")])
def test_a_module_makes_no_markup_and_no_code_of_text(name: str) -> None:
    # When
    module = text_of(name)

    # Then
    forbidden = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|setAttribute\(\"style"
    )
    assert re.findall(forbidden, module) == []
    assert len(module.splitlines()) <= LONGEST_MODULE


@pytest.mark.parametrize("name", [name for name in OURS if name.endswith((".js", ".html"))])
def test_what_a_file_asks_for_is_there(name: str) -> None:
    # When
    wanted = re.findall(r"""(?:from "\./|(?:src|href)=")([\w./-]+)\"""", text_of(name))

    # Then
    assert [each for each in wanted if each not in FILES] == []
    assert wanted or name in {
        "admin-port.js",
        "colours.js",
        "elements.js",
        "looks.js",
        "strip-cells.js",
        "wording.js",
    }


def test_every_file_of_the_folder_is_served() -> None:
    # Given
    folder = Path(__file__).resolve().parents[4] / "kproxy" / "admin" / "ui" / "static"

    # Then
    assert set(FILES) == {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_what_others_wrote_stands_beside_its_licence() -> None:
    vendored = {name.rpartition("/")[0] for name in FILES if name.startswith("vendor/")}
    assert all("Permission is hereby granted" in text_of(f"{folder}/LICENSE") for folder in vendored)
