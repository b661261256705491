"""A form that was sent (multipart/form-data, RFC 7578): its fields become members, its files objects to read.

The body lies in a file, of which each part is a range: nothing of it is copied, or held in memory, that is not asked for.
"""
from __future__ import annotations

import io
import json
import mmap
import os
import re
import shutil
import tempfile
from typing import Any, Dict, List, Tuple

LONGEST_FIELD = 1 << 20  # bytes of one that is no file, and of all of them eight times that
LONGEST_HEAD = 16 * 1024
MOST_PARTS = 1000

_boundary = re.compile(r';\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))', re.IGNORECASE)
_parameter = re.compile(r';\s*([\w*]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))')
_escape = re.compile(r'\\(["\\])')


class BadForm(Exception):
    """A body that is no form as its content type says; the text says why."""


class File(io.RawIOBase):
    """A file of a form, as any that was opened for reading. `name` is what the caller calls it, without directories,
    `type` its content type, `size` its bytes. After the call it is closed, and what `path` names is gone."""

    def __init__(self, form: Form, begin: int, size: int, name: str, content_type: str) -> None:
        super().__init__()
        self.name = name
        self.type = content_type
        self.size = size
        self._form = form
        self._begin = begin
        self._at = 0
        self._path = ""

    @property
    def path(self) -> str:
        """A file of its own with the same bytes, for code that wants to open one; its name ends as the caller's does."""
        if not self._path:
            ending = re.sub(r"[^\w.]", "", os.path.splitext(self.name)[1])[:16]
            number, path = tempfile.mkstemp(ending, dir=self._form.directory())
            at, self._at = self._at, 0
            with open(number, "wb") as file:
                while file.write(self._pread(1 << 20)):
                    pass
            self._path, self._at = path, at
        return self._path

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence]
        if base + offset < 0:
            raise ValueError("a place before the file's begin")
        self._at = base + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        data = self._pread(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def readall(self) -> bytes:
        pieces: List[bytes] = []
        while True:
            piece = self._pread(1 << 24)
            if not piece:
                return b"".join(pieces)
            pieces.append(piece)

    def _pread(self, n: int) -> bytes:
        if self.closed:
            raise ValueError("the file of a call that is over")
        n = min(n, self.size - self._at)
        data = os.pread(self._form.descriptor, n, self._begin + self._at) if n > 0 else b""
        self._at += len(data)
        return data

    def __repr__(self) -> str:
        return f"<File {self.name!r} ({self.type}, {self.size} bytes)>"


class Form:
    """The parts of one body, and what was made of them: close() ends all that."""

    def __init__(self, descriptor: int, content_type: str) -> None:
        self.descriptor = os.dup(descriptor)
        self.files: List[File] = []
        self._directory = ""
        self._left = 8 * LONGEST_FIELD
        self.parts: Dict[str, List[Any]] = {}
        try:
            self._read(content_type)
        except BaseException:
            self.close()
            raise

    def directory(self) -> str:
        if not self._directory:
            self._directory = tempfile.mkdtemp(prefix="hookline-")
        return self._directory

    def close(self) -> None:
        for file in self.files:
            file.close()
        if self._directory:
            shutil.rmtree(self._directory, ignore_errors=True)
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor = -1

    def _read(self, content_type: str) -> None:
        found = _boundary.search(content_type)
        if not found:
            raise BadForm("its Content-Type names no boundary")
        size = os.fstat(self.descriptor).st_size
        if size == 0:
            raise BadForm("it is empty")
        mark = b"--" + (found[1] or found[2]).encode("latin-1", "replace")
        with mmap.mmap(self.descriptor, size, prot=mmap.PROT_READ) as body:
            at = _after(body, mark, 0) if body[: len(mark)] == mark else -1
            if at < 0:
                at = _end_of(body, mark, 2)[1]  # what stands before the first part ends as a part does
            count = 0
            while at:
                count += 1
                if count > MOST_PARTS:
                    raise BadForm(f"it has more than {MOST_PARTS} parts")
                begin = at if body[at : at + 2] == b"\r\n" else body.find(b"\r\n\r\n", at, at + LONGEST_HEAD) + 2
                if begin < at:
                    raise BadForm("the head of a part has no end, or is too long")
                head, begin = body[at:begin], begin + 2
                end, at = _end_of(body, mark, begin)
                self._take(head.decode("utf-8", "replace"), body, begin, end)

    def _take(self, head: str, body: mmap.mmap, begin: int, end: int) -> None:
        fields = {name.strip().lower(): value.strip() for name, _, value in
                  (line.partition(":") for line in head.split("\r\n") if line)}
        words = _parameters(fields.get("content-disposition", ""))
        name, kind = words.get("name"), fields.get("content-type", "")
        if name is None:
            raise BadForm("a part of it has no name")
        value: Any
        if "filename" in words:
            file_name = re.split(r"[/\\]", words["filename"])[-1].replace("\0", "")
            value = File(self, begin, end - begin, file_name, kind or "application/octet-stream")
            self.files.append(value)
        else:
            self._left -= end - begin
            if end - begin > LONGEST_FIELD or self._left < 0:
                raise BadForm(f"the field '{name[:60]}' is too long: send it as a file")
            value = body[begin:end].decode("utf-8", "replace")
        self.parts.setdefault(name, []).append(value)


def _find(body: mmap.mmap, what: bytes, at: int) -> int:
    found = body.find(what, at)
    if found < 0:
        raise BadForm("it has no end: the boundary of its Content-Type is not there")
    return found


def _after(body: mmap.mmap, mark: bytes, at: int) -> int:
    """Where a part begins behind the boundary at `at`; 0: that was the last one, -1: it is none."""
    at += len(mark)
    if body[at : at + 2] == b"--":
        return 0
    while body[at : at + 1] in (b" ", b"\t"):
        at += 1
    return at + 2 if body[at : at + 2] == b"\r\n" else -1


def _end_of(body: mmap.mmap, mark: bytes, begin: int) -> Tuple[int, int]:
    """Where a part ends, and where the next one begins."""
    at = begin - 2  # the empty line may be the one before the boundary
    while True:
        at = _find(body, b"\r\n" + mark, at)
        following = _after(body, mark, at + 2)
        if following >= 0:
            return max(at, begin), following
        at += 2


def _parameters(disposition: str) -> Dict[str, str]:
    words = {}
    for found in _parameter.finditer(disposition):
        name = found[1].lower()
        if name.endswith("*"):
            continue  # RFC 7578 4.2 wants none
        value = _escape.sub(r"\1", found[2]) if found[2] is not None else found[3]
        # Browsers write these three so.
        words[name] = value.replace("%22", '"').replace("%0D", "\r").replace("%0A", "\n")
    return words


def readings(values: List[Any]) -> List[Any]:
    """What the values of one name may stand for, the likeliest first: a text, the JSON that it is, a list of either."""
    read = [_json(value) for value in values]
    if len(values) == 1:
        return [values[0], read[0], values, read]
    return [values, read]


def _json(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
