"""Reads the head of a request strictly (RFC 9112): whatever passes can be framed in one way only. What
proxy/http/head.c refuses is refused here, for the same reasons in the same order.
"""
from __future__ import annotations

import re
import socket
from typing import Dict, List, Optional, Tuple

from .problem import Refusal, Refused, refusal

MAX_HEAD = 128 * 1024  # twice the proxy's: what it adds must fit
MAX_FIELDS = 1024
MAX_EMPTY_LINES = 4  # before a request line (RFC 9112 2.2)
MAX_OPTIONS = 64

_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]"
_is_token = re.compile(_TOKEN + rb"+").fullmatch
_method = re.compile(rb"(" + _TOKEN + rb"+) ")
_target = re.compile(rb'([!"$-~]*) ')
_version = re.compile(rb"HTTP/([0-9])\.([0-9])")
# A name, a colon, a value: each is one class of bytes, so that a line which is none costs no more than its length.
_field = re.compile(rb"(" + _TOKEN + rb"+):([\t -~\x80-\xff]*)\r\n")
_authority = re.compile(rb"(?:\[([^\]]*)\]|([!$&'()*+\-.;=_~0-9A-Za-z]+))(?::([0-9]*))?")
_zone = re.compile(rb"25[!$&'()*+\-.;=_~0-9A-Za-z]+")
_absolute = re.compile(rb"https?://([^/?]+)", re.IGNORECASE)
_bare_line_feed = re.compile(rb"(?<!\r)\n")
_digits = re.compile(rb"[0-9]+").fullmatch

NONE, LENGTH, CHUNKED = "none", "length", "chunked"


class Head:
    """A request's head. Names of fields are in lower case in `values`, as they came in `fields`."""

    def __init__(self) -> None:
        self.method = self.target = self.path = self.query = b""
        self.minor = 1
        self.fields: List[Tuple[bytes, bytes]] = []
        self.values: Dict[bytes, List[bytes]] = {}
        self.framing = NONE
        self.length = 0
        self.is_persistent = self.expects_continue = False

    def first(self, name: bytes) -> Optional[bytes]:
        values = self.values.get(name)
        return values[0] if values else None

    @property
    def has_body(self) -> bool:
        return self.framing == CHUNKED or self.length > 0


def elements(values: List[bytes]) -> List[bytes]:
    """Those of the lists that came under one name (RFC 9110 5.6.1)."""
    return [element for value in values for element in (part.strip(b" \t") for part in value.split(b",")) if element]


def _empty_lines(data: bytes) -> int:
    at = 0
    while data.startswith(b"\r\n", at):
        at += 2
    return at


def find_end(data: bytes, scanned: int) -> int:
    """The length of the head that `data` begins with; 0: it has no end yet. The first `scanned` bytes were looked at."""
    start = _empty_lines(data)
    if start > 2 * MAX_EMPTY_LINES:
        raise Refused(refusal("NO_HEAD"))
    if start == len(data) or (start + 1 == len(data) and data.endswith(b"\r")):
        return 0
    if not _is_token(data[start : start + 1]):
        raise Refused(refusal("NO_HEAD"))
    end = data.find(b"\r\n\r\n", max(start, scanned - 3))
    end = end + 4 if end >= 0 else 0
    if _bare_line_feed.search(data, max(start, scanned - 1), end or len(data)):
        raise Refused(refusal("NO_HEAD"))
    if (end or len(data)) > MAX_HEAD:
        raise Refused(refusal("FUNCTION_HEAD_TOO_LARGE"))
    return end


def peek_method(data: bytes) -> bytes:
    """What can be read of it counts: the answer to a HEAD has no content (RFC 9110 9.3.2)."""
    found = _method.match(data, _empty_lines(data))
    return found[1] if found else b""


def read(data: bytes) -> Head:
    """The head, whole."""
    head = Head()
    at = _read_start_line(head, data, _empty_lines(data))
    _read_fields(head, data, at)
    _read_host(head)
    is_upgrade = _read_connection(head)
    _read_max_forwards(head)
    _read_framing(head)
    _read_expect(head)
    if is_upgrade and head.method == b"GET":
        if head.has_body:  # bytes after it belong to the new protocol (RFC 6455 4.1)
            raise Refused(refusal("UPGRADE_BODY"))
        head.framing = NONE
    return head


def _read_start_line(head: Head, data: bytes, at: int) -> int:
    found = _method.match(data, at)
    if not found:
        raise Refused(refusal("REQUEST_LINE"))
    head.method = found[1]
    found = _target.match(data, found.end())
    if not found:
        raise Refused(refusal("TARGET_BYTES"))
    head.target = found[1]
    found = _version.match(data, found.end())
    if not found:
        raise Refused(refusal("VERSION_MISSING"))
    if found[1] != b"1":
        raise Refused(refusal("VERSION_OTHER"))
    head.minor = int(found[2] != b"0")  # any above 1.1 is read as 1.1 (RFC 9110 2.5)
    if not data.startswith(b"\r\n", found.end()):
        raise Refused(refusal("REQUEST_LINE_END"))
    if not _is_target_fit(head):
        raise Refused(refusal("TARGET_FORM"))
    return found.end() + 2


def is_authority(text: bytes, needs_port: bool = False) -> bool:
    found = _authority.fullmatch(text)
    if not found or (needs_port and not found[3]):
        return False
    if found[3] and (len(found[3].lstrip(b"0")) > 5 or int(found[3]) > 65535):
        return False
    return found[1] is None or _is_address(found[1])


