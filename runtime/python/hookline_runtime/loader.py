"""Finds and imports the file that holds the functions."""
import ast
import contextlib
import importlib.util
import logging
import os
import sys
import threading

from . import _server, log
from .endpoint import BadSignature, endpoints_of
from .forked import Guard


class CannotStart(Exception):
    """Why there is nothing to serve: one line for people, and the exception of the author's code behind it, if any."""

    def __init__(self, message, error=None):
        super().__init__(message)
        self.error = error


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
    try:
        with Guard(path):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise CannotStart(f"{path} failed to import", error) from None
    return module


def endpoints(module):
    """Its endpoints; that there is none is an error."""
    _refuse_doubles(module)
    try:
        found = endpoints_of(module)
    except BadSignature as error:
        raise CannotStart(f"{module.__file__}: {error}") from None
    if not found:
        raise CannotStart(f"{module.__file__} defines no public function; one is needed, for example: "
                          "def run(prompt): return prompt.upper()")
    return found


def _refuse_doubles(module):
    """The second of two functions with one name would take the first one's place without a word."""
    try:
        with open(module.__file__, "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):  # it was imported from elsewhere, or has changed since
        return
    lines = {}
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.name.startswith("_") and \
                not _is_overload(node):
            if node.name in lines and not node.decorator_list:
                raise CannotStart(f"{module.__file__} defines {node.name}() twice, in line {lines[node.name]} and in line "
                                  f"{node.lineno}: give one of them another name")
            lines[node.name] = node.lineno


def _is_overload(node):
    return any(getattr(name, "attr", getattr(name, "id", "")) == "overload" for name in node.decorator_list)


def set_up(module, event_loop, timeout_ms):
    """Calls setup(), if the module has one: what must be done before the first call. The process ends where it takes
    longer than `timeout_ms`, unless that is 0."""
    setup = getattr(module, "setup", None)
    if not callable(setup):
        return
    try:
        with _limit(timeout_ms):
            with Guard("setup()"):
                result = setup()
            if hasattr(result, "__await__"):
                event_loop.run(result)
    except (Exception, SystemExit) as error:
        raise CannotStart("setup() failed", error) from None


@contextlib.contextmanager
def _limit(timeout_ms):
    timer = threading.Timer(timeout_ms / 1000, _give_up, [threading.get_ident(), timeout_ms])
    timer.daemon = True
    if timeout_ms:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _give_up(thread, timeout_ms):
    """Nothing makes Python code stop but the end of its process; where it stood is in the log."""
    log.write(logging.ERROR, f"setup() has not ended within {timeout_ms / 1000:g} s (HOOKLINE_FUNCTION_SETUP_TIMEOUT)",
              [("traceback", log.stack_of(thread))])
    _server.flush_log()
    os._exit(1)


def _loader(name, path):
    return importlib.machinery.SourceFileLoader(name, path)  # whatever the file's name ends in
