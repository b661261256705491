"""The log of the host: whoever logs waits for nobody. What stderr does not take at once waits in memory for a thread;
lines for which there is no room are counted, and said once there is. See proxy/loop/log_writer.h.

A process that was forked has no such thread: its first line for which there is no room waits a second, the next ones
not at all.
"""
from __future__ import annotations

import atexit
import collections
import os
import select
import socket
import stat
import threading
from typing import Any, Callable, Deque, Optional

from . import fork

STDERR = 2
MOST_BYTES = 1024 * 1024
PIECE = 4096  # what a pipe takes whole, or not
END_S = 1.0
FAILED_END_S = 5.0  # nobody waits for the process to end, but somebody wants to know why
CHILD_WAIT_S = 1.0


class _Stderr:
    """The standard error, written without waiting where it is a pipe or a socket. A pipe gets a description of its
    own for that: others may share the one that is there."""

    def __init__(self) -> None:
        mode = os.fstat(STDERR).st_mode
        self.may_block = False
        self._fd = STDERR
        self._socket: Optional[socket.socket] = None
        try:
            if stat.S_ISSOCK(mode):
                self._socket = socket.socket(fileno=os.dup(STDERR))
            elif stat.S_ISFIFO(mode):
                self._fd = os.open(f"/proc/self/fd/{STDERR}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            else:
                self.may_block = not stat.S_ISREG(mode)
        except OSError:
            self.may_block = True

    def write(self, data: bytes) -> int:
        """Raises BlockingIOError."""
        if self._socket is not None:
            return self._socket.send(data[:PIECE], socket.MSG_DONTWAIT)
        return os.write(self._fd, data[:PIECE])

    def wait(self, seconds: Optional[float]) -> bool:
        poll = select.poll()
        poll.register(self._socket if self._socket is not None else self._fd, select.POLLOUT)
        return bool(poll.poll(None if seconds is None else seconds * 1000))


class Writer:
    def __init__(self, say: Callable[[str, int], bytes]) -> None:
        """`say(message, lines)` makes a warning of the log, empty where none is wanted."""
        self._say = say
        self._stderr = _Stderr()
        self._waiting: Deque[bytes] = collections.deque()
        self.is_serving = False
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._waiting.clear()
        self._used = 0
        self._unsaid = 0  # lines dropped since a line has said so
        self._is_dropping = self._is_torn = False
        self._thread: Any = None

    def begin_child(self) -> None:
        """Another thread may have held the lock; what waits is the parent's to write."""
        self._begin()

    def put(self, lines: bytes) -> None:
        with self._lock:
            if fork.is_forked():
                self._put_of_child(lines)
                return
            fits = self._used + len(lines) <= MOST_BYTES
            if not fits and len(lines) <= MOST_BYTES:  # a longer one never would
                self._is_dropping = True
            if not fits or self._is_dropping:
                self._unsaid += lines.count(b"\n")
            elif self._used or self._stderr.may_block:
                self._keep(lines)
            else:  # at once, so that it is there if the process dies
                self._keep(self._write(lines, lambda: False))

    def flush(self, seconds: float) -> None:
        """Returns when what waits is written, or after that time."""
        if fork.is_forked():
            return
        with self._lock:
            self._changed.wait_for(lambda: not self._used, seconds)

    def end(self) -> None:
        self.flush(END_S if self.is_serving else FAILED_END_S)

    # ---- with the lock ----

    def _keep(self, lines: bytes) -> None:
        if not lines:
            return
        self._waiting.append(lines)
        self._used += len(lines)
        if self._thread is None:
            self._thread = threading.Thread(target=self._write_all, name="log", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def _write(self, lines: bytes, wait: Callable[[], bool]) -> bytes:
        """Writes what stderr takes; what is left is answered once `wait` gives up. Where it takes nothing any more the
        lines are dropped."""
        begin = lines = b"\n" + lines if self._is_torn else lines
        while lines:
            try:
                lines = lines[self._stderr.write(lines) :]
            except BlockingIOError:
                if not wait():
                    return lines
            except OSError:
                self._note_end(begin, lines)
                self._unsaid += lines.count(b"\n")
                return b""
        self._is_torn = False
        return b""

    def _note_end(self, begin: bytes, rest: bytes) -> None:
        """What is left of it is never written: the next line needs a line's end before it."""
        taken = begin[: len(begin) - len(rest)]
        if taken:
            self._is_torn = not taken.endswith(b"\n")

    def _put_of_child(self, lines: bytes) -> None:
        seconds = 0.0 if self._is_dropping else CHILD_WAIT_S
        said = self._say("the log was not read: lines were dropped", self._unsaid) if self._unsaid else b""
        all_lines = said + lines
        rest = self._write(all_lines, lambda: self._stderr.wait(seconds))
        self._is_dropping = bool(rest)
        if len(rest) <= len(lines):
            self._unsaid = 0
        if rest:
            self._note_end(all_lines, rest)
            self._unsaid += lines.count(b"\n")

    # ---- the thread ----

    def _write_all(self) -> None:
        while True:
            with self._lock:
                self._changed.wait_for(lambda: bool(self._used))
                lines = self._waiting[0]
            # What comes meanwhile waits behind it, for _used counts it until it is written.
            self._write(lines, lambda: self._stderr.wait(None))
            with self._lock:
                self._waiting.popleft()
                self._used -= len(lines)
                if self._unsaid and self._used <= MOST_BYTES // 2:
                    self._is_dropping = False
                    unsaid, self._unsaid = self._unsaid, 0
                    self._keep(self._say("the log was not read: lines were dropped", unsaid))
                self._changed.notify_all()


_writer: Optional[Writer] = None


def _say(message: str, lines: int) -> bytes:
    from .. import log  # which needs this package

    return log.line(log.LEVELS["warn"], message, [("lines", lines)]).encode()


def start_log() -> None:
    """What is logged from here on makes nobody wait."""
    global _writer
    _writer = Writer(_say)
    fork.at_fork(_writer.begin_child)
    atexit.register(_writer.end)


def set_serving() -> None:
    """The start has not failed."""
    if _writer is not None:
        _writer.is_serving = True


def flush_log() -> None:
    if _writer is not None:
        _writer.flush(END_S)


def log(lines: bytes) -> None:
    """Lines of the log, each with its newline."""
    if _writer is not None:
        _writer.put(lines)
