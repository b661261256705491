"""The functions of a module that are endpoints, and how a JSON object becomes the arguments of one."""
from __future__ import annotations

import functools
import inspect
import json
import logging
import re
import types
import typing
from typing import Any, Callable, Dict, List, Optional

from .bounds import bounded, default_of, is_field
from .form import Convert, Form, nullable
from .hint import Definitions, Hints, Unheld
from .mismatch import MOST_FAULTS, Mismatch, cut, said, text_of
from .record import Member, object_schema, suggestion
from .request import Request
from .upload import readings

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,127}", re.ASCII)
LONGEST_ABOUT = 1000
RESERVED = {"setup", "healthz"}  # the one runs before the first call, the other is the server's own
NO_HEALTH = "%s() is not an endpoint: /healthz is the host's own, which says that it lives"

_log = logging.getLogger(__name__)


class BadArguments(Exception):
    """The members of a JSON object are not the parameters of the function; its text says what is wrong with each."""


class BadSignature(Exception):
    """A function that cannot be an endpoint; its text says why."""


class Endpoint:
    """A function, and the rules by which a JSON object becomes its arguments."""

    def __init__(self, name: str, function: Any) -> None:
        self.name = name
        self.function = function
        self._hints = Hints()
        self._members: Dict[str, Member] = {}  # the parameters
        self._converters: Dict[str, Optional[Convert]] = {}  # of each; None: any value
        self._required: List[str] = []
        self._factories: Dict[str, Callable[[], Any]] = {}  # of defaults that are a Field's, not the function's own
        self._positional: List[inspect.Parameter] = []  # parameters that Python takes by position only: def f(a, /)
        self._other: Optional[Form] = None  # the form of what is not a parameter: of **members
        self._convert_other: Optional[Convert] = _refuse_name
        self._read_signature()
        self.is_raw = self._request_parameter is not None
        self.is_async = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)

    def _read_signature(self) -> None:
        try:
            signature = inspect.signature(self.function)
        except (TypeError, ValueError) as error:
            raise BadSignature(f"{self.name}() has no signature that can be read: {error}") from None
        parameters = signature.parameters.values()
        hints = self._read_hints()
        requests = [p for p in parameters if hints.get(p.name) is Request]
        if requests and len(parameters) > 1:
            raise BadSignature(f"{self.name}(): a parameter that is a Request must be the only one")
        self._request_parameter = requests[0] if requests else None
        for parameter in parameters if not requests else ():
            try:
                self._add(parameter, hints.get(parameter.name, typing.Any))
            except Unheld as unheld:
                raise BadSignature(f"{self.name}(): the hint of '{parameter.name}' cannot be held: {unheld}") from None
        self.is_exact = self._hints.is_exact

    def _read_hints(self) -> Dict[str, Any]:
        function = inspect.unwrap(behind_partial(self.function))
        try:
            return typing.get_type_hints(function, include_extras=True)
        except Exception as error:  # names that exist for a type checker only, syntax of a newer Python
            _log.warning("%s(): a type hint cannot be read, so it is not checked: %s", self.name, error)
            hints = getattr(function, "__annotations__", {})
            return {name: hint for name, hint in hints.items() if not isinstance(hint, str)}

    def _add(self, parameter: inspect.Parameter, hint: Any) -> None:
        if parameter.kind is parameter.VAR_KEYWORD:
            self._other = self._hints.form_of(hint)
            self._convert_other = self._other.convert
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            member = self._member(parameter, self._hints.form_of(hint))
            self._members[parameter.name] = member
            self._converters[parameter.name] = member.form.convert
            if member.is_required:
                self._required.append(parameter.name)
            if parameter.kind is parameter.POSITIONAL_ONLY:
                self._positional.append(parameter)

    def _member(self, parameter: inspect.Parameter, form: Form) -> Member:
        default = parameter.default
        if is_field(default):
            try:
                form = bounded(form, [default])
            except ValueError as error:
                raise Unheld(str(error)) from None
            default, factory = default_of(parameter.default)
            if factory is not None:
                self._factories[parameter.name] = factory
                return Member(form, is_required=False)
            if default is not parameter.empty:
                self._factories[parameter.name] = lambda: default
        return Member(nullable(form) if default is None else form, default, default is parameter.empty)

    def input(self) -> Optional[str]:
        """The JSON Schema of a body, as text; None where that is not for us to know."""
        if self.is_raw:
            return None
        try:
            return json.dumps(self._schema(), allow_nan=False)
        except Exception as error:  # something that JSON has no form for, a model that cannot describe itself
            _log.warning("%s(): what it takes cannot be described, so its callers are not told: %s: %s", self.name,
                         type(error).__name__, error)
            return None

    def _schema(self) -> Dict[str, Any]:
        definitions = Definitions()
        others = self._other is not None and (self._other.schema(definitions) or True)
        schema = object_schema(self._members, others, definitions)
        if definitions.found:
            schema["$defs"] = definitions.found
        about = inspect.getdoc(self.function) if inspect.isroutine(self.function) else None
        if about:
            schema["description"] = about.partition("\n\n")[0][:LONGEST_ABOUT]
        return schema

    def call(self, members: Any) -> Any:
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
                break
            except RecursionError:
                raise BadArguments(f"{self.name}(): '{name}' is nested too deep") from None
        for name in self._required:
            if name not in members:
                faults = faults or self._faults(members)
        if faults:
            raise BadArguments(faults)
        for name, make in self._factories.items():
            if name not in arguments:
                arguments[name] = make()
        if not self._positional:
            return self.function(**arguments)
        return self.function(*self._take_positional(arguments), **arguments)

    def members_of_form(self, parts: Dict[str, List[Any]]) -> Dict[str, Any]:
        """The members that the parts of a form stand for: of each what its hint takes, if any reading is that."""
        return {name: self._read_part(self._converters.get(name, self._convert_other), values)
                for name, values in parts.items()}

    def _read_part(self, convert: Optional[Convert], values: List[Any]) -> Any:
        options = readings(values)
        for option in options if convert is not None else ():
            try:
                convert(option)  # type: ignore[misc]
            except (Mismatch, RecursionError):
                continue
            return option
        return options[0]

    def _call_raw(self, request: Request) -> Any:
        if self._request_parameter.kind is inspect.Parameter.KEYWORD_ONLY:  # type: ignore[union-attr]
            return self.function(**{self._request_parameter.name: request})  # type: ignore[union-attr]
        return self.function(request)

    def _faults(self, members: Dict[str, Any]) -> str:
        """Everything that is wrong, in one text: what is missing first, then in the order of the members."""
        faults = [f"'{name}' is missing" for name in self._required if name not in members]
        count = len(faults)
        for name, value in members.items():
            convert = self._converters.get(name, self._convert_other)
            if convert is not None:
                try:
                    convert(value)
                except RecursionError:
                    count += 1
                    faults.append(f"'{cut(name)}' is nested too deep")
                except Mismatch as mismatch:
                    count += len(mismatch.faults)
                    if len(faults) >= MOST_FAULTS:
                        continue
                    near = suggestion(name, self._members) if convert is _refuse_name else ""
                    faults += [fault.tell(name) + near for fault in mismatch.faults]
        return text_of(self.name, faults, count)

    def _take_positional(self, arguments: Dict[str, Any]) -> List[Any]:
        """Takes those that go by position out of `arguments`; from the first one left out on, defaults stand in."""
        values = []
        for parameter in self._positional:
            if parameter.name in arguments:
                values.append(arguments.pop(parameter.name))
            else:
                values.append(parameter.default)
        return values


