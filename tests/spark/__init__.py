"""Tests of the jobs on a Spark of this process: `spark` (conftest.py), histories and generated logs."""
