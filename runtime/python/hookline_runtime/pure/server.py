"""The server core in Python: what the extension module _server is, for platforms where that cannot be built. See
runtime/core/server.h.

One loop on a thread of its own accepts, reads whole requests, answers what needs no function, and writes what calls
write; the host's threads take calls.
"""
from __future__ import annotations

import logging
import os
import re
import resource
import secrets
import signal
import socket
import stat
import threading
import time
from typing import Any, Dict, List, NamedTuple, Optional, Set, Tuple

from . import body, fork, log_writer
from .call import Call
from .connection import Connection
from .loop import Loop, Timer
from .problem import Refused
from .queue import Queue
from .settings import Settings
from .upload import Upload

MOST_CONNECTIONS = 4096
OTHER_DESCRIPTORS = 64  # kept for the function and the libraries
LEAST_MAX_HELD = 256 << 20
BACKLOG = 1024
ACCEPT_AT_ONCE = 64
ACCEPT_AGAIN_S = 0.1
LONGEST_LIST = 800  # bytes of names in a detail
UNSENT_MAX = 128 * 1024  # what the kernel holds for a peer that reads slowly, beyond what is on its way
PROBES = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}  # a caller whose machine vanished sends no FIN

_is_id = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE).fullmatch
_is_name = re.compile("(?!healthz$)[A-Za-z][A-Za-z0-9_]{0,127}(?:/[A-Za-z][A-Za-z0-9_]{0,127})?").fullmatch


class Callee(NamedTuple):
    name: str
    is_raw: bool
    is_async: bool
    input: Optional[str]


def _say(level: int, message: str, *fields: Tuple[str, Any], run_id: Optional[str] = None) -> None:
    from .. import log  # which needs this package

    log.write(level, message, fields, run_id)


