"""What a host is told from outside, as runtime/core/settings.c reads it: options, then the environment."""
from __future__ import annotations

import ipaddress
import os
import re
from typing import Dict, Optional, Tuple

DEFAULT_MAX_BODY = 64 << 20
MOST_MAX_BODY = 1 << 40
DEFAULT_SETUP_TIMEOUT_MS = 30 * 60 * 1000
MOST_SETUP_TIMEOUT_MS = 24 * 3600 * 1000
LONGEST_SOCKET = 107
LONGEST_QUOTED = 200

_SIZES = {"TiB": 1 << 40, "GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10, "": 1}
_DURATIONS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
_SWITCHES = {"on": True, "true": True, "1": True, "off": False, "false": False, "0": False}


class _Source:
    """The option, else the variable. An empty variable counts as none, as shells make it easy to set one."""

    def __init__(self, variable: str, option: str = "", value: Optional[str] = None) -> None:
        self.name = option if value is not None else variable
        self.value = value if value is not None else os.environ.get(variable) or None

    def refuse(self, allowed: str) -> ValueError:
        data = os.fsencode(self.value or "")
        text = "".join(chr(b) if 32 <= b < 127 else f"\\x{b:02x}" for b in data[:LONGEST_QUOTED])
        return ValueError(f'{self.name} is "{text}{"…" if len(data) > LONGEST_QUOTED else ""}": allowed {allowed}')

    def number(self, least: int, most: int, default: int, allowed: str) -> int:
        if self.value is None:
            return default
        if not re.fullmatch("[0-9]{1,20}", self.value) or not least <= int(self.value) <= most:
            raise self.refuse(allowed)
        return int(self.value)

    def with_unit(self, units: Dict[str, int]) -> Optional[int]:
        found = re.fullmatch("([0-9]{1,20})([A-Za-z]*)", self.value or "")
        if not found or (found[2] not in units and found[0] != "0"):
            return None
        return int(found[1]) * units.get(found[2], 1)


class Settings:
    """ValueError says which one is wrong, and what is allowed."""

    def __init__(self, host: Optional[str], port: Optional[str], socket: Optional[str]) -> None:
        self.host = _read_host(_Source("HOOKLINE_FUNCTION_HOST", "--host", host))
        self.port = _Source("PORT", "--port", port).number(
            0, 65535, 8000, "is a port from 0 to 65535; 0 lets the system choose")
        self.socket = _read_socket(_Source("HOOKLINE_FUNCTION_SOCKET", "--socket", socket), socket is None and port is not None)
        self.concurrency = _Source("HOOKLINE_FUNCTION_CONCURRENCY").number(1, 1024, 1, "is 1 to 1024 calls at once")
        self.has_envelope = _read_envelope(_Source("HOOKLINE_FUNCTION_ENVELOPE"))
        self.max_body = _read_max_body(_Source("HOOKLINE_FUNCTION_MAX_BODY"))
        # hookline's own limit, where the host is told of it: what it lets through has room here.
        upload = _Source("HOOKLINE_MAX_REQUEST_BODY").with_unit(_SIZES)
        self.max_upload = upload if upload and self.max_body < upload <= MOST_MAX_BODY else self.max_body
        self.setup_timeout_ms = _read_setup_timeout(_Source("HOOKLINE_FUNCTION_SETUP_TIMEOUT"))
        self.log_level, self.log_format = _read_log(_Source("HOOKLINE_LOG_LEVEL"), _Source("HOOKLINE_LOG_FORMAT"))


def _read_host(source: _Source) -> str:
    if source.value is None:
        return "127.0.0.1"
    try:
        return str(ipaddress.ip_address(source.value))
    except ValueError:
        raise source.refuse("is an IPv4 or IPv6 address, without brackets") from None


def _read_socket(source: _Source, is_beaten: bool) -> str:
    if source.value is None or is_beaten:
        return ""
    if not 1 <= len(os.fsencode(source.value)) <= LONGEST_SOCKET:
        raise source.refuse("is the path of a unix socket, 1 to 107 bytes")
    return source.value


def _read_envelope(source: _Source) -> bool:
    if source.value is None:
        return False
    if source.value.lower() not in _SWITCHES:
        raise source.refuse("is on or off")
    return _SWITCHES[source.value.lower()]


def _read_max_body(source: _Source) -> int:
    if source.value is None:
        return DEFAULT_MAX_BODY
    size = source.with_unit(_SIZES)
    if size is None or not 1024 <= size <= MOST_MAX_BODY:
        raise source.refuse("is a size from 1KiB to 1TiB, such as 64MiB")
    return size


def _read_setup_timeout(source: _Source) -> int:
    if source.value is None:
        return DEFAULT_SETUP_TIMEOUT_MS
    ms = source.with_unit(_DURATIONS)
    if ms is None or ms > MOST_SETUP_TIMEOUT_MS:
        raise source.refuse("is a time up to 24h, such as 10m; 0 is none")
    return ms


def _read_log(level: _Source, format: _Source) -> Tuple[str, str]:
    if level.value not in (None, "debug", "info", "warn", "error"):
        raise level.refuse("are debug, info, warn, error")
    if format.value not in (None, "auto", "json", "text"):
        raise format.refuse("are auto, json, text")
    if format.value in (None, "auto"):
        return level.value or "info", "text" if os.isatty(2) else "json"
    return level.value or "info", format.value or ""
