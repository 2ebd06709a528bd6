"""Spark's JVM, whose standard error is read: what it says is passed on, but for what it says at each start."""

import os
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import Any, Final

from pyspark import SparkConf
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway

_AT_EACH_START: Final = (b"WARNING: Using incubator modules: ",)
"""The JVM's own lines, which no option turns off: spark-submit asks for the module, and nobody can do anything."""
_STANDARD_ERROR: Final = 2
_CHUNK_BYTES: Final = 65_536
_LAST_WORDS_S: Final = 5.0


class WithoutStartMessages:
    """Takes bytes as they come, and gives back what is to be shown: at once, but for a line that may be hidden."""

    __slots__ = ("_held", "_is_at_line_start")

    def __init__(self) -> None:
        self._held = b""
        self._is_at_line_start = True

    def take(self, chunk: bytes) -> bytes:
        """Return what is to be shown now. An empty chunk is the end: what was held is shown."""
        if not chunk:
            shown, self._held = self._held, b""
            return shown
        lines = (self._held + chunk).splitlines(keepends=True)
        self._held = b""
        return b"".join(map(self._shown, lines))

    def _shown(self, line: bytes) -> bytes:
        is_whole = line.endswith(b"\n")
        if self._is_at_line_start and not is_whole and _may_be_hidden(line):
            self._held = line
            return b""
        is_hidden = self._is_at_line_start and line.startswith(_AT_EACH_START)
        self._is_at_line_start = is_whole
        return b"" if is_hidden else line


def start_jvm(settings: SparkConf) -> Any:
    """Start Spark's JVM with these settings and return its gateway, which `SparkContext` takes.

    Raises what `launch_gateway` does; all that the JVM said stands on standard error by then.
    """
    reading, writing = os.pipe()
    reader = Thread(target=_pass_on, args=(reading, _show), name="messages of Spark's JVM", daemon=True)
    reader.start()
    try:
        with os.fdopen(writing, "wb") as pipe:
            return launch_gateway(settings, {"stderr": pipe})
    except (PySparkRuntimeError, OSError):
        reader.join(_LAST_WORDS_S)
        raise


def _pass_on(reading: int, show: Callable[[bytes], None]) -> None:
    """Show what is to be shown until nobody can write to the pipe any more."""
    messages = WithoutStartMessages()
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        while True:
            chunk = pipe.read(_CHUNK_BYTES)
            show(messages.take(chunk))
            if not chunk:
                return


def _show(text: bytes) -> None:
    # Nobody may read any more, and the JVM must not stand still for it.
    with suppress(OSError):
        while text:
            text = text[os.write(_STANDARD_ERROR, text) :]


def _may_be_hidden(beginning: bytes) -> bool:
    return any(beginning.startswith(said) or said.startswith(beginning) for said in _AT_EACH_START)
