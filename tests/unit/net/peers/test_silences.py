"""How often the log says that a peer gives no answer."""

import pytest

from kproxy.errors import MalformedMessage
from kproxy.net.broker_failures import PeerFailure
from kproxy.net.peers.peer_twin import GIVEN_UP
from kproxy.net.peers.silences import AGAIN_S, MOST_REMEMBERED, Silences

WRONG_SECRET = PeerFailure("secret", "b at 10.0.0.2:9700: has another secret")


def warned(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str, int]]:
    """Return of whom the log says it, for which reason, and how often it was not said before."""
    keys = [vars(record)["event_keys"] for record in caplog.records if record.levelname == "WARNING"]
    return [(each["name"], each["reason"], each.get("unsaid", 0)) for each in keys]


def test_what_goes_on_is_said_at_once_and_then_once_a_minute_with_how_often_it_was(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # Given
    silences = Silences()

    # When
    for second in range(int(2 * AGAIN_S) + 1):
        silences.note("b", WRONG_SECRET, now_s=1_000.0 + second)

    # Then
    assert warned(caplog) == [("b", "secret", 0), ("b", "secret", 59), ("b", "secret", 59)]


def test_another_reason_and_another_peer_are_said_at_once(caplog: pytest.LogCaptureFixture) -> None:
    # Given
    silences = Silences()
    silences.note("b", WRONG_SECRET, now_s=0.0)

    # When
    for failure in (WRONG_SECRET, PeerFailure("unreachable", "b: refused"), MalformedMessage("odd")):
        silences.note("b", failure, now_s=1.0)
    silences.note("c", WRONG_SECRET, now_s=1.0)

    # Then
    assert warned(caplog) == [
        ("b", "secret", 0),
        ("b", "unreachable", 0),
        ("b", "unreadable", 0),
        ("c", "secret", 0),
    ]


def test_who_is_given_up_by_its_client_is_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    # When
    Silences().note("b", PeerFailure(GIVEN_UP, "b is not waited for any more"), now_s=0.0)

    # Then
    assert warned(caplog) == []


def test_what_is_remembered_is_bounded(caplog: pytest.LogCaptureFixture) -> None:
    # Given
    silences = Silences()

    # When
    for number in range(3 * MOST_REMEMBERED):
        silences.note(f"peer-{number}", WRONG_SECRET, now_s=0.0)

    # Then
    assert len(warned(caplog)) == 3 * MOST_REMEMBERED
    assert len(silences._said) == MOST_REMEMBERED
