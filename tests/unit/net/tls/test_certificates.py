from pathlib import Path

from cryptography import x509

from kproxy.net.tls.certificates import facts_of
from tests.unit.net.tls_contexts import now_ms
from tests.worlds.certificates import authority, issued


def test_the_first_certificate_to_expire_counts_and_the_first_in_the_file_has_the_name() -> None:
    # Given
    later = x509.load_pem_x509_certificate(issued("later").certificate.read_bytes())
    sooner = x509.load_pem_x509_certificate(authority().issue("sooner", days=2).certificate.read_bytes())

    # When
    facts = facts_of("listener", Path("tls.pem"), [later, sooner])

    # Then
    assert (facts.role, facts.file, facts.subject) == ("listener", "tls.pem", "CN=later")
    assert 1 <= (facts.not_after_ms - now_ms()) // 86_400_000 <= 2
