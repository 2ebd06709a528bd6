"""Properties of Kafka clients as people write them (`-K request.timeout.ms=5000`), as kafka-python takes them."""

from collections.abc import Mapping
from typing import Final

from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.sources.security_properties import is_of_java, security_options

_OF_THE_JOB: Final = frozenset(
    {
        "allow_auto_create_topics",
        "auto_offset_reset",
        "bootstrap_servers",
        "enable_auto_commit",
        "metrics_enabled",
    }
)
"""Properties that decide which records are read: with another value a result would be wrong in silence."""
_WHOLE_NUMBERS: Final = frozenset({"receive_buffer_bytes", "send_buffer_bytes"})
"""Integers whose default in kafka-python is None, which stands for that of the system."""


def client_options(properties: Mapping[str, str], known: Mapping[str, object]) -> dict[str, object]:
    """Return `properties` as keywords of a client whose defaults are `known`, each of the type of its default.

    What Java's clients say of TLS and SASL is translated.

    Raises JobFailed: USAGE for a name that the client does not know or that the job sets itself, and for a value of
    another type.
    """
    own = {
        name.replace(".", "_"): _value(name, text, known)
        for name, text in properties.items()
        if not is_of_java(name)
    }
    return {**own, **security_options(properties)}


def _value(name: str, text: str, known: Mapping[str, object]) -> object:
    key = name.replace(".", "_")
    if key in _OF_THE_JOB:
        raise JobFailed(f"-K {name}: kproxy replay has a value of its own for it", ExitCode.USAGE)
    default = 0 if key in _WHOLE_NUMBERS else known.get(key, known)
    if isinstance(default, bool):
        return _is_true(name, text)
    if isinstance(default, int | float):
        return _number(name, text)
    if default is None or isinstance(default, str):
        return text
    raise JobFailed(
        f"-K {name}: kafka-python, which kproxy replay reads with, has no such property", ExitCode.USAGE
    )


def _is_true(name: str, text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise JobFailed(f"-K {name}={text}: expected true or false", ExitCode.USAGE)
    return text.lower() == "true"


def _number(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise JobFailed(f"-K {name}={text}: expected a whole number", ExitCode.USAGE) from None
