"""What the signals of an operator do: SIGTERM and SIGINT drain, SIGHUP is about the level of log lines."""

import asyncio
import signal
import sys
from collections.abc import Callable

from kproxy.errors import SettingsError
from kproxy.settings import LoadedSettings
from kproxy.telemetry import logs

log = logs.logger("application")


def is_at_terminal() -> bool:
    """Tell whether a person started the process by hand: SIGHUP then says that the terminal has gone."""
    return sys.stdin is not None and sys.stdin.isatty()


def handle_signals(
    loop: asyncio.AbstractEventLoop,
    drain: Callable[[], None],
    loaded: LoadedSettings,
    *,
    is_attended: Callable[[], bool] = is_at_terminal,
) -> None:
    """Let signals be handled on `loop`: `drain` ends the process in order.

    SIGHUP changes the level of log lines (`Hangups`); it drains where a person has the process in a terminal, which a
    terminal says with it when it is closed.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, drain)
    loop.add_signal_handler(signal.SIGHUP, drain if is_attended() else Hangups(loaded).follow)


class Hangups:
    """What SIGHUP does: the configuration is read again, or without a file debug lines are turned on and off."""

    def __init__(self, loaded: LoadedSettings) -> None:
        self._loaded = loaded

    def follow(self) -> None:
        """Change the level as one SIGHUP asks for. Raises nothing: what cannot be read changes nothing, and is told."""
        if self._loaded.read_again is None:
            self._toggle()
            return
        try:
            again = self._loaded.read_again()
        except SettingsError as unusable:
            log.warning("configuration_not_read_again", detail=unusable)
            return
        others = [name for name in self._loaded.differing_keys(again) if name != "kproxy.log.level"]
        if others:
            log.warning(
                "restart_needed", keys=others, detail="SIGHUP changes kproxy.log.level and nothing else"
            )
        origin = again.origins["kproxy.log.level"]
        logs.change_level(again.settings.log_level.value, by=f"SIGHUP, {origin}")

    def _toggle(self) -> None:
        configured: logs.Level = self._loaded.settings.log_level.value
        usual: logs.Level = "info" if configured == "debug" else configured
        logs.change_level(usual if logs.level() == "debug" else "debug", by="SIGHUP")
