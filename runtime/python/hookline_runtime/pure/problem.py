"""Answers as bytes: a status line, fields, a body; and problems, the answers that the server gives itself."""
from __future__ import annotations

import codecs
import email.utils
import json
import time
from typing import List, NamedTuple, Tuple

from .table import PHRASES, REFUSALS

LONGEST_DETAIL = 1500  # bytes, as the inside of a JSON string
KEEP_ALIVE = "Keep-Alive: timeout=75\r\n"  # tells a proxy before us how long it may keep a connection for its next POST

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
codecs.register_error("hookline.question", lambda error: ("?", error.start + 1))  # type: ignore[attr-defined]
_date: Tuple[int, str] = (0, "")


class Refusal(NamedTuple):
    """An answer of the server's own in place of what was asked for."""

    status: int
    detail: str
    fields: str = ""  # whole lines

    def problem(self, run_id: str) -> bytes:
        problem = {"type": "about:blank", "title": PHRASES.get(self.status, ""), "status": self.status, "detail": self.detail}
        if run_id:
            problem["run_id"] = run_id
        return _encode(problem).encode("utf-8", "replace")


class Refused(Exception):
    """A request that is not taken; `why` is the answer."""

    def __init__(self, why: Refusal) -> None:
        super().__init__(why.detail)
        self.why = why


def refusal(cause: str, *texts: object) -> Refusal:
    """That of the table, with the texts in its places."""
    status, wait, field, detail = REFUSALS[cause]
    fields = f"Retry-After: {wait}\r\n" if wait else ""
    return Refusal(status, detail % texts if texts else detail, fields + (f"{field}\r\n" if field else ""))


def shown(detail: bytes) -> str:
    """Any bytes as the detail of a problem: UTF-8, no NUL, and not too long once it is escaped."""
    text = detail.decode("utf-8", "hookline.question").replace("\0", "?")
    room = LONGEST_DETAIL
    for i, character in enumerate(text[:LONGEST_DETAIL]):
        room -= len(_encode(character).encode()) - 2
        if room < 0:
            return text[:i]
    return text[:LONGEST_DETAIL]


def date() -> str:
    global _date
    now = int(time.time())
    if _date[0] != now:
        _date = now, email.utils.formatdate(now, usegmt=True)
    return _date[1]


class Terms(NamedTuple):
    """What an answer has to know of its request."""

    run_id: str
    minor: int  # of the caller's HTTP/1.x
    is_head: bool
    closes: bool


def _head(terms: Terms, status: int, fields: List[str], more: str) -> str:
    lines = [f"HTTP/1.1 {status} {PHRASES.get(status, '')}", f"Date: {date()}", *fields]
    text = "\r\n".join(lines) + "\r\n"
    if terms.run_id:
        text += f"X-Request-Id: {terms.run_id}\r\n"
    text += more
    if terms.closes:
        text += "Connection: close\r\n"
    elif terms.minor == 0:
        text += "Connection: keep-alive\r\n"
    return text + "\r\n"


def answer(terms: Terms, status: int, content_type: str, body: bytes, more: str = "") -> bytes:
    """A whole answer. `more`: further lines of its head."""
    fields = [f"Content-Type: {content_type}"] if body and content_type else []
    if status not in (204, 304):  # RFC 9110 8.6
        fields.append(f"Content-Length: {len(body)}")
    fields.append("Cache-Control: no-store")
    head = _head(terms, status, fields, more).encode("utf-8", "surrogateescape")
    return head if terms.is_head else head + body


def refuse(terms: Terms, why: Refusal, more: str = "") -> bytes:
    return answer(terms, why.status, "application/problem+json", why.problem(terms.run_id), why.fields + more)


def stream_head(terms: Terms) -> bytes:
    """That of an event stream, which chunks follow where the caller knows chunks."""
    fields = ["Content-Type: text/event-stream; charset=utf-8"]
    if terms.minor > 0:
        fields.append("Transfer-Encoding: chunked")
    fields.append("Cache-Control: no-cache")
    return _head(terms, 200, fields, "X-Accel-Buffering: no\r\n" + KEEP_ALIVE).encode()
