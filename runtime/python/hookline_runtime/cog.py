"""Stands in for the package `cog` where a file imports that and it is not installed: what a predictor needs of it.

A Path is good for results, whose files are sent. As a parameter it is refused, as any path is.
"""
from __future__ import annotations

import dataclasses
import pathlib
import sys
from typing import Any, AsyncIterator, Callable, Iterator, List, Optional, TypeVar, Union

Item = TypeVar("Item")


class BasePredictor:
    """The base of a predictor: its setup() runs once, its predict() for each call."""

    def setup(self) -> Any:
        pass


class FieldInfo:
    """What Input() says of a parameter, in the attributes by which the bounds of a Field are known."""

    def __init__(self, default: Any, **words: Any):
        self.default = default
        vars(self).update(words)


def Input(default: Any = ..., *, default_factory: Optional[Callable[[], Any]] = None, description: Optional[str] = None,
          ge: Optional[float] = None, le: Optional[float] = None, min_length: Optional[int] = None,
          max_length: Optional[int] = None, regex: Optional[str] = None,
          choices: Optional[List[Union[str, int]]] = None, deprecated: Optional[bool] = None) -> Any:
    return FieldInfo(default, default_factory=default_factory, description=description, ge=ge, le=le,
                     min_length=min_length, max_length=max_length, regex=regex, choices=choices, deprecated=deprecated)


class BaseModel:
    """The base of a result with members: a dataclass."""

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        if sys.version_info >= (3, 10):
            dataclasses.dataclass(kw_only=True)(cls)
        else:
            dataclasses.dataclass(cls)


class Path(type(pathlib.Path())):  # type: ignore[misc]
    """A file that is sent as the result."""


class ConcatenateIterator(Iterator[Item]):
    """What a predict() that yields pieces of a text says that it returns."""


class AsyncConcatenateIterator(AsyncIterator[Item]):
    """The same for an async one."""
