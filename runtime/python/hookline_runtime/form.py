"""Forms: how a value comes as JSON, and what becomes of it. Here those that JSON has itself, and what joins others.

Two things differ from what Python's own types say, because callers write JSON: true and false are not integers, and an
integer is good for a float.
"""
from __future__ import annotations

import base64
import binascii
import threading
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple

from .mismatch import FILE, KINDS, MOST_FAULTS, Fault, Mismatch, below, cut, expected, said
from .upload import File

Convert = Callable[[Any], Any]
Schema = Dict[str, Any]


class Form:
    """`convert` answers the argument for a JSON value or raises Mismatch; None: any value is good as it is.
    `expected` says what must come, `schema(definitions)` says it to programs. Of the options of a union those of the
    lowest `rank` are tried first: the more exact ones."""

    __slots__ = ("convert", "expected", "schema", "rank", "options")

    def __init__(self, convert: Optional[Convert], expected: str, schema: Callable[[Any], Schema], rank: int = 0):
        self.convert = convert
        self.expected = expected
        self.schema = schema
        self.rank = rank
        self.options: List[Form] = [self]


ANY = Form(None, "anything", lambda definitions: {})


def constant(schema: Schema) -> Callable[[Any], Schema]:
    return lambda definitions: dict(schema)


def _exactly(kind: type, schema_type: str, rank: int = 0) -> Form:
    what = KINDS[kind]

    def convert(value: Any) -> Any:
        if type(value) is kind:
            return value
        raise expected(what, value)

    return Form(convert, what, constant({"type": schema_type}), rank)


def _to_float(value: Any) -> Any:
    if type(value) is float:
        return value
    if isinstance(value, float):  # one that remembers its digits
        return float(value)
    if type(value) is not int:
        raise expected("a number", value)
    try:
        return float(value)
    except OverflowError:
        raise expected("a number that a float can hold", value) from None


def _to_file(value: Any) -> Any:
    if isinstance(value, File):
        return value
    raise expected(FILE, value)


def _to_bytes(value: Any) -> Any:
    if isinstance(value, File):
        value.seek(0)
        return value.read()
    if type(value) is str:
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            pass
    raise expected("a string of base64", value)


NULL = _exactly(type(None), "null", rank=9)
TEXT = _exactly(str, "string", rank=1)
ARRAY = _exactly(list, "array", rank=1)
OBJECT = _exactly(dict, "object", rank=1)
BASE64 = Form(_to_bytes, "a string of base64", constant({"type": "string", "contentEncoding": "base64"}), rank=2)
FILE_FORM = Form(_to_file, FILE, constant({"type": "string", "format": "binary"}))
PLAIN = {
    type(None): NULL,
    bool: _exactly(bool, "boolean"),
    int: _exactly(int, "integer"),
    float: Form(_to_float, KINDS[float], constant({"type": "number"}), rank=1),
    str: TEXT,
    bytes: BASE64,
    File: FILE_FORM,
    list: ARRAY,
    dict: OBJECT,
}


# What each union said of each list and dict, while the outermost conversion of this thread goes on.
_asked = threading.local()


def literal(allowed: Sequence[Any], results: Sequence[Any]) -> Form:
    """One of the JSON values `allowed`; the argument is the one of `results` that stands at its place."""
    what = "one of " + ", ".join(repr(value) for value in allowed)
    pairs = list(zip(allowed, results))

    def convert(value: Any) -> Any:
        if isinstance(value, float):
            value = float(value)
        for option, result in pairs:
            is_alike = type(value) is type(option) or (type(option) is float and type(value) is int)
            if is_alike and value == option:
                return result
        raise expected(what, value)

    return Form(convert, what, constant({"enum": list(allowed)}))


