"""What Java's clients say of TLS and SASL (`-K sasl.jaas.config=…`), as options of kafka-python.

So one command line does for both readers: Spark's own takes the properties as they are, and the driver asks for offsets
with kafka-python whichever reads.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from kproxy.clients.topic_reader import token_provider
from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.security.jaas import JaasEntry, read_jaas

_FILES: Final = {
    "ssl.truststore.location": "ssl_cafile",
    "ssl.keystore.location": "ssl_certfile",
    "ssl.key.password": "ssl_password",
}
_STORE_TYPES: Final = frozenset({"ssl.truststore.type", "ssl.keystore.type"})
_HOST_NAMES: Final = "ssl.endpoint.identification.algorithm"
_JAAS: Final = "sasl.jaas.config"
_TOKEN_URL: Final = "sasl.oauthbearer.token.endpoint.url"  # noqa: S105 - the name of a key
_OF_JAVA_ALONE: Final = frozenset(
    {"sasl.login.callback.handler.class", "ssl.protocol", "ssl.enabled.protocols"}
)
"""Which class of Java gets tokens, and what OpenSSL decides."""
_SECURITY: Final = frozenset({*_FILES, *_STORE_TYPES, _HOST_NAMES, _JAAS, _TOKEN_URL, *_OF_JAVA_ALONE})


def is_of_java(name: str) -> bool:
    """Return whether a property is one that kafka-python has in another form."""
    return name in _SECURITY


def security_options(properties: Mapping[str, str]) -> dict[str, object]:
    """Return the options that those of `properties` stand for that `is_of_java`.

    Raises JobFailed: USAGE for stores that are not PEM, and for a login that kafka-python cannot do.
    """
    for name in _STORE_TYPES & properties.keys():
        if properties[name].upper() != "PEM":
            raise JobFailed(
                f"-K {name}={properties[name]}: kafka-python, which asks for offsets, reads PEM alone",
                ExitCode.USAGE,
            )
    options: dict[str, object] = {
        option: properties[name] for name, option in _FILES.items() if name in properties
    }
    if _HOST_NAMES in properties:
        options["ssl_check_hostname"] = bool(properties[_HOST_NAMES])
    if _TOKEN_URL in properties:
        options["sasl_oauth_token_provider"] = token_provider(
            partial(_token_in, _file_of(properties[_TOKEN_URL]))
        )
    if _JAAS in properties:
        options.update(_login(properties[_JAAS], has_tokens=_TOKEN_URL in properties))
    return options


def _login(text: str, *, has_tokens: bool) -> Iterator[tuple[str, object]]:
    try:
        entry = read_jaas(text)
    except ValueError as wrong:
        raise JobFailed(f"-K {_JAAS}: {wrong}", ExitCode.USAGE) from wrong
    return _of_entry(entry, has_tokens=has_tokens)


def _of_entry(entry: JaasEntry, *, has_tokens: bool) -> Iterator[tuple[str, object]]:
    if entry.module in {"PlainLoginModule", "ScramLoginModule"}:
        for option in ("username", "password"):
            if option not in entry.options:
                raise JobFailed(f"-K {_JAAS}: {entry.module} needs {option}", ExitCode.USAGE)
            yield f"sasl_plain_{option}", entry.options[option]
    elif entry.module != "OAuthBearerLoginModule":
        raise JobFailed(
            f"-K {_JAAS}: kproxy replay can use PlainLoginModule, ScramLoginModule and OAuthBearerLoginModule, "
            f"not {entry.module}",
            ExitCode.USAGE,
        )
    elif not has_tokens:
        raise JobFailed(f"-K {_JAAS}: {entry.module} needs -K {_TOKEN_URL}=file:///PATH", ExitCode.USAGE)


def _file_of(url: str) -> Path:
    if not url.lower().startswith("file:///"):
        raise JobFailed(
            f"-K {_TOKEN_URL}={url}: kproxy replay takes tokens from a file: file:///PATH", ExitCode.USAGE
        )
    return Path(unquote(urlsplit(url).path))


def _token_in(path: Path) -> str:
    return path.read_text().strip()
