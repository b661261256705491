"""Functions of a file called in a test's own process, as a caller would call them: without a server, without sockets.

    from hookline_runtime import testing

    client = testing.client("main.py")

    def test_run():
        assert client.run(prompt="x") == {"answer": "X"}
"""
from __future__ import annotations

import contextvars
import dataclasses
import io
import json
import mimetypes
import os
import shutil
import sys
import tempfile
import types
import uuid
from typing import IO, Any, Dict, Iterator, List, Optional, Tuple, Type

from . import loader
from .answer import to_json
from .app import App, CannotStart
from .context import Context, enter
from .endpoint import BadArguments, Endpoint
from .event_loop import EventLoop
from .host import Host, request_of, members_of
from .request import Request

__all__ = ["BadArguments", "CannotStart", "Client", "Result", "client"]

JSON = "application/json"
BOUNDARY = uuid.uuid4().hex
FORM = f"multipart/form-data; boundary={BOUNDARY}"
PROBLEM = "application/problem+json"


@dataclasses.dataclass
class Result:
    """What a caller gets. `json`: the value, an array of a generator's values, or the problem that stands in its place;
    None where the body is no JSON. `events`: a generator's values, each as it was sent. `progress`: all that was told.
    `error`: what the function raised."""

    status: int = 200
    json: Any = None
    events: List[Any] = dataclasses.field(default_factory=list)
    progress: List[Any] = dataclasses.field(default_factory=list)
    body: bytes = b""
    content_type: str = JSON
    error: Optional[BaseException] = None


def client(path: str = "main.py") -> Client:
    """A client of the functions in that file, which may also stand beside the test. It is imported anew, and its setup()
    has run."""
    beside = os.path.join(os.path.dirname(sys._getframe(1).f_globals.get("__file__") or ""), path)
    return Client(path if os.path.exists(path) else beside if os.path.exists(beside) else path)


class Client:
    """The functions of a file, as callers see them. Usable in a `with`, which ends what async functions left running."""

    def __init__(self, path: str):
        self._event_loop = EventLoop()
        try:
            self._app: App = loader.app_of(loader.load(path))
            self._app.set_up(self._event_loop.run)
        except CannotStart as reason:
            raise CannotStart(str(reason), reason.error) from reason.error
        self._names = list(self._app.endpoints)
        self._host = Host(None, self._app.endpoints, self._event_loop)

    def run(self, /, **members: Any) -> Any:
        """The main function's value, as its caller gets it; a Result where that has a status of its own. What the
        function raises is raised here, and BadArguments where its parameters are others."""
        result = self.call("run", **members)
        if result.error is not None:
            raise result.error
        if result.status != 200:
            return result
        return result.json if result.content_type == JSON else result.body

    def call(self, name: str, request: Optional[Request] = None, /, **members: Any) -> Result:
        """The Result of the function of that name. A member that is an open file comes as a file of a form. `request`: for one whose only parameter is a Request."""
        call = _Call(self._number_of(name), members, request)
        contextvars.copy_context().run(self._host.serve, call)
        return call.result

    def stream(self, name: str = "run", /, **members: Any) -> Iterator[Any]:
        """The values of a generator, each when it is yielded."""
        endpoint, call = self._app.endpoints[self._names[self._number_of(name)]], _Call(0, members, None)
        inside, context = contextvars.copy_context(), Context(call)
        try:
            values = inside.run(self._begin, endpoint, call, context)
        except BaseException:
            _end(call, context)
            raise
        return self._each(values, inside, call, context)

    def _begin(self, endpoint: Endpoint, call: _Call, context: Context) -> Iterator[Any]:
        enter(context)
        value = endpoint.call(request_of(call, context) if endpoint.is_raw else members_of(call, endpoint, context))
        if hasattr(value, "__await__"):
            value = self._event_loop.run(value)
        if hasattr(value, "__anext__"):
            return self._host.values_of(value)
        if not hasattr(value, "__next__"):
            raise TypeError(f"{endpoint.name}() gave a {type(value).__name__}, which is no stream of values")
        return value  # type: ignore[no-any-return]

    def _each(self, values: Iterator[Any], inside: contextvars.Context, call: _Call, context: Context) -> Iterator[Any]:
        end = object()
        try:
            while True:
                value = inside.run(next, values, end)  # type: ignore[call-arg]
                if value is end:
                    return
                yield value if isinstance(value, str) else json.loads(to_json(value))
        finally:
            try:
                if hasattr(values, "close"):
                    inside.run(values.close)
            finally:
                _end(call, context)

    def _number_of(self, name: str) -> int:
        if name not in self._names:
            raise LookupError(f"there is no function '{name}'; available are: {', '.join(self._names)}")
        return self._names.index(name)

    def close(self) -> None:
        self._event_loop.stop()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 frames: Optional[types.TracebackType]) -> None:
        self.close()


