"""What every test has: the profiles of Hypothesis, chosen by HYPOTHESIS_PROFILE.

`commit` (the default) gives the same few examples each time, `nightly` many and new ones.
"""

import os

from hypothesis import HealthCheck, settings

# Machines that build are slow and shared: time says nothing about the code under test.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

settings.register_profile("commit", _PATIENT, max_examples=50, derandomize=True, database=None)
settings.register_profile("nightly", _PATIENT, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "commit"))

pytest_plugins = ["tests.spark.session"]
