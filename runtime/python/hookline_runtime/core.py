"""The server core that the functions run behind: the extension module, or, where that cannot be loaded or the setting
says so, its counterpart in Python. HOOKLINE_FUNCTION_CORE: auto, c, python.
"""
from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any, Tuple

SETTING = "HOOKLINE_FUNCTION_CORE"


def _load(setting: str) -> Tuple[Any, str]:
    """The module, and why it is not the extension."""
    if setting not in ("auto", "c"):
        return importlib.import_module(".pure", __package__), f"{SETTING}={setting}"
    try:
        return importlib.import_module("._server", __package__), ""
    except ImportError as error:
        if setting == "c":
            raise
        return importlib.import_module(".pure", __package__), str(error)


chosen = os.environ.get(SETTING) or "auto"
is_known = chosen in ("auto", "c", "python")  # else a program says so when it starts
_core, why_pure = _load(chosen)

if TYPE_CHECKING:
    from ._server import Server, flush_log, is_forked, log, progress_max, start_log, version
else:
    Server = _core.Server
    flush_log, is_forked, log, start_log = _core.flush_log, _core.is_forked, _core.log, _core.start_log
    progress_max, version = _core.progress_max, _core.version

__all__ = ["Server", "chosen", "flush_log", "is_forked", "is_known", "log", "progress_max", "start_log", "version",
           "why_pure"]
