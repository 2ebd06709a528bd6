"""Whether the host that clients are told to connect to is known here at all.

No more can be seen from here: whether an address can be reached is a matter of where the client is. `kproxy doctor`,
run there, tries it.
"""

from typing import Final

from kproxy.net.broker_failures import BrokerFailure
from kproxy.net.name_lookups import NameLookups, lookups_of_this_loop
from kproxy.settings.addresses import HostPort
from kproxy.telemetry import logs

log = logs.logger("net.advertised_host")

_LOOKUP_TIMEOUT_MS: Final = 30_000
"""By then name servers have answered, or were given up."""

ADVICE: Final = (
    "clients are told to connect there: set kproxy.advertised.host to a name or address that they reach; if they know "
    "this name, and only this host does not, all is well"
)


async def warn_if_unknown(host: str, lookups: NameLookups | None = None) -> None:
    """Look `host` up, and log a warning that says what to set if there is no such name. An address is known."""
    try:
        await (lookups or lookups_of_this_loop()).addresses_of(
            HostPort(host, 0), timeout_ms=_LOOKUP_TIMEOUT_MS
        )
    except BrokerFailure as failure:
        log.warning("advertised_host_unknown", host=host, detail=failure.detail, advice=ADVICE)
