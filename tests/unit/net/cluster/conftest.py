"""Tests over the ports may be coroutines, as those of the handlers are."""

from tests.unit.handlers.conftest import pytest_pyfunc_call

__all__ = ["pytest_pyfunc_call"]
