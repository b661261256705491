"""From a type hint to a converter of JSON values.

A converter is a function of one value that answers the argument, or raises Mismatch. None stands for a hint that says
nothing about JSON (Any, a class of the author's): the value is passed as it is. Two things differ from what Python's
own types say, because callers write JSON: true and false are not integers, and an integer is good for a float.
"""
import base64
import binascii
import collections.abc
import typing

try:
    from types import UnionType  # int | None, from Python 3.10 on
except ImportError:
    UnionType = typing.Union


class Mismatch(Exception):
    """A value is not of the kind that its hint asks for. `path` leads from the parameter to the value."""

    def __init__(self, expected, value, path=""):
        super().__init__(expected)
        self.expected = expected
        self.value = value
        self.path = path

    def tell(self, name):
        kind = kind_of(self.value)
        but = "" if kind in self.expected else f", not {kind}"
        return f"'{name}{self.path}' must be {self.expected}{but}"


KINDS = {
    type(None): "null",
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "an object",
}


def kind_of(value):
    """What a JSON value is, in words that a caller in any language knows."""
    if type(value) is float:
        return "a number with a fraction"
    if type(value) is bool:
        return "true" if value else "false"
    return KINDS.get(type(value), type(value).__name__)


def converter_of(hint):
    """The converter for a hint that was evaluated; None when any value will do."""
    if hint is None:
        hint = type(None)
    if isinstance(hint, type) and hint in PLAIN:
        return PLAIN[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Union or origin is UnionType:
        return _union(arguments)
    if origin is typing.Literal:
        return _literal(arguments)
    if origin in ARRAYS:
        return _array_of(converter_of(arguments[0]) if arguments else None)
    if origin in OBJECTS:
        return _object_of(converter_of(arguments[1]) if len(arguments) == 2 else None)
    return None


def schema_of(hint):
    """The JSON Schema of what such a hint takes; {} when any value will do."""
    if hint is None:
        hint = type(None)
    if isinstance(hint, type) and hint in SCHEMAS:
        return dict(SCHEMAS[hint])
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Union or origin is UnionType:
        return any_of([schema_of(option) for option in arguments])
    if origin is typing.Literal:
        return {"enum": list(arguments)}
    if origin in ARRAYS:
        return _with("array", "items", arguments[:1])
    if origin in OBJECTS:
        return _with("object", "additionalProperties", arguments[1:])
    return {}


def any_of(schemas):
    """The schema of what one of them takes."""
    flat = [option for schema in schemas for option in schema.get("anyOf", [schema])]
    options = [option for i, option in enumerate(flat) if option not in flat[:i]]
    if {} in options:
        return {}
    return options[0] if len(options) == 1 else {"anyOf": options}


def _with(kind, keyword, hints):
    inner = schema_of(hints[0]) if hints else {}
    return {"type": kind, keyword: inner} if inner else {"type": kind}


def nullable(converter):
    """The same converter, for which null is good as well: the default of its parameter is None."""
    return converter and _union_of([PLAIN[type(None)], converter])


def _exactly(kind):
    def convert(value):
        if type(value) is kind:
            return value
        raise Mismatch(convert.expected, value)

    convert.expected = KINDS[kind]
    return convert


def _to_float(value):
    if type(value) is float:
        return value
    if type(value) is not int:
        raise Mismatch(_to_float.expected, value)
    try:
        return float(value)
    except OverflowError:
        raise Mismatch("a number that a float can hold", value) from None


def _to_bytes(value):
    if type(value) is str:
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            pass
    raise Mismatch(_to_bytes.expected, value)


_to_float.expected = KINDS[float]
_to_bytes.expected = "a string of base64"

PLAIN = {kind: _exactly(kind) for kind in (type(None), bool, int, str, list, dict)}
PLAIN.update({float: _to_float, bytes: _to_bytes})
ARRAYS = {list, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection}
OBJECTS = {dict, collections.abc.Mapping, collections.abc.MutableMapping}


SCHEMAS = {
    type(None): {"type": "null"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bytes: {"type": "string", "contentEncoding": "base64"},
    list: {"type": "array"},
    dict: {"type": "object"},
}


def _union(hints):
    converters = [converter_of(hint) for hint in hints]
    if None in converters:  # one of them takes anything
        return None
    return _union_of(converters)


def _union_of(converters):
    options = [option for convert in converters for option in getattr(convert, "options", [convert])]
    # The more exact first: an int stays one in float | int, and text one in bytes | str. Null is named last.
    ranks = {_to_float: 1, _to_bytes: 1, PLAIN[type(None)]: 2}
    options = sorted(dict.fromkeys(options), key=lambda option: ranks.get(option, 0))

    def convert(value):
        deepest = None
        for option in options:
            try:
                return option(value)
            except Mismatch as mismatch:
                if mismatch.path:  # the container was right: what is wrong inside says more
                    deepest = mismatch
        raise deepest or Mismatch(convert.expected, value)

    convert.expected = " or ".join(dict.fromkeys(option.expected for option in options))
    convert.options = options
    return convert


def _literal(values):
    def convert(value):
        for allowed in values:
            if type(value) is type(allowed) and value == allowed:
                return value
        raise Mismatch(convert.expected, value)

    convert.expected = "one of " + ", ".join(repr(value) for value in values)
    return convert


def _array_of(item):
    def convert(value):
        if type(value) is not list:
            raise Mismatch(convert.expected, value)
        return [_inside(item, element, f"[{i}]") for i, element in enumerate(value)]

    convert.expected = KINDS[list]
    return convert if item else PLAIN[list]


def _object_of(item):
    def convert(value):
        if type(value) is not dict:
            raise Mismatch(convert.expected, value)
        return {name: _inside(item, member, f".{name}") for name, member in value.items()}

    convert.expected = KINDS[dict]
    return convert if item else PLAIN[dict]


def _inside(convert, value, path):
    try:
        return convert(value)
    except Mismatch as mismatch:
        raise Mismatch(mismatch.expected, mismatch.value, path + mismatch.path) from None
