"""Whether a body is one JSON object (RFC 8259), told before the function's host reads it."""
from __future__ import annotations

import json
import re
from typing import NoReturn

from .problem import Refused, refusal

MAX_DEPTH = 512

# One without an end goes to the text's: looked for again behind each quote in it, a short body would take minutes.
_strings = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)', re.DOTALL)
# What a number, a word or an escape begins with, where Python's reader names the place before it.
_begun = re.compile(r"(?<=[0-9])(?:\.|[eE][+-]?)|-|t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?|\\|(?<=\\)u[0-9a-fA-F]{0,3}")
_not_json = re.compile(r'"(?:[^"\\]|\\.)*"|(-?Infinity|NaN)', re.DOTALL)


class _Constant(ValueError):
    """NaN or an infinity, which Python's reader takes and JSON has not."""


def _refuse_constant(name: str) -> NoReturn:
    raise _Constant


# Numbers are only looked at, so that one of a million digits costs nothing: len() is what reads fastest.
_check = json.JSONDecoder(parse_int=len, parse_float=len, parse_constant=_refuse_constant).decode


def check(body: bytes) -> None:
    """Raises Refused."""
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise Refused(refusal("FUNCTION_JSON_FORM", error.start + 1)) from None
    if text.count("[") + text.count("{") > MAX_DEPTH:
        _check_depth(text)
    try:
        _check(text)
    except _Constant:
        at = next(found.start() for found in _not_json.finditer(text) if found[1])
        raise Refused(refusal("FUNCTION_JSON_FORM", _byte(text, at) + 1)) from None
    except json.JSONDecodeError as error:
        begun = _begun.match(text, error.pos)
        at = begun.end() if begun else error.pos
        if at >= len(text) or error.msg.startswith("Unterminated string"):
            raise Refused(refusal("FUNCTION_JSON_END", len(body))) from None
        raise Refused(refusal("FUNCTION_JSON_FORM", _byte(text, at) + 1)) from None
    if not body.lstrip(b" \t\r\n").startswith(b"{"):
        raise Refused(refusal("FUNCTION_NO_OBJECT"))


def _check_depth(text: str) -> None:
    depth = 0
    for mark in re.findall(r"[\[{\]}]", _strings.sub("", text)):
        depth += 1 if mark in "[{" else -1
        if depth > MAX_DEPTH:
            raise Refused(refusal("FUNCTION_JSON_DEPTH", MAX_DEPTH))


def _byte(text: str, at: int) -> int:
    return len(text[:at].encode())
