"""The forms of values that JSON has no type for, and that come as texts and numbers: dates, UUIDs, decimals, Enums."""
from __future__ import annotations

import datetime
import decimal
import enum
import re
import uuid
from typing import Any, Callable, Type

from .form import Form, constant, literal
from .mismatch import expected

_DATE = r"\d{4}-\d\d-\d\d"
_TIME = r"(\d\d:\d\d:\d\d)(?:\.(\d+))?"
_OFFSET = r"([Zz]|[+-]\d\d:\d\d)"
_date = re.compile(_DATE, re.ASCII)
_time = re.compile(f"(){_TIME}{_OFFSET}?", re.ASCII)
_date_time = re.compile(f"({_DATE})[Tt ]{_TIME}{_OFFSET}", re.ASCII)
_uuid = re.compile("[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_number = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


class Digits(float):
    """A number with a fraction, as a float, that remembers how it was written: a Decimal may be asked for."""

    __slots__ = ("text",)
    text: str

    @classmethod
    def read(cls, text: str) -> Digits:
        number = cls(text)
        number.text = text
        return number


def read_integer(text: str) -> Any:
    """An int, or a Decimal of more digits than Python reads into one."""
    try:
        return int(text)
    except ValueError:
        return decimal.Decimal(text)


def _from_text(what: str, format: str, read: Callable[[str], Any]) -> Form:
    def convert(value: Any) -> Any:
        if type(value) is str:
            try:
                return read(value)
            except (ValueError, OverflowError):
                pass
        raise expected(what, value)

    return Form(convert, what, constant({"type": "string", "format": format}))


def _matched(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    match = pattern.fullmatch(text)
    if not match:
        raise ValueError
    return match


def _iso(match: re.Match[str], separator: str) -> str:
    """As fromisoformat() reads it in every Python: microseconds, and no Z."""
    day, clock, fraction, offset = match.groups()
    offset = "+00:00" if offset in ("Z", "z") else offset or ""
    return f"{day}{separator}{clock}.{(fraction or '')[:6]:0<6}{offset}"


def _read_date_time(text: str) -> Any:
    return datetime.datetime.fromisoformat(_iso(_matched(_date_time, text), "T"))


def _read_date(text: str) -> Any:
    return datetime.date.fromisoformat(_matched(_date, text)[0])


def _read_time(text: str) -> Any:
    return datetime.time.fromisoformat(_iso(_matched(_time, text), ""))


def _read_uuid(text: str) -> Any:
    return uuid.UUID(_matched(_uuid, text)[0])


def _to_duration(value: Any) -> Any:
    if isinstance(value, (int, float)) and type(value) is not bool:
        try:
            return datetime.timedelta(seconds=value)
        except (OverflowError, ValueError):
            raise expected("seconds, at most 999999999 days of them", value) from None
    raise expected("a number of seconds", value)


def _to_decimal(value: Any) -> Any:
    try:
        return _read_decimal(value)
    except decimal.InvalidOperation:
        raise expected("a number that a Decimal can hold", value) from None


def _read_decimal(value: Any) -> Any:
    if isinstance(value, Digits):
        return decimal.Decimal(value.text)
    if type(value) is int or isinstance(value, decimal.Decimal):
        return decimal.Decimal(value)
    if type(value) is float:
        return decimal.Decimal(repr(value))
    if type(value) is str and _number.fullmatch(value):
        return decimal.Decimal(value)
    raise expected("a number, or a string with one", value)


DECIMAL = Form(_to_decimal, "a number, or a string with one",
               constant({"anyOf": [{"type": "number"}, {"type": "string", "pattern": f"^{_number.pattern}$"}]}), rank=3)
SCALARS = {
    datetime.datetime: _from_text("a date and time with its offset, as 2026-01-31T12:00:00Z", "date-time",
                                  _read_date_time),
    datetime.date: _from_text("a date, as 2026-01-31", "date", _read_date),
    datetime.time: _from_text("a time of day, as 12:00:00", "time", _read_time),
    datetime.timedelta: Form(_to_duration, "a number of seconds", constant({"type": "number"}), rank=3),
    uuid.UUID: _from_text("a UUID", "uuid", _read_uuid),
    decimal.Decimal: DECIMAL,
}


def enum_form(kind: Type[enum.Enum]) -> Form | None:
    """One of an Enum's values; None where they are not what JSON can say."""
    members: list[enum.Enum] = list(kind)
    values = [member.value for member in members]
    if not members or any(type(value) not in (str, int, float, bool, type(None)) for value in values):
        return None
    return literal(values, members)
