"""Who the client at the other end of a TLS connection is: the subject of its certificate."""

from typing import Final

from cryptography import x509

from kproxy.security.subject_names import NameAttribute, subject_name

_LONG_FORM: Final = 0x80


def subject_of(certificate: bytes) -> str:
    """Return the subject of a certificate in DER, as Kafka's brokers write it.

    Raises:
        ValueError: the certificate has passed OpenSSL and cannot be read all the same.
    """
    return subject_name(attributes_of(x509.load_der_x509_certificate(certificate).subject))


def attributes_of(name: x509.Name) -> list[list[NameAttribute]]:
    """Return the relative parts of a name, in its order."""
    return [[_attribute(each) for each in part] for part in name.rdns]


def _attribute(attribute: x509.NameAttribute[str | bytes]) -> NameAttribute:
    value = attribute.value
    text = value if isinstance(value, str) else value.decode("latin-1")
    return NameAttribute(attribute.oid.dotted_string, text, _value_der(attribute))


def _value_der(attribute: x509.NameAttribute[str | bytes]) -> bytes:
    """Return the encoded value: what follows the number in SEQUENCE { SET { SEQUENCE { number, value } } }."""
    content = x509.Name([attribute]).public_bytes()
    for _ in range(3):
        content = content[_header_bytes(content) :]
    return content[_header_bytes(content) + content[1] :]


def _header_bytes(encoded: bytes) -> int:
    """Return how many bytes tag and length take (X.690, 8.1.3)."""
    return 2 + (encoded[1] & ~_LONG_FORM if encoded[1] & _LONG_FORM else 0)