class _Call:
    """A call that comes from no server, and whose answer is a Result."""

    attempt = 1
    deadline_ms = 0
    is_gone = False
    has_room = True
    wants_events = False

    def __init__(self, callee: int, members: Any, request: Optional[Request]):
        self.callee = callee
        self.run_id = str(uuid.uuid4())
        is_form = any(isinstance(value, io.IOBase) for value in members.values())
        self._body = _form_of(members) if is_form else None
        self.upload = self._body.fileno() if self._body else -1
        self.text = "" if is_form else to_json(members).decode()
        self.body = request.body if request else self.text.encode()
        self.method = request.method if request else "POST"
        self.path = request.path if request else "/"
        self.query = request.query_string if request else ""
        self._fields = list(request.headers.items()) if request else [("content-type", FORM if is_form else JSON)]
        self.result = Result()

    def fields(self) -> List[Tuple[str, str]]:
        return self._fields

    def progress(self, value: bytes) -> None:
        self.result.progress.append(json.loads(value))

    def answer_json(self, status: int, body: bytes) -> bool:
        self.result.status, self.result.body, self.result.json = status, body, json.loads(body)
        return True

    def answer_bytes(self, status: int, content_type: str, body: bytes) -> bool:
        self.result.status, self.result.body = status, body
        self.result.content_type = content_type or "application/octet-stream"
        if content_type.partition(";")[0].strip() == JSON:
            self.result.json = json.loads(body)
        return True

    def emit_json(self, value: bytes) -> bool:
        self.result.events.append(json.loads(value))
        return True

    def emit_text(self, value: bytes) -> bool:
        self.result.events.append(value.decode())
        return True

    def end(self) -> None:
        self.answer_json(200, to_json(self.result.events))

    def fail(self, status: int, detail: bytes) -> None:
        problem = {"type": "about:blank", "status": status, "detail": detail.decode(), "run_id": self.run_id}
        self.answer_json(status, to_json(problem))
        self.result.content_type, self.result.error = PROBLEM, sys.exc_info()[1]

    def release(self) -> None:
        if self._body:
            self._body.close()


def _end(call: _Call, context: Context) -> None:
    if context._form is not None:
        context._form.close()
    call.release()


def _form_of(members: Dict[str, Any]) -> IO[bytes]:
    """The members as a form: open files are its files."""
    body = tempfile.TemporaryFile()
    for name, value in members.items():
        body.write(f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"'.encode())
        if isinstance(value, io.IOBase):
            file_name = os.path.basename(str(getattr(value, "name", name)))
            kind = mimetypes.guess_type(file_name)[0] or "application/octet-stream"
            body.write(f'; filename="{file_name}"\r\nContent-Type: {kind}\r\n\r\n'.encode())
            shutil.copyfileobj(value, body)
        else:
            body.write(b"\r\n\r\n" + (value.encode() if isinstance(value, str) else to_json(value)))
        body.write(b"\r\n")
    body.write(f"--{BOUNDARY}--\r\n".encode())
    body.flush()
    return body
