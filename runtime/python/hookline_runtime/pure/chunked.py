"""Reads a chunked body (RFC 9112 7.1): it has one end, which no lenient reader would see elsewhere. As
proxy/http/chunked.c: no bare CR or LF, no white space around a size, no size that overflows.
"""
from __future__ import annotations

from typing import Optional, Tuple

from .head import is_field_line
from .problem import Refused, refusal

MAX_DIGITS = 15
MAX_EXTENSION = 4096
MAX_TRAILER = 64 * 1024

(_SIZE, _BLANK, _EXTENSION, _QUOTED, _ESCAPED, _SIZE_LF, _DATA_CR, _DATA_LF, _DATA, _TRAILER, _END) = range(11)
_CR, _LF = 13, 10


class ChunkReader:
    """Fed with bytes as they come."""

    def __init__(self) -> None:
        self._state = _SIZE
        self._left = 0
        self._digits = self._extension = 0
        self._line = bytearray()
        self._trailer = MAX_TRAILER

    def read(self, data: memoryview) -> Tuple[int, Optional[memoryview], bool]:
        """Bytes used, data of the body among them (or None), and whether the body is whole."""
        at = 0
        while at < len(data) and self._state != _END:
            if self._state == _DATA:
                piece = data[at : at + self._left]
                self._left -= len(piece)
                if self._left == 0:
                    self._state = _DATA_CR
                return at + len(piece), piece, False
            if self._state == _TRAILER:
                at = self._read_trailer(data, at)
            else:
                self._read_framing(data[at])
                at += 1
        return at, None, self._state == _END

    def _read_framing(self, byte: int) -> None:
        state = self._state
        if state == _SIZE:
            self._read_size(byte)
        elif state <= _ESCAPED:
            self._read_extension(byte)
        elif state == _SIZE_LF:
            if byte != _LF:
                raise Refused(refusal("CHUNK_SIZE_END"))
            self._state = _DATA if self._left else _TRAILER
        elif byte != (_CR if state == _DATA_CR else _LF):
            raise Refused(refusal("CHUNK_END"))
        elif state == _DATA_CR:
            self._state = _DATA_LF
        else:
            self._state, self._digits = _SIZE, 0

    def _read_size(self, byte: int) -> None:
        if byte in b"0123456789abcdefABCDEF":
            self._digits += 1
            if self._digits > MAX_DIGITS:
                raise Refused(refusal("CHUNK_DIGITS"))
            self._left = self._left << 4 | int(chr(byte), 16)
        elif self._digits == 0:
            raise Refused(refusal("CHUNK_SIZE_MISSING"))
        elif byte == _CR:
            self._state = _SIZE_LF
        elif byte in b"; \t":
            self._state = _EXTENSION if byte == ord(";") else _BLANK
        else:
            raise Refused(refusal("CHUNK_SIZE_FORM"))

    def _read_extension(self, byte: int) -> None:
        self._extension += 1
        if self._extension > MAX_EXTENSION:
            raise Refused(refusal("CHUNK_EXTENSIONS"))
        if byte == _CR and self._state == _EXTENSION:
            self._state = _SIZE_LF
        elif byte == 127 or (byte < 32 and byte != 9):
            raise Refused(refusal("CHUNK_EXTENSION_FORM"))
        elif self._state == _BLANK:
            if byte not in b"; \t":
                raise Refused(refusal("CHUNK_SIZE_BLANK"))
            self._state = _EXTENSION if byte == ord(";") else _BLANK
        elif self._state == _ESCAPED:
            self._state = _QUOTED
        elif self._state == _QUOTED and byte == ord("\\"):
            self._state = _ESCAPED
        elif byte == ord('"'):
            self._state = _EXTENSION if self._state == _QUOTED else _QUOTED

    def _read_trailer(self, data: memoryview, at: int) -> int:
        """Fields of a trailer section are read and dropped: nobody was promised any."""
        rest = bytes(data[at:])
        end = rest.find(b"\n") + 1 or len(rest)
        self._trailer -= end
        if self._trailer < 0:
            raise Refused(refusal("TRAILER_TOO_LARGE"))
        self._line += rest[:end]
        if self._line.endswith(b"\n"):
            line = bytes(self._line)
            self._line.clear()
            if line == b"\r\n":
                self._state = _END
            elif not is_field_line(line):
                raise Refused(refusal("TRAILER_LINE"))
        return at + end
