"""The composition root: builds every object of a kproxy process, and owns the order of start and stop."""

from kproxy.application.proxy import run_proxy

__all__ = ["run_proxy"]
