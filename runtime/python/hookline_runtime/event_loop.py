"""asyncio, on a thread of its own: where async functions and generators run, those of all calls on one loop.

The thread that took a call waits here until the call's task has ended, passes on what an async generator yields, and
has the task cancelled when the caller has gone. So the loop's thread never waits for a caller.
"""
import asyncio
import collections
import contextvars
import threading

AHEAD = 16  # as many values a generator may be ahead of its caller


class Gone(Exception):
    """The caller has gone: no answer is needed any more."""


class EventLoop:
    """Starts with the first coroutine."""

    def __init__(self):
        self._loop = None
        self._thread = None
        self._starting = threading.Lock()

    def run(self, coroutine):
        """The result of a coroutine that belongs to no call."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._started()).result()

    def run_call(self, call, awaitable):
        """The awaitable's result. Raises Gone when the caller went first; it was cancelled then, and has ended."""
        return _Job(self._started(), call).run(_result_of(awaitable))

    def run_generator(self, call, generator, emit):
        """Calls `emit`, on this thread, with each value the moment it is yielded. The generator is closed at the
        end, be it because `emit` raised something or the caller has gone (Gone)."""
        job = _Job(self._started(), call, emit)
        job.run(job.collect(generator))

    def stop(self):
        """Ends the loop. Tasks that functions left behind are cancelled."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    def _started(self):
        if self._loop is None:
            with self._starting:
                if self._loop is None:
                    loop = asyncio.new_event_loop()
                    self._thread = threading.Thread(target=_serve, args=(loop,), name="asyncio", daemon=True)
                    self._thread.start()
                    self._loop = loop
        return self._loop


def _serve(loop):
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


async def _result_of(awaitable):
    return await awaitable


class _Job:
    """A call's coroutine on the loop, and the thread that waits for it."""

    def __init__(self, loop, call, emit=None):
        self._loop = loop
        self._call = call
        self._emit = emit
        self._values = collections.deque()  # yielded, not emitted yet
        self._room = None  # a future that the generator waits for while there are too many of them
        self._task = None
        self._has_begun = False
        self._is_cancelled = False
        self._is_done = False
        self._done = threading.Lock()  # free once the coroutine has ended
        self._done.acquire()
        self._result = None
        self._error = None

    # ---- on the thread that took the call ----

    def run(self, coroutine):
        self._loop.call_soon_threadsafe(self._start, coroutine, context=contextvars.copy_context())
        try:
            self._attend()
        except BaseException:
            self._loop.call_soon_threadsafe(self._cancel)
            self._done.acquire()
            raise
        if self._error is not None:
            try:
                raise self._error
            finally:
                self._error = None  # it holds the frames, which hold this
        return self._result

    def _attend(self):
        while True:
            is_done = self._is_done  # before the last look at the values
            while self._values:
                self._emit(self._values.popleft())
                if self._room is not None:
                    self._loop.call_soon_threadsafe(self._make_room)
            if is_done:
                return
            if self._call.wait() and not self._is_done:
                raise Gone

    # ---- on the loop's thread ----

    def _start(self, coroutine):
        self._task = self._loop.create_task(self._drive(coroutine))

    async def _drive(self, coroutine):
        self._has_begun = True
        try:
            if self._is_cancelled:
                coroutine.close()
            else:
                self._result = await coroutine
        except BaseException as error:
            self._error = error
        finally:
            self._task = None
            self._is_done = True
            self._call.wake()
            self._done.release()

    def _cancel(self):
        self._is_cancelled = True
        if self._has_begun and self._task is not None:  # else _drive sees it when it begins
            self._task.cancel()

    async def collect(self, generator):
        try:
            async for value in generator:
                self._values.append(value)
                self._call.wake()
                if self._is_cancelled:  # a generator that went on all the same
                    break
                if len(self._values) >= AHEAD:
                    await self._wait_for_room()
        finally:
            if hasattr(generator, "aclose"):
                await generator.aclose()

    async def _wait_for_room(self):
        self._room = self._loop.create_future()
        try:
            if len(self._values) >= AHEAD:  # looked at again, for only now the other side sees that we wait
                await self._room
        finally:
            self._room = None

    def _make_room(self):
        if self._room is not None and not self._room.done():
            self._room.set_result(None)
