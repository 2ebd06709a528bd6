"""`EndpointTokens`: tokens from an OAuth endpoint, by the client credentials grant (RFC 6749, section 4.4)."""

import asyncio
import json
import socket
from base64 import b64encode
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from kproxy.handlers.ports import Clock
from kproxy.net.authentication.credentials import URL_KEY
from kproxy.net.broker_failures import AuthenticationRefused, BrokerFailure
from kproxy.net.name_lookups import lookups_of_this_loop
from kproxy.settings.addresses import HostPort

_TIMEOUT_S: Final = 4.0
"""Less than a dial may take, so that it is this which is told of."""
_LOOKUP_TIMEOUT_MS: Final = 3_000
"""Of these, for the lookup of the endpoint's name."""

_MOST_ANSWER_BYTES: Final = 1024 * 1024
_LONGEST_WORD: Final = 100

_USED_PART: Final = 0.8
"""Of a token's life: Kafka's `sasl.login.refresh.window.factor`."""

_LIFE_S: Final = 60.0
"""Of a token that nobody says the life of."""


class EndpointTokens:
    """Implements `Tokens`. One token serves every connection for four fifths of its life.

    Args:
        url: of the endpoint.
        client_id: what the endpoint knows kproxy by.
        read_secret: returns the secret of that, as it is now.
        scope: empty for none.
        clock: monotonic.
    """

    def __init__(
        self, url: str, client_id: str, read_secret: Callable[[], str], *, scope: str, clock: Clock
    ) -> None:
        self._url = url
        self._client_id = client_id
        self._read_secret = read_secret
        self._scope = scope
        self._clock = clock
        self._asking = asyncio.Lock()
        self._token = ""
        self._good_until_ms = 0

    async def token(self) -> str:
        """Return a token; one is asked for at a time."""
        async with self._asking:
            if not self._token or self._clock.now_ms() >= self._good_until_ms:
                await self._renew()
            return self._token

    async def _renew(self) -> None:
        asked_ms = self._clock.now_ms()
        answer = await self._asked()
        token, life_s = answer.get("access_token"), answer.get("expires_in", _LIFE_S)
        if not isinstance(token, str) or not token.isascii() or not token or not _is_number(life_s):
            raise self._refusal("its answer has no access_token, or an expires_in that is no number")
        self._token = token
        self._good_until_ms = asked_ms + int(1000 * _USED_PART * float(str(life_s)))

    async def _asked(self) -> Mapping[str, object]:
        form = {"grant_type": "client_credentials", **({"scope": self._scope} if self._scope else {})}
        headers = {"Authorization": _basic(self._client_id, self._read_secret())}
        timeout = aiohttp.ClientTimeout(total=_TIMEOUT_S)
        try:
            async with (
                aiohttp.ClientSession(
                    timeout=timeout, connector=aiohttp.TCPConnector(resolver=_NamesLikeBrokers())
                ) as session,
                session.post(self._url, data=form, headers=headers, allow_redirects=False) as response,
            ):
                return await self._read(response)
        except TimeoutError:
            raise self._refusal(f"no answer within {_TIMEOUT_S:g} s") from None
        except aiohttp.ClientError as error:
            raise self._refusal(f"{type(error).__name__}: {error}") from None

    async def _read(self, response: aiohttp.ClientResponse) -> Mapping[str, object]:
        body = bytearray()
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > _MOST_ANSWER_BYTES:
                raise self._refusal("its answer is too long to be one")
        answer = _object_in(body)
        if response.status != HTTPStatus.OK:
            # RFC 6749, section 5.2: the word says what is wrong, as invalid_client.
            raise self._refusal(
                f"HTTP {response.status} {str(answer.get('error', ''))[:_LONGEST_WORD]}".rstrip()
            )
        return answer

    def _refusal(self, what: str) -> AuthenticationRefused:
        return AuthenticationRefused("token_endpoint", f"{URL_KEY}: {self._url}: {what}")


class _NamesLikeBrokers(AbstractResolver):
    """Names are looked up as those of brokers are."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of `family`. Raises OSError, as aiohttp wants it."""
        lookups = lookups_of_this_loop()
        try:
            found = await lookups.addresses_of(HostPort(host, port), timeout_ms=_LOOKUP_TIMEOUT_MS)
        except BrokerFailure as failure:
            raise socket.gaierror(socket.EAI_AGAIN, str(failure)) from None
        return [
            ResolveResult(
                hostname=host, host=each, port=port, family=kind, proto=0, flags=socket.AI_NUMERICHOST
            )
            for each, kind in found
            if family in {socket.AF_UNSPEC, kind}
        ]

    async def close(self) -> None:
        """Nothing is held."""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _object_in(body: bytearray) -> Mapping[str, object]:
    try:
        answer = json.loads(body)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _basic(client_id: str, secret: str) -> str:
    # Not form-encoded first, as RFC 6749 has it: Kafka's `sasl.oauthbearer.header.urlencode` is false.
    return "Basic " + b64encode(f"{client_id}:{secret}".encode()).decode()
