"""The log: one line for each record, to the standard error, as JSON or (on a terminal) as text.

What goes there: the server's own lines, the module `logging`, and what is printed to sys.stdout and sys.stderr. Each
line that belongs to a call carries its run_id. What a program printed cannot forge a line or drive a terminal: control
characters are escaped as hookline does it.
"""
from __future__ import annotations

import io
import json
import logging
import os
import re
import sys
import threading
import time
import traceback
import types
from typing import Any, Dict, Optional, Sequence, Tuple

from . import core
from .context import Context, current

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warn": logging.WARNING, "error": logging.ERROR}
LINE_MAX = 64 * 1024  # a longer line of output is cut into several, another text is cut off
STDERR = 2

# C0, DEL, C1, line and paragraph separators, what turns the reading direction: as in proxy/base/log.c.
_unsafe = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_word = re.compile(r"[!-~]+", re.ASCII)
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
Fields = Sequence[Tuple[str, Any]]

_own = ("<frozen importlib", "<frozen runpy", os.path.dirname(__file__) + os.sep)  # frames that are not the author's
_is_started = False  # until then lines are text on sys.stderr: in a test of the author's
_is_json = False
_least = logging.INFO


def start(level: str, format: str) -> None:
    """From here on everything that the process says goes to the log. `level` and `format`: as in the settings."""
    global _is_started, _is_json, _least
    core.start_log()
    _is_started = True
    _is_json = format == "json"
    _least = LEVELS[level]
    root = logging.getLogger()
    root.addHandler(_Handler())
    root.setLevel(_least)
    sys.stdout = _stream("stdout")
    sys.stderr = _stream("stderr")
    sys.excepthook = _on_exception
    threading.excepthook = _on_thread_exception
    logging.captureWarnings(True)


def write(level: int, message: str, fields: Fields = (), run_id: Optional[str] = None) -> None:
    """One line, if it is of that level's worth. `fields`: pairs of name and value."""
    if level >= _least:
        _write_line(level, message, fields, run_id)


def line(level: int, message: str, fields: Fields = ()) -> str:
    """The same as text; "" where it would not be logged."""
    return _line(level, message, fields) if level >= _least else ""


def _line(level: int, message: str, fields: Fields) -> str:
    return (_json_line if _is_json else _text_line)(time.time(), _level_name(level), message, fields)


def _write_line(level: int, message: str, fields: Fields, run_id: Optional[str]) -> None:
    if run_id is None:
        serving = current()
        run_id = serving.run_id if serving else None
    run = [("run_id", run_id)] if run_id else []
    pairs = [*run, *fields] if _is_json else [*fields, *run]  # whoever reads JSON may cut a long line
    _put(_line(level, message, pairs))


def write_exception(message: str, error: BaseException, fields: Fields = (), run_id: Optional[str] = None) -> None:
    """An error and its traceback, without the frames that are this package's own."""
    text = traceback_of(error)
    if _is_json:
        write(logging.ERROR, message, [*fields, ("traceback", text)], run_id)
    else:
        write(logging.ERROR, message, fields, run_id)
        _put(_unsafe.sub(_escape_all_but_newline, _cut(text)) + "\n")


def traceback_of(error: BaseException) -> str:
    frames = _without_own(error.__traceback__)
    try:
        lines = traceback.format_exception(type(error), error, frames)
    except BaseException:  # one that is odd inside, such as a SyntaxError whose text is none
        lines = [*traceback.format_tb(frames), f"{type(error).__qualname__} (it cannot be shown)"]
    return "".join(lines).rstrip()


def stack_of(thread: int) -> str:
    """Where that thread stands, as in a traceback."""
    frames = traceback.extract_stack(sys._current_frames()[thread])
    return "".join(traceback.format_list([frame for frame in frames if not frame.filename.startswith(_own)])).rstrip()


