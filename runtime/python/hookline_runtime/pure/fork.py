"""What a process that a function forks has of its host: nothing. See runtime/core/fork.h."""
from __future__ import annotations

import os
import signal
import threading
from typing import Any, Callable, List

SIGNALS = (signal.SIGTERM, signal.SIGINT)

_lock = threading.Lock()
_watched: List[bool] = []
_mask: Any = None
_is_child = False
_let_go: List[Callable[[], None]] = []


def is_forked() -> bool:
    """This process was forked by one that has a Server, and is not to serve."""
    return _is_child


def watch() -> None:
    """From here on forks are noticed."""
    if not _watched:
        _watched.append(True)
        os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_in_child)


def hold() -> threading.Lock:
    """Nobody forks while it is held: a child sees what is done there whole or not at all."""
    return _lock


def at_fork(let_go: Callable[[], None]) -> None:
    """`let_go` runs in a child, on its only thread."""
    _let_go.append(let_go)


def _before() -> None:
    global _mask
    # A child that is signalled before it has handlers of its own would lose that, or tell its parent.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    _lock.acquire()
    _mask = mask


def _after() -> None:
    mask = _mask
    _lock.release()
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _in_child() -> None:
    global _is_child
    _is_child = True
    for let_go in _let_go:
        let_go()
    _let_go.clear()  # what a child forks in its turn has nothing to let go of
    _after()
