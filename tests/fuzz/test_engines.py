"""Fuzzing that finds nothing may be fuzzing that cannot: targets with faults of every kind, which must be found."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from kproxy.security.sasl_exchange import SaslExchange
from tests.fuzz import engines
from tests.fuzz.engines import Crash, Runner
from tests.fuzz.execution import Growth, Hang, Seed, Target, execute, execute_measured
from tests.fuzz.mutation import inputs
from tests.fuzz.parts import of_parts, parts_of
from tests.fuzz.registry import TARGETS

SEEDS = (Seed("of a message", b"a message of some twenty bytes"),)


def fails_behind_a_null(data: bytes) -> None:
    assert b"\0" not in data[4:-1]


def never_ends(_data: bytes) -> None:
    while True:
        try:
            len("")
        except Exception:  # noqa: BLE001 - as the code under test may do
            continue


def a_target(run: Callable[[bytes], object]) -> Target:
    return Target("of a test", run, lambda: SEEDS)


def test_an_input_that_breaks_a_rule_is_found_and_written_down_with_how(tmp_path: Path) -> None:
    # Given
    runner = Runner(a_target(fails_behind_a_null), tmp_path)

    def mutate_until_it_breaks() -> None:
        for data in inputs([SEEDS[0].data], 10_000, seed=1):
            runner.run(data)

    # When
    with pytest.raises(Crash) as crash:
        mutate_until_it_breaks()

    # Then
    (kept,) = [file for file in tmp_path.iterdir() if not file.suffix]
    assert str(kept) in str(crash.value)
    assert b"\0" in kept.read_bytes()
    assert "fails_behind_a_null" in kept.with_suffix(".txt").read_text()


def test_what_does_not_end_is_a_hang_even_where_every_exception_is_caught() -> None:
    with pytest.raises(Hang):
        execute(a_target(never_ends), b"", deadline_s=0.05)


def test_what_takes_much_more_memory_than_its_input_has_bytes_is_growth() -> None:
    with pytest.raises(Growth, match=r"of a test: .* bytes of memory for an input of 3"):
        execute_measured(a_target(lambda _: bytes(10_000_000).find(b"1")), b"abc")


def test_a_fault_that_only_the_log_tells_of_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections end with a line in the log when kproxy itself is at fault; what fuzzes them must see that."""

    def fault(*_: object) -> None:
        raise ZeroDivisionError

    target = TARGETS["internal-port"]
    visit = next(seed for seed in target.seeds() if seed.name == "REQUESTS")
    monkeypatch.setattr("kproxy.interception.request_stream.RequestStream.receive", fault)

    with pytest.raises(AssertionError, match="a fault was logged"):
        execute(target, visit.data)


def test_a_login_that_believes_a_broker_without_proof_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    target = TARGETS["sasl-logins"]
    refusal = next(seed for seed in target.seeds() if seed.name == "SCRAM-SHA-256, refused")
    monkeypatch.setattr("hmac.compare_digest", lambda _said, _expected: True)

    with pytest.raises(AssertionError):
        execute(target, refusal.data)


def test_a_client_that_is_believed_before_the_broker_has_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    target = TARGETS["sasl-inspection"]
    refused = next(seed for seed in target.seeds() if seed.name == "PLAIN, 1, refused")
    monkeypatch.setattr("kproxy.interception.sasl_watch.ErrorCode", SimpleNamespace(NONE=58))
    monkeypatch.setattr(
        "kproxy.interception.sasl_watch.SaslWatch._handshake_answered",
        lambda watch, _version, mechanism, _frame: setattr(watch, "_exchange", SaslExchange(mechanism)),
    )

    with pytest.raises(AssertionError):
        execute(target, refused.data)


def test_inputs_are_the_same_for_the_same_seed_and_others_for_another() -> None:
    made = [list(inputs([SEEDS[0].data], 50, seed=seed)) for seed in (1, 1, 2)]

    assert made[0] == made[1] != made[2]
    assert SEEDS[0].data not in made[0][:3]


def test_parts_are_read_as_they_were_put_together() -> None:
    parts = [(0, b"first"), (255, b""), (3, b"third")]

    assert list(parts_of(of_parts(parts))) == parts
    assert list(parts_of(of_parts(parts)[:-2])) == [*parts[:2], (3, b"thi")]


@pytest.mark.parametrize("has_a_fault", [False, True])
def test_the_exit_status_and_the_figures_tell_what_was_found(
    has_a_fault: bool,  # noqa: FBT001 - parametrized
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Given
    target = a_target(fails_behind_a_null if has_a_fault else len)
    monkeypatch.setattr(engines, "_atheris", lambda: None)
    monkeypatch.setattr(engines, "_target", lambda _name: target)
    monkeypatch.setattr(engines, "_inputs_to_begin_with", lambda found: [seed.data for seed in found.seeds()])

    # When
    status = engines.fuzz("of a test", 5.0 if has_a_fault else 0.05, tmp_path, 1)

    # Then
    assert status == int(has_a_fault)
    assert "stat::number_of_executed_units: " in capsys.readouterr().out
    assert bool(list(tmp_path.glob("crash-*.txt"))) is has_a_fault


def test_a_target_that_there_is_not_is_named_before_anything_begins() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", "--only", "nothing"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 2
    assert "invalid choice: 'nothing'" in ended.stderr
