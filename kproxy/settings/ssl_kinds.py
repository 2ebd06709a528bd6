"""What the keys of TLS may be: versions, cipher suites, and the one or two files of a key store."""

import difflib
from typing import Final

from kproxy.settings.cipher_names import OPENSSL_NAMES, TLS_1_3_SUITES
from kproxy.settings.value_kinds import ValueKind

TLS_VERSIONS: Final = ("TLSv1.2", "TLSv1.3")
"""Those that Kafka enables by default; the elder ones are broken (RFC 8996)."""

MOST_KEY_FILES: Final = 2
"""A key store in PEM is one file in Kafka; what issues certificates often writes two, one with the key."""


def tls_versions() -> ValueKind[tuple[str, ...]]:
    """Versions of TLS, in ascending order, each once."""
    return ValueKind("TLSv1.2, TLSv1.3 or both", _tls_versions, ",".join)


def key_files() -> ValueKind[tuple[str, ...]]:
    """One file with a private key and its certificate chain, or two, or none."""
    return ValueKind("the path of a file, or of two with a comma between", _key_files, ",".join)


def cipher_suites() -> ValueKind[tuple[str, ...]]:
    """Names as IANA and Java know them, in order of preference; none for OpenSSL's default.

    Those of TLSv1.3 are named all or none: OpenSSL lets Python turn off the version alone.
    """
    return ValueKind("names of cipher suites, with commas between", _cipher_suites, ",".join)


def plain_text() -> ValueKind[str]:
    """Any text."""
    return ValueKind("a text", str.strip, str)


def _tls_versions(text: str) -> tuple[str, ...]:
    entries = _entries(text)
    unknown = [entry for entry in entries if entry not in TLS_VERSIONS]
    if unknown:
        raise ValueError(f"expected TLSv1.2, TLSv1.3 or both, not {unknown[0]!r}")
    if not entries:
        raise ValueError("expected TLSv1.2, TLSv1.3 or both, and there is none")
    return tuple(version for version in TLS_VERSIONS if version in entries)


def _key_files(text: str) -> tuple[str, ...]:
    files = _entries(text)
    if len(files) > MOST_KEY_FILES:
        raise ValueError(f"expected one file or two, not {len(files)}")
    return files


def _cipher_suites(text: str) -> tuple[str, ...]:
    suites = _entries(text)
    for suite in suites:
        if suite not in OPENSSL_NAMES and suite not in TLS_1_3_SUITES:
            raise ValueError(
                f"expected IANA names of cipher suites, and kproxy has no {suite!r}{_close_to(suite)}"
            )
    missing = sorted(TLS_1_3_SUITES.difference(suites))
    if 0 < len(missing) < len(TLS_1_3_SUITES):
        raise ValueError(f"expected all suites of TLSv1.3 or none, and there is no {', '.join(missing)}")
    return suites


def _close_to(suite: str) -> str:
    openssl_names = {name: iana for iana, name in OPENSSL_NAMES.items()}
    if suite in openssl_names:
        return f": write {openssl_names[suite]}"
    close = difflib.get_close_matches(suite, [*OPENSSL_NAMES, *TLS_1_3_SUITES], n=1)
    return f": did you mean {close[0]}?" if close else ""


def _entries(text: str) -> tuple[str, ...]:
    return tuple(entry.strip() for entry in text.split(",") if entry.strip())
