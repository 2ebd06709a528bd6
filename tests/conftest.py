"""What every test has: the profiles of Hypothesis, chosen by HYPOTHESIS_PROFILE.

`commit` (the default) gives the same few examples each time, `nightly` many and new ones.
"""

import os
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, settings

# Machines that build are slow and shared: time says nothing about the code under test.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

settings.register_profile("commit", _PATIENT, max_examples=50, derandomize=True, database=None)
settings.register_profile("nightly", _PATIENT, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "commit"))

pytest_plugins = ["tests.event_loops", "tests.spark.session", "tests.workers"]


@pytest.fixture(autouse=True)
def _stays_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that goes on as another program would end the run of the tests, and with that program's status."""

    def refuse(path: str, *_arguments: object) -> NoReturn:
        raise AssertionError(
            f"the process of the tests would go on as {path}: run this in a process of its own"
        )

    monkeypatch.setattr(os, "execve", refuse)