class Server:
    """The settings, and after start() the server."""

    def __init__(self, host: Optional[str], port: Optional[str], socket: Optional[str]) -> None:
        _fill_standard_descriptors()
        fork.watch()
        self.settings = Settings(host, port, socket)
        self.concurrency = self.settings.concurrency
        self.setup_timeout_ms = self.settings.setup_timeout_ms
        self.log_level = self.settings.log_level
        self.log_format = self.settings.log_format
        self._listener: Any = None
        self._thread: Any = None

    # ---- the host's ----

    def start(self, callees: List[Tuple[str, bool, bool, Optional[str]]]) -> None:
        """Listens; from here on calls can be taken. OSError says why not."""
        if self._thread is not None:
            raise RuntimeError("the server was started already")
        self.callees = [Callee(*callee) for callee in callees]
        self._index_names()
        self.queue = Queue(self.concurrency)
        self.loop = Loop(self._on_signal, self._on_error)
        self.connections: Set[Connection] = set()
        self._forms: Set[Upload] = set()  # that no thread of the host has
        self.is_stopping = False
        self.calls = 0  # that are not released
        self.held, self.max_held = 0, max(4 * self.settings.max_body, LEAST_MAX_HELD)
        self._last_id = 0
        self._signals = 0
        self._again = Timer(self.loop, self._listen)
        with fork.hold():
            self._listener = self._open()
        self._is_listening = False
        fork.at_fork(self._let_go)
        self._take_signals()
        self._listen()
        self._thread = threading.Thread(target=self.loop.run, name="server", daemon=True)
        self._thread.start()
        log_writer.set_serving()

    def take(self) -> Optional[Call]:
        """The next Call; None when the server has stopped."""
        while True:
            call = self.queue.take()
            if call is None or self._is_good(call):
                return call

    def take_async(self) -> Optional[Call]:
        """The next Call of an async callee, None when there is none now."""
        while True:
            call = self.queue.take_async()
            if call is None or self._is_good(call):
                return call

    def hear(self) -> bool:
        return self.queue.hear()

    @property
    def bell(self) -> int:
        return self.queue.bell

    @property
    def address(self) -> str:
        if self.settings.socket:
            return f"unix:{self.settings.socket}"
        port = self._listener.getsockname()[1] if self._listener is not None else self.settings.port
        return f"[{self.settings.host}]:{port}" if ":" in self.settings.host else f"{self.settings.host}:{port}"

    def close(self) -> None:
        """Waits until every caller has its answer."""
        if self._thread is None or fork.is_forked():
            return
        self.loop.post(self._begin_stop)
        self._thread.join()
        signal.set_wakeup_fd(-1)
        self.loop.close()
        self.queue.close_bell()

    def _is_good(self, call: Call) -> bool:
        """One JSON object, or nothing. Looked at by the thread that takes the call: a long body would keep the loop from
        everybody else."""
        call.taken = time.monotonic()
        if call.form is not None:
            with fork.hold():
                self._forms.discard(call.form)
        try:
            if call.body and not self.callees[call.callee].is_raw:
                body.check(call.body)
        except Refused as refused:
            call.refuse(refused.why)
            call.release()
            return False
        return True

    def note_end(self, call: Call, status: int, milliseconds: int) -> None:
        fields = [("function", self.callees[call.callee].name), ("status", status), ("duration_ms", milliseconds)]
        _say(logging.DEBUG, "call finished", *fields, run_id=call.run_id)

    # ---- names ----

    def _index_names(self) -> None:
        self._numbers: Dict[bytes, int] = {}
        for i, callee in enumerate(self.callees):
            if not _is_name(callee.name):
                raise OSError(f"'{callee.name[:150]}' cannot be a function's name")
            if f"/{callee.name}".encode() in self._numbers:
                raise OSError(f"there are two functions named '{callee.name}'")
            self._numbers[f"/{callee.name}".encode()] = i
        names = ""
        for callee in self.callees:
            if len(names) > LONGEST_LIST:
                names += ", and more"
                break
            names += f"{', ' if names else ''}{callee.name}"
        self.unknown = f"There is no function of that name{f'; available are: {names}' if names else ', or any other'}."
        listed = (f'{{"name":"{callee.name}","input":{callee.input or "null"}}}' for callee in self.callees)
        self.listing = f'{{"functions":[{",".join(listed)}]}}'.encode()

    def find(self, path: bytes) -> int:
        """The number of the function there; -1."""
        return self._numbers.get(path, -1)

    def run_id(self, value: Optional[bytes]) -> str:
        """The caller's, if it is one of ours in form; else a new one (UUID version 7), behind those before it."""
        if value is not None and _is_id(value):
            return value.decode().lower()
        self._last_id = max(self._last_id + 1, time.time_ns() // 1_000_000 << 12 | secrets.randbits(11))
        stamp, counter = self._last_id >> 12, self._last_id & 0xFFF
        text = f"{stamp:012x}7{counter:03x}{0x8 | secrets.randbits(2):x}{secrets.randbits(60):015x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    # ---- listening ----

    def _open(self) -> socket.socket:
        settings = self.settings
        try:
            if settings.socket:
                return _open_unix(settings.socket)
            family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
            return _open_tcp(family, settings.host, settings.port)
        except OSError as error:
            where = settings.socket or f"{settings.host} port {settings.port}"
            reason = (error.strerror or str(error)).lower()
            options = "--socket" if settings.socket else "--host, --port"
            raise OSError(f"cannot listen on {where}: {reason}; free it or choose another ({options})") from None

    def _listen(self) -> None:
        if not self._is_listening and not self.is_stopping:
            self._is_listening = True
            self.loop.selector.register(self._listener, 1, self._on_connection)

    def _pause(self) -> None:
        if self._is_listening:
            self._is_listening = False
            self.loop.selector.unregister(self._listener)

    def _on_connection(self, mask: int) -> None:
        for _ in range(ACCEPT_AT_ONCE):
            if len(self.connections) >= _most_connections():
                self._pause()  # on_gone() goes on
                return
            try:
                with fork.hold():
                    sock, _ = self._listener.accept()
                    sock.setblocking(False)
                    connection = Connection(self, sock)
                    self.connections.add(connection)
            except BlockingIOError:
                return
            except ConnectionError:
                continue
            except OSError:  # no descriptor, no memory: nothing is accepted for a time
                self._pause()
                self._again.arm(ACCEPT_AGAIN_S)
                return

    def unsent(self, sock: socket.socket) -> int:
        """Bytes that the peer has not taken."""
        try:
            import fcntl
            import struct
            import termios

            return int(struct.unpack("i", fcntl.ioctl(sock, termios.TIOCOUTQ, b"\0\0\0\0"))[0])
        except (ImportError, OSError):
            return 0

    # ---- calls ----

    def keep_form(self, form: Upload) -> None:
        with fork.hold():
            self._forms.add(form)

    def drop(self, call: Call) -> None:
        """It is over, for the loop as well."""
        self.held -= call.held
        call.held = 0
        self.calls -= 1
        if call.form is not None:
            with fork.hold():
                self._forms.discard(call.form)
            call.form.close()
        self.on_gone()

    def take_back(self, call: Call, last: Optional[Tuple[bytes, int]]) -> None:
        self.drop(call)
        call.connection.take_back(call, last)

    def on_gone(self) -> None:
        """A connection or a call has gone."""
        if not self.is_stopping:
            if not self._again.due:
                self._listen()
            return
        if not self.connections:
            self.queue.close()
            if not self.calls:
                self.loop.end()

    def _on_error(self, act: Any, error: Exception) -> None:
        """No memory, most likely: it is one connection's end."""
        from .. import log

        log.write_exception(f"the server failed: {type(error).__name__}", error)
        owner = getattr(act, "__self__", None)
        connection = owner.owner if isinstance(owner, Timer) else owner
        if isinstance(connection, Connection):
            connection.close(resets=True)

    # ---- stopping ----

    def _take_signals(self) -> None:
        """They wake the loop's thread, whatever the main one does."""
        for number in fork.SIGNALS:
            signal.signal(number, self._on_python_signal)
        signal.set_wakeup_fd(self.loop.waker, warn_on_full_buffer=False)

    def _on_python_signal(self, number: int, frame: Any) -> None:
        if self._signals > 1:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    def _on_signal(self, number: int) -> None:
        if number not in fork.SIGNALS:
            return
        self._signals += 1
        if self._signals == 1:
            self._begin_stop()
            return
        _say(logging.WARNING, "a second signal: ending at once", ("calls", self.calls))
        log_writer.flush_log()
        signal.pthread_kill(threading.main_thread().ident, number)  # type: ignore[arg-type]

    def _begin_stop(self) -> None:
        if self.is_stopping:
            return
        _say(logging.INFO, "stopping: no more calls are accepted, running ones may finish", ("calls", self.calls))
        self._pause()
        self.is_stopping = True
        with fork.hold():
            self._listener.close()
        if self.settings.socket:
            _remove(self.settings.socket)
        for connection in list(self.connections):
            connection.stop()
        self.on_gone()

    def _let_go(self) -> None:
        """In a child: its copies of our descriptors."""
        signal.set_wakeup_fd(-1)
        for number in fork.SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        self._listener.close()
        for connection in self.connections:
            connection.let_go()
        for form in self._forms:
            if form.descriptor >= 0:
                os.close(form.descriptor)
        self.queue.close_bell()
        self.loop.close()


def _most_connections() -> int:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit == resource.RLIM_INFINITY or limit > MOST_CONNECTIONS + OTHER_DESCRIPTORS:
        return MOST_CONNECTIONS
    return max(limit - OTHER_DESCRIPTORS, OTHER_DESCRIPTORS)


def _fill_standard_descriptors() -> None:
    """Where one of the three is closed, the next that is opened would be taken for it."""
    while True:
        number = os.open(os.devnull, os.O_RDWR)
        if number > 2:
            os.close(number)
            return
        os.set_inheritable(number, True)


def _open_tcp(family: int, host: str, port: int) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in {**PROBES, "TCP_NOTSENT_LOWAT": UNSENT_MAX}.items():
            if hasattr(socket, name):  # connections inherit this
                listener.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        _begin(listener, (host, port))
    except BaseException:
        listener.close()
        raise
    return listener


def _begin(listener: socket.socket, address: tuple[str, int] | str) -> None:
    listener.bind(address)
    listener.listen(BACKLOG)
    listener.setblocking(False)


def _open_unix(path: str) -> socket.socket:
    """A file that a server left behind when it was killed is replaced; one of a server that is there is not."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if _is_left_behind(path):
            _remove(path)
        _begin(listener, path)
    except BaseException:
        listener.close()
        raise
    return listener


def _is_left_behind(path: str) -> bool:
    try:
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            return False
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.connect(path)
        return False
    except ConnectionRefusedError:
        return True
    except OSError:
        return False


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
