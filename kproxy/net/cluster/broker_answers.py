"""What a broker's error code means for whoever needed a success."""

from kproxy.error_codes import ErrorCode, known_code
from kproxy.errors import BrokerUnavailable


class BrokerRefusal(BrokerUnavailable):
    """A broker answered with an error code.

    Raised by `require_success`; handled like any BrokerUnavailable, unless the code says what else to do.
    """

    def __init__(self, error_code: ErrorCode, detail: str) -> None:
        super().__init__(error_code, detail)
        self.error_code = error_code
        self._detail = detail

    def __str__(self) -> str:
        return self._detail


def require_success(error_code: int, what: str) -> None:
    """Raise BrokerRefusal, which names `what` was asked of whom, unless `error_code` is NONE."""
    code = known_code(error_code)
    if code is not ErrorCode.NONE:
        raise BrokerRefusal(code, f"{what}: {code.name} ({error_code})")
