"""A progress bar on standard error, where somebody watches."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(label: str, total: int, *, is_watched: bool | None = None) -> Iterator[Callable[[int], None]]:
    """Show a bar of `total` steps while the block runs; yield what advances it.

    It is shown when standard error is a terminal, or as `is_watched` says, and gone at the end.
    """
    if not (sys.stderr.isatty() if is_watched is None else is_watched):
        yield lambda _steps: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True, force_terminal=True)
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda steps: bar.advance(task, steps)
