"""Finds and imports the file that holds the functions."""
import importlib.util
import os
import sys

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
    try:
        found = endpoints_of(module)
    except BadSignature as error:
        raise CannotStart(f"{module.__file__}: {error}") from None
    if not found:
        raise CannotStart(f"{module.__file__} defines no public function; one is needed, for example: "
                          "def run(prompt): return prompt.upper()")
    return found


def set_up(module, event_loop):
    """Calls setup(), if the module has one: what must be done before the first call."""
    setup = getattr(module, "setup", None)
    if not callable(setup):
        return
    try:
        with Guard("setup()"):
            result = setup()
        if hasattr(result, "__await__"):
            event_loop.run(result)
    except (Exception, SystemExit) as error:
        raise CannotStart("setup() failed", error) from None


def _loader(name, path):
    return importlib.machinery.SourceFileLoader(name, path)  # whatever the file's name ends in
