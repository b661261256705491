"""From what a function returns or yields to the text that is sent."""
import json


class NotJson(Exception):
    """A value, or something inside it, that JSON has no form for; the text names its type."""


def _refuse(value):
    raise NotJson(name_of(type(value)))


def name_of(kind):
    """A type's name, with its module unless that is Python's own."""
    if kind.__module__ in ("builtins", "__main__"):
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


_compact = {"separators": (",", ":"), "allow_nan": False, "default": _refuse}
_encode = json.JSONEncoder(ensure_ascii=False, **_compact).encode
_encode_ascii = json.JSONEncoder(ensure_ascii=True, **_compact).encode


def to_json(value):
    """The value as JSON text, UTF-8; raises NotJson."""
    try:
        return _encode(value).encode()
    except UnicodeEncodeError:  # half of a surrogate pair: JSON can escape it, UTF-8 has no form for it
        return _encode_ascii(value).encode()
    except ValueError as error:  # not a number, infinity, a list that contains itself
        raise NotJson(f"{name_of(type(value))} ({error})") from None
    except TypeError as error:  # a key that is not a string
        raise NotJson(f"{name_of(type(value))} ({error})") from None
    except RecursionError:
        raise NotJson(f"{name_of(type(value))} (it is nested too deep)") from None


def to_utf8(text):
    """A text that has halves of surrogate pairs in it: pairs become what they stand for, others U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
