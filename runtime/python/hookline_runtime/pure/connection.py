"""One caller's connection: requests are read whole and answered one after the other, by the server itself or by a call.
See runtime/core/connection.c and intake.c.

Everything happens on the loop's thread. Of the next request nothing is looked at before the present one is answered;
every wait but those for the function and the disk has a deadline; a caller's FIN counts as gone.
"""
from __future__ import annotations

import collections
import re
import selectors
import socket
import struct
import time
from typing import Any, Deque, NamedTuple, Optional, Tuple

from . import fork, head
from .call import CUT, LAST, MORE, Call
from .chunked import ChunkReader
from .loop import Timer
from .problem import Refusal, Refused, Terms, answer, refusal, refuse
from .upload import Upload, is_form

READ_SIZE = 64 * 1024
READ_SIZE_LONG = 256 * 1024
SLICE = 256 * 1024
MAX_DROPPED = 64 * 1024  # of a refused body; a longer one closes the connection
MAX_AHEAD = 64 * 1024  # bytes read while a call is answered
KEEPALIVE_S = 75.0
HEAD_S = 10.0
BODY_S = 60.0  # of silence
WRITE_S = 300.0  # a proxy before us has a closer look at slow callers
LINGER_S = 2.0
LINGER_MOST_S = 30.0
PROGRESS_EVERY_S = 0.5

_HEAD, _BODY, _CALL, _LINGER, _CLOSED = range(5)
_is_json_type = re.compile(rb"application/json|[^/]+/.*[^/]\+json", re.IGNORECASE | re.DOTALL).fullmatch


class Own(NamedTuple):
    """The server's own answer."""

    status: int = 200
    content_type: str = ""
    body: bytes = b""
    why: Optional[Refusal] = None


