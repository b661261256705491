"""What a function can learn about the call that it serves."""
from __future__ import annotations

import contextvars
from typing import Any, Dict, List, Optional, Tuple

from .request import Headers

_current: contextvars.ContextVar[Context] = contextvars.ContextVar("hookline_runtime.context")


class Context:
    """One call, as context() tells of it. It stays readable after the call, `headers` if they were read before."""

    __slots__ = ("_call", "_form", "_headers", "_run_id", "_unfinished_lines")

    def __init__(self, call: Any) -> None:
        self._call = call
        self._form: Any = None  # upload.Form, where the request was one
        self._headers: Optional[Headers] = None
        self._run_id: Optional[str] = None
        self._unfinished_lines: Optional[Dict[str, bytes]] = None  # what was printed without a newline, by stream

    @property
    def run_id(self) -> str:
        """The run's id: X-Request-Id."""
        if self._run_id is None:
            self._run_id = self._call.run_id
        return self._run_id

    @property
    def attempt(self) -> int:
        """Which attempt of the run this is, from 1: above 1 only with HOOKLINE_RUN_ATTEMPTS."""
        return self._call.attempt  # type: ignore[no-any-return]

    @property
    def headers(self) -> Headers:
        """The request's header fields: a mapping that takes names in any case."""
        if self._headers is None:
            self._headers = Headers(self._call.fields())
        return self._headers

    @property
    def deadline(self) -> Optional[float]:
        """When the run is cut off, as time.time() counts; None when nothing bounds it."""
        milliseconds = self._call.deadline_ms
        return milliseconds / 1000 if milliseconds else None

    @property
    def is_cancelled(self) -> bool:
        """True when the caller has gone, so that nobody waits for the answer any more."""
        return self._call.is_gone  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"<Context run_id={self.run_id}>"


def context() -> Context:
    """The Context of the call that is being served here: in functions, generators and what they await. Outside of calls,
    as in a test of a plain function, it is one whose run_id is "no run".

    A thread that the function started has none, unless it was started with contextvars.copy_context().run.
    """
    return _current.get(_outside)


def enter(context: Context) -> None:
    """From here on, in the present contextvars.Context, `context` is the call that is being served."""
    _current.set(context)


def current() -> Optional[Context]:
    """The Context, or None outside of calls."""
    return _current.get(None)


class _NoCall:
    """In place of a call, where there is none."""

    run_id = "no run"
    attempt = 1
    deadline_ms = 0
    is_gone = False

    def fields(self) -> List[Tuple[str, str]]:
        return []


_outside = Context(_NoCall())
