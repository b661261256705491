"""Finds and imports the file that holds the functions."""
from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import logging
import os
import sys
import types
from typing import Any, Dict, List, Optional, Union

from .app import App, CannotStart
from .forked import Guard

STAND_INS = {"cog": os.path.join(os.path.dirname(__file__), "cog.py")}  # for packages that are not installed

_log = logging.getLogger(__name__)


def load(path: str) -> types.ModuleType:
    """The module, as if its directory were where Python was started."""
    if not os.path.isfile(path):
        what = "is a directory" if os.path.isdir(path) else "does not exist"
        raise CannotStart(f"{path} {what}: name the file that holds the functions, as in "
                          "python3 -m hookline_runtime main.py")
    path = os.path.abspath(path)
    stem = os.path.splitext(os.path.basename(path))[0]
    name = stem if stem.isidentifier() and stem not in sys.modules else "hookline_main"
    loader = importlib.machinery.SourceFileLoader(name, path)  # whatever the file's name ends in
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None  # since a loader is given
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, os.path.dirname(path))
    if not any(isinstance(finder, _StandIns) for finder in sys.meta_path):
        sys.meta_path.append(_StandIns())
    try:
        with Guard(path):
            loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise CannotStart(f"{path} failed to import", error) from None
    return module


def app_of(module: types.ModuleType) -> App:
    """Its endpoints; that there is none is an error."""
    app = App(module)
    _refuse_doubles(module, app.class_names)
    return app


def _refuse_doubles(module: types.ModuleType, class_names: List[str]) -> None:
    """The second of two functions with one name would take the first one's place without a word."""
    try:
        with open(str(module.__file__), "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):  # it was imported from elsewhere, or has changed since
        return
    _refuse_doubles_in(tree, module.__file__, "")
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name in class_names:
            _refuse_doubles_in(node, module.__file__, f"{node.name}.")


def _refuse_doubles_in(scope: Union[ast.Module, ast.ClassDef], file: Optional[str], prefix: str) -> None:
    lines: Dict[str, int] = {}
    for node in scope.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.name.startswith("_") and \
                not _is_overload(node):
            if node.name in lines and not node.decorator_list:
                raise CannotStart(f"{file} defines {prefix}{node.name}() twice, in line {lines[node.name]} and in line "
                                  f"{node.lineno}: give one of them another name")
            lines[node.name] = node.lineno


def _is_overload(node: Union[ast.FunctionDef, ast.AsyncFunctionDef]) -> bool:
    return any(getattr(name, "attr", getattr(name, "id", "")) == "overload" for name in node.decorator_list)


class _StandIns(importlib.abc.MetaPathFinder):
    """Finds our modules for packages that nobody else finds."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Optional[importlib.machinery.ModuleSpec]:
        if name not in STAND_INS:
            return None
        _log.info("the package %s is not installed: hookline_runtime has what stands in for it", name)
        return importlib.util.spec_from_file_location(name, STAND_INS[name])
