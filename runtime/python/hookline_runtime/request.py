"""The raw request, for functions that take something else than JSON, and the raw response."""
from __future__ import annotations

import json
import urllib.parse
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Tuple


class Headers(Mapping[str, str]):
    """Header fields by name, in any case. A field that came more than once is one value, joined by commas."""

    __slots__ = ("_values",)

    def __init__(self, pairs: Iterable[Tuple[str, str]]) -> None:
        self._values: Dict[str, str] = {}
        for name, value in pairs:
            name = name.lower()
            self._values[name] = f"{self._values[name]}, {value}" if name in self._values else value

    def __getitem__(self, name: str) -> str:
        return self._values[name.lower()]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Headers({self._values!r})"


class Request:
    """What the caller sent, unread. Annotate the only parameter of a function with it:

        def run(request: hookline_runtime.Request): ...
    """

    __slots__ = ("method", "path", "query_string", "headers", "body")

    def __init__(self, method: str, path: str, query_string: str, headers: Mapping[str, str], body: bytes) -> None:
        self.method = method
        self.path = path
        self.query_string = query_string
        self.headers = headers
        self.body = body

    @property
    def content_type(self) -> str:
        """The media type, without its parameters and in lower case; "" when the caller gave none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def query(self) -> Dict[str, List[str]]:
        """The query's parameters, each a list of values."""
        return urllib.parse.parse_qs(self.query_string, keep_blank_values=True)

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self) -> Any:
        return json.loads(self.body)


class Response:
    """An answer with a content type of its own:

        return hookline_runtime.Response(png, "image/png")
    """

    __slots__ = ("body", "content_type", "status")

    def __init__(self, body: Any, content_type: str = "application/octet-stream", status: int = 200) -> None:
        self.body = body.encode() if isinstance(body, str) else bytes(body)
        self.content_type = content_type
        self.status = status
