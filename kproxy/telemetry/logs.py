"""Log lines: each an event with a fixed name, and keys. JSON where a program reads, text where a person does.

    log = logger("net.relay.relay")
    log.warning("request_refused", peer="127.0.0.1:50112", reason="unknown_api_key", api_key=1234)

The name of an event and its keys are an interface: others filter and alert on them. Every line carries `ts`,
`level`, `logger` and `event`, in this order. Payloads are never written: bytes become their length and long
text is cut.

Built on the standard library's logging, so that the lines of aiohttp or asyncio come out in the same form (as
the event `library_message`).
"""

import json
import logging
import os
import sys
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, Literal, TextIO, get_args

from kproxy.telemetry.repetition import RepetitionLimit, Suppression
from kproxy.wording import counted

LONGEST_TEXT: Final = 500
"""Characters of one value that are written."""

_ROOT: Final = "kproxy"
_KEYS_ATTRIBUTE: Final = "event_keys"
_DIM, _RESET = "\x1b[2m", "\x1b[0m"
_LEVEL_COLOURS: Final = {"DEBUG": "\x1b[2m", "INFO": "\x1b[36m", "WARNING": "\x1b[33m", "ERROR": "\x1b[31m"}

Level = Literal["debug", "info", "warning", "error"]

LEVELS: Final[tuple[Level, ...]] = get_args(Level)
"""From the most talkative one on."""

MOST_MEMBERS: Final = 50
"""Members of one list that are written."""

JsonValue = str | int | float | bool | list["JsonValue"] | None


class EventLogger:
    """Writes the events of one part of kproxy. Made by `logger`."""

    __slots__ = ("_logger",)

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(f"{_ROOT}.{name}")

    def debug(self, event: str, **keys: object) -> None:
        """Say something about a single request."""
        self._write(logging.DEBUG, event, keys)

    def info(self, event: str, **keys: object) -> None:
        """Say that a state changed."""
        self._write(logging.INFO, event, keys)

    def warning(self, event: str, **keys: object) -> None:
        """Say that somebody may have to act."""
        self._write(logging.WARNING, event, keys)

    def error(self, event: str, **keys: object) -> None:
        """Say that somebody must act."""
        self._write(logging.ERROR, event, keys)

    def crash(self, event: str, error: BaseException, **keys: object) -> None:
        """Say that kproxy itself is at fault, with the stack trace of `error`; once, where it is handled."""
        self._write(logging.ERROR, event, {**keys, "err": error}, error)

    def _write(
        self, level: int, event: str, keys: Mapping[str, object], error: BaseException | None = None
    ) -> None:
        if self._logger.isEnabledFor(level):
            self._logger.log(level, event, extra={_KEYS_ATTRIBUTE: keys}, exc_info=error)


def logger(name: str) -> EventLogger:
    """Return the logger of a part of kproxy, such as `net.relay.relay`."""
    return EventLogger(name)


_log: Final = logger("telemetry")


def configure(
    form: Literal["auto", "json", "text"] = "auto",
    level: Level = "info",
    *,
    stream: TextIO | None = None,
    environment: Mapping[str, str] = os.environ,
) -> None:
    """Send every log line to `stream` (standard error), replacing what was configured before.

    `auto` is text on a terminal and JSON elsewhere. Text is coloured on a terminal unless NO_COLOR is set or
    TERM is `dumb`; FORCE_COLOR colours it elsewhere too. `level` is for kproxy; other libraries speak from
    warning on.
    """
    out = stream or sys.stderr
    handler = EventHandler(out)
    handler.setFormatter(_formatter(form, out, environment))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger(_ROOT).setLevel(level.upper())


def level() -> Level:
    """Return the least severe level that kproxy writes now."""
    number = logging.getLogger(_ROOT).getEffectiveLevel()
    return next(each for each in LEVELS if number <= logging.getLevelNamesMapping()[each.upper()])


def change_level(wanted: Level, *, by: str) -> None:
    """Write lines from `wanted` on, until that is changed again; say so, and `by` whom.

    What says so is written under the more talkative of the two levels.
    """
    before = level()
    is_quieter = LEVELS.index(wanted) > LEVELS.index(before)
    if is_quieter:
        _log.info("log_level_changed", now=wanted, before=before, by=by)
    logging.getLogger(_ROOT).setLevel(wanted.upper())
    if not is_quieter:
        _log.info("log_level_changed", now=wanted, before=before, by=by)


