"""One thread's loop: sockets that can be read or written, timers, and what other threads post to it."""
from __future__ import annotations

import collections
import heapq
import itertools
import selectors
import socket
import time
from typing import Any, Callable, Deque, List, Optional, Tuple

_order = itertools.count()


class Timer:
    """Calls `act` once its time has come; arming it again moves that."""

    __slots__ = ("_loop", "_act", "due", "queued")

    def __init__(self, loop: Loop, act: Callable[[], None]) -> None:
        self._loop = loop
        self._act: Optional[Callable[[], None]] = act
        self.due = 0.0  # 0: not armed
        self.queued = 0.0  # when the loop looks at it next: one place in its heap, however often it is armed

    def arm(self, seconds: float) -> None:
        self.due = time.monotonic() + seconds
        if not self.queued or self.due < self.queued:
            self._loop.queue_timer(self)

    def disarm(self) -> None:
        self.due = 0.0

    def close(self) -> None:
        self.due = 0.0
        self._act = None

    def fire(self) -> None:
        self.due = 0.0
        act = self._act
        if act is not None:
            act()

    @property
    def owner(self) -> Any:
        return getattr(self._act, "__self__", None)


class Loop:
    """`on_signal` gets a signal's number; `on_error` what an act raised, which ends neither the loop nor other acts."""

    def __init__(self, on_signal: Callable[[int], None], on_error: Callable[[Any, Exception], None]) -> None:
        self.selector = selectors.DefaultSelector()
        self._on_signal = on_signal
        self._on_error = on_error
        self._ear, self._hand = socket.socketpair()
        self._ear.setblocking(False)
        self._hand.setblocking(False)
        self.selector.register(self._ear, selectors.EVENT_READ, self._hear)
        self._mail: Deque[Tuple[Callable[..., None], Tuple[Any, ...]]] = collections.deque()
        self._is_woken = False
        self._timers: List[Tuple[float, int, Timer]] = []
        self._is_over = False

    @property
    def waker(self) -> int:
        """The descriptor that a signal's number may be written to."""
        return self._hand.fileno()

    def post(self, act: Callable[..., None], *arguments: Any) -> None:
        """`act(*arguments)` runs on the loop's thread. Any thread."""
        self._mail.append((act, arguments))
        if not self._is_woken:
            self._is_woken = True
            try:
                self._hand.send(b"\0")
            except BlockingIOError:  # full: it will be heard
                pass

    def end(self) -> None:
        self._is_over = True

    def close(self) -> None:
        """In a child as well: nothing is taken out of what epoll watches, which both share."""
        self.selector.close()
        self._ear.close()
        self._hand.close()

    def queue_timer(self, timer: Timer) -> None:
        timer.queued = timer.due
        heapq.heappush(self._timers, (timer.due, next(_order), timer))

    def run(self) -> None:
        while not self._is_over:
            for key, mask in self.selector.select(self._wait()):
                self._do(key.data, mask)
            while self._mail:
                act, arguments = self._mail.popleft()
                self._do(act, *arguments)
            self._fire_timers()

    def _do(self, act: Callable[..., None], *arguments: Any) -> None:
        try:
            act(*arguments)
        except Exception as error:
            self._on_error(act, error)

    def _wait(self) -> Optional[float]:
        return max(0.0, self._timers[0][0] - time.monotonic()) if self._timers else None

    def _fire_timers(self) -> None:
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            at, _, timer = heapq.heappop(self._timers)
            if at != timer.queued:
                continue  # it was armed for an earlier time meanwhile
            timer.queued = 0.0
            if timer.due > now:
                self.queue_timer(timer)
            elif timer.due:
                self._do(timer.fire)

    def _hear(self, mask: int) -> None:
        numbers = self._ear.recv(4096)
        self._is_woken = False  # before the mail is looked at
        for number in numbers:
            if number:
                self._on_signal(number)