class Connection:
    def __init__(self, server: Any, sock: socket.socket) -> None:
        self._server = server
        self._socket = sock
        self._state = _HEAD
        self._in = bytearray()  # read and not yet used
        self._scanned = 0  # of it
        self._has_begun = False  # a head's first byte has come: its deadline runs for all of it
        self._has_ended = False  # the peer sent FIN
        self._mask = 0  # what the loop waits for
        self._timer = Timer(server.loop, self._on_timer)
        self._pace = Timer(server.loop, self._on_pace)
        # the present request
        self._terms = Terms("", 1, False, False)
        self._must_close = False
        self._left = 0
        self._chunks: Optional[ChunkReader] = None
        self._own: Optional[Own] = None
        self._call: Optional[Call] = None
        # the present answer
        self._out: Deque[Tuple[memoryview, int, bool]] = collections.deque()
        self._written = self._interim_end = 0
        self._is_stalled = False  # the timer is for what the socket does not take
        self._linger_until = 0.0
        self.go_on()

    # ---- events ----

    def _on_ready(self, mask: int) -> None:
        if mask & selectors.EVENT_WRITE:
            self._pump()
        if mask & selectors.EVENT_READ and self._state != _CLOSED:
            self._read()
        self.go_on()

    def _read(self) -> None:
        try:
            data = self._socket.recv(READ_SIZE_LONG if self._state == _BODY else READ_SIZE)
        except BlockingIOError:
            return
        except OSError:
            self.close()
            return
        if not data:
            self._has_ended = True
        elif self._state != _LINGER:
            self._in += data

    def _on_timer(self) -> None:
        if self._out:
            self.close(resets=True)
        elif self._state == _HEAD and self._has_begun:
            self._terms = Terms("", 1, False, True)
            self._refuse(refusal("FUNCTION_HEAD_SLOW"))
        elif self._state == _BODY:
            self._refuse(refusal("FUNCTION_BODY_SLOW"))
        else:
            self.close()
        self.go_on()

    def _on_pace(self) -> None:
        if self._call is not None:
            self.pump_progress(self._call)

    # ---- waiting ----

    def go_on(self) -> None:
        """Uses what was read; then sets what is waited for, and how long."""
        if self._state != _CLOSED:
            self._feed()
        if self._state == _CLOSED:
            return
        if self._out:
            self._watch(selectors.EVENT_WRITE)
        elif self._is_storing():
            self._timer.disarm()
            self._watch(0)
        elif self._has_ended or (self._must_close and self._state == _HEAD and not self._in):
            self.close()
        else:
            self._wait()

    def _wait(self) -> None:
        if self._state == _HEAD:
            if not self._in:
                self._timer.arm(KEEPALIVE_S)
            elif not self._has_begun:
                self._timer.arm(HEAD_S)
            self._has_begun = bool(self._in)
        elif self._state == _BODY:
            self._timer.arm(BODY_S)
        elif self._state == _CALL:
            self._timer.disarm()
        else:
            self._timer.arm(max(0.0, min(LINGER_S, self._linger_until - time.monotonic())))
        is_ahead = self._state == _CALL and len(self._in) > MAX_AHEAD
        self._watch(0 if is_ahead else selectors.EVENT_READ)

    def _watch(self, mask: int) -> None:
        if mask == self._mask:
            return
        selector = self._server.loop.selector
        if not self._mask:
            selector.register(self._socket, mask, self._on_ready)
        elif mask:
            selector.modify(self._socket, mask, self._on_ready)
        else:
            selector.unregister(self._socket)
        self._mask = mask

    # ---- a request ----

    def _feed(self) -> None:
        while not self._out and not self._is_storing():
            before = self._state
            if before == _HEAD:
                is_used = bool(self._in) and self._take_head()
            elif before == _BODY:
                is_used = self._take_body()
            else:
                break
            if not is_used and self._state == before:
                break
        form = self._form()
        if form is not None and not form.is_writing:
            form.write()

    def _take_head(self) -> bool:
        whole = b""
        try:
            n = head.find_end(self._in, self._scanned)
            self._scanned = 0 if n else len(self._in)
            if not n:
                return False
            whole = bytes(self._in[:n])
            del self._in[:n]
            self._begin(head.read(whole))
        except Refused as refused:
            self._terms = Terms("", 1, head.peek_method(whole) == b"HEAD", True)
            self._refuse(refused.why)
        return True

    def _begin(self, request: head.Head) -> None:
        server = self._server
        self._must_close = self._must_close or not request.is_persistent
        run_id = server.run_id(request.first(b"x-request-id"))
        self._terms = Terms(run_id, request.minor, request.method == b"HEAD", self._must_close)
        self._left = request.length if request.framing == head.LENGTH else 0
        self._chunks = ChunkReader() if request.framing == head.CHUNKED else None
        callee = server.find(request.path)
        self._own = self._triage(request, callee)
        if self._own is None:
            self._begin_call(request, callee)
        else:
            # A short body is dropped before the answer, so that the connection lives on.
            is_short = self._chunks is None and self._left <= MAX_DROPPED and not (self._left and request.expects_continue)
            if is_short:
                self._state = _BODY
            else:
                self._must_close = True
                self._answer(self._own)

    def _triage(self, request: head.Head, callee: int) -> Optional[Own]:
        """What the server answers itself; None: it is a call."""
        if request.path == b"/healthz":
            if request.method not in (b"GET", b"HEAD"):
                return Own(why=refusal("HEALTH_METHOD"))
            if self._server.is_stopping:
                return Own(why=refusal("FUNCTION_STOPPING"))
            return Own(content_type="application/json", body=b'{"status":"ok"}')
        if request.path == b"/_hookline/functions":
            if request.method not in (b"GET", b"HEAD"):
                return Own(why=refusal("FUNCTION_LISTING_METHOD"))
            return Own(content_type="application/json", body=self._server.listing)
        if callee < 0:
            return Own(why=refusal("FUNCTION_UNKNOWN", self._server.unknown))
        content_type = request.first(b"content-type")
        is_raw = self._server.callees[callee].is_raw
        takes_form = not is_raw and is_form(content_type)
        if not is_raw and request.method != b"POST":
            return Own(why=refusal("FUNCTION_METHOD"))
        if not is_raw and not takes_form and request.has_body and content_type is not None:
            if not _is_json_type(content_type.partition(b";")[0].strip(b" \t")):
                return Own(why=refusal("FUNCTION_TYPE"))
        return self._judge_size(takes_form)

    def _judge_size(self, is_form: bool) -> Optional[Own]:
        """A call that can never fit is refused before its body comes."""
        settings = self._server.settings
        if self._left > (settings.max_upload if is_form else settings.max_body):
            return Own(why=refusal("FUNCTION_BODY_TOO_LARGE"))
        if not is_form and self._server.held + self._left > self._server.max_held:
            return Own(why=refusal("FUNCTION_QUEUE_FULL"))
        return None

    def _begin_call(self, request: head.Head, callee: int) -> None:
        server = self._server
        call = Call(server, self, callee, request, self._terms.run_id)
        if not server.callees[callee].is_raw and is_form(request.first(b"content-type")):
            call.form = Upload(server.settings.max_upload, server.loop.post, self._on_stored)
            server.keep_form(call.form)
        self._must_close = self._must_close or call.terms.closes
        self._call = call
        server.calls += 1
        self._state = _BODY
        if request.expects_continue:
            self._send(b"HTTP/1.1 100 Continue\r\n\r\n", MORE, False)

    def _take_body(self) -> bool:
        if self._chunks is not None:
            return self._take_chunks(self._chunks)
        if self._left and not self._in:
            return False
        if self._left:
            piece = bytes(self._in[: self._left])
            del self._in[: self._left]
            self._left -= len(piece)
            if not self._keep(piece):
                return True
        if not self._left:
            self._finish()
        return True

    def _take_chunks(self, chunks: ChunkReader) -> bool:
        if not self._in:
            return False
        data = memoryview(bytes(self._in))
        self._in.clear()
        at, is_whole = 0, False
        try:
            while at < len(data) and not is_whole:
                used, piece, is_whole = chunks.read(data[at:])
                at += used
                if piece is not None and not self._keep(bytes(piece)):
                    return True
        except Refused as refused:
            self._refuse(refused.why)
            return True
        if is_whole:
            self._in += data[at:]
            self._finish()
        return True

    def _keep(self, data: bytes) -> bool:
        """False: it was refused."""
        call, server = self._call, self._server
        if call is None:
            return True
        if call.form is not None:
            if not call.form.append(data):
                self._refuse(refusal("FUNCTION_BODY_TOO_LARGE"))
        elif server.held + len(data) > server.max_held:
            self._refuse(refusal("FUNCTION_QUEUE_FULL"))
        elif call.held + len(data) > server.settings.max_body:
            self._refuse(refusal("FUNCTION_BODY_TOO_LARGE"))
        else:
            call.arrived += data
            call.held += len(data)
            server.held += len(data)
        return self._call is not None

    def _finish(self) -> None:
        """The request is whole."""
        self._chunks = None
        call = self._call
        if call is None:
            self._answer(self._own or Own())
            return
        call.arrive()
        self._state = _CALL
        if call.form is None or not call.form.write():
            self._server.queue.add(call)

    # ---- forms ----

    def _form(self) -> Optional[Upload]:
        """Of a body that is not whole."""
        return self._call.form if self._state == _BODY and self._call is not None else None

    def _is_storing(self) -> bool:
        form = self._form()
        return form is not None and form.is_writing

    def _on_stored(self) -> None:
        call = self._call
        if call is not None and call.form.has_failed:
            self._refuse(refusal("FUNCTION_UPLOAD"))
        elif call is not None and self._state == _CALL:
            self._server.queue.add(call)
        self.go_on()

    # ---- answers ----

    def _refuse(self, why: Refusal) -> None:
        """Answers with a problem, and closes after it."""
        call, self._call = self._call, None
        if call is not None:
            self._server.drop(call)
        self._must_close = True
        self._answer(Own(why=why))

    def _answer(self, own: Own) -> None:
        terms = self._terms._replace(closes=self._must_close)
        data = refuse(terms, own.why) if own.why else answer(terms, own.status, own.content_type, own.body)
        self._send(data, LAST, False)

    def _send(self, data: bytes, end: int, is_counted: bool) -> None:
        self._out.append((memoryview(data), end, is_counted))
        if len(self._out) == 1:
            self._pump()

    def _pump(self) -> None:
        """Writes what the socket takes. A call gets its credit then, and not before."""
        while self._out:
            data, end, is_counted = self._out[0]
            try:
                n = self._socket.send(data[:SLICE]) if data else 0
            except BlockingIOError:
                n = 0
            except OSError:
                self.close()
                return
            self._written += n
            if is_counted and n and self._call is not None:
                self._call.credit(n)
            if n < len(data):
                self._out[0] = (data[n:], end, is_counted)
                if n or not self._is_stalled:
                    self._is_stalled = True
                    self._timer.arm(WRITE_S)
                if n:
                    continue
                return
            self._out.popleft()
            self._is_stalled = False
            if end == LAST:
                self._end_answer()
            elif end == CUT:
                self.close(resets=self._terms.minor == 0)  # without chunks only a reset tells
                return

    def _end_answer(self) -> None:
        self._has_begun = False
        self._own = None
        if not self._must_close:
            self._state = _HEAD
            return
        # Reads and drops until the peer closes, so that no RST destroys the answer (RFC 9112 9.6).
        self._state = _LINGER
        self._in.clear()
        self._linger_until = time.monotonic() + LINGER_MOST_S
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def take_piece(self, call: Call, data: bytes, end: int) -> None:
        if self._call is call:
            self._flush_progress(call)
            self._send(data, end, True)
            self.go_on()

    def take_back(self, call: Call, last: Optional[Tuple[bytes, int]]) -> None:
        """The call was released."""
        if self._call is not call:
            return
        self._flush_progress(call)
        self._call = None
        if last is None:
            self.close(resets=True)
        else:
            self._must_close = self._must_close or self._server.is_stopping
            self._send(last[0], last[1], False)
        self.go_on()

    # ---- how far a call is ----

    def pump_progress(self, call: Call) -> None:
        """What the peer has not taken of the last value would only grow old before the next one."""
        if self._call is not call or self._pace.due or not call.has_told:
            return
        self._pace.arm(PROGRESS_EVERY_S)
        if not self._out and self._server.unsent(self._socket) <= self._written - self._interim_end:
            self._send_progress(call)
        self.go_on()

    def _flush_progress(self, call: Call) -> None:
        """The answer, or the next piece of it, goes out now: a value that waits goes before it."""
        self._pace.disarm()
        if call.has_told:
            self._send_progress(call)

    def _send_progress(self, call: Call) -> None:
        told = call.take_told()
        if told:
            self._send(b"HTTP/1.1 103 Early Hints\r\nX-Run-Progress: " + told + b"\r\n\r\n", MORE, False)
            self._interim_end = self._written + sum(len(data) for data, _, _ in self._out)

    # ---- the end ----

    def stop(self) -> None:
        """Idle connections close, the others after their answer."""
        self._must_close = True
        self.go_on()

    def close(self, resets: bool = False) -> None:
        """The caller has gone, or is to go. Its call, if there is one, is told: one that waits is never run."""
        if self._state == _CLOSED:
            return
        call, self._call = self._call, None
        is_arriving = self._state == _BODY or (call is not None and call.form is not None and call.form.is_writing)
        self._state = _CLOSED
        self._watch(0)
        self._timer.close()
        self._pace.close()
        self._out.clear()
        self._in = bytearray()
        with fork.hold():
            self._end_socket(resets)
            self._server.connections.discard(self)
        if call is not None:
            call.leave()
            if is_arriving or self._server.queue.remove(call):
                self._server.drop(call)
        self._server.on_gone()

    def _end_socket(self, resets: bool) -> None:
        try:
            if resets:
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            else:
                self._socket.shutdown(socket.SHUT_RDWR)  # somebody else may have the socket, too
        except OSError:
            pass
        self._socket.close()

    def let_go(self) -> None:
        """In a child: its copy of the socket."""
        self._socket.close()
