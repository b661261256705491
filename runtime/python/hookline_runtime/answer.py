"""From what a function returns or yields to the text that is sent."""
from __future__ import annotations

import base64
import dataclasses
import datetime
import decimal
import enum
import json
import math
import os
import re
import secrets
import uuid
from typing import Any, Callable, Dict, List, Optional, Tuple

LONGEST_PATH = 1000  # characters of a path that is told


class NotJson(Exception):
    """A value, or something inside it, that JSON has no form for; the text names its type."""


def name_of(kind: type) -> str:
    """A type's name, with its module unless that is Python's own."""
    if kind.__module__ in ("builtins", "__main__"):
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


class _HasDecimal(Exception):
    """The value has a Decimal in it, which takes another way."""


class _Raised(Exception):
    """A method of the author's raised that says what an object is in JSON: not a matter of the value."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def _plain(value: Any) -> Any:
    """What a value that JSON has no form for is written as; raises NotJson."""
    kind = type(value)
    known = _KNOWN.get(kind)
    if known:
        return known(value)
    for base, write in _BASES:
        if isinstance(value, base):
            return write(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    for name in _METHODS:
        method = getattr(value, name, None)
        if callable(method) and not isinstance(value, type):
            try:
                return method()
            except Exception as error:
                raise _Raised(error) from None
    if kind.__module__.partition(".")[0] in _TEXTUAL:
        return str(value)
    raise NotJson(name_of(kind))


def _write_decimal(value: Any) -> Any:
    raise _HasDecimal


def _write_seconds(value: Any) -> Any:
    return int(value.total_seconds()) if not value.microseconds else value.total_seconds()


def _write_bytes(value: Any) -> str:
    return base64.b64encode(bytes(value)).decode()


def _write_path(value: Any) -> Any:
    raise NotJson(f"{name_of(type(value))} (a file is sent as the whole value, not inside one)")


_KNOWN: Dict[type, Callable[[Any], Any]] = {
    datetime.datetime: lambda value: value.isoformat(),
    datetime.date: lambda value: value.isoformat(),
    datetime.time: lambda value: value.isoformat(),
    datetime.timedelta: _write_seconds,
    uuid.UUID: str,
    decimal.Decimal: _write_decimal,
    set: list,
    frozenset: list,
    bytes: _write_bytes,
    bytearray: _write_bytes,
    memoryview: _write_bytes,
}
_BASES: List[Tuple[type, Callable[[Any], Any]]] = [
    (enum.Enum, lambda value: value.value),
    (os.PathLike, _write_path),
    *((kind, write) for kind, write in _KNOWN.items()),
]
# Addresses and the like, which pydantic's models hand out; its secrets are stars as text.
_TEXTUAL = ("pydantic", "pydantic_core", "ipaddress")
# Of pydantic 2, of the author's, of numpy.
_METHODS = ("model_dump", "__json__", "to_dict", "tolist")


def _plain_model(value: Any) -> Any:
    """The same, for pydantic 1 as well."""
    kind = type(value)
    if hasattr(kind, "parse_obj") and not hasattr(kind, "model_dump") and hasattr(kind, "__fields__"):
        root = value.dict()
        return root["__root__"] if list(root) == ["__root__"] else root
    return _plain(value)


_compact: Dict[str, Any] = {"separators": (",", ":"), "allow_nan": False, "default": _plain_model}
_encode = json.JSONEncoder(ensure_ascii=False, **_compact).encode
_encode_ascii = json.JSONEncoder(ensure_ascii=True, **_compact).encode

# A Decimal's digits pass the encoder as a text that nobody can guess, and that loses its quotes afterwards.
_mark = secrets.token_hex(16)
_marked = re.compile(f'"{_mark}([^"]*)"')


def _plain_exact(value: Any) -> Any:
    if not isinstance(value, decimal.Decimal):
        return _plain_model(value)
    if not value.is_finite():
        raise NotJson(f"{name_of(type(value))} ({value})")
    return f"{_mark}{value}"


def _encode_exact(value: Any) -> str:
    text = json.JSONEncoder(**dict(_compact, default=_plain_exact)).encode(value)
    return _marked.sub(r"\1", text)


def to_json(value: Any) -> bytes:
    """The value as JSON text, UTF-8; raises NotJson, and what a method of the value's raised."""
    try:
        return _encode(value).encode()
    except UnicodeEncodeError:  # half of a surrogate pair: JSON can escape it, UTF-8 has no form for it
        return _encode_ascii(value).encode()
    except (_HasDecimal, _Raised, NotJson, ValueError, TypeError, RecursionError) as error:
        reason: Exception = error
    if isinstance(reason, _HasDecimal):
        try:
            return _encode_exact(value).encode()
        except (_Raised, NotJson, ValueError, TypeError, RecursionError) as error:
            reason = error
    # Outside of the clauses: what the author raised has a context of its own.
    raise reason.error if isinstance(reason, _Raised) else _explained(value, reason)


def _explained(value: Any, error: Exception) -> NotJson:
    """What cannot be written, and where it stands."""
    try:
        where, what = _find(value, "", []) or ("", None)
    except RecursionError:
        where, what = "", f"{name_of(type(value))} (it is nested too deep)"
    except Exception:  # an object that says something else each time
        where, what = "", None
    if what is None:
        what = str(error) if isinstance(error, NotJson) else f"{name_of(type(value))} ({error})"
    return NotJson(f"{what}, at {where}" if where else what)


def _find(value: Any, path: str, above: List[Any]) -> Optional[Tuple[str, str]]:
    kind = type(value)
    if isinstance(value, float):
        return None if math.isfinite(value) else (path, f"{name_of(kind)} ({value})")
    if value is None or isinstance(value, (str, int)):
        return None
    if isinstance(value, decimal.Decimal):
        return None if value.is_finite() else (path, f"{name_of(kind)} ({value})")
    if any(value is other for other in above):
        return path, f"{name_of(kind)} (it contains itself)"
    above = [*above, value]
    if isinstance(value, dict):
        for name, item in value.items():
            if not (name is None or isinstance(name, (str, int, float))):
                return path, f"{name_of(kind)} (a key of it is a {name_of(type(name))})"
            found = _find(item, f"{path}.{name}"[:LONGEST_PATH], above)
            if found:
                return found
        return None
    if isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            found = _find(item, f"{path}[{i}]", above)
            if found:
                return found
        return None
    try:
        return _find(_plain_model(value), path, above)
    except NotJson as error:
        return path, str(error)


def to_utf8(text: str) -> bytes:
    """A text that has halves of surrogate pairs in it: pairs become what they stand for, others U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
