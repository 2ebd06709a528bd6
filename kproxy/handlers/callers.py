"""Clients whose requests take their time: what a handler may ask about them, and where they wait."""

from typing import Protocol


class Caller(Protocol):
    """The client of one request, while that is being answered."""

    @property
    def is_gone(self) -> bool:
        """Whether its connection closed."""
        ...

    @property
    def has_more(self) -> bool:
        """Whether it has sent something behind the request, which waits for its answer."""
        ...


class PatientCaller:
    """A `Caller` that stays and asks for nothing else."""

    is_gone = False
    has_more = False


PATIENT_CALLER = PatientCaller()


class Waits(Protocol):
    """Requests that are held until somebody calls, by connection: one at a time is answered on each."""

    async def wait(self, connection_id: int, until_ms: int) -> None:
        """Return when the connection is called, or at `until_ms` (Clock), at once if that is past.

        Everything up to the wait happens before this first yields, so that no call is missed in between.
        """
        ...

    def call(self, connection_id: int) -> None:
        """End the wait of a connection, if there is one."""
        ...