def _is_address(text: bytes) -> bool:
    address, mark, zone = text.partition(b"%")
    if mark and not _zone.fullmatch(zone):  # RFC 6874
        return False
    try:
        socket.inet_pton(socket.AF_INET6, address.decode("ascii"))
    except (OSError, ValueError):
        return False
    return True


def _is_target_fit(head: Head) -> bool:
    """RFC 9112 3.2.1 to 3.2.4. Userinfo is not accepted: it would be a password in a log."""
    target = head.target
    if head.method == b"CONNECT":
        return is_authority(target, needs_port=True)
    rest = target
    if not target.startswith(b"/"):
        if target == b"*":
            head.path = target
            return head.method == b"OPTIONS"
        found = _absolute.match(target)
        if not found or not is_authority(found[1]):
            return False
        rest = target[found.end() :]
    path, _, head.query = rest.partition(b"?")
    head.path = path or b"/"
    return True


def _read_fields(head: Head, data: bytes, at: int) -> None:
    while not data.startswith(b"\r\n", at):
        if len(head.fields) == MAX_FIELDS:
            raise Refused(refusal("FIELD_COUNT"))
        found = _field.match(data, at)
        if not found:
            raise Refused(refusal("FIELD_LINE"))
        at = found.end()
        name, value = found[1], found[2].strip(b" \t")
        head.fields.append((name, value))
        head.values.setdefault(name.lower(), []).append(value)
    if at + 2 != len(data):
        raise Refused(refusal("HEAD_END"))


def is_field_line(line: bytes) -> bool:
    return _field.fullmatch(line) is not None


def _read_host(head: Head) -> None:
    values = head.values.get(b"host")
    if not values:
        if head.minor > 0:
            raise Refused(refusal("HOST_MISSING"))
        return
    if len(values) > 1:
        raise Refused(refusal("HOST_TWICE"))
    if not is_authority(values[0]):
        raise Refused(refusal("HOST_FORM"))


def _read_connection(head: Head) -> bool:
    """Whether it asks for another protocol."""
    options = elements(head.values.get(b"connection", []))
    if len(options) > MAX_OPTIONS or not all(_is_token(option) for option in options):
        raise Refused(refusal("CONNECTION_FORM"))
    names = {option.lower() for option in options}
    head.is_persistent = b"close" not in names and (head.minor > 0 or b"keep-alive" in names)
    protocols = {protocol.lower() for protocol in elements(head.values.get(b"upgrade", []))}
    return b"upgrade" in names and head.minor > 0 and b"websocket" in protocols


def _number(text: bytes, most: int) -> Optional[int]:
    """A decimal number of that size; None: it is none."""
    if not _digits(text) or len(text.lstrip(b"0")) > len(str(most)):
        return None
    number = int(text.lstrip(b"0") or b"0")
    return number if number <= most else None


def _read_max_forwards(head: Head) -> None:
    values = head.values.get(b"max-forwards")
    if values and head.method == b"OPTIONS" and (len(values) > 1 or _number(values[0], 2**64 - 1) is None):
        raise Refused(refusal("MAX_FORWARDS_FORM"))


def _read_framing(head: Head) -> None:
    """One of the two, once, in one spelling (RFC 9112 6.3)."""
    lengths, codings = head.values.get(b"content-length"), head.values.get(b"transfer-encoding")
    if lengths:
        if len(lengths) > 1:
            raise Refused(refusal("LENGTH_TWICE"))
        length = _number(lengths[0], 2**63 - 1)
        if length is None:
            raise Refused(refusal("LENGTH_FORM"))
        head.framing, head.length = LENGTH, length
    if not codings:
        return
    if head.minor == 0:
        raise Refused(refusal("CODING_VERSION"))
    if lengths:
        raise Refused(refusal("CODING_AND_LENGTH"))
    if len(codings) > 1:
        raise Refused(refusal("CODING_TWICE"))
    if codings[0].lower() != b"chunked":
        raise Refused(_why_not_coded(elements(codings)))
    head.framing = CHUNKED


def _why_not_coded(codings: List[bytes]) -> Refusal:
    if not codings:
        return refusal("CODING_EMPTY")
    is_last = [coding.lower() == b"chunked" for coding in codings]
    if not all(_is_token(coding) for coding in codings) or any(is_last[:-1]):
        return refusal("CODING_FORM")
    return refusal("CODING_OTHER")


def _read_expect(head: Head) -> None:
    values = head.values.get(b"expect", [])
    if any(value.lower() != b"100-continue" for value in values):
        raise Refused(refusal("EXPECTATION"))
    # HTTP/1.0 knows no interim responses; without a body there is nothing to continue with (RFC 9110 10.1.1).
    head.expects_continue = bool(values) and head.minor > 0 and head.has_body


def number_field(head: Head, name: bytes, most: int) -> int:
    """That of the first field of that name; 0: there is none."""
    return _number(head.first(name) or b"", most) or 0


def wants_events(head: Head) -> bool:
    """Whether Accept names text/event-stream, and not with q=0 (RFC 9110 12.5.1). Wildcards do not ask for a stream."""
    for element in elements(head.values.get(b"accept", [])):
        kind, *parameters = (part.strip(b" \t") for part in element.split(b";"))
        if kind.lower() == b"text/event-stream" and not any(_is_zero(parameter) for parameter in parameters):
            return True
    return False


_is_zero = re.compile(rb"[qQ]=[0.]+").fullmatch
