"""The bounds of Annotated[X, …] and of a default that is a pydantic Field: at least, at most, lengths, patterns.

They are known by their attributes, as those of pydantic's Field and of annotated_types are called: neither package is
needed for them.
"""
from __future__ import annotations

import decimal
import math
import operator
import re
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from .form import Form, Schema
from .mismatch import UNSHOWN, Bare, Fault, Mismatch
from .record import MISSING

Check = Callable[[Any], Optional[str]]  # what is wrong with a value, if something is
_ORDER = {
    "gt": (operator.gt, "greater than", "exclusiveMinimum"),
    "ge": (operator.ge, "at least", "minimum"),
    "lt": (operator.lt, "less than", "exclusiveMaximum"),
    "le": (operator.le, "at most", "maximum"),
}
_LENGTHS = {"min_length": "min", "min_items": "min", "max_length": "max", "max_items": "max"}
_OTHERS = ("multiple_of", "pattern", "regex", "choices")
_NUMBERS = (int, float, decimal.Decimal)
_UNHELD = ("max_digits", "decimal_places", "allow_inf_nan")
_FOREIGN = ("pydantic", "pydantic_core", "annotated_types", "fastapi", "cog")


def is_field(value: Any) -> bool:
    """Whether it is what pydantic's Field() gives, or a class made from that (FastAPI's Query, Cog's Input)."""
    return any(kind.__name__ == "FieldInfo" for kind in type(value).__mro__)


def default_of(field: Any) -> Tuple[Any, Optional[Callable[[], Any]]]:
    """The default of such a Field, MISSING where it has none; and what makes one."""
    default = getattr(field, "default", MISSING)
    if default is ... or type(default).__name__ in ("UndefinedType", "PydanticUndefinedType"):
        default = MISSING
    return default, getattr(field, "default_factory", None)


def bounded(form: Form, notes: Any) -> Form:
    """The form within what `notes` say; those that say nothing to us are passed over. ValueError names one of pydantic
    or annotated_types that asks for more than can be held here."""
    checks: List[Check] = []
    words: Schema = {}
    for note in notes:
        _refuse_unheld(note)
        found = list(_bounds_of(note))
        if not found and not is_field(note) and type(note).__module__.partition(".")[0] in _FOREIGN:
            raise ValueError(f"{type(note).__name__} in Annotated")
        for name, bound in found:
            _refuse_senseless(name, bound, form)
            checks.append(_check(name, bound))
            words.update(_words(name, bound, form))
        about = getattr(note, "description", None) if is_field(note) else None
        if about:
            words["description"] = str(about)
    if not checks and not words:
        return form
    return _within(form, checks, words)


def _refuse_unheld(note: Any) -> None:
    for part in (*(getattr(note, "metadata", None) or ()), note):
        for name in _UNHELD:
            if getattr(part, name, None) is not None:
                raise ValueError(f"{name} of a Field")


def _refuse_senseless(name: str, bound: Any, form: Form) -> None:
    """What no value could be held against."""
    if name in _LENGTHS:
        is_good = isinstance(bound, int) and bound >= 0
    elif name == "multiple_of":
        is_good = isinstance(bound, _NUMBERS) and bound > 0
    else:
        is_good = name not in _ORDER or form.expected not in ("an integer", "a number") or isinstance(bound, _NUMBERS)
    if name in ("pattern", "regex"):
        try:
            re.compile(bound)
        except (re.error, TypeError) as error:
            raise ValueError(f"{name}={bound!r} ({error})") from None
    if not is_good:
        raise ValueError(f"{name}={bound!r} of {form.expected}")


def _within(form: Form, checks: List[Check], words: Schema) -> Form:
    inside = form.convert or _keep

    def convert(value: Any) -> Any:
        result = inside(value)
        if result is not None:
            faults = [Fault("", claim, _seen(claim, value)) for claim in (_claim(check, result) for check in checks) if claim]
            if faults:
                raise Mismatch(faults)
        return result

    same = form.convert if not checks else convert
    return Form(same, form.expected, lambda definitions: {**form.schema(definitions), **words}, form.rank)


def _claim(check: Check, result: Any) -> Optional[str]:
    try:
        return check(result)
    except (TypeError, ArithmeticError):  # another option of a union; more digits than Decimal reckons with
        return "cannot be compared with its bound"


def _seen(claim: str, value: Any) -> Any:
    return UNSHOWN if " length " in claim else Bare(value)


def _keep(value: Any) -> Any:
    return value


def _bounds_of(note: Any) -> Iterator[Tuple[str, Any]]:
    for part in (*(getattr(note, "metadata", None) or ()), note):
        extra = getattr(part, "extra", None)
        for name in (*_ORDER, *_LENGTHS, *_OTHERS):
            bound = getattr(part, name, None)
            if bound is None and isinstance(extra, dict):
                bound = extra.get(name)
            if bound is not None and not callable(bound):
                yield name, bound


def _check(name: str, bound: Any) -> Check:
    if name in _ORDER:
        holds, words, _ = _ORDER[name]
        return lambda value: None if holds(value, bound) else f"must be {words} {bound}"
    if name in _LENGTHS:
        least = _LENGTHS[name] == "min"
        words = "at least" if least else "at most"
        holds = operator.ge if least else operator.le
        return lambda value: None if holds(len(value), bound) else \
            f"must have a length of {words} {bound}, and has {len(value)}"
    if name == "multiple_of":
        return lambda value: None if _is_multiple(value, bound) else f"must be a multiple of {bound}"
    if name == "choices":
        return lambda value: None if value in bound else f"must be one of {', '.join(map(repr, bound))}"
    pattern = re.compile(bound)
    return lambda value: None if pattern.search(value) else f"must match {pattern.pattern}"


def _is_multiple(value: Any, bound: Any) -> bool:
    if not isinstance(value, float) and not isinstance(bound, float):
        return bool(value % bound == 0)
    times = value / bound  # 0.3 is no multiple of 0.1 to the bit
    return math.isfinite(times) and abs(times - round(times)) <= 1e-9 * max(1, abs(times))


def _words(name: str, bound: Any, form: Form) -> Dict[str, Any]:
    """The same for a schema, where JSON has a form for the bound."""
    if name == "choices":
        return {"enum": list(bound)}
    if name in ("pattern", "regex"):
        return {"pattern": bound if isinstance(bound, str) else bound.pattern}
    if not isinstance(bound, (int, float)):
        return {}
    if name in _ORDER:
        return {_ORDER[name][2]: bound}
    if name in _LENGTHS:
        noun = {"an array": "Items", "an object": "Properties"}.get(form.expected, "Length")
        return {_LENGTHS[name] + noun: bound}
    return {"multipleOf": bound}
