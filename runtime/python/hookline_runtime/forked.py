"""A process that a function forked. The author's code alone runs in it: when that returns, raises or yields to the
host, the process ends. The calls that wait, the caller and the event loop are its parent's.
"""
from __future__ import annotations

import os
from typing import Any, NoReturn, Optional

from . import core, log
from .context import current

is_child = core.is_forked  # this process is one


def leave(error: Optional[BaseException] = None, name: str = "a function") -> NoReturn:
    """Ends this process with the status that Python would give it: 0, SystemExit's, or 1 and the traceback in the
    log. Nothing is cleaned up that is the parent's as well."""
    status = 1
    try:
        status = _status_of(error, name)
    finally:
        os._exit(status)


class Guard:
    """Around the author's code that runs outside of calls: what comes out of it in a child ends the child."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> Guard:
        return self

    def __exit__(self, kind: Any, error: Optional[BaseException], frames: Any) -> None:
        if is_child():
            leave(error, self._name)


def _status_of(error: Optional[BaseException], name: str) -> int:
    serving = current()
    if serving:
        log.finish_lines(serving)
    if error is None:
        return 0
    if isinstance(error, SystemExit) and (error.code is None or isinstance(error.code, int)):
        return (error.code or 0) & 0xFF
    log.write_exception(f"{name} ended a process that it forked by {type(error).__name__}", error)
    return 1
