"""Classes whose public methods are endpoints: which they are, and the one instance of each that serves them all."""
from __future__ import annotations

import dataclasses
import enum
import inspect
import types
from typing import Any, Dict, Generic, List, Tuple

from .endpoint import Endpoint, behind_partial, is_function_of, is_name
from .record import is_named_tuple, is_typed_dict

# By these a package marks its classes as data: pydantic 2 and 1, attrs, msgspec.
_DATA_MARKS = ("model_validate", "parse_obj", "__attrs_attrs__", "__struct_fields__")
_KEPT = {"setup", "healthz"}  # the one runs before the first call, the other is the server's own


class Service:
    """A class, its endpoints by the name of their methods, and the instance once it is there."""

    def __init__(self, kind: type, methods: Dict[str, Any]):
        self.kind = kind
        self._methods = methods
        self._endpoints: List[Tuple[str, Endpoint]] = []
        self.instance: Any = None

    @property
    def name(self) -> str:
        return self.kind.__name__

    def has(self, method: str) -> bool:
        return method in self._methods

    def endpoints(self, is_alone: bool) -> Dict[str, Endpoint]:
        """By name: that of the method, behind the class's where it is not the only one. predict keeps its own."""
        found = {}
        for method in self._methods:
            names = [method] if is_alone else [f"{self.name}/{method}"]
            if method == "predict" and not is_alone:
                names.append(method)
            found.update({name: self.endpoint(name, method) for name in names})
        return found

    def endpoint(self, name: str, method: str) -> Endpoint:
        endpoint = Endpoint(name, _as_bound(self._methods[method], self.kind))
        self._endpoints.append((method, endpoint))
        return endpoint

    def make(self) -> None:
        """The instance: from here on the endpoints can be called."""
        self.instance = self.kind()
        for method, endpoint in self._endpoints:
            endpoint.function = getattr(self.instance, method)


def _as_bound(value: Any, kind: type) -> Any:
    """A method without its `self`, as its parameters are read before there is an instance."""
    if isinstance(value, (staticmethod, classmethod)):
        return value.__get__(None, kind)
    return types.MethodType(value, kind)


def services_of(module: types.ModuleType) -> Tuple[List[Service], List[str]]:
    """Those of a module; and of each other class that looks like one why it is none."""
    services, reasons = [], []
    for name, kind in vars(module).items():
        if name.startswith("_") or not inspect.isclass(kind) or kind.__module__ != module.__name__ or _is_data(kind):
            continue
        methods = _methods_of(kind, module)
        if methods and name == kind.__name__:
            reason = _hindrance(kind, methods, module)
            if reason:
                reasons.append(f"the class {name} is not served: {reason}")
            else:
                services.append(Service(kind, methods))
    return [one for one in services if not _is_base(one, services)], reasons


def _is_base(service: Service, services: List[Service]) -> bool:
    """Its methods are served by a class that derives from it."""
    return any(issubclass(other.kind, service.kind) for other in services if other is not service)


def _is_data(kind: type) -> bool:
    return dataclasses.is_dataclass(kind) or is_typed_dict(kind) or is_named_tuple(kind) or \
        issubclass(kind, (enum.Enum, BaseException, type)) or getattr(kind, "_is_protocol", False) or \
        any(hasattr(kind, mark) for mark in _DATA_MARKS)


def _methods_of(kind: type, module: types.ModuleType) -> Dict[str, Any]:
    """The public ones that the module defines, by name; not those of a base that it imports."""
    methods: Dict[str, Any] = {}
    for part in reversed(_own_classes(kind, module)):
        for name, value in vars(part).items():
            methods.pop(name, None)
            if is_name(name) and name not in _KEPT and _is_method(value, module):
                methods[name] = value
    return methods


def _own_classes(kind: type, module: types.ModuleType) -> List[type]:
    return [part for part in kind.__mro__ if part.__module__ == module.__name__]


def _is_method(value: Any, module: types.ModuleType) -> bool:
    """Of the module's own: `dumps = staticmethod(json.dumps)` is for its author."""
    if isinstance(value, (staticmethod, classmethod)):
        value = behind_partial(value.__func__)
    return is_function_of(value, module)


def _hindrance(kind: type, methods: Dict[str, Any], module: types.ModuleType) -> str:
    if inspect.isabstract(kind):
        return "it is abstract"
    strange = [part for part in kind.__mro__ if part not in (object, Generic) and part.__module__ not in
               (module.__name__, "abc")]
    if strange and "predict" not in methods and not _defines(kind, "setup", module):
        return f"it derives from {strange[0].__qualname__}, and has neither predict() nor setup()"
    try:
        parameters = inspect.signature(kind).parameters.values()
    except (TypeError, ValueError):
        return ""
    needed = [one.name for one in parameters if one.default is one.empty and one.kind not in
              (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    return f"its __init__ needs '{needed[0]}'" if needed else ""


def _defines(kind: type, name: str, module: types.ModuleType) -> bool:
    return any(name in vars(part) for part in _own_classes(kind, module))
