"""Calls that wait for the host, and the places inside it. See runtime/core/queue.h."""
from __future__ import annotations

import socket
import threading
from typing import Any, Dict, Optional


class Queue:
    """Calls are taken in the order of arrival, never more at once than there are places: by threads that wait, or those
    of async functions by an event loop that waits for the bell."""

    def __init__(self, places: int) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._waiting: Dict[Any, None] = {}  # in order
        self._places = places
        self._is_closed = self._is_rung = self._has_news = False
        self._ear, self._hand = socket.socketpair()
        self._ear.setblocking(False)
        self._hand.setblocking(False)

    @property
    def bell(self) -> int:
        return self._ear.fileno()

    def add(self, call: Any) -> None:
        with self._lock:
            self._waiting[call] = None
            if len(self._waiting) == 1:
                self._tell_next()

    def remove(self, call: Any) -> bool:
        """False: it was taken already."""
        with self._lock:
            if call not in self._waiting:
                return False
            del self._waiting[call]
            self._tell_next()
            return True

    def close(self) -> None:
        """What still waits is given out, then None."""
        with self._lock:
            self._is_closed = True
            self._tell_next()

    def take(self) -> Optional[Any]:
        with self._lock:
            while True:
                call = self._pop(is_async=False)
                if call is not None or (self._is_closed and not self._waiting):
                    return call
                self._changed.wait()

    def take_async(self) -> Optional[Any]:
        with self._lock:
            return self._pop(is_async=True)

    def leave(self) -> None:
        """Gives a place back."""
        with self._lock:
            self._places += 1
            self._tell_next()

    def tell(self) -> None:
        """Rings the bell because something happened to an async call that was taken."""
        with self._lock:
            self._has_news = True
            self._ring()

    def hear(self) -> bool:
        """Silences the bell; True when tell() had rung it."""
        with self._lock:
            if self._is_rung:
                self._ear.recv(16)
            has_news, self._has_news, self._is_rung = self._has_news, False, False
            return has_news

    def close_bell(self) -> None:
        self._ear.close()
        self._hand.close()

    # ---- with the lock ----

    def _pop(self, is_async: bool) -> Optional[Any]:
        """The first, if it is of that kind and there is a place for it."""
        call = next(iter(self._waiting), None)
        if call is None or call.is_async != is_async or not self._places:
            return None
        del self._waiting[call]
        self._places -= 1
        self._tell_next()
        return call

    def _tell_next(self) -> None:
        """Whenever another call is first, or a place became free."""
        call = next(iter(self._waiting), None)
        if call is None:
            if self._is_closed:
                self._changed.notify_all()
        elif self._places:
            if call.is_async:
                self._ring()
            else:
                self._changed.notify()

    def _ring(self) -> None:
        if not self._is_rung:
            self._hand.send(b"\0")
        self._is_rung = True
