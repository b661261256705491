"""The forms of pydantic's models, and of its other types: pydantic reads them, and its errors become ours.

Version 1 and 2 are both known, by what their classes have; pydantic is imported only where the author did so.
"""
from __future__ import annotations

import sys
from typing import Any, Callable, Dict, List, Tuple

from .form import Form, Schema
from .mismatch import MOST_FAULTS, Bare, Fault, Mismatch, cut


def model_form(hint: Any) -> Form | None:
    """None where pydantic has nothing to do with it."""
    if not isinstance(hint, type):
        return None
    if hasattr(hint, "model_validate") and hasattr(hint, "model_json_schema"):
        return _form(hint, hint.model_validate, lambda: hint.model_json_schema(ref_template="#/$defs/{model}"))  # type: ignore[no-any-return]
    if hasattr(hint, "parse_obj") and hasattr(hint, "__fields__"):
        return _form(hint, hint.parse_obj, lambda: hint.schema(ref_template="#/$defs/{model}"))  # type: ignore[no-any-return]
    pydantic = sys.modules.get("pydantic")
    if hasattr(hint, "__get_pydantic_core_schema__") and hasattr(pydantic, "TypeAdapter"):
        adapter = pydantic.TypeAdapter(hint)  # type: ignore[union-attr]
        return _form(hint, adapter.validate_python, lambda: adapter.json_schema(ref_template="#/$defs/{model}"))  # type: ignore[no-any-return]
    if hasattr(hint, "__get_validators__") and hasattr(pydantic, "create_model"):
        model = pydantic.create_model("Value", value=(hint, ...))  # type: ignore[union-attr]
        return _form(hint, lambda value: model(value=value).value, lambda: _only_member(model))
    return None


def _only_member(model: Any) -> Schema:
    schema = model.schema(ref_template="#/$defs/{model}")
    return {**schema["properties"]["value"], "definitions": schema.get("definitions", {})}


def _form(hint: Any, read: Callable[[Any], Any], describe: Callable[[], Schema]) -> Form:
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
