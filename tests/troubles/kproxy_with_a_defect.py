"""`kproxy run` with a defect: whoever asks it to describe share groups meets a fault of its own.

Started instead of `-m kproxy`, with the same arguments.
"""

from typing import Final, NoReturn

from kproxy.cli import main as command_line
from kproxy.handlers.apis.share_group_describe import ShareGroupDescribeHandler

MODULE: Final = "tests.troubles.kproxy_with_a_defect"
PLANTED: Final = "planted by a test"


async def _serve(*_arguments: object) -> NoReturn:
    raise ZeroDivisionError(PLANTED)


def main() -> None:
    """Run kproxy."""
    ShareGroupDescribeHandler.serve = _serve  # type: ignore[method-assign, assignment]
    command_line.main()


if __name__ == "__main__":
    main()
