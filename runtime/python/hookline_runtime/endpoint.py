"""The functions of a module that are endpoints, and how a JSON object becomes the arguments of one."""
import difflib
import functools
import inspect
import json
import logging
import re
import typing

from .hint import Mismatch, any_of, converter_of, nullable, schema_of
from .request import Request

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,127}", re.ASCII)
LONGEST_DEFAULT = 4096  # characters of its JSON: a longer one is not told
LONGEST_ABOUT = 1000
RESERVED = {"setup", "healthz"}  # the one runs before the first call, the other is the server's own

_log = logging.getLogger(__name__)


class BadArguments(Exception):
    """The members of a JSON object are not the parameters of the function; its text says what is wrong with each."""


class BadSignature(Exception):
    """A function that cannot be an endpoint; its text says why."""


class Endpoint:
    """A function, and the rules by which a JSON object becomes its arguments."""

    def __init__(self, name, function):
        self.name = name
        self.function = function
        self._converters = {}  # by parameter; None: any value
        self._required = []
        self._schemas = {}  # by parameter, as others read them
        self._positional = []  # parameters that Python takes by position only: def f(a, /)
        self._takes_any_name = False
        self._convert_other = _refuse_name  # what is not a parameter; with **members their hint's
        self._read_signature()
        self.is_raw = self._request_parameter is not None
        self.is_async = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)

    def _read_signature(self):
        try:
            signature = inspect.signature(self.function)
        except (TypeError, ValueError) as error:
            raise BadSignature(f"{self.name}() has no signature that can be read: {error}") from None
        parameters = signature.parameters.values()
        hints = self._hints()
        requests = [p for p in parameters if hints.get(p.name) is Request]
        if requests and len(parameters) > 1:
            raise BadSignature(f"{self.name}(): a parameter that is a Request must be the only one")
        self._request_parameter = requests[0] if requests else None
        for parameter in parameters:
            self._add(parameter, hints.get(parameter.name))

    def _hints(self):
        function = inspect.unwrap(_behind_partial(self.function))
        try:
            return typing.get_type_hints(function)
        except Exception as error:  # names that exist for a type checker only, syntax of a newer Python
            _log.warning("%s(): a type hint cannot be read, so it is not checked: %s", self.name, error)
            hints = getattr(function, "__annotations__", {})
            return {name: hint for name, hint in hints.items() if not isinstance(hint, str)}

    def _add(self, parameter, hint):
        if parameter.kind is parameter.VAR_KEYWORD:
            self._takes_any_name = True
            self._convert_other = converter_of(hint) if hint is not None else None
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            convert = converter_of(hint) if hint is not None else None
            if parameter.default is None:
                convert = nullable(convert)
            self._converters[parameter.name] = convert
            self._schemas[parameter.name] = _schema(parameter, hint)
            if parameter.default is parameter.empty:
                self._required.append(parameter.name)
            if parameter.kind is parameter.POSITIONAL_ONLY:
                self._positional.append(parameter)

    def input(self):
        """The JSON Schema of a body, as text; None where that is not for us to know."""
        if self.is_raw:
            return None
        schema = {
            "type": "object",
            "properties": self._schemas,
            "required": self._required,
            "additionalProperties": self._takes_any_name,
        }
        about = inspect.getdoc(self.function) if inspect.isfunction(self.function) else None
        if about:
            schema["description"] = about.partition("\n\n")[0][:LONGEST_ABOUT]
        try:
            return json.dumps(schema, allow_nan=False)
        except (TypeError, ValueError):  # a Literal of something that JSON has no form for
            return None

    def call(self, members):
        """The function's result with these members as its arguments; raises BadArguments before it is called. If it
        is raw: the result for that Request."""
        if self.is_raw:
            return self._call_raw(members)
        converter_for, other = self._converters.get, self._convert_other
        arguments = {}
        faults = None
        for name, value in members.items():
            try:
                convert = converter_for(name, other)
                arguments[name] = value if convert is None else convert(value)
            except Mismatch:
                faults = self._faults(members)
        for name in self._required:
            if name not in members:
                faults = self._faults(members)
        if faults:
            raise BadArguments(f"{self.name}(): {'; '.join(faults)}")
        if not self._positional:
            return self.function(**arguments)
        return self.function(*self._take_positional(arguments), **arguments)

    def _call_raw(self, request):
        if self._request_parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            return self.function(**{self._request_parameter.name: request})
        return self.function(request)

    def _faults(self, members):
        """Everything that is wrong, one text each: what is missing first, then in the order of the members."""
        faults = [f"'{name}' is missing" for name in self._required if name not in members]
        for name, value in members.items():
            convert = self._converters.get(name, self._convert_other)
            if name not in self._converters and not self._takes_any_name:
                faults.append(f"'{name}' is not a parameter{self._suggestion(name)}")
            elif convert is not None:
                try:
                    convert(value)
                except Mismatch as mismatch:
                    faults.append(mismatch.tell(name))
        return faults

    def _suggestion(self, name):
        if not self._converters:
            return " (it has none)"
        near = difflib.get_close_matches(name, self._converters, 1)
        return f" (did you mean '{near[0]}'?)" if near else f" (it has {', '.join(self._converters)})"

    def _take_positional(self, arguments):
        """Takes those that go by position out of `arguments`; from the first one left out on, defaults stand in."""
        values = []
        for parameter in self._positional:
            if parameter.name in arguments:
                values.append(arguments.pop(parameter.name))
            else:
                values.append(parameter.default)
        return values


def _schema(parameter, hint):
    schema = schema_of(hint) if hint is not None else {}
    if parameter.default is parameter.empty:
        return schema
    if parameter.default is None and schema:
        schema = any_of([schema, {"type": "null"}])
    try:
        text = json.dumps(parameter.default, allow_nan=False)
    except (TypeError, ValueError):
        return schema
    return {**schema, "default": parameter.default} if len(text) <= LONGEST_DEFAULT else schema


def _refuse_name(value):
    raise Mismatch("no parameter", value)


def endpoints_of(module):
    """The endpoints of a module, by name: its public functions, those that it defines and not those that it imports."""
    endpoints = {}
    for name, value in vars(module).items():
        if name.startswith("_") or name in RESERVED:
            continue
        if not _is_function_of(_behind_partial(value), module):
            if isinstance(value, functools.partial):  # nothing tells whether it was made here or imported
                _log.warning("%s is not an endpoint: the function behind this functools.partial is not defined here; "
                             "a def that calls it is one", name)
            continue
        if not NAME.fullmatch(name):
            _log.warning("%s() is not an endpoint: its name is not ASCII, or too long", name)
            continue
        endpoints[name] = Endpoint(name, value)
    return endpoints


def _behind_partial(value):
    while isinstance(value, functools.partial):
        value = value.func
    return value


def _is_function_of(value, module):
    # A decorator such as functools.lru_cache makes an object that is not a function but says whose it is.
    is_function = inspect.isfunction(value) or (callable(value) and hasattr(value, "__wrapped__"))
    return is_function and not inspect.isclass(value) and getattr(value, "__module__", None) == module.__name__
