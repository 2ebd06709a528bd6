"""Since when records are held, as kproxy why and kproxy in-flight show say it."""

import pytest

from kproxy.clients.diagnosis.locks import held_text, locks_text

NOON_MS = 1_795_262_400_000


@pytest.mark.parametrize(
    ("remaining_ms", "text"),
    [(29_000, "for 1.0 s, since 11:59:59 UTC"), (31_000, "for 0.0 s, since 12:00:00 UTC")],
)
def test_who_holds_records_has_held_them_since_a_moment(remaining_ms: int, text: str) -> None:
    run = {"lockDurationMs": 30_000, "lockRemainingMs": remaining_ms}
    assert held_text(run, now_ms=NOON_MS) == text


def test_how_long_locks_last_is_told_with_the_key_to_set() -> None:
    said = locks_text({"lockDurationMs": 1_800_000})
    assert said == "last 30m00s here, by share.record.lock.duration.ms (30.0 s unless it is set)"
