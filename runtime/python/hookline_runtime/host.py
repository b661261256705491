"""Runs the functions: takes calls from the server and answers them.

Plain functions run on worker threads, each of which takes one call at a time; async functions on the event loop's
thread, which takes their calls itself. The server's queue bounds both together.
"""
from __future__ import annotations

import asyncio
import contextvars
import json
import logging
import mimetypes
import os
import threading
import types
from typing import Any, AsyncIterator, Awaitable, Callable, Dict, Iterator, List, Optional, Set, Tuple

from . import forked, log
from .answer import NotJson, name_of, to_json, to_utf8
from .context import Context, enter
from .endpoint import BadArguments, Endpoint
from .event_loop import EventLoop, Gone
from .mismatch import cut
from .request import Request, Response
from .scalar import Digits, read_integer
from .upload import BadForm, Form

# What most functions return; their subclasses and all else take the longer way.
PLAIN = {dict, list, str, int, float, bool, type(None)}
BYTES = (bytes, bytearray, memoryview)
STATUSES = range(200, 600)
WITHOUT_BODY = (205, 304)  # which have none, and answer what no function is asked
_SPACED = ('" ', '"\t', '"\n', '"\r')  # perhaps before a colon
TURN = 32  # values of a generator that never waits, and then others have their turn


