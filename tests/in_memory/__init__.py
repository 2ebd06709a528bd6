"""Doubles of the ports in `kproxy.handlers.ports`; they pass the same contract tests as the real ones."""
