import io
import json
import logging
from collections.abc import Iterator
from typing import Literal

import pytest

from kproxy.telemetry.logs import (
    LONGEST_TEXT,
    EventHandler,
    JsonFormatter,
    TextFormatter,
    change_level,
    configure,
    json_value,
    logger,
)
from kproxy.telemetry.repetition import BURST

NOON = 1_795_262_400.123


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("kproxy")
    handlers, level, our_level = root.handlers[:], root.level, ours.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    ours.setLevel(our_level)


def an_event(event: str, **keys: object) -> logging.LogRecord:
    record = logging.LogRecord("kproxy.net.relay.relay", logging.WARNING, "", 0, event, None, None)
    record.event_keys = keys
    record.created = NOON
    return record


def lines_logged(form: Literal["auto", "json", "text"], stream: io.StringIO, **environment: str) -> list[str]:
    configure(form, stream=stream, environment=environment)
    logger("net.relay.relay").info("client_connected", peer="127.0.0.1:50112", node_id=1)
    return stream.getvalue().splitlines()


def test_a_json_line_has_the_head_first_and_then_the_keys() -> None:
    # When
    line = JsonFormatter().format(
        an_event("request_refused", peer="127.0.0.1:5", api_key=1234, is_known=False)
    )

    # Then
    assert list(json.loads(line).items()) == [
        ("ts", "2026-11-21T12:00:00.123Z"),
        ("level", "warning"),
        ("logger", "kproxy.net.relay.relay"),
        ("event", "request_refused"),
        ("peer", "127.0.0.1:5"),
        ("api_key", 1234),
        ("is_known", False),
    ]


def test_no_key_can_pass_for_a_part_of_the_head() -> None:
    # When
    line = JsonFormatter().format(an_event("request_refused", level="harmless", ts="never"))

    # Then
    assert json.loads(line)["level"] == "warning"
    assert json.loads(line)["ts"] == "2026-11-21T12:00:00.123Z"


def test_a_text_line_is_time_level_event_and_pairs() -> None:
    # When
    line = TextFormatter(is_coloured=False).format(
        an_event("request_refused", peer="127.0.0.1:5", api_key=1234)
    )

    # Then
    assert line == "12:00:00.123 WARNING request_refused peer=127.0.0.1:5 api_key=1234"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("two words", '"two words"'),
        ("", '""'),
        ('say "hi"', r'"say \"hi\""'),
        ("a=b", '"a=b"'),
        ("line\nbreak", r'"line\nbreak"'),
        ("\x1b[31mred", r'"\u001b[31mred"'),
        ("grüße", "grüße"),
        (None, "null"),
        ([1, 2], '"[1, 2]"'),
    ],
)
def test_a_value_that_could_be_misread_is_quoted(value: object, written: str) -> None:
    # When
    line = TextFormatter(is_coloured=False).format(an_event("e", key=value))

    # Then
    assert line == f"12:00:00.123 WARNING e key={written}"


@pytest.mark.parametrize("payload", [b"secret", bytearray(b"secret"), memoryview(b"secret")])
def test_bytes_are_never_written(payload: object) -> None:
    assert json_value(payload) == "<6 bytes>"


def test_long_text_is_cut_and_its_length_is_said() -> None:
    # When
    written = json_value("x" * (LONGEST_TEXT + 1))

    # Then
    assert written == "x" * LONGEST_TEXT + "… (501 characters)"


def test_an_error_is_written_with_its_class() -> None:
    assert json_value(ConnectionResetError("peer went away")) == "ConnectionResetError: peer went away"
    assert json_value(TimeoutError()) == "TimeoutError"


def test_other_values_are_written_as_text() -> None:
    assert json_value({"a": 1}) == "{'a': 1}"


def test_a_list_stays_a_list_of_a_bounded_length() -> None:
    assert json_value([1, b"secret", ("a",)]) == [1, "<6 bytes>", ["a"]]
    assert json_value([0] * 51) == [0] * 50


def test_a_crash_carries_its_stack_trace_once() -> None:
    # Given
    stream = io.StringIO()
    configure("json", stream=stream, environment={})
    with pytest.raises(ZeroDivisionError) as caught:
        raise ZeroDivisionError("no such quotient")

    # When
    logger("net.relay.relay").crash("task_failed", caught.value, task="relay 1")

    # Then
    (line,) = stream.getvalue().splitlines()
    found = json.loads(line)
    assert found["err"] == "ZeroDivisionError: no such quotient"
    assert found["trace"].count("Traceback") == 1
    assert found["task"] == "relay 1"


def test_a_crash_in_text_is_followed_by_its_stack_trace() -> None:
    # Given
    stream = io.StringIO()
    configure("text", stream=stream, environment={})

    # When
    logger("net.relay.relay").crash("task_failed", ZeroDivisionError("no such quotient"))

    # Then
    assert stream.getvalue().splitlines()[-1] == "ZeroDivisionError: no such quotient"


