"""One authority for a whole run of tests: keys take time to make."""

import tempfile
from functools import cache
from pathlib import Path

from tests.worlds.certificate_authority import CertificateAuthority, Issued

_FOLDER = tempfile.TemporaryDirectory(prefix="kproxy-certificates-")
"""Gone with the process."""


@cache
def authority(name: str = "authority") -> CertificateAuthority:
    """Return the authority of that name."""
    return CertificateAuthority(Path(_FOLDER.name), name)


@cache
def issued(name: str, subject: str = "", *, hosts: tuple[str, ...] = ("localhost", "127.0.0.1")) -> Issued:
    """Return a certificate by `authority()`."""
    return authority().issue(name, subject=subject, hosts=hosts)
