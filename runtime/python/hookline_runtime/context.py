"""What a function can learn about the call that it serves."""
import contextvars

from .request import Headers

_current = contextvars.ContextVar("hookline_runtime.context")


class Context:
    """One call, as context() tells of it. It stays readable after the call, `headers` if they were read before."""

    __slots__ = ("_call", "_headers", "_run_id", "_unfinished_lines")

    def __init__(self, call):
        self._call = call
        self._headers = None
        self._run_id = None
        self._unfinished_lines = None  # what was printed without a newline yet, by stream: log.py

    @property
    def run_id(self):
        """The run's id: X-Request-Id."""
        if self._run_id is None:
            self._run_id = self._call.run_id
        return self._run_id

    @property
    def attempt(self):
        """Which attempt of the run this is, from 1: above 1 only with HOOKLINE_RUN_ATTEMPTS."""
        return self._call.attempt

    @property
    def headers(self):
        """The request's header fields: a mapping that takes names in any case."""
        if self._headers is None:
            self._headers = Headers(self._call.fields())
        return self._headers

    @property
    def deadline(self):
        """When the run is cut off, as time.time() counts; None when nothing bounds it."""
        milliseconds = self._call.deadline_ms
        return milliseconds / 1000 if milliseconds else None

    @property
    def is_cancelled(self):
        """True when the caller has gone, so that nobody waits for the answer any more."""
        return self._call.is_gone

    def __repr__(self):
        return f"<Context run_id={self.run_id}>"


def context():
    """The Context of the call that is being served here: in functions, generators and what they await. Outside of calls,
    as in a test of a plain function, it is one whose run_id is "no run".

    A thread that the function started has none, unless it was started with contextvars.copy_context().run.
    """
    return _current.get(_outside)


def enter(context):
    """From here on, in the present contextvars.Context, `context` is the call that is being served."""
    _current.set(context)


def current():
    """The Context, or None outside of calls."""
    return _current.get(None)


class _NoCall:
    """In place of a call, where there is none."""

    run_id = "no run"
    attempt = 1
    deadline_ms = 0
    is_gone = False

    def fields(self):
        return []


_outside = Context(_NoCall())
