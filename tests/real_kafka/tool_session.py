"""Kafka's own command line tools, many of them in one warm JVM: a run takes a tenth of what a process of its own takes.

Each tool is run as by its script, by its main method with its arguments; only the start of the JVM is left out.
"""

import base64
from collections.abc import Sequence
from typing import Final

from tests.real_kafka.child import Child
from tests.real_kafka.compiled_java import compiled_classes
from tests.real_kafka.java_command import QUICK_START_OPTIONS, java_command, tool_class_data
from tests.real_kafka.tools import HEAP_OPTION, RUN_TIMEOUT_SECONDS, ToolResult
from tests.real_kafka.versions import REFERENCE

SESSION_CLASS: Final = "ToolSession"
SEPARATOR: Final = "\x1f"


class ToolSession(Child):
    """Runs one tool at a time, and is gone after `stop`. For tools that end by themselves and read no input."""

    def __init__(self) -> None:
        options = [HEAP_OPTION, *QUICK_START_OPTIONS, *tool_class_data().options(records=False)]
        command = java_command(
            REFERENCE,
            SESSION_CLASS,
            [],
            options=options,
            log_role="tool",
            more_classes=[compiled_classes()],
        )
        super().__init__("session of Kafka's tools", command)

    def run(self, main_class: str, arguments: Sequence[str]) -> ToolResult:
        """Run a tool to its end, and return what it wrote, whether it succeeded or not.

        Raises:
            ChildTimedOut: it has not ended after `RUN_TIMEOUT_SECONDS`.
        """
        self.send_line(SEPARATOR.join([main_class, *arguments]))
        status, output, errors = self.next_line(timeout_seconds=RUN_TIMEOUT_SECONDS).split()
        return ToolResult(int(status), tuple(_text(output).splitlines()), _text(errors))


def _text(word: str) -> str:
    return base64.b64decode(word.removeprefix("=")).decode()
