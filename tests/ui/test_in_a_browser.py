"""The web view in headless Chromium: `make ui`.

Pictures of the pages, light, dark and narrow, are left in build/ui/; those of deploy/pictures/ were taken so.
"""

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from kproxy.cli.ages import age_text
from tests.ui.page_reading import answer, cells_of, mixed, pixels
from tests.ui.stuck_groups import ALICE, STATUS, StuckGroups, stuck_groups

playwright = pytest.importorskip("playwright.sync_api", reason="make ui brings what drives a browser")
CHROMIUM: Final = shutil.which("chromium") or shutil.which("chromium-browser")

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed: apt-get install chromium"),
]

PICTURES: Final = Path(__file__).resolve().parents[2] / "build" / "ui"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture
def groups() -> Iterator[StuckGroups]:
    made = stuck_groups()
    with made.served():
        yield made


@pytest.fixture
def new_page(chromium: Any) -> Iterator[Callable[..., Any]]:
    """Open pages; none of them may complain, or ask anybody but the admin port."""
    heard: list[str] = []
    asked: set[str] = set()
    with ExitStack() as contexts:

        def opened(scheme: str = "light", width: int = 1280, height: int = 800) -> Any:
            context = chromium.new_context(
                color_scheme=scheme, viewport={"width": width, "height": height}, timezone_id="UTC"
            )
            contexts.callback(context.close)
            page = context.new_page()
            page.on("console", lambda said: heard.append(said.text) if said.type == "error" else None)
            page.on("pageerror", lambda error: heard.append(str(error)))
            page.on("request", lambda request: asked.add(re.sub(r":\d+/.*", "", request.url)))
            return page

        yield opened
    assert [each for each in heard if "Failed to load resource" not in each] == []
    assert asked <= {"http://127.0.0.1"}


def test_the_numbers_of_groups_are_those_of_the_api(
    groups: StuckGroups, new_page: Callable[..., Any]
) -> None:
    # When
    page = new_page()
    page.goto(f"{groups.url}#/groups")
    page.wait_for_selector("tbody tr")

    # Then
    shown = {
        row[0]: (row[1], int(row[2]), row[3], int(row[4]), int(row[5]), row[8]) for row in cells_of(page)
    }
    told = {
        each["groupId"]: (
            each["state"],
            each["memberCount"],
            age_text(each["oldestAgeMs"]),
            each["lag"],
            each["inFlightCount"],
            "31.0s" if each["oldestLockAgeMs"] else "\u2013",
        )
        for each in answer(groups, "groups")
    }
    assert shown == told
    assert cells_of(page)[0][0] == "orders-workers"


def test_rates_are_what_counts_grow_by(groups: StuckGroups, new_page: Callable[..., Any]) -> None:
    # Given
    page = new_page()
    page.goto(f"{groups.url}#/groups")
    page.wait_for_selector("tbody tr")

    # When
    groups.count(delivered=2_000, redelivered=40, acknowledged=1_000)

    # Then: between two looks, which are about two seconds apart
    page.wait_for_function(
        """() => {
          const cells = document.querySelector("tbody tr").cells;
          const [acknowledged, redelivered] = [6, 7].map((place) => Number(cells[place].innerText));
          return acknowledged > 300 && acknowledged < 600 && redelivered > 12 && redelivered < 24;
        }""",
        timeout=15_000,
    )


