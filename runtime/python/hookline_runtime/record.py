"""The forms of dataclasses, TypedDicts and NamedTuples: an object whose members have forms of their own."""
from __future__ import annotations

import dataclasses
import difflib
import inspect
import json
import typing
from typing import Any, Callable, Dict, Iterable

from .form import Form, Schema
from .mismatch import KINDS, MOST_FAULTS, UNSHOWN, Fault, Mismatch, below, cut, expected, said

LONGEST_DEFAULT = 4096  # characters of its JSON: a longer one is not told
LONGEST_GUESSED = 128  # a longer name is not taken for a slip of the pen
MISSING = inspect.Parameter.empty


class Member:
    """A member of a record: its form, and its default or MISSING; `is_required` where it has none of any kind."""

    def __init__(self, form: Form, default: Any = MISSING, is_required: bool = True):
        self.form = form
        self.default = default
        self.is_required = is_required


def is_record(hint: Any) -> bool:
    return is_typed_dict(hint) or is_named_tuple(hint) or (isinstance(hint, type) and dataclasses.is_dataclass(hint))


def is_typed_dict(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, dict) and hasattr(hint, "__total__")


def is_named_tuple(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields")


def record_form(kind: Any) -> tuple[Form, Dict[str, Member]]:
    """The form of `kind`, and its members, which the caller puts in: they may lead to `kind` again."""
    members: Dict[str, Member] = {}
    make = kind if not is_typed_dict(kind) else dict
    is_array_too = is_named_tuple(kind)
    what = "an object or an array" if is_array_too else KINDS[dict]

    def convert(value: Any) -> Any:
        if type(value) is list and is_array_too:
            if len(value) > len(members):
                raise said(f"has {len(value)} items, and {kind.__name__} has {len(members)}")
            value = dict(zip(members, value))
        if type(value) is not dict:
            raise expected(what, value)
        return _build(make, _converted(members, value))

    def schema(definitions: Any) -> Schema:
        return definitions.refer(kind, kind.__name__, lambda: object_schema(members, False, definitions))  # type: ignore[no-any-return]

    return Form(convert, what, schema), members


def _converted(members: Dict[str, Member], value: Dict[str, Any]) -> Dict[str, Any]:
    faults = [Fault(f".{name}", "is missing", UNSHOWN) for name, member in members.items()
              if member.is_required and name not in value]
    results = {}
    for name, item in value.items():
        member = members.get(name)
        step = f".{cut(name)}"
        if member is None:
            faults.append(Fault(step, f"is not a member{suggestion(name, members)}", UNSHOWN))
        else:
            try:
                results[name] = item if member.form.convert is None else member.form.convert(item)
            except Mismatch as mismatch:
                faults += below(step, mismatch)
        if len(faults) >= MOST_FAULTS:
            break
    if faults:
        raise Mismatch(faults)
    return results


def _build(make: Callable[..., Any], members: Dict[str, Any]) -> Any:
    try:
        return make(**members)
    except (ValueError, TypeError, AssertionError) as error:  # what a __post_init__ refuses a value with
        raise said(f"is refused: {error or type(error).__name__}") from None


def suggestion(name: str, known: Iterable[str]) -> str:
    known = list(known)
    if not known:
        return " (it has none)"
    near = difflib.get_close_matches(name, known, 1) if len(name) <= LONGEST_GUESSED else []
    return f" (did you mean '{near[0]}'?)" if near else f" (it has {', '.join(known)})"


def members_of(kind: Any, form_of: Callable[[Any], Form]) -> Dict[str, Member]:
    hints = typing.get_type_hints(kind, include_extras=True)
    if is_typed_dict(kind):
        return {name: Member(form_of(hint), is_required=_is_required(kind, name, hint)) for name, hint in hints.items()}
    members = {}
    for parameter in inspect.signature(kind).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError("its __init__ takes more than members")
        hint = hints.get(parameter.name, Any)
        form = form_of(hint.type if isinstance(hint, dataclasses.InitVar) else hint)
        default = parameter.default
        members[parameter.name] = Member(form, default, default is MISSING)
    return members


def _is_required(kind: Any, name: str, hint: Any) -> bool:
    # Where annotations are texts, __required_keys__ does not know of NotRequired[...].
    word = str(typing.get_origin(hint)).rpartition(".")[2]
    return word == "Required" or (name in kind.__required_keys__ and word != "NotRequired")


def object_schema(members: Dict[str, Member], takes_any_name: Any, definitions: Any) -> Schema:
    return {
        "type": "object",
        "properties": {name: member_schema(member, definitions) for name, member in members.items()},
        "required": [name for name, member in members.items() if member.is_required],
        "additionalProperties": takes_any_name,
    }


def member_schema(member: Member, definitions: Any) -> Schema:
    schema = member.form.schema(definitions)
    default = member.default
    if member.is_required or not _is_plain(default):
        return schema
    try:
        text = json.dumps(default, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return schema
    return {**schema, "default": default} if len(text) <= LONGEST_DEFAULT else schema


def _is_plain(default: Any) -> bool:
    return default is None or isinstance(default, (bool, int, float, str, list, dict, tuple))
