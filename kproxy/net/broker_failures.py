"""Why a connection to a backing broker is of no use: `BrokerUnavailable` with a fixed word for counters."""

from kproxy.errors import BrokerUnavailable


class BrokerFailure(BrokerUnavailable):
    """A connection to a backing broker could not be made, or ended.

    Raised by the clients of `kproxy.net`; handled like any BrokerUnavailable. `reason` is a fixed word for
    counters, the text names the peer and says what happened.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail

    def __str__(self) -> str:
        return self.detail


class PeerFailure(BrokerFailure):
    """A connection to another kproxy process could not be made, or ended, or what was asked on it has no answer."""


class AuthenticationExpected(BrokerFailure):
    """The broker turned the connection away as brokers do that expect TLS or SASL.

    Raised by `BrokerClient`. The application reads it to say why share groups are off. A broker that stops at
    just that moment looks the same, so the text says "may".
    """


class AuthenticationRefused(AuthenticationExpected):
    """kproxy's own credentials cannot be used, or the broker does not take them.

    Raised by the logins of kproxy's own connections; handled like AuthenticationExpected. The text has the broker's
    words and the keys to set, and no secret.
    """
