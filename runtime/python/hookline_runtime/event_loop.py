"""asyncio, on a thread of its own: where async functions run, those of all calls on one loop.

This thread takes their calls itself, as soon as the server's bell says that there is one, and answers them. It never
waits for a caller: a generator whose caller is slow to read is held up by a future, and the bell ends that too.
"""
from __future__ import annotations

import asyncio
import logging
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Awaitable, Callable, Dict, NoReturn, Optional, Set

from . import forked, log
from .core import Server


class Gone(Exception):
    """The caller has gone: no answer is needed any more."""


class EventLoop:
    """The loop's thread; it starts when it is first needed."""

    def __init__(self) -> None:
        self._loop: Any = None
        self._stopped: Any = None  # a future of the loop
        self._thread: Any = None
        self._starting = threading.Lock()
        self._tasks: Dict[Any, Any] = {}  # of calls that have begun, by call: the loop alone would not keep them
        self._cancelled: Set[Any] = set()  # calls whose callers have gone
        self._waiting: Dict[Any, Any] = {}  # futures of generators that wait for room, by call

    def run(self, coroutine: Awaitable[Any]) -> Any:
        """The coroutine's result, for another thread."""
        if forked.is_child():
            forked.leave()
        return asyncio.run_coroutine_threadsafe(_guarded(coroutine), self._started()).result()

    def serve(self, server: Server, answer: Callable[[Any], Awaitable[None]]) -> None:
        """From here on `await answer(call)` runs for every call of an async function, in a task of its own, and
        releases the call. When the caller goes before that, the task is cancelled."""
        self._server = server
        self._answer = answer
        self._started().call_soon_threadsafe(self._loop.add_reader, server.bell, self._on_bell)

    async def room(self, call: Any) -> None:
        """Returns when what is emitted next will not wait for the caller. Raises Gone."""
        while not call.has_room:
            self._waiting[call] = self._loop.create_future()
            try:
                if not call.has_room:  # looked at again: the bell rings for those who wait already
                    await self._waiting[call]
            finally:
                del self._waiting[call]
        if call.is_gone:
            raise Gone

    def stop(self) -> None:
        """Ends the loop. What still runs is cancelled: tasks that functions left behind, calls without a caller."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stopped.set_result, None)
            self._thread.join()

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._loop.set_default_executor(_Threads(thread_name_prefix="asyncio"))
                self._stopped = self._loop.create_future()
                os.register_at_fork(after_in_child=self._let_go)
                arguments = (self._loop, self._stopped)
                self._thread = threading.Thread(target=_run, args=arguments, name="asyncio", daemon=True)
                self._thread.start()
        return self._loop  # type: ignore[no-any-return]

    def _let_go(self) -> None:
        """In a child: what is ready to run is the parent's, and so are the descriptors. Should this thread come back to
        the loop, that fails; loop.close() would take the parent's out of the epoll set that both share."""
        loop = self._loop
        if hasattr(loop, "_ready"):
            loop._ready.clear()
        for name in ("_selector", "_ssock", "_csock"):
            if hasattr(loop, name):
                getattr(loop, name).close()

    def _on_bell(self) -> None:
        if self._server.hear():
            self._look_after_callers()
        self._take_calls()

    def _look_after_callers(self) -> None:
        for call, task in self._tasks.items():
            if call.is_gone and call not in self._cancelled:
                self._cancelled.add(call)
                task.cancel()  # once: what it awaits to clean up is not cut off
        for call, future in self._waiting.items():
            if call.has_room and not future.done():
                future.set_result(None)

    def _take_calls(self) -> None:
        while True:
            call = self._server.take_async()
            if call is None:
                return
            self._loop.create_task(self._run_call(call))

    async def _run_call(self, call: Any) -> None:
        self._tasks[call] = asyncio.current_task()
        try:
            await self._answer(call)
        finally:
            del self._tasks[call]
            self._cancelled.discard(call)


class _Threads(ThreadPoolExecutor):
    """The threads of asyncio.to_thread() and the like. In a child theirs would go on to what waits for them."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return super().submit(_run_guarded, function, *args, **kwargs)


def _run_guarded(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    with forked.Guard("a thread of asyncio"):
        return function(*args, **kwargs)


async def _guarded(awaitable: Awaitable[Any]) -> Any:
    with forked.Guard("an async function"):
        return await awaitable


def _leave() -> NoReturn:
    log.write(logging.ERROR, "a forked process ended: it awaited, and the event loop is its parent's")
    os._exit(1)


def _run(loop: asyncio.AbstractEventLoop, stopped: asyncio.Future[None]) -> None:
    asyncio.set_event_loop(loop)
    try:
        while not stopped.done():
            try:
                loop.run_until_complete(stopped)
            except (SystemExit, KeyboardInterrupt) as error:
                # asyncio lets them out of a task, which has them as well: they end that call, not all others.
                # This frame is left out: it is not the author's.
                error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
            except RuntimeError:
                if stopped.done() or loop.is_closed():
                    raise
                log.write(logging.WARNING, "a function stopped the event loop, which goes on: all calls have it together")
            finally:
                if forked.is_child():
                    _leave()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()
