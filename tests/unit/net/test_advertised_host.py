import logging
import socket
from collections.abc import Sequence

import pytest

from kproxy.net.advertised_host import warn_if_unknown
from kproxy.net.name_lookups import NameLookups


def nobody_knows(host: str) -> Sequence[object]:
    raise socket.gaierror(socket.EAI_NONAME, f"Name or service not known: {host}")


def somebody_knows(_host: str) -> Sequence[object]:
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.1", 0))]


async def test_a_host_that_nobody_knows_is_told_in_one_line_with_the_key_to_set(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # When
    with caplog.at_level(logging.WARNING, "kproxy.net.advertised_host"):
        await warn_if_unknown("kproxy.example", NameLookups(nobody_knows))

    # Then
    [record] = caplog.records
    told = record.__dict__["event_keys"]
    assert (record.msg, told["host"]) == ("advertised_host_unknown", "kproxy.example")
    assert "'kproxy.example' cannot be resolved" in told["detail"]
    assert "set kproxy.advertised.host to a name or address that they reach" in told["advice"]


@pytest.mark.parametrize("host", ["kproxy.example", "192.0.2.7", "2001:db8::7"])
async def test_nothing_is_told_of_a_host_that_is_known(caplog: pytest.LogCaptureFixture, host: str) -> None:
    # When
    with caplog.at_level(logging.WARNING, "kproxy.net.advertised_host"):
        await warn_if_unknown(host, NameLookups(somebody_knows))

    # Then
    assert caplog.records == []
