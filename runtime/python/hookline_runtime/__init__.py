"""Runs a function-style app: every public function of a Python file is an endpoint.

    def run(prompt: str, n: int = 1):
        return {"answer": prompt * n}

python3 -m hookline_runtime main.py serves it as POST /run. runtime/README.md, "In Python", is the manual.
"""
from .core import version
from .context import Context, context
from .progress import progress
from .request import Headers, Request, Response
from .upload import File

__version__ = version
__all__ = ["Context", "File", "Headers", "Request", "Response", "__version__", "context", "progress"]
