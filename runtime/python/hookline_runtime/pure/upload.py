"""A request's body that is a form (multipart/form-data): in a file, for it may be long. It is written by threads of its
own, so that a slow disk holds up its own callers alone. See runtime/core/upload.h.
"""
from __future__ import annotations

import os
import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, List, Optional

WRITERS = 4

_is_form = re.compile(rb"multipart/form-data(?:[; \t].*)?", re.IGNORECASE | re.DOTALL).fullmatch
_pool: Optional[ThreadPoolExecutor] = None


def is_form(content_type: Optional[bytes]) -> bool:
    return content_type is not None and _is_form(content_type) is not None


def _submit(work: Callable[[], None]) -> None:
    global _pool
    if _pool is None:  # most hosts see no form
        _pool = ThreadPoolExecutor(WRITERS, "upload")
    _pool.submit(work)


class Upload:
    """Used on the loop's thread; write() works on another, and nothing else is done to it meanwhile."""

    def __init__(self, most: int, post: Callable[..., None], on_written: Callable[[], None]) -> None:
        self._room = most
        self._post = post
        self._on_written = on_written
        self._pieces: List[bytes] = []
        self._file: Any = None
        self._is_abandoned = False
        self.is_writing = False
        self.has_failed = False

    @property
    def descriptor(self) -> int:
        return -1 if self._file is None else int(self._file.fileno())

    def append(self, data: bytes) -> bool:
        """False: the form is longer than it may be."""
        self._room -= len(data)
        self._pieces.append(data)
        return self._room >= 0

    def write(self) -> bool:
        """Begins to write what was appended. False: there is nothing to do."""
        if self._file is not None and not self._pieces:
            return False
        self.is_writing = True
        _submit(self._work)
        return True

    def close(self) -> None:
        self._is_abandoned = True
        self._pieces = []
        if not self.is_writing and self._file is not None:
            _submit(self._file.close)  # the end of a long file gives its blocks back, which takes its time

    def _work(self) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(buffering=0, dir=os.environ.get("TMPDIR") or "/tmp")
            data = memoryview(b"".join(self._pieces))
            while data:
                data = data[self._file.write(data) :]
        except OSError:
            self.has_failed = True
        self._post(self._done)

    def _done(self) -> None:
        self.is_writing = False
        self._pieces = []
        if self._is_abandoned:
            self.close()
        else:
            self._on_written()