def test_a_group_says_what_blocks_it_and_who_holds_what(
    groups: StuckGroups, new_page: Callable[..., Any]
) -> None:
    # When
    page = new_page()
    page.goto(f"{groups.url}#/groups/orders-workers")
    page.wait_for_selector("canvas.strip")

    # Then
    assert page.locator(".verdict").inner_text() == (
        "orders-0 is blocked by offset 100: held by billing-1 for 11.0s, attempt 4 of 5; "
        "the lock ends in 19.0s, then it is for any member."
    )
    assert {(row[0], row[5], row[6]) for row in cells_of(page)} == {
        ("billing-2", "40", "6.0s"),
        ("billing-1", "1", "11.0s"),
        ("\u2013", "10", "30.0s"),
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_strip_has_the_colour_of_each_state_stronger_the_more_often_it_was_delivered(
    groups: StuckGroups, new_page: Callable[..., Any], scheme: str
) -> None:
    # When
    page = new_page(scheme)
    page.goto(f"{groups.url}#/groups/orders-workers")
    page.wait_for_selector("canvas.strip")

    # Then
    expected = {
        100: mixed("Acquired", 4, scheme),
        120: mixed("Acknowledged", 1, scheme),
        141: mixed("Archived", 5, scheme),
        320: mixed("Available", 3, scheme),
        500: mixed("Acknowledged", 2, scheme),
        750: mixed("Available", 1, scheme),
    }
    assert {offset: set(pixels(page, offset, 100)) for offset in expected} == {
        offset: {colour} for offset, colour in expected.items()
    }
    late = pixels(page, 305, 100)
    assert mixed("Overdue", 4, scheme) in late
    assert len(set(late)) > 1  # hatched


def test_a_record_is_told_of_to_whoever_points_at_it_or_goes_there_by_keys(
    groups: StuckGroups, new_page: Callable[..., Any]
) -> None:
    # Given
    page = new_page()
    page.goto(f"{groups.url}#/groups/orders-workers")
    page.wait_for_selector("canvas.strip")

    # When
    page.locator("canvas.strip").first.focus()
    page.keyboard.press("ArrowRight")

    # Then
    told = page.locator("#tip").inner_text()
    assert told.splitlines() == [
        "offset 100, Acquired",
        "delivered 4 of 5 times",
        f"held by billing-1 ({ALICE})",
        "for 11.0s, its lock ends in 19.0s",
        "the start offset stands here",
    ]
    page.keyboard.press("ArrowRight")
    assert page.locator("#tip strong").inner_text() == "offset 101, Acknowledged"
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_hidden()
    page.locator("canvas.strip").first.hover(position={"x": 60, "y": 8})
    assert re.match(r"offset 10\d, Acknowledged", page.locator("#tip strong").inner_text())


def test_whatever_clients_and_groups_are_called_is_text_and_leads_where_it_should(
    groups: StuckGroups, new_page: Callable[..., Any]
) -> None:
    # Given
    group_id, client_id = "a/b?c#d%2f&<i>e</i>", "<img src=x onerror=alert(1)>"
    groups.inspectable.join("<b>m</b>", group_id=group_id, client_id=client_id)
    page = new_page()
    page.goto(f"{groups.url}#/groups")

    # When
    page.get_by_role("link", name=group_id).click()
    page.wait_for_selector("h1:has-text('a/b')")
    page.wait_for_selector("tbody tr")

    # Then
    assert page.locator("h1").inner_text().startswith(group_id)
    assert [row[:2] for row in cells_of(page)] == [[client_id, "<b>m</b>"]]
    assert page.locator("main img, main b, main i").count() == 0


def test_everything_is_reached_by_keys(groups: StuckGroups, new_page: Callable[..., Any]) -> None:
    # Given
    page = new_page()
    page.goto(f"{groups.url}#/groups")
    page.wait_for_selector("tbody tr")

    # When
    page.keyboard.press("/")
    page.keyboard.type("orders")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")

    # Then
    page.wait_for_selector("h1:has-text('orders-workers')")


def test_it_says_that_kproxy_is_away_and_goes_on_when_it_is_back(new_page: Callable[..., Any]) -> None:
    # Given
    groups = stuck_groups()
    page = new_page()
    with groups.served():
        page.goto(f"{groups.url}#/groups/orders-workers")
        page.wait_for_selector("canvas.strip")

    # When
    page.wait_for_selector("#notice:has-text('kproxy does not answer')")
    was_shown = page.locator("canvas.strip").count()
    with groups.served():
        page.wait_for_selector("#notice", state="hidden", timeout=20_000)

        # Then
        assert was_shown == page.locator("canvas.strip").count() == 2
        assert "ready" in page.locator("#state").inner_text()


def test_a_thousand_groups_are_shown_and_filtered_at_once(new_page: Callable[..., Any]) -> None:
    # Given
    groups = stuck_groups(others=999)
    page = new_page()
    with groups.served():
        page.goto(f"{groups.url}#/groups")
        page.wait_for_selector("tbody tr:nth-child(1000)")

        # When
        took_ms = page.evaluate(
            """() => {
              const field = document.querySelector("input[type=search]");
              const began = performance.now();
              field.value = "queue-0123";
              field.dispatchEvent(new Event("input"));
              document.body.getBoundingClientRect();
              return performance.now() - began;
            }"""
        )

        # Then
        assert [row[0] for row in cells_of(page)] == ["team-4-queue-0123"]
        assert took_ms < 500


def test_sessions_brokers_and_the_fleet_are_those_of_the_api(
    groups: StuckGroups, new_page: Callable[..., Any]
) -> None:
    # When
    page = new_page()
    tables = {}
    for name in ("sessions", "brokers", "fleet"):
        page.goto(f"{groups.url}#/{name}")
        page.wait_for_selector("tbody tr")
        tables[name] = cells_of(page)
    slots = page.locator(".slot.ready").count()

    # Then
    assert {(row[1], row[2]) for row in tables["sessions"]} == {
        (each["clientId"], each["memberId"]) for each in answer(groups, "sessions")
    }
    assert [row[0] for row in tables["brokers"]] == ["1", "2"]
    for row, each in zip(tables["brokers"], answer(groups, "brokers"), strict=True):
        assert {each["rack"], each["upstream"], each["advertised"]} <= set(row)
    assert [row[2] for row in tables["fleet"]] == ["9", "7"]
    assert slots == len(answer(groups, "state-log")) == 16
    assert STATUS["state"] == "ready"


def test_brokers_are_shown_with_all_that_is_told_of_them(
    groups: StuckGroups, new_page: Callable[..., Any]
) -> None:
    # Given
    broker = {"nodeId": 1, "rack": None, "upstream": "b1:9092", "tlsAdvertised": "", "advertised": "h:1"}
    told = [
        {
            "process": f"kproxy {n}",
            **broker,
            "connected": n == 1,
            "ownConnections": n,
            "lastErrorAgeMs": 61_000,
        }
        for n in (1, 2)
    ]
    page = new_page()
    page.route("**/api/v1/brokers", lambda route: route.fulfill(json={"items": told}))

    # When
    page.goto(f"{groups.url}#/brokers")
    page.wait_for_selector("tbody tr")

    # Then
    assert page.locator("thead th").all_inner_texts() == [
        *(
            "Process",
            "Node\u25bc",
            "Upstream",
            "Advertised",
            "Connected",
            "Own connections",
            "Last error age",
        )
    ]
    assert sorted(cells_of(page)) == [
        ["kproxy 1", "1", "b1:9092", "h:1", "yes", "1", "1m01s"],
        ["kproxy 2", "1", "b1:9092", "h:1", "no", "2", "1m01s"],
    ]


@pytest.mark.parametrize(
    ("look", "scheme", "width", "height"),
    [("light", "light", 1200, 800), ("dark", "dark", 1200, 800), ("narrow", "light", 400, 760)],
)
def test_pictures_are_taken(
    groups: StuckGroups, new_page: Callable[..., Any], look: str, scheme: str, width: int, height: int
) -> None:
    """Nothing is wider than the screen, whatever its width."""
    # Given
    page = new_page(scheme, width, height)
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name in ("groups", "groups/orders-workers", "sessions", "brokers", "fleet"):
        page.goto(f"{groups.url}#/{name}")
        page.wait_for_selector("tbody tr")
        for _ in range(3):
            groups.count(delivered=260, redelivered=12, acknowledged=240)
            page.wait_for_timeout(2_100 if name.startswith("groups") else 0)

        # When
        short = "group" if "/" in name else name
        page.screenshot(path=PICTURES / f"{short}-{look}.png", full_page=short == "group")

        # Then
        assert page.evaluate("document.documentElement.scrollWidth") <= width