def _object_of(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: Set[str] = set()
        name = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise BadArguments(f"the body has two members '{cut(name)}'")
    return members


_exact: Dict[str, Any] = {"parse_float": Digits.read, "parse_int": read_integer}
_decode = json.JSONDecoder().raw_decode
_decode_exact = json.JSONDecoder(**_exact).raw_decode
# These see a second member of one name, which costs something for each object.
_decode_once = json.JSONDecoder(object_pairs_hook=_object_of).raw_decode
_decode_once_exact = json.JSONDecoder(object_pairs_hook=_object_of, **_exact).raw_decode


class Host:
    """The endpoints behind a server."""

    def __init__(self, server: Any, endpoints: Dict[str, Endpoint], event_loop: EventLoop) -> None:
        self._server = server
        self._endpoints = list(endpoints.values())
        self._event_loop = event_loop

    def callees(self) -> List[Tuple[str, bool, bool, Optional[str]]]:
        """What the server has to know of the endpoints, in the order of the numbers by which it calls them."""
        return [(endpoint.name, endpoint.is_raw, endpoint.is_async, endpoint.input()) for endpoint in self._endpoints]

    def run(self, concurrency: int) -> None:
        """Serves until the server has stopped and every call is answered."""
        if any(endpoint.is_async for endpoint in self._endpoints):
            self._event_loop.serve(self._server, self._serve_async)
        threads = [threading.Thread(target=self._work, name=f"worker-{i}", daemon=True) for i in range(concurrency)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._event_loop.stop()

    # ---- on a worker thread ----

    def _work(self) -> None:
        take = self._server.take
        while True:
            call = take()
            if call is None:
                return
            contextvars.copy_context().run(self.serve, call)  # what a function sets there ends with the call
            del call

    def serve(self, call: Any) -> None:
        """Answers one call, here and now."""
        endpoint = self._endpoints[call.callee]
        with _Answering(call, endpoint) as context:
            members = request_of(call, context) if endpoint.is_raw else members_of(call, endpoint, context)
            self._answer(call, endpoint.call(members))

    def _answer(self, call: Any, result: Any, status: int = 200) -> None:
        status, value = _split(result, status)
        if _send(call, status, value):
            return
        if hasattr(value, "__await__"):
            self._answer(call, self._event_loop.run(_await(value)), status)
        else:
            self._stream(call, self.values_of(value) if hasattr(value, "__anext__") else value, status)

    def _stream(self, call: Any, values: Any, status: int) -> None:
        """Sends each value the moment it comes. However this ends, a generator's finally has run by then."""
        try:
            _check_stream(status)
            for value in values:
                _emit(call, value)
            call.end()
        finally:
            if hasattr(values, "close"):
                values.close()

    def values_of(self, generator: Any) -> Iterator[Any]:
        """An async generator's values, for a thread. (That of an async function never comes here.)"""
        end = object()
        try:
            while True:
                value = self._event_loop.run(_next(generator, end))
                if value is end:
                    return
                yield value
        finally:
            if hasattr(generator, "aclose"):
                self._event_loop.run(_await(generator.aclose()))

    # ---- on the event loop's thread ----

    async def _serve_async(self, call: Any) -> None:
        endpoint = self._endpoints[call.callee]
        with _Answering(call, endpoint) as context:
            if call.is_gone:
                raise Gone
            if call.upload >= 0:
                members = await _in_thread(members_of, call, endpoint, context)  # a long form takes its time
            else:
                members = request_of(call, context) if endpoint.is_raw else members_of(call, endpoint, context)
            result = endpoint.call(members)
            await self._answer_async(call, result)

    async def _answer_async(self, call: Any, result: Any, status: int = 200) -> None:
        if type(result) is types.CoroutineType:
            result = await result
        status, value = _split(result, status)
        if _send(call, status, value):
            return
        if hasattr(value, "__await__"):
            await self._answer_async(call, await value, status)
        else:
            await self._stream_async(call, value if hasattr(value, "__anext__") else _as_async(value), status)

    async def _stream_async(self, call: Any, values: Any, status: int) -> None:
        count = 0
        try:
            _check_stream(status)
            async for value in values:
                _emit(call, value)
                count += 1
                if not call.has_room:
                    await self._event_loop.room(call)
                elif count % TURN == 0:
                    await asyncio.sleep(0)
            call.end()
        finally:
            if hasattr(values, "aclose"):
                await values.aclose()


class UnreadableJson(Exception):
    """JSON, but more of it than Python reads: an integer of thousands of digits."""


class _Answering:
    """While a call is answered: its Context is the current one, what is raised becomes its answer, and at the end it
    is released. That sends the answer."""

    __slots__ = ("_call", "_endpoint", "_context")

    def __init__(self, call: Any, endpoint: Endpoint) -> None:
        self._call = call
        self._endpoint = endpoint
        self._context = Context(call)

    def __enter__(self) -> Context:
        enter(self._context)
        return self._context

    def __exit__(self, kind: Any, error: Optional[BaseException], frames: Any) -> bool:
        if forked.is_child():
            forked.leave(error, f"{self._endpoint.name}()")
        try:
            if error is not None:
                self._tell(error)
        except BaseException:  # whatever is odd about it: the thread goes on to the next call
            self._refuse(500, "The function raised an exception that cannot be shown.")
        finally:
            log.finish_lines(self._context)
            if self._context._form is not None:
                self._context._form.close()
            self._call.release()
        return True

    def _tell(self, error: BaseException) -> None:
        name = self._endpoint.name
        if isinstance(error, Gone) or (isinstance(error, asyncio.CancelledError) and self._call.is_gone):
            return
        if isinstance(error, BadArguments):
            self._refuse(422, str(error))
        elif isinstance(error, BadForm):
            self._refuse(400, f"The request's form cannot be read: {error}.")
        elif isinstance(error, UnreadableJson):
            self._refuse(400, str(error))
        elif isinstance(error, NotJson):
            detail = f"{name}() gave a value that is not JSON: {error}"
            log.write(logging.ERROR, detail)
            self._refuse(500, detail)
        else:
            text = _text_of(error)
            log.write_exception(f"{name}() raised {name_of(type(error))}", error, [("error", text)])
            self._refuse(500, text)

    def _refuse(self, status: int, detail: str) -> None:
        self._call.fail(status, detail.encode("utf-8", "backslashreplace"))


def members_of(call: Any, endpoint: Endpoint, context: Context) -> Any:
    if call.upload >= 0:
        form = Form(call.upload, context.headers["content-type"])
        context._form = form
        return endpoint.members_of_form(form.parts)
    text = call.text.lstrip(" \t\r\n")
    if not text:
        return {}
    try:
        # The server has seen that it is an object, and nothing after it.
        members = (_decode_exact if endpoint.is_exact else _decode)(text)[0]
        if not _is_flat(text, members):
            members = (_decode_once_exact if endpoint.is_exact else _decode_once)(text)[0]
        return members
    except BadArguments as error:
        raise BadArguments(f"{endpoint.name}(): {error}") from None
    except (ValueError, RecursionError) as error:
        raise UnreadableJson(f"The request's JSON cannot be read: {error}") from None


def _is_flat(text: str, members: Dict[str, Any]) -> bool:
    """Whether the text, at a glance, has as many members as the dict that was read of it, and none further inside."""
    if text.count(":") == len(members):
        return True
    return text.count('":') == len(members) and not any(mark in text for mark in _SPACED)


def request_of(call: Any, context: Context) -> Request:
    return Request(call.method, call.path, call.query, context.headers, call.body)


def _split(result: Any, status: int) -> Tuple[int, Any]:
    """Status and value; the value may be a pair of the two."""
    if type(result) is tuple and len(result) == 2 and type(result[0]) is int and result[0] in STATUSES:
        _check_status(result[0])
        return result  # type: ignore[return-value]
    return status, result


def _check_status(status: int) -> None:
    if status not in STATUSES or status in WITHOUT_BODY:
        raise ValueError(f"the status is {status}: allowed are 200 to 599, without 205 and 304")


def _send(call: Any, status: int, value: Any) -> bool:
    """Sends what is an answer as a whole. False: it is something that yields, or must be awaited."""
    if forked.is_child():
        forked.leave()
    kind = type(value)
    if kind in PLAIN:
        call.answer_json(status, to_json(value))
    elif isinstance(value, BYTES):
        call.answer_bytes(status, "", bytes(value))
    elif isinstance(value, Response):
        _check_status(value.status)
        call.answer_bytes(value.status if status == 200 else status, value.content_type, value.body)
    elif isinstance(value, os.PathLike):
        with open(value, "rb") as file:
            call.answer_bytes(status, mimetypes.guess_type(os.fspath(value))[0] or "", file.read())
    elif hasattr(kind, "__next__") or hasattr(kind, "__anext__") or hasattr(kind, "__await__"):
        return False
    else:
        call.answer_json(status, to_json(value))
    return True


def _check_stream(status: int) -> None:
    if status != 200:
        raise ValueError("a generator's values go out with status 200, and no other")


def _emit(call: Any, value: Any) -> None:
    if forked.is_child():
        forked.leave()
    if not (_emit_text(call, value) if isinstance(value, str) else call.emit_json(to_json(value))):
        raise Gone


def _emit_text(call: Any, text: str) -> bool:
    try:
        return call.emit_text(text.encode())  # type: ignore[no-any-return]
    except UnicodeEncodeError:  # half of a surrogate pair
        is_sent: bool = call.emit_text(to_utf8(text)) if call.wants_events else call.emit_json(to_json(text))
        return is_sent


def _text_of(error: BaseException) -> str:
    try:
        text = str(error)
        return f"{name_of(type(error))}: {text}" if text else name_of(type(error))
    except BaseException:  # its own __str__ fails
        return name_of(type(error))


async def _in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """What it returns. Cancelled, this ends when the function has: the call is still its own until then."""
    work = asyncio.ensure_future(asyncio.to_thread(function, *arguments))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.gather(work, return_exceptions=True)
        raise


async def _await(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


async def _next(generator: Any, end: object) -> Any:
    try:
        return await generator.__anext__()
    except StopAsyncIteration:
        return end


async def _as_async(values: Any) -> AsyncIterator[Any]:
    try:
        for value in values:
            yield value
    finally:
        if hasattr(values, "close"):
            values.close()
