"""Tests and fixtures that are coroutines: each test has an event loop of its own, which its fixtures share.

A test that is `async def` runs as it stands. What it needs beside plain fixtures comes from fixtures made with
`async_fixture`, which run in the loop of the test. The loop is asyncio's; a test that is parametrized with
`loop_kind` runs on the loops that it names, whether it takes that as an argument or not.
"""

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, TypeVar

import pytest
import uvloop

T = TypeVar("T")

LIMIT_SECONDS: Final = 30.0
"""How long a test may take in its loop, its fixtures included."""
TEARDOWN_SECONDS: Final = 5.0
"""How long a fixture may take to end in a test that used up its time."""

NEW_LOOP: Final[Mapping[str, Callable[[], asyncio.AbstractEventLoop]]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}
BOTH_LOOPS: Final = tuple(NEW_LOOP)


class LoopOfTest:
    """The event loop of one test; what still runs in it at the end is cancelled.

    `LIMIT_SECONDS` begin with the first coroutine that runs: what plain fixtures do before that takes no part.
    """

    def __init__(self, runner: asyncio.Runner) -> None:
        self.faults: list[str] = []
        self._runner = runner
        self._deadline: float | None = None
        runner.get_loop().set_exception_handler(self._note)

    def run(self, work: Coroutine[Any, Any, T], *, at_least_seconds: float = 0) -> T:
        """Return what `work` returns; raises TimeoutError at the limit, but not within `at_least_seconds`."""

        async def bounded() -> T:
            now = asyncio.get_running_loop().time()
            if self._deadline is None:
                self._deadline = now + LIMIT_SECONDS
            async with asyncio.timeout_at(max(self._deadline, now + at_least_seconds)):
                return await work

        return self._runner.run(bounded())

    @contextmanager
    def inside(self, fixture: AsyncIterator[T]) -> Iterator[T]:
        """Go into the context that an asynchronous generator makes, and leave it."""
        context = asynccontextmanager(lambda: fixture)()
        value = self.run(context.__aenter__())
        try:
            yield value
        finally:
            self.run(context.__aexit__(None, None, None), at_least_seconds=TEARDOWN_SECONDS)

    def _note(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Keep what nobody caught: an exception of a callback, or of a task that nobody awaited.

        A task cancelled is none: Python 3.11 says so of a server's connections that end with their loop.
        """
        if not isinstance(context.get("exception"), asyncio.CancelledError):
            self.faults.append(f"{context.get('message')}: {context.get('exception')!r}")
        loop.default_exception_handler(context)


@contextmanager
def new_loop(loop_kind: str) -> Iterator[LoopOfTest]:
    """An event loop; raises AssertionError if something failed in it that nobody caught."""
    with asyncio.Runner(loop_factory=NEW_LOOP[loop_kind]) as runner:
        loop = LoopOfTest(runner)
        yield loop
    assert not loop.faults, "nobody caught this in the event loop:\n" + "\n".join(loop.faults)


def run(work: Coroutine[Any, Any, T], loop_kind: str = "asyncio") -> T:
    """Return what `work` returns in an event loop of its own, within `LIMIT_SECONDS`.

    For the examples of a test that has many, and for tests whose clusters start and stop outside the loop.
    """
    with new_loop(loop_kind) as loop:
        return loop.run(work)


@pytest.fixture
def loop_kind() -> str:
    """The event loop of a test that is not parametrized with `loop_kind`."""
    return "asyncio"


@pytest.fixture
def event_loop(loop_kind: str, request: pytest.FixtureRequest) -> Iterator[LoopOfTest]:
    """The event loop that the test and its `async_fixture`s run in.

    A test that looks at log lines (`caplog`) has seen every alarm: none may follow while its fixtures end.
    """
    caplog = request.getfixturevalue("caplog") if "caplog" in request.fixturenames else None
    with new_loop(loop_kind) as loop:
        yield loop
    late = [] if caplog is None else caplog.get_records("teardown")
    alarms = [record.getMessage() for record in late if record.levelno >= logging.WARNING]
    assert not alarms, f"logged while the fixtures ended: {alarms}"


def async_fixture(function: Callable[..., AsyncIterator[T]]) -> Callable[..., T]:
    """Make a fixture of an asynchronous generator that yields once, for tests that are `async def`."""

    def fixture(event_loop: LoopOfTest, **arguments: object) -> Iterator[T]:
        with event_loop.inside(function(**arguments)) as value:
            yield value

    parameters = inspect.signature(function).parameters.values()
    loop = inspect.Parameter("event_loop", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    fixture.__signature__ = inspect.Signature([loop, *parameters])  # type: ignore[attr-defined]  # pytest reads it
    fixture.__doc__ = function.__doc__
    fixture.__module__ = function.__module__
    return pytest.fixture(name=function.__name__)(fixture)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Module | pytest.Class, name: str, obj: object) -> None:
    """Give each test that is a coroutine function its event loop, begun before and ended after its fixtures."""
    if collector.funcnamefilter(name) and inspect.iscoroutinefunction(obj):
        pytest.mark.usefixtures("event_loop")(obj)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine function; leave the others to pytest."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    event_loop = pyfuncitem.funcargs["event_loop"]
    assert isinstance(event_loop, LoopOfTest)
    event_loop.run(pyfuncitem.obj(**arguments))
    return True
