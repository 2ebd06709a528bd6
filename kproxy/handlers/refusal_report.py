"""What of a request was refused, told once for each reason, however many partitions or groups it names."""

from kproxy.error_codes import ErrorCode
from kproxy.handlers.ports import Observer
from kproxy.handlers.request_context import RequestContext


class RefusalReport:
    """Collects the refusals of one request. A request with a hundred thousand partitions is one event, not as many."""

    __slots__ = ("_context", "_observer", "_reasons")

    def __init__(self, observer: Observer, context: RequestContext) -> None:
        self._observer = observer
        self._context = context
        self._reasons: dict[ErrorCode, tuple[str, int]] = {}

    def add(self, error_code: ErrorCode, detail: str) -> None:
        """Note one refusal. Of those with the same error the first one is told, with the count of the others."""
        first, count = self._reasons.get(error_code, (detail, 0))
        self._reasons[error_code] = (first, count + 1)

    def tell(self) -> None:
        """Tell of everything that was noted since the last time."""
        for error_code, (first, count) in self._reasons.items():
            others = f" (and {count - 1} more)" if count > 1 else ""
            self._observer.refused(self._context, reason=error_code.name.lower(), detail=f"{first}{others}")
        self._reasons.clear()
