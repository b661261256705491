"""What is wrong with a value: the faults that become the text of a 422."""
from __future__ import annotations

import io
import json
from typing import Any, List, NamedTuple

LONGEST_VALUE = 60  # characters of a value, or of a name, that are shown
MOST_FAULTS = 20  # of one call; the others are counted
UNSHOWN = object()  # in place of a value that says nothing


class Bare(NamedTuple):
    """A value of the right kind: only what it is counts."""

    value: Any


FILE = "a file of a form (multipart/form-data)"
KINDS = {
    type(None): "null",
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "an object",
}


class Fault(NamedTuple):
    """`path` leads from the parameter to the value, as in "[1].a"; `claim` is what holds for it and does not."""

    path: str
    claim: str
    value: Any

    def tell(self, name: str) -> str:
        return f"'{cut(name)}{self.path}' {self.claim}{self._but()}"

    def _but(self) -> str:
        if self.value is UNSHOWN:
            return ""
        if isinstance(self.value, Bare):
            text = show(self.value.value)
            return f", not {text}" if text else ""
        kind, text = kind_of(self.value), show(self.value)
        if kind not in self.claim:
            return f", not {kind} ({text})" if text else f", not {kind}"
        return f", not {text}" if text else ""


class Mismatch(Exception):
    """A value is not of the kind that its hint asks for: all that is wrong with it."""

    def __init__(self, faults: List[Fault]):
        super().__init__(faults)
        self.faults = faults


def expected(what: str, value: Any) -> Mismatch:
    return Mismatch([Fault("", f"must be {what}", value)])


def said(claim: str) -> Mismatch:
    return Mismatch([Fault("", claim, UNSHOWN)])


def below(step: str, mismatch: Mismatch) -> List[Fault]:
    """The faults of what lies one step further inside."""
    return [fault._replace(path=step + fault.path) for fault in mismatch.faults]


def text_of(function: str, faults: List[str], count: int) -> str:
    """All that is said of a call with `count` faults, of which the first are `faults`."""
    more = f"; and {count - len(faults)} more" if count > len(faults) else ""
    return f"{function}(): {'; '.join(faults)}{more}"


def kind_of(value: Any) -> str:
    """What a JSON value is, in words that a caller in any language knows."""
    if isinstance(value, float):
        return "a number with a fraction"
    if type(value) is bool:
        return "true" if value else "false"
    if isinstance(value, io.RawIOBase):
        return "a file"
    return KINDS.get(type(value)) or ("an integer" if isinstance(value, int) else type(value).__name__)


def show(value: Any) -> str:
    """The value, if it is a short thing to say: a text, a number."""
    if isinstance(value, str):
        return json.dumps(cut(value), ensure_ascii=False)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return cut(str(value))
    return ""


def cut(text: str) -> str:
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "\u2026"
