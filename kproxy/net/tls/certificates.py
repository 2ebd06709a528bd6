"""What is told of certificates: whose they are, and until when they are good."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509

from kproxy.net.tls.peer_names import attributes_of
from kproxy.security.subject_names import subject_name


@dataclass(frozen=True, slots=True)
class CertificateFacts:
    """What is in use in one role: `listener`, `upstream`, `listener_trust` or `upstream_trust`.

    `subject` is that of the first certificate of the file, `not_after_ms` the first moment at which any certificate of
    the file is good no more.
    """

    role: str
    file: str
    subject: str
    not_after_ms: int


def facts_of(role: str, file: Path, certificates: Sequence[x509.Certificate]) -> CertificateFacts:
    """Return the facts of the certificates in `file`, of which there is one at least."""
    earliest = min(certificate.not_valid_after_utc for certificate in certificates)
    subject = subject_name(attributes_of(certificates[0].subject))
    return CertificateFacts(role, str(file), subject, int(earliest.timestamp() * 1000))
