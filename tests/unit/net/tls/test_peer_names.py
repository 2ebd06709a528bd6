"""Expected values are what `X500Principal.getName` of JDK 17 gave for the same certificates."""

import ssl

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID, ObjectIdentifier

from kproxy.net.tls.peer_names import subject_of
from tests.worlds.certificates import authority


def part(*attributes: tuple[ObjectIdentifier, str]) -> x509.RelativeDistinguishedName:
    return x509.RelativeDistinguishedName([x509.NameAttribute(oid, value) for oid, value in attributes])


@pytest.mark.parametrize(
    ("parts", "written"),
    [
        (
            [
                part((NameOID.COUNTRY_NAME, "DE")),
                part((NameOID.STATE_OR_PROVINCE_NAME, "Bayern")),
                part((NameOID.LOCALITY_NAME, "Hof")),
                part((NameOID.ORGANIZATION_NAME, "Acme, Inc.")),
                part((NameOID.ORGANIZATIONAL_UNIT_NAME, "R+D")),
                part((NameOID.COMMON_NAME, "alice")),
            ],
            r"CN=alice,OU=R\+D,O=Acme\, Inc.,L=Hof,ST=Bayern,C=DE",
        ),
        (
            [
                part((NameOID.COMMON_NAME, "bob"), (NameOID.USER_ID, "b7")),
                part((NameOID.DOMAIN_COMPONENT, "example")),
            ],
            "DC=example,CN=bob+UID=b7",
        ),
        (
            [part((NameOID.EMAIL_ADDRESS, "a@b.c")), part((NameOID.COMMON_NAME, "mail"))],
            "CN=mail,1.2.840.113549.1.9.1=#16056140622e63",
        ),
        (
            [
                part((NameOID.SERIAL_NUMBER, "12")),
                part((NameOID.STREET_ADDRESS, "Road 1")),
                part((NameOID.TITLE, "Dr")),
                part((ObjectIdentifier("1.2.3.4"), "z")),
            ],
            "1.2.3.4=#0c017a,2.5.4.12=#0c024472,STREET=Road 1,2.5.4.5=#13023132",
        ),
        ([part((ObjectIdentifier("1.2.3.4"), "z" * 300))], "1.2.3.4=#0c82012c" + "7a" * 300),
    ],
)
def test_a_subject_is_written_as_kafkas_brokers_write_it(
    parts: list[x509.RelativeDistinguishedName], written: str
) -> None:
    # Given
    certificate = authority().issue("subject", subject=x509.Name(parts)).certificate.read_text()

    # Then
    assert subject_of(ssl.PEM_cert_to_DER_cert(certificate)) == written
