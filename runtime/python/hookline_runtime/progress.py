"""How far a function is, told while it runs."""
from __future__ import annotations

import json
from typing import Any

from .core import progress_max
from .context import current

_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode  # ASCII: it becomes a header field


def progress(value: Any) -> None:
    """Tells whoever follows the run how far it is: any value that JSON has a form for, up to 1,024 bytes of it.

    It may be called as often as is convenient, and never waits: about two values a second go out, the newest ones. It
    works wherever context() does. Once a function has yielded the first event of a stream, values are dropped: an
    answer that has begun has no room for them, and its events can say the same. Outside of calls it does nothing.
    """
    serving = current()
    if serving is None:
        return
    text = _encode(value)
    if len(text) > progress_max:
        raise ValueError(f"hookline_runtime.progress(): the value has {len(text)} bytes as JSON, and {progress_max} are "
                         "allowed")
    serving._call.progress(text.encode())
