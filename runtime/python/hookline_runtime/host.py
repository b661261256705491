"""Runs the functions: takes calls from the server, one at a time on each worker thread, and answers them."""
import contextvars
import json
import logging
import threading
import types

from . import log
from .answer import NotJson, name_of, to_json
from .context import Context, enter
from .endpoint import BadArguments
from .event_loop import Gone
from .request import Request, Response

# What most functions return; their subclasses and all else take the longer way.
PLAIN = {dict, list, str, int, float, bool, type(None)}
STATUSES = range(200, 600)

_decode = json.JSONDecoder().raw_decode


class Host:
    """The endpoints behind a server."""

    def __init__(self, server, endpoints, event_loop):
        self._server = server
        self._endpoints = list(endpoints.values())
        self._event_loop = event_loop

    def callees(self):
        """What the server has to know of the endpoints, in the order of the numbers by which it calls them."""
        return [(endpoint.name, endpoint.is_raw) for endpoint in self._endpoints]

    def run(self, concurrency):
        """Serves until the server has stopped and every call is answered."""
        threads = [threading.Thread(target=self._work, name=f"worker-{i}", daemon=True) for i in range(concurrency)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _work(self):
        take = self._server.take
        while True:
            call = take()
            if call is None:
                return
            contextvars.copy_context().run(self._serve, call)  # what a function sets there ends with the call
            del call

    def _serve(self, call):
        serving = Context(call)
        enter(serving)
        endpoint = self._endpoints[call.callee]
        try:
            if endpoint.is_raw:
                result = endpoint.call_raw(_request_of(call, serving))
            else:
                result = endpoint.call(_members_of(call))
            self._answer(call, result, 200)
        except Gone:
            pass
        except BadArguments as error:
            _refuse(call, 422, str(error))
        except UnreadableJson as error:
            _refuse(call, 400, str(error))
        except NotJson as error:
            detail = f"{endpoint.name}() gave a value that is not JSON: {error}"
            log.write(logging.ERROR, detail)
            _refuse(call, 500, detail)
        except BaseException as error:
            _fail(call, endpoint, error)
        finally:
            log.finish_lines(serving)
            call.release()

    def _answer(self, call, result, status):
        kind = type(result)
        if kind in PLAIN:
            call.answer_json(status, to_json(result))
        elif kind is types.CoroutineType:
            self._answer(call, self._event_loop.run_call(call, result), status)
        elif kind is tuple and len(result) == 2 and type(result[0]) is int and result[0] in STATUSES:
            self._answer(call, result[1], result[0])
        elif isinstance(result, Response):
            call.answer_bytes(result.status, result.content_type, result.body)
        elif isinstance(result, (bytes, bytearray, memoryview)):
            call.answer_bytes(status, "", bytes(result))
        elif hasattr(kind, "__next__") or hasattr(kind, "__anext__"):
            self._stream(call, result, status)
        elif hasattr(kind, "__await__"):
            self._answer(call, self._event_loop.run_call(call, result), status)
        else:
            call.answer_json(status, to_json(result))

    def _stream(self, call, values, status):
        """Sends each value the moment it comes. However this ends, a generator's finally has run by then."""

        def emit(value):
            is_sent = call.emit_text(value.encode()) if isinstance(value, str) else call.emit_json(to_json(value))
            if not is_sent:
                raise Gone

        try:
            if status != 200:
                raise ValueError("a generator's values go out with status 200, and no other")
            if hasattr(values, "__anext__"):
                self._event_loop.run_generator(call, values, emit)
            else:
                for value in values:
                    emit(value)
            call.end()
        finally:
            if hasattr(values, "close"):
                values.close()


class UnreadableJson(Exception):
    """JSON, but more of it than Python reads: an integer of thousands of digits."""


def _members_of(call):
    text = call.text.lstrip(" \t\r\n")
    if not text:
        return {}
    try:
        return _decode(text)[0]  # the server has seen that it is an object, and nothing after it
    except (ValueError, RecursionError) as error:
        raise UnreadableJson(f"The request's JSON cannot be read: {error}") from None


def _request_of(call, serving):
    return Request(call.method, call.path, call.query, serving.headers, call.body)


def _fail(call, endpoint, error):
    try:
        text = f"{name_of(type(error))}: {error}"
    except Exception:  # its own __str__ fails
        text = name_of(type(error))
    log.write_exception(f"{endpoint.name}() raised {name_of(type(error))}", error, [("error", text)])
    _refuse(call, 500, text)


def _refuse(call, status, detail):
    call.fail(status, detail.encode("utf-8", "backslashreplace"))
