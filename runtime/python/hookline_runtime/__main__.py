"""python3 -m hookline_runtime main.py: serves the public functions of main.py."""
from __future__ import annotations

import argparse
import faulthandler
import logging
import os
import signal
import sys
from typing import NoReturn

from . import __version__, core, forked, loader, log
from .app import CannotStart
from .event_loop import EventLoop
from .host import Host


def main() -> None:
    options = _options()
    if not core.is_known:
        sys.exit(f'hookline_runtime: {core.SETTING} is "{core.chosen}": allowed are auto, c, python')
    try:
        server = core.Server(options.host, options.port, options.socket)
    except ValueError as error:
        sys.exit(f"hookline_runtime: {error}")
    if os.getpid() == 1:  # the kernel gives process 1 no default action, and importing can take long
        signal.signal(signal.SIGTERM, lambda *_: os._exit(128 + signal.SIGTERM))
    faulthandler.enable()
    log.start(server.log_level, server.log_format)
    event_loop = EventLoop()
    try:
        sys.argv[:] = [options.file]
        app = loader.app_of(loader.load(options.file))
        host = Host(server, app.endpoints, event_loop)
        app.set_up(event_loop.run, server.setup_timeout_ms)
        callees = host.callees()
        server.start(callees)
    except CannotStart as reason:
        _refuse(reason)
    except OSError as error:
        log.write(logging.ERROR, str(error))
        sys.exit(1)
    names = ", ".join(name for name, *_ in callees)
    where = [("address", server.address), ("functions", names), ("concurrency", server.concurrency)]
    if core.why_pure:
        level = logging.INFO if core.chosen == "python" else logging.WARNING
        log.write(level, "the server is the one in pure Python, which is slower", [("why", core.why_pure)])
    log.write(logging.INFO, "listening", where)
    with forked.Guard("a signal handler"):
        host.run(server.concurrency)
    server.close()
    log.write(logging.INFO, "stopped")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python3 -m hookline_runtime",
        description="Serves the public functions of a Python file: POST /NAME with a JSON object calls NAME with its "
        "members as keyword arguments.",
        epilog="HOOKLINE_FUNCTION_CONCURRENCY=N lets N calls run at once; runtime/README.md has the other settings.",
    )
    parser.add_argument("file", nargs="?", default="main.py", help="the file that holds the functions (main.py)")
    parser.add_argument("--host", help="address to listen on (HOOKLINE_FUNCTION_HOST, 127.0.0.1)")
    parser.add_argument("--port", help="port to listen on (PORT, 8000)")
    parser.add_argument("--socket", help="unix socket to listen on instead (HOOKLINE_FUNCTION_SOCKET)")
    parser.add_argument("--version", action="version", version=f"hookline_runtime {__version__}")
    return parser.parse_args()


def _refuse(reason: CannotStart) -> NoReturn:
    if reason.error is None:
        log.write(logging.ERROR, str(reason))
    else:
        log.write_exception(str(reason), reason.error)
    sys.exit(1)


if __name__ == "__main__":
    main()
