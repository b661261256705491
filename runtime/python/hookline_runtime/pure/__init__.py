"""The server core in pure Python: the names of the extension module _server, for platforms without a compiler. It keeps
the same promises, but for one: a function that does not let go of the interpreter's lock delays health checks as well.
"""
from .call import PROGRESS_MAX, Call
from .fork import is_forked
from .log_writer import flush_log, log, start_log
from .server import Server
from .table import VERSION

progress_max = PROGRESS_MAX
version = VERSION
__all__ = ["Call", "Server", "flush_log", "is_forked", "log", "progress_max", "start_log", "version"]