def test_off_a_terminal_lines_are_json() -> None:
    (line,) = lines_logged("auto", io.StringIO())
    assert json.loads(line)["event"] == "client_connected"


def test_on_a_terminal_lines_are_coloured_text() -> None:
    (line,) = lines_logged("auto", Terminal())
    assert "\x1b[36mINFO   \x1b[0m client_connected" in line


@pytest.mark.parametrize(
    "environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"NO_COLOR": "1", "FORCE_COLOR": "1"}]
)
def test_colour_can_be_turned_off(environment: dict[str, str]) -> None:
    (line,) = lines_logged("auto", Terminal(), **environment)
    assert line.endswith("INFO    client_connected peer=127.0.0.1:50112 node_id=1")


def test_text_off_a_terminal_is_plain_unless_colour_is_forced() -> None:
    (plain,) = lines_logged("text", io.StringIO())
    (coloured,) = lines_logged("text", io.StringIO(), FORCE_COLOR="1")
    assert "\x1b" not in plain
    assert "\x1b" in coloured


def test_json_on_a_terminal_has_no_colour() -> None:
    (line,) = lines_logged("json", Terminal(), FORCE_COLOR="1")
    assert json.loads(line)["peer"] == "127.0.0.1:50112"


@pytest.mark.parametrize(
    ("level", "written"),
    [
        ("debug", ["d", "i", "w", "e"]),
        ("info", ["i", "w", "e"]),
        ("warning", ["w", "e"]),
        ("error", ["e"]),
    ],
)
def test_nothing_below_the_level_is_written(
    level: Literal["debug", "info", "warning", "error"], written: list[str]
) -> None:
    # Given
    stream = io.StringIO()
    configure("json", level, stream=stream, environment={})
    log = logger("net.relay.relay")

    # When
    log.debug("d")
    log.info("i")
    log.warning("w")
    log.error("e")

    # Then
    assert [json.loads(line)["event"] for line in stream.getvalue().splitlines()] == written


def test_a_library_speaks_in_the_same_form_from_warning_on() -> None:
    # Given
    stream = io.StringIO()
    configure("json", "debug", stream=stream, environment={})

    # When
    logging.getLogger("asyncio").warning("Executing %s took %.1f seconds", "a task", 1.5)
    logging.getLogger("asyncio").info("something nobody asked")

    # Then
    (line,) = stream.getvalue().splitlines()
    found = json.loads(line)
    assert (found["logger"], found["event"]) == ("asyncio", "library_message")
    assert found["message"] == "Executing a task took 1.5 seconds"


def test_repetitions_are_held_back_and_their_number_is_said_at_the_end() -> None:
    # Given
    stream = io.StringIO()
    handler = EventHandler(stream)
    handler.setFormatter(JsonFormatter())

    # When
    for _ in range(BURST + 7):
        handler.emit(an_event("request_refused", reason="unknown_api_key", peer="127.0.0.1:5"))
    handler.close()

    # Then
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert len(lines) == BURST + 1
    assert (lines[-1]["event"], lines[-1]["reason"], lines[-1]["suppressed"]) == (
        "request_refused",
        "unknown_api_key",
        7,
    )
    assert "peer" not in lines[-1]


def test_the_next_event_after_a_while_says_how_many_were_held_back() -> None:
    # Given
    stream = io.StringIO()
    handler = EventHandler(stream)
    handler.setFormatter(JsonFormatter())
    for _ in range(BURST + 7):
        handler.emit(an_event("request_refused", reason="unknown_api_key"))
    later = an_event("request_refused", reason="unknown_api_key", peer="127.0.0.1:9")
    later.created += 11

    # When
    handler.emit(later)

    # Then
    found = json.loads(stream.getvalue().splitlines()[-1])
    assert (found["peer"], found["suppressed"]) == ("127.0.0.1:9", 7)


def test_another_reason_is_another_event() -> None:
    # Given
    stream = io.StringIO()
    handler = EventHandler(stream)
    handler.setFormatter(JsonFormatter())
    for _ in range(BURST + 1):
        handler.emit(an_event("request_refused", reason="unknown_api_key"))

    # When
    handler.emit(an_event("request_refused", reason="malformed_body"))

    # Then
    assert json.loads(stream.getvalue().splitlines()[-1])["reason"] == "malformed_body"


def test_debug_lines_are_never_held_back() -> None:
    # Given
    stream = io.StringIO()
    configure("json", "debug", stream=stream, environment={})

    # When
    for _ in range(BURST + 7):
        logger("net.relay.relay").debug("request_forwarded")

    # Then
    assert len(stream.getvalue().splitlines()) == BURST + 7


def test_a_change_of_the_level_is_said_whichever_way_it_goes() -> None:
    # Given
    stream = io.StringIO()
    configure("json", "info", stream=stream)

    # When
    change_level("error", by="a test")
    change_level("debug", by="a test")

    # Then
    configure("json", "info")
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(line["before"], line["now"], line["by"]) for line in lines] == [
        ("info", "error", "a test"),
        ("error", "debug", "a test"),
    ]
