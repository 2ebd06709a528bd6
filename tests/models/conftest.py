"""Tests over the ports may be coroutines, as unit tests may."""

from tests.unit.conftest import pytest_pyfunc_call

__all__ = ["pytest_pyfunc_call"]
