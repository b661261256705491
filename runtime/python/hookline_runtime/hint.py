"""From a type hint to the form of its values, and what those forms are called in a schema."""
from __future__ import annotations

import collections.abc
import enum
import os
import typing
from typing import Any, Callable, Dict, Tuple

from .bounds import bounded
from .form import ANY, NULL, OBJECT, PLAIN, Form, Schema, array_of, array_of_each, literal, object_of, one_of
from .model import NamesFiles, model_form, split
from .record import is_record, members_of, record_form
from .scalar import DECIMAL, SCALARS, enum_form

try:
    from types import UnionType  # int | None, from Python 3.10 on
except ImportError:
    UnionType = typing.Union  # type: ignore[assignment,misc]

ARRAYS = (list, collections.abc.Sequence, collections.abc.MutableSequence, collections.abc.Iterable,
          collections.abc.Collection)
SETS = {set: set, collections.abc.Set: set, collections.abc.MutableSet: set, frozenset: frozenset}
OBJECTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
WRAPPERS = {"Required", "NotRequired", "ReadOnly", "Final", "ClassVar"}  # around the hint itself


class Unheld(Exception):
    """A hint that no JSON value can be held against; the text names it."""


class Hints:
    """The forms of the hints of one function."""

    def __init__(self) -> None:
        self._records: Dict[Any, Form] = {}
        self.is_exact = False  # a Decimal among them: numbers keep their digits

    def form_of(self, hint: Any) -> Form:
        if hint is None:
            return NULL
        if hint is Any or hint is object or isinstance(hint, typing.TypeVar):
            return ANY
        if isinstance(hint, type) and hint in PLAIN:
            return PLAIN[hint]
        if isinstance(hint, type) and hint in SCALARS:
            self.is_exact = self.is_exact or SCALARS[hint] is DECIMAL
            return SCALARS[hint]
        if hasattr(hint, "__supertype__"):  # a NewType
            return self.form_of(hint.__supertype__)
        origin = typing.get_origin(hint)
        if origin is not None:
            return self._generic(hint, origin, typing.get_args(hint))
        if hasattr(hint, "__value__"):  # type X = …
            try:
                return self.form_of(hint.__value__)
            except RecursionError:
                raise Unheld(f"{hint}, which leads to itself") from None
        if hint in (*ARRAYS, *SETS, *OBJECTS, tuple):
            return self._generic(hint, hint, ())
        return self._class(hint)

    def _generic(self, hint: Any, origin: Any, arguments: Tuple[Any, ...]) -> Form:
        if origin is typing.Union or origin is UnionType:
            return one_of([self.form_of(option) for option in arguments])
        if origin is typing.Literal:
            return _literal(arguments)
        if hasattr(hint, "__metadata__"):  # Annotated
            try:
                return bounded(self.form_of(arguments[0]), hint.__metadata__)
            except ValueError as error:
                raise Unheld(str(error)) from None
        if origin in ARRAYS:
            return array_of(self._first(arguments))
        if origin in SETS:
            return array_of(self._first(arguments), SETS[origin])
        if origin is tuple:
            return self._tuple(arguments)
        if origin in OBJECTS:
            return self._object(arguments)
        if getattr(origin, "_name", None) in WRAPPERS:
            return self.form_of(arguments[0])
        raise Unheld(_name(hint))

    def _first(self, arguments: Tuple[Any, ...]) -> Form:
        return self.form_of(arguments[0]) if arguments else ANY

    def _tuple(self, arguments: Tuple[Any, ...]) -> Form:
        if not arguments or (len(arguments) == 2 and arguments[1] is ...):
            return array_of(self._first(arguments), tuple)
        return array_of_each([self.form_of(item) for item in arguments if item != ()])

    def _object(self, arguments: Tuple[Any, ...]) -> Form:
        if len(arguments) != 2:
            return OBJECT
        if self.form_of(arguments[0]) not in (ANY, PLAIN[str]):
            raise Unheld("a dict whose keys are not str")
        return object_of(self.form_of(arguments[1]))

    def _class(self, hint: Any) -> Form:
        if isinstance(hint, type) and issubclass(hint, os.PathLike):
            raise Unheld(f"{_name(hint)} would name files of the server")
        try:
            form = enum_form(hint) if isinstance(hint, enum.EnumMeta) else model_form(hint)  # type: ignore[arg-type]
        except NamesFiles:
            raise Unheld(f"{_name(hint)} has a path in it, which would name files of the server") from None
        if form:
            return form
        if is_record(hint):
            return self._record(hint)
        raise Unheld(_name(hint))

    def _record(self, kind: Any) -> Form:
        if kind not in self._records:
            form, members = record_form(kind)
            self._records[kind] = form
            try:
                members.update(members_of(kind, self.form_of))
            except Unheld as unheld:
                raise Unheld(f"{unheld}, in {_name(kind)}") from None
            except (NameError, TypeError, AttributeError) as error:
                raise Unheld(f"{_name(kind)} ({error})") from None
        return self._records[kind]


def _literal(allowed: Tuple[Any, ...]) -> Form:
    values = [option.value if isinstance(option, enum.Enum) else option for option in allowed]
    for value in values:
        if type(value) not in (str, int, bool, type(None)):
            raise Unheld(f"Literal[{value!r}]")
    return literal(values, allowed)


def _name(hint: Any) -> str:
    if isinstance(hint, type) and typing.get_origin(hint) is None:
        return hint.__qualname__ if hint.__module__ == "builtins" else f"{hint.__module__}.{hint.__qualname__}"
    return repr(hint) if not isinstance(hint, typing.ForwardRef) else repr(hint.__forward_arg__)


class Definitions:
    """The `$defs` of a schema: each class once, under a name of its own."""

    def __init__(self) -> None:
        self._names: Dict[Any, str] = {}
        self.found: Dict[str, Schema] = {}

    def refer(self, kind: Any, name: str, describe: Callable[[], Schema]) -> Schema:
        if kind not in self._names:
            self._names[kind] = name = self._free(name)
            self.found[name] = {}  # it may lead to itself
            self.found[name] = describe()
        return {"$ref": f"#/$defs/{self._names[kind]}"}

    def adopt(self, kind: Any, name: str, describe: Callable[[], Schema]) -> Schema:
        """The same for a schema that was made elsewhere and brings definitions of its own."""
        if kind not in self._names:
            own, others = split(describe())
            names = {other: other for other in others}
            for other, schema in others.items():
                if self.found.get(other, schema) != schema:
                    names[other] = self._free(other)
            for other, schema in others.items():
                self.found[names[other]] = _renamed(schema, names)
            if list(own) == ["$ref"]:  # it leads to itself
                self._names[kind] = names[own["$ref"].rpartition("/")[2]]
            else:
                self._names[kind] = name = name if self.found.get(name) == own else self._free(name)
                self.found[name] = _renamed(own, names)
        return {"$ref": f"#/$defs/{self._names[kind]}"}

    def _free(self, name: str) -> str:
        number, free = 1, name
        while free in self.found:
            number += 1
            free = f"{name}{number}"
        return free


def _renamed(schema: Any, names: Dict[str, str]) -> Any:
    if isinstance(schema, list):
        return [_renamed(item, names) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {name: _renamed(item, names) for name, item in schema.items()}
    target = schema.get("$ref")
    if isinstance(target, str) and target.rpartition("/")[2] in names:
        result["$ref"] = f"#/$defs/{names[target.rpartition('/')[2]]}"
    return result
