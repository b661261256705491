"""One call of a function: what was asked, whether anybody still waits, and the answer to it. See runtime/core/call.h.

The loop makes it; then it belongs to the thread that has taken it, until release(). What both touch is under its lock.
"""
from __future__ import annotations

import json
import re
import threading
import time
from typing import Any, List, Optional, Tuple

from . import fork
from .head import Head, number_field, wants_events
from .problem import KEEP_ALIVE, Refusal, Terms, answer, refusal, refuse, shown, stream_head

WINDOW = 64 * 1024  # bytes that a call holds for a slow caller, and one value
PROGRESS_MAX = 1024
LONGEST_TYPE = 256

MORE, LAST, CUT = range(3)  # what becomes of the connection after a piece of an answer

_SILENT, _VALUES, _EVENTS, _ANSWERED, _DONE = range(5)  # the stages of an answer
_line_end = re.compile(rb"\r\n|\r|\n")
_is_type = re.compile("[\t -~\x80-\uffff]*").fullmatch
_encode = json.JSONEncoder(ensure_ascii=False).encode


def _text(data: bytes) -> str:
    """Bytes that are not UTF-8 become lone surrogates, as in file names."""
    return data.decode("utf-8", "surrogateescape")


class Call:
    def __init__(self, server: Any, connection: Any, callee: int, head: Head, run_id: str) -> None:
        self.callee = callee
        self.run_id = run_id
        self.attempt = number_field(head, b"x-run-attempt", 2**32 - 1) or 1
        self.deadline_ms = number_field(head, b"x-run-deadline", 2**32 - 1) * 1000
        is_head = head.method == b"HEAD"  # an answer's head alone: there is nothing to stream
        self.wants_events = not is_head and wants_events(head)
        self.is_async: bool = server.callees[callee].is_async
        self.is_gone = False
        self.connection = connection
        closes = not head.is_persistent or (self.wants_events and head.minor == 0)  # nothing else ends a stream there
        self.terms = Terms(run_id, head.minor, is_head, closes)
        self.arrived = bytearray()  # of the body, while it comes: in one piece, however small those are that it comes in
        self.held = 0  # bytes of it
        self.form: Any = None  # Upload
        self.taken = 0.0
        self._server = server
        self._head: Optional[Head] = head
        self._body = b""
        self._stage = _SILENT
        self._status = 0
        self._values = bytearray()
        self._gap: Optional[Refusal] = None  # why a value is missing among those that were emitted
        self._last: Optional[Tuple[bytes, int]] = None
        self._changed = threading.Condition(threading.Lock())
        self._unsent = 0
        self._has_begun = False
        self._told = b""  # the newest value of progress()
        self._is_told = False  # the loop will look at it

    # ---- what was asked ----

    def _live(self) -> Head:
        if self._head is None:
            raise RuntimeError("the call is over")
        return self._head

    @property
    def method(self) -> str:
        return _text(self._live().method)

    @property
    def path(self) -> str:
        return _text(self._live().path)

    @property
    def query(self) -> str:
        return _text(self._live().query)

    @property
    def body(self) -> bytes:
        self._live()
        return self._body

    @property
    def text(self) -> str:
        return _text(self.body)

    @property
    def upload(self) -> int:
        self._live()
        return -1 if self.form is None else int(self.form.descriptor)

    def fields(self) -> List[Tuple[str, str]]:
        return [(_text(name), _text(value)) for name, value in self._live().fields]

    # ---- the loop's ----

    def arrive(self) -> None:
        """The body is whole."""
        self._body = bytes(self.arrived)
        self.arrived = bytearray()

    def credit(self, n: int) -> None:
        """The socket took n bytes."""
        with self._changed:
            was_full = self._unsent > WINDOW
            self._unsent -= n
            has_room = was_full and self._unsent <= WINDOW
            if has_room:
                self._changed.notify_all()
        if has_room and self.is_async:
            self._server.queue.tell()

    def leave(self) -> None:
        """The caller has gone."""
        with self._changed:
            self.is_gone = True
            self._changed.notify_all()
        if self.is_async:
            self._server.queue.tell()

    def take_told(self) -> bytes:
        with self._changed:
            told, self._told = self._told, b""
        return told

    @property
    def has_told(self) -> bool:
        return bool(self._told)

    # ---- any thread ----

    @property
    def has_room(self) -> bool:
        return self.is_gone or self._unsent <= WINDOW

    def progress(self, value: bytes) -> None:
        """Says how far it is, in an interim response: compact JSON in ASCII. A value takes the place of one that has
        not gone out; what would follow the head of a stream is dropped, as it is for callers of HTTP/1.0."""
        if fork.is_forked() or self.is_gone or self._head is None or self.terms.minor == 0:
            return
        with self._changed:
            if self._has_begun:
                return
            self._told = value
            is_known, self._is_told = self._is_told, True
        if not is_known:
            self._server.loop.post(self._tell)

    def _tell(self) -> None:
        self._is_told = False
        self.connection.pump_progress(self)

    # ---- answers: True, or False when the caller has gone ----

    def answer_json(self, status: int, body: bytes) -> bool:
        self._check_silent(status)
        if self._server.settings.has_envelope and status < 400:
            milliseconds = int((time.monotonic() - self.taken) * 1000)
            body = b'{"run_id":"%s","run_time_ms":%d,"result":%s}' % (self.run_id.encode(), milliseconds, body)
        return self._finish_with(status, "application/json", body)

    def answer_bytes(self, status: int, content_type: str, body: bytes) -> bool:
        self._check_silent(status)
        if not _is_type(content_type) or len(content_type.encode("utf-8", "surrogateescape")) > LONGEST_TYPE:
            raise ValueError("this cannot be sent as an answer, or the call has been answered")
        return self._finish_with(status, content_type or "application/octet-stream", body)

    def fail(self, status: int, detail: bytes) -> bool:
        if not 400 <= status <= 599:
            raise ValueError("this cannot be sent as an answer, or the call has been answered")
        return self.refuse(Refusal(status, shown(detail)))

    def refuse(self, why: Refusal) -> bool:
        """In place of a whole answer, if there is one. In a stream it is an event of type "error", and then the
        connection is cut, so that no one takes the stream for whole."""
        self._live()
        if self._stage == _DONE:
            raise ValueError("this cannot be sent as an answer, or the call has been answered")
        self._status = why.status
        self._values = bytearray()
        if self._stage == _EVENTS:
            event = b"event: error\ndata: " + why.problem(self.run_id) + b"\n\n"
            return self._finish(self._chunk(event), CUT, _DONE)
        return self._finish(refuse(self._terms(), why, KEEP_ALIVE), LAST, _ANSWERED)

    def emit_json(self, value: bytes) -> bool:
        return self._emit(value, value)

    def emit_text(self, value: bytes) -> bool:
        """Raises ValueError (UnicodeDecodeError) where it is not UTF-8."""
        return self._emit(value, b"" if self.wants_events else _encode(value.decode()).encode())

    def end(self) -> bool:
        """No more values: ends the stream, or sends the array."""
        if not self._begin():
            return False
        if self._gap is not None:
            self.refuse(self._gap)
            raise ValueError(self._gap.detail)
        if self.wants_events:
            return self._finish(b"0\r\n\r\n" if self.terms.minor > 0 else b"", LAST, _DONE)
        self._stage = _SILENT
        values, self._values = bytes(self._values or b"[") + b"]", bytearray()
        return self.answer_json(200, values)

    def release(self) -> None:
        """Gives the call back; an answer that is missing becomes a 500."""
        if fork.is_forked() or self._head is None:
            return
        if self._stage < _ANSWERED:
            self.refuse(refusal("FUNCTION_NO_RESULT"))
        self._head = None
        self._body = b""
        milliseconds = int((time.monotonic() - self.taken) * 1000)
        self._server.note_end(self, self._status, milliseconds)
        self._server.queue.leave()
        last, self._last = self._last, None
        self._server.loop.post(self._server.take_back, self, last)

    def __del__(self) -> None:
        # One that was taken and lost is given back, as the extension's is.
        if self.taken and self._head is not None:
            self.release()

    # ---- pieces ----

    def _terms(self, closes: bool = False) -> Terms:
        return self.terms._replace(closes=closes or self.terms.closes or self._server.is_stopping)

    def _check_silent(self, status: int) -> None:
        self._live()
        # Final, and with a body; a 204 is one without.
        if self._stage != _SILENT or not 200 <= status <= 599 or status in (205, 304):
            raise ValueError("this cannot be sent as an answer, or the call has been answered")

    def _finish_with(self, status: int, content_type: str, body: bytes) -> bool:
        self._status = status
        body = b"" if status == 204 else body
        return self._finish(answer(self._terms(), status, content_type, body, KEEP_ALIVE), LAST, _ANSWERED)

    def _finish(self, data: bytes, end: int, stage: int) -> bool:
        """It goes with the release."""
        self._last = data, end
        self._stage = stage
        return not self.is_gone

    def _chunk(self, data: bytes) -> bytes:
        return b"%x\r\n%s\r\n" % (len(data), data) if self.terms.minor > 0 else data

    def _send(self, data: bytes) -> bool:
        """Waits until less than a window is unsent, unless the caller's thread may not wait: then it asks has_room."""
        if fork.is_forked():
            return False
        with self._changed:
            if not self.is_async:
                self._changed.wait_for(lambda: self._unsent <= WINDOW or self.is_gone)
            if self.is_gone:
                return False
            self._unsent += len(data)
            self._has_begun = True
        self._server.loop.post(self.connection.take_piece, self, data, MORE)
        return True

    def _begin(self) -> bool:
        self._live()
        if self._stage >= _ANSWERED:
            raise ValueError("this cannot be sent as an answer, or the call has been answered")
        if self.is_gone:
            return False
        if not self.wants_events or self._stage == _EVENTS:
            return True
        self._stage = _EVENTS
        self._status = 200
        return self._send(stream_head(self._terms(closes=self.terms.minor == 0)))

    def _emit(self, event: bytes, value: bytes) -> bool:
        if self._gap is not None:
            raise ValueError(self._gap.detail)
        if not self._begin():
            return False
        if self.wants_events:
            lines = b"".join(b"data: %s\n" % line for line in _line_end.split(event))
            return self._send(self._chunk(lines + b"\n"))
        self._stage = _VALUES
        if len(self._values) + len(value) + 1 > self._server.settings.max_body:
            # What follows must not look whole.
            self._gap = refusal("FUNCTION_VALUES_LONG")
            raise ValueError("the function's values are together longer than HOOKLINE_FUNCTION_MAX_BODY allows")
        self._values += b"," if self._values else b"["
        self._values += value
        return True