def _without_own(frames: Optional[types.TracebackType]) -> Optional[types.TracebackType]:
    kept = []
    while frames:
        if not frames.tb_frame.f_code.co_filename.startswith(_own):
            kept.append(frames)
        frames = frames.tb_next
    for frame in reversed(kept):
        frames = types.TracebackType(frames, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return frames


def finish_lines(context: Context) -> None:
    """The call is over: what it printed without a newline at the end is a line now."""
    streams = context._unfinished_lines
    if streams:
        context._unfinished_lines = None
        for name, rest in streams.items():
            if rest:
                _write_output(name, rest, context)


def flush() -> None:
    """Returns when what was logged is written, or nobody reads it."""
    core.flush_log()


def _put(lines: str) -> None:
    if _is_started:
        core.log(lines.encode("utf-8", "backslashreplace"))
    else:
        sys.stderr.write(lines)


def _level_name(level: int) -> str:
    if level >= logging.ERROR:
        return "error"
    if level >= logging.WARNING:
        return "warn"
    return "info" if level >= logging.INFO else "debug"


def _time_text(seconds: float) -> str:
    milliseconds = int(seconds * 1000)
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(milliseconds // 1000))
    return f"{whole}.{milliseconds % 1000:03d}Z"


def _cut(text: str) -> str:
    """So that a line of several long texts has room in the log."""
    return text if len(text) <= LINE_MAX else text[: LINE_MAX - 1] + "\u2026"


def _json_line(seconds: float, level: str, message: str, pairs: Fields) -> str:
    fields = {name: _cut(value) if isinstance(value, str) else value for name, value in pairs}
    record = {"time": _time_text(seconds), "level": level, "msg": _cut(message), **fields}
    return _unsafe.sub(_escape, _encode(record)) + "\n"


def _text_line(seconds: float, level: str, message: str, pairs: Fields) -> str:
    parts = [_time_text(seconds), level.upper(), _unsafe.sub(_escape, _cut(message))]
    for name, value in pairs:
        text = _cut(str(value))
        is_word = _word.fullmatch(text) and not set('"\\=') & set(text)
        parts.append(f"{name}={text if is_word else _unsafe.sub(_escape, _encode(text))}")
    return " ".join(parts) + "\n"


def _escape(match: re.Match[str]) -> str:
    return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(match[0]) or f"\\u{ord(match[0]):04x}"


def _escape_all_but_newline(match: re.Match[str]) -> str:
    return "\n" if match[0] == "\n" else _escape(match)


class _Output(io.RawIOBase):
    """What stands below sys.stdout and sys.stderr: takes bytes, makes lines of the log."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._rest = {self.name: b""}  # an unfinished line outside of calls

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return {"stdout": 1, "stderr": STDERR}[self.name]

    def write(self, data: Any) -> int:
        serving = current()
        if serving is None:
            unfinished = self._rest
        elif serving._unfinished_lines is None:
            unfinished = serving._unfinished_lines = {}
        else:
            unfinished = serving._unfinished_lines
        data = bytes(data)
        *lines, rest = (unfinished.get(self.name, b"") + data).split(b"\n")
        while len(rest) > LINE_MAX:
            lines.append(rest[:LINE_MAX])
            rest = rest[LINE_MAX:]
        unfinished[self.name] = rest
        for line in lines:
            _write_output(self.name, line, serving)
        return len(data)


def _write_output(stream: str, line: bytes, serving: Optional[Context]) -> None:
    """What was printed has no level: it is logged whatever HOOKLINE_LOG_LEVEL is, as any app's output."""
    text = line.decode("utf-8", "replace").rstrip("\r")
    _write_line(logging.INFO, text, [("stream", stream)], serving.run_id if serving else None)


def _stream(name: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(_Output(name), encoding="utf-8", errors="backslashreplace", write_through=True)  # type: ignore[arg-type]


class _Handler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        try:
            fields = [("logger", record.name)]
            if record.exc_info and record.exc_info[1]:
                write_exception(record.getMessage(), record.exc_info[1], fields)
            else:
                write(record.levelno, record.getMessage(), fields)
        except Exception:  # as logging does: a record that cannot be written ends no call
            self.handleError(record)


def _on_exception(kind: Any, error: BaseException, frames: Any) -> None:
    write_exception("an exception ended the program", error)


def _on_thread_exception(arguments: Any) -> None:
    if arguments.exc_type is not SystemExit and arguments.exc_value is not None:
        fields = [("thread", arguments.thread.name if arguments.thread else "")]
        write_exception("an exception ended a thread", arguments.exc_value, fields)