def one_of(forms: Iterable[Form]) -> Form:
    options = list(dict.fromkeys(option for form in forms for option in form.options))
    if any(option.convert is None for option in options):
        return ANY
    if len(options) == 1:
        return options[0]
    options.sort(key=lambda option: option is NULL)  # null is named last
    what = " or ".join(dict.fromkeys(option.expected for option in options))
    attempts = [option.convert for option in sorted(options, key=lambda option: option.rank)]

    def choose(value: Any) -> Any:
        nearest = None
        for attempt in attempts:
            try:
                return attempt(value)  # type: ignore[misc]
            except Mismatch as mismatch:
                if any(fault.path for fault in mismatch.faults):  # the container was right: what is inside says more
                    if nearest is None or len(mismatch.faults) < len(nearest.faults):
                        nearest = mismatch
        raise nearest or expected(what, value)

    # Each option asks for what is inside anew, and so do the unions in there: without a memory that is 2 to the depth.
    def convert(value: Any) -> Any:
        if type(value) not in (list, dict):
            return choose(value)
        if getattr(_asked, "answers", None) is not None:
            return answered(value)
        _asked.answers = {}
        try:
            return answered(value)
        finally:
            _asked.answers = None

    def answered(value: Any) -> Any:
        key = (choose, id(value))  # the value lives as long as the call's members
        if key not in _asked.answers:
            try:
                _asked.answers[key] = choose(value), None
            except Mismatch as mismatch:
                _asked.answers[key] = None, mismatch.faults
        result, faults = _asked.answers[key]
        if faults:
            raise Mismatch(faults)
        return result

    form = Form(convert, what, lambda definitions: any_of([option.schema(definitions) for option in options]))
    form.options = options
    return form


def nullable(form: Form) -> Form:
    """The same, for which null is good as well: the default of its parameter is None."""
    return one_of([form, NULL])


def any_of(schemas: List[Schema]) -> Schema:
    """The schema of what one of them takes."""
    flat = [option for schema in schemas for option in (schema["anyOf"] if list(schema) == ["anyOf"] else [schema])]
    options = [option for i, option in enumerate(flat) if option not in flat[:i]]
    if {} in options:
        return {}
    return options[0] if len(options) == 1 else {"anyOf": options}  # type: ignore[no-any-return]


def array_of(item: Form, make: Optional[Callable[[List[Any]], Any]] = None) -> Form:
    """A list, or what `make` makes of one (a set, a tuple)."""
    if item.convert is None and make is None:
        return ARRAY
    inside = item.convert

    def convert(value: Any) -> Any:
        if type(value) is not list:
            raise expected(KINDS[list], value)
        items = value if inside is None else _each(inside, enumerate(value), "[{}]")
        return items if make is None else _made(make, items, value)

    def schema(definitions: Any) -> Schema:
        unique = {"uniqueItems": True} if make in (set, frozenset) else {}  # type: ignore[comparison-overlap]
        return {**_with("array", "items", item.schema(definitions)), **unique}

    return Form(convert, KINDS[list], schema)


def array_of_each(items: List[Form], make: Callable[..., Any] = tuple) -> Form:
    """An array with a form for each of its places."""
    count = len(items)
    what = f"an array of {count}"
    places = [item.convert or _keep for item in items]

    def convert(value: Any) -> Any:
        if type(value) is not list:
            raise expected(what, value)
        if len(value) != count:
            raise said(f"must be {what}, and has {len(value)}")
        return make(_each(lambda pair: pair[0](pair[1]), enumerate(zip(places, value)), "[{}]"))

    def schema(definitions: Any) -> Schema:
        each = {"prefixItems": [item.schema(definitions) for item in items]} if items else {}
        return {"type": "array", **each, "minItems": count, "maxItems": count}

    return Form(convert, what, schema)


def object_of(member: Form) -> Form:
    if member.convert is None:
        return OBJECT
    inside = member.convert

    def convert(value: Any) -> Any:
        if type(value) is not dict:
            raise expected(KINDS[dict], value)
        return dict(zip(value, _each(inside, value.items(), ".{}")))

    return Form(convert, KINDS[dict], lambda definitions: _with(
        "object", "additionalProperties", member.schema(definitions)))


def _keep(value: Any) -> Any:
    return value


def _each(inside: Convert, items: Iterable[Tuple[Any, Any]], step: str) -> List[Any]:
    """What becomes of each item; raises one Mismatch for all that are wrong, or for as many as anybody reads."""
    results: List[Any] = []
    faults: List[Fault] = []
    for place, item in items:
        try:
            results.append(inside(item))
        except Mismatch as mismatch:
            faults += below(step.format(cut(str(place))), mismatch)
            if len(faults) >= MOST_FAULTS:
                break
    if faults:
        raise Mismatch(faults)
    return results


def _made(make: Callable[[List[Any]], Any], items: List[Any], value: Any) -> Any:
    try:
        return make(items)
    except TypeError:  # of a set, whose items are objects or arrays
        raise expected("an array of numbers, texts and the like", value) from None


def _with(kind: str, keyword: str, inner: Schema) -> Schema:
    return {"type": kind, keyword: inner} if inner else {"type": kind}