def _refuse_name(value: Any) -> Any:
    raise said("is not a parameter")


def endpoints_of(module: types.ModuleType) -> Dict[str, Endpoint]:
    """The endpoints of a module, by name: its public functions, those that it defines and not those that it imports."""
    endpoints: Dict[str, Endpoint] = {}
    for name, value in vars(module).items():
        if name.startswith("_") or name in RESERVED:
            if name == "healthz" and is_function_of(behind_partial(value), module):
                _log.warning(NO_HEALTH, name)
            continue
        if not is_function_of(behind_partial(value), module):
            if isinstance(value, functools.partial):  # nothing tells whether it was made here or imported
                _log.warning("%s is not an endpoint: the function behind this functools.partial is not defined here; "
                             "a def that calls it is one", name)
            continue
        if not is_name(name):
            _log.warning("%s() is not an endpoint: its name is not ASCII, or too long", name)
            continue
        endpoints[name] = Endpoint(name, value)
    return endpoints


def is_name(name: str) -> bool:
    """Whether an endpoint can be called that."""
    return NAME.fullmatch(name) is not None


def behind_partial(value: Any) -> Any:
    """The function of a functools.partial, or the value itself."""
    while isinstance(value, functools.partial):
        value = value.func
    return value


def is_function_of(value: Any, module: types.ModuleType) -> bool:
    """Whether it is a function that the module defines."""
    # A decorator such as functools.lru_cache makes an object that is not a function but says whose it is.
    is_function = inspect.isfunction(value) or (callable(value) and hasattr(value, "__wrapped__"))
    return is_function and not inspect.isclass(value) and getattr(value, "__module__", None) == module.__name__
