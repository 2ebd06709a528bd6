"""Where clients come from, as Kafka's brokers write it and as their authorizers compare it.

Source: `InetAddress.getHostAddress`, which `AuthorizableRequestContext.clientAddress` is compared by.
"""

from functools import lru_cache
from ipaddress import AddressValueError, IPv6Address


@lru_cache(maxsize=4_096)
def host_address(host: str) -> str:
    """Return the address `host` as Java writes it, so that equal addresses are equal texts; any other text as it is.

    IPv6 addresses are written in full without leading zeros (`2001:db8:0:0:0:0:0:7`), with their zone where they have
    one (`%eth0`); one that stands for an IPv4 address is that.
    """
    if ":" not in host:
        return host
    text, percent, zone = host.partition("%")
    try:
        address = IPv6Address(text)
    except AddressValueError:
        return host
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    parts = ":".join(f"{int(part, 16):x}" for part in address.exploded.split(":"))
    return f"{parts}{percent}{zone}"