class EventHandler(logging.StreamHandler[TextIO]):
    """Writes log lines, and holds back the repetitions of an event that comes too often.

    Of the events from INFO on with the same logger, name, level and `reason`, the first ones of a window of
    time are written. How many were held back is said with the next one that is written, or when the handler
    is closed.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._limit = RepetitionLimit()

    def emit(self, record: logging.LogRecord) -> None:
        """Write `record` unless it is one repetition too many."""
        if record.levelno < logging.INFO:
            super().emit(record)
            return
        identity = (record.name, record.levelname, _event_of(record), str(_keys_of(record).get("reason", "")))
        decision = self._limit.admit(identity, record.created)
        if decision.is_admitted:
            if decision.suppressed_count:
                setattr(
                    record, _KEYS_ATTRIBUTE, {**_keys_of(record), "suppressed": decision.suppressed_count}
                )
            super().emit(record)

    def close(self) -> None:
        """Say what is still held back, then close."""
        for suppression in self._limit.take_suppressions():
            super().emit(_record_of(suppression))
        super().close()


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line without its end."""
        keys = {name: json_value(value) for name, value in _keys_of(record).items()}
        head = {
            "ts": _timestamp(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": _event_of(record),
        }
        # The head is laid over the keys once more, so that no key can pass for a part of it.
        line = {**head, **_message_of_library(record), **keys, **_trace_of(record), **head}
        return json.dumps(line, ensure_ascii=False)


class TextFormatter(logging.Formatter):
    """Time, level, event and `key=value` pairs; a value that could be misread is quoted."""

    def __init__(self, *, is_coloured: bool) -> None:
        super().__init__()
        self._is_coloured = is_coloured

    def format(self, record: logging.LogRecord) -> str:
        """Return the line without its end; a stack trace follows on lines of its own."""
        keys = {**_message_of_library(record), **_keys_of(record)}
        pairs = " ".join(
            f"{self._dimmed(f'{name}=')}{_readable(json_value(value))}" for name, value in keys.items()
        )
        time = self._dimmed(datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S.%f")[:-3])
        head = f"{time} {self._level(record)} {_event_of(record)}"
        trace = "".join(f"\n{text}" for text in _trace_of(record).values())
        return f"{head} {pairs}".rstrip() + trace.rstrip()

    def _level(self, record: logging.LogRecord) -> str:
        padded = record.levelname.ljust(len("WARNING"))
        return f"{_LEVEL_COLOURS.get(record.levelname, '')}{padded}{_RESET}" if self._is_coloured else padded

    def _dimmed(self, text: str) -> str:
        return f"{_DIM}{text}{_RESET}" if self._is_coloured else text


def json_value(value: object) -> JsonValue:
    """Return what may be written of `value`: numbers and words as is, bytes as a length, what is long cut."""
    match value:
        case None | bool() | int() | float():
            return value
        case bytes() | bytearray() | memoryview():
            return f"<{counted(memoryview(value).nbytes, 'byte')}>"
        case list() | tuple():
            return [json_value(member) for member in value[:MOST_MEMBERS]]
        case BaseException():
            return _cut(f"{type(value).__name__}: {value}" if str(value) else type(value).__name__)
        case _:
            return _cut(str(value))


def _formatter(form: str, stream: TextIO, environment: Mapping[str, str]) -> logging.Formatter:
    is_terminal = stream.isatty()
    if form == "json" or (form == "auto" and not is_terminal):
        return JsonFormatter()
    is_wanted = is_terminal and environment.get("TERM") != "dumb"
    is_coloured = (is_wanted or bool(environment.get("FORCE_COLOR"))) and not environment.get("NO_COLOR")
    return TextFormatter(is_coloured=is_coloured)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}… ({len(text)} characters)"


def _readable(value: JsonValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    is_plain = text.isprintable() and not any(character in ' "=' for character in text)
    return text if text and is_plain else json.dumps(text, ensure_ascii=not text.isprintable())


def _keys_of(record: logging.LogRecord) -> Mapping[str, object]:
    keys: Mapping[str, object] = getattr(record, _KEYS_ATTRIBUTE, {})
    return keys


def _event_of(record: logging.LogRecord) -> str:
    return str(record.msg) if hasattr(record, _KEYS_ATTRIBUTE) else "library_message"


def _message_of_library(record: logging.LogRecord) -> Mapping[str, str]:
    return {} if hasattr(record, _KEYS_ATTRIBUTE) else {"message": _cut(record.getMessage())}


def _trace_of(record: logging.LogRecord) -> Mapping[str, str]:
    if not record.exc_info or record.exc_info[1] is None:
        return {}
    return {"trace": "".join(traceback.format_exception(record.exc_info[1]))}


def _timestamp(record: logging.LogRecord) -> str:
    return (
        datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    )


def _record_of(suppression: Suppression) -> logging.LogRecord:
    name, level, event, reason = suppression.identity
    record = logging.LogRecord(name, logging.getLevelNamesMapping()[level], "", 0, event, None, None)
    keys = {"reason": reason} if reason else {}
    setattr(record, _KEYS_ATTRIBUTE, {**keys, "suppressed": suppression.count})
    return record
