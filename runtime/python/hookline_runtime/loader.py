"""Finds and imports the file that holds the functions."""
import ast
import importlib.abc
import importlib.machinery
import importlib.util
import logging
import os
import sys

from .app import App, CannotStart
from .forked import Guard

STAND_INS = {"cog": os.path.join(os.path.dirname(__file__), "cog.py")}  # for packages that are not installed

_log = logging.getLogger(__name__)


def load(path):
    """The module, as if its directory were where Python was started."""
    if not os.path.isfile(path):
        what = "is a directory" if os.path.isdir(path) else "does not exist"
        raise CannotStart(f"{path} {what}: name the file that holds the functions, as in "
                          "python3 -m hookline_runtime main.py")
    path = os.path.abspath(path)
    stem = os.path.splitext(os.path.basename(path))[0]
    name = stem if stem.isidentifier() and stem not in sys.modules else "hookline_main"
    spec = importlib.util.spec_from_file_location(name, path, loader=_loader(name, path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, os.path.dirname(path))
    if not any(isinstance(finder, _StandIns) for finder in sys.meta_path):
        sys.meta_path.append(_StandIns())
    try:
        with Guard(path):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise CannotStart(f"{path} failed to import", error) from None
    return module


def app_of(module):
    """Its endpoints; that there is none is an error."""
    app = App(module)
    _refuse_doubles(module, app.class_names)
    return app


def _refuse_doubles(module, class_names):
    """The second of two functions with one name would take the first one's place without a word."""
    try:
        with open(module.__file__, "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):  # it was imported from elsewhere, or has changed since
        return
    _refuse_doubles_in(tree, module.__file__, "")
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name in class_names:
            _refuse_doubles_in(node, module.__file__, f"{node.name}.")


def _refuse_doubles_in(scope, file, prefix):
    lines = {}
    for node in scope.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.name.startswith("_") and \
                not _is_overload(node):
            if node.name in lines and not node.decorator_list:
                raise CannotStart(f"{file} defines {prefix}{node.name}() twice, in line {lines[node.name]} and in line "
                                  f"{node.lineno}: give one of them another name")
            lines[node.name] = node.lineno


def _is_overload(node):
    return any(getattr(name, "attr", getattr(name, "id", "")) == "overload" for name in node.decorator_list)


def _loader(name, path):
    return importlib.machinery.SourceFileLoader(name, path)  # whatever the file's name ends in


class _StandIns(importlib.abc.MetaPathFinder):
    """Finds our modules for packages that nobody else finds."""

    def find_spec(self, name, path=None, target=None):
        if name not in STAND_INS:
            return None
        _log.info("the package %s is not installed: hookline_runtime has what stands in for it", name)
        return importlib.util.spec_from_file_location(name, STAND_INS[name])
