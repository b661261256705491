"""The forms of pydantic's models, and of its other types: pydantic reads them, and its errors become ours.

Version 1 and 2 are both known, by what their classes have; pydantic is imported only where the author did so.
"""
from __future__ import annotations

import sys
from typing import Any, Callable, Dict, List, Tuple

from .answer import NotJson, to_json
from .form import Form, Schema
from .mismatch import MOST_FAULTS, Bare, Fault, Mismatch, cut


PATHS = {"path", "file-path", "directory-path"}  # formats of the schema of a Path

Read = Callable[[Any], Any]


class NamesFiles(Exception):
    """A model with a Path in it, which would name files of the server."""


def model_form(hint: Any) -> Form | None:
    """None where pydantic has nothing to do with it. Raises NamesFiles."""
    found = _reader_of(hint) if isinstance(hint, type) else None
    if not found:
        return None
    read, describe = found
    if _names_files(describe):
        raise NamesFiles
    return _form(hint, read, describe)


def _reader_of(hint: Any) -> Tuple[Read, Callable[[], Schema]] | None:
    """What makes one of a value, and what gives its schema."""
    template = "#/$defs/{model}"
    if hasattr(hint, "model_validate") and hasattr(hint, "model_json_schema"):
        return (_in_either_mode(hint.model_validate, hint.model_validate_json),
                lambda: hint.model_json_schema(ref_template=template))  # type: ignore[no-any-return]
    if hasattr(hint, "parse_obj") and hasattr(hint, "__fields__"):
        return hint.parse_obj, lambda: hint.schema(ref_template=template)  # type: ignore[no-any-return]
    pydantic: Any = sys.modules.get("pydantic")
    if hasattr(hint, "__get_pydantic_core_schema__") and hasattr(pydantic, "TypeAdapter"):
        adapter = pydantic.TypeAdapter(hint)
        return (_in_either_mode(adapter.validate_python, adapter.validate_json),
                lambda: adapter.json_schema(ref_template=template))  # type: ignore[no-any-return]
    if hasattr(hint, "__get_validators__") and hasattr(pydantic, "create_model"):
        model = pydantic.create_model("Value", value=(hint, ...))
        return lambda value: model(value=value).value, lambda: _only_member(model)
    return None


def _in_either_mode(read: Read, read_json: Read) -> Read:
    """A strict model takes a date as text from JSON only; to read that again costs what is refused otherwise."""

    def either(value: Any) -> Any:
        try:
            return read(value)
        except ValueError as error:
            try:
                text = to_json(value)
            except NotJson:
                raise error from None
            return read_json(text)

    return either


def _names_files(describe: Callable[[], Schema]) -> bool:
    try:
        return _has_path(describe())
    except Exception:  # something in it has no schema
        return False


def _has_path(schema: Any) -> bool:
    if isinstance(schema, dict):
        return schema.get("type") == "string" and schema.get("format") in PATHS or any(_has_path(item) for item in schema.values())
    return isinstance(schema, list) and any(_has_path(item) for item in schema)


def _only_member(model: Any) -> Schema:
    schema = model.schema(ref_template="#/$defs/{model}")
    return {**schema["properties"]["value"], "definitions": schema.get("definitions", {})}


def _form(hint: Any, read: Read, describe: Callable[[], Schema]) -> Form:
    def convert(value: Any) -> Any:
        try:
            return read(value)
        except ValueError as error:  # a ValidationError is one
            if not callable(getattr(error, "errors", None)):
                raise
            raise Mismatch(_faults(error, value)) from None

    def schema(definitions: Any) -> Schema:
        return definitions.adopt(hint, hint.__name__, describe)  # type: ignore[no-any-return]

    return Form(convert, "an object", schema)


def _faults(error: Any, value: Any) -> List[Fault]:
    faults = []
    for one in error.errors()[:MOST_FAULTS]:
        steps = [step for step in one["loc"] if step != "__root__"]
        if steps[:1] == ["value"] and not isinstance(value, dict):  # the member that stands for the value itself
            steps = steps[1:]
        path = "".join(f"[{step}]" if isinstance(step, int) else f".{cut(str(step))}" for step in steps)
        text = one["msg"][:1].lower() + one["msg"][1:]
        faults.append(Fault(path, f"is refused: {text}", Bare(_inside(value, steps))))
    return faults


def _inside(value: Any, steps: List[Any]) -> Any:
    for step in steps:
        try:
            value = value[step]
        except (LookupError, TypeError):
            return None
    return value


def modern(schema: Any) -> Any:
    """A schema of pydantic 1 (draft 7) as one of 2020-12."""
    if isinstance(schema, list):
        return [modern(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result: Dict[str, Any] = {name: modern(item) for name, item in schema.items() if name != "definitions"}
    if isinstance(result.get("items"), list):
        result["prefixItems"] = result.pop("items")
    return result


def split(schema: Schema) -> Tuple[Schema, Schema]:
    """The schema itself, and the definitions that it brings along."""
    own = {name: item for name, item in schema.items() if name not in ("definitions", "$defs")}
    return modern(own), modern({**schema.get("definitions", {}), **schema.get("$defs", {})})
