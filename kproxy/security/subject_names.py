"""How the subject of a certificate is written: in the form of RFC 2253, as Java's `X500Principal.getName` does.

That is what Kafka's mapping rules and access control lists have in front of them. Source: `sun.security.x509.AVA`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_KEYWORDS: Final = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
"""The attributes that RFC 2253 has a word for; every other one is written as its number and its bytes."""

_ESCAPED: Final = frozenset(',=+<>#;"\\')
_BLANK: Final = " \r"


@dataclass(frozen=True, slots=True)
class NameAttribute:
    """One attribute of a name: its object identifier, its text, and the DER encoding of its value."""

    oid: str
    text: str
    der: bytes

    def __str__(self) -> str:
        """Return it as RFC 2253 has it."""
        keyword = _KEYWORDS.get(self.oid)
        return f"{self.oid}=#{self.der.hex()}" if keyword is None else f"{keyword}={_escaped(self.text)}"


def subject_name(parts: Sequence[Sequence[NameAttribute]]) -> str:
    """Return the name for its relative parts in the order of the certificate: the last of them is written first."""
    return ",".join("+".join(map(str, part)) for part in reversed(parts))


def _escaped(text: str) -> str:
    inner = text.strip(_BLANK)
    lead = len(text) - len(text.lstrip(_BLANK))
    blanks_before, blanks_behind = text[:lead], text[lead + len(inner) :]
    return "".join((_all_escaped(blanks_before), *map(_character, inner), _all_escaped(blanks_behind)))


def _all_escaped(blanks: str) -> str:
    return "".join(f"\\{blank}" for blank in blanks)


def _character(character: str) -> str:
    if character in _ESCAPED:
        return f"\\{character}"
    return "\\00" if character == "\0" else character
