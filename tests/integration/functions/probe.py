"""probe.c in Python: functions that show what a function sees, and that do what functions do wrong."""
import os
import threading
import time
from typing import Any

from hookline_runtime import Response, context

_counts = dict.fromkeys(["opened", "waiting", "cancelled", "gone", "poured", "setups"], 0)
_lock = threading.Lock()


def _count(name):
    with _lock:
        _counts[name] += 1


def setup():
    print("setting up")
    _count("setups")
    if os.environ.get("PROBE_SETUP"):
        raise RuntimeError(f"returned {os.environ['PROBE_SETUP']}")


def run(**input):
    call = context()
    print(f"seen: {input.get('text', 'nothing')}")
    return {"run_id": call.run_id, "attempt": call.attempt, "has_deadline": call.deadline is not None,
            "field": call.headers.get("x-probe"), "input": input}


def typed(s: str, i: int = 0, r: float = 0, b: bool = False, a: list = [], o: dict = {}, any: Any = None):
    return s


def stream(values, fails=False):
    yield from values
    if fails:
        raise ValueError(f"broke after {len(values)}")


def gated(n):
    i = 0
    try:
        while i < n:
            while _counts["opened"] <= i and not context().is_cancelled:
                time.sleep(0.001)
            yield i
            i += 1
    finally:
        if i < n:
            _count("gone")


def open(**_):
    _count("opened")


def hold():
    before = _counts["opened"]
    _count("waiting")
    print("holding")
    while _counts["opened"] == before and not context().is_cancelled:
        time.sleep(0.001)
    if context().is_cancelled:
        _count("cancelled")
    return "held"


def pour():
    try:
        while True:
            yield "x" * (64 * 1024)
            _count("poured")
    finally:
        _count("gone")


def counts():
    return _counts


def bytes(status=200, type="image/png"):
    return Response(b"\x89PNG\0\r\n", type, status)
