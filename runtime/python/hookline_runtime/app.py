"""What a file offers: its endpoints, and what must be done before the first call of one."""
from __future__ import annotations

import contextlib
import logging
import os
import threading
import types
from typing import Any, Callable, Dict, Iterator, List

from . import log
from .endpoint import BadSignature, Endpoint, endpoints_of
from .forked import Guard
from .service import Service, services_of

_log = logging.getLogger(__name__)


class CannotStart(Exception):
    """Why there is nothing to serve: one line for people, and the exception of the author's code behind it, if any."""

    def __init__(self, message: str, error: BaseException | None = None):
        super().__init__(message)
        self.error = error


class App:
    """The endpoints of a module, by name: those of its functions, and of the methods of its classes."""

    def __init__(self, module: types.ModuleType):
        self._module = module
        try:
            self.endpoints: Dict[str, Endpoint] = endpoints_of(module)
            self._services = self._add_services()
        except BadSignature as error:
            raise CannotStart(f"{module.__file__}: {error}") from None

    @property
    def class_names(self) -> List[str]:
        return [service.name for service in self._services]

    def _add_services(self) -> List[Service]:
        services, reasons = services_of(self._module)
        if not self.endpoints and not services:
            because = "".join(f"; {reason}" for reason in reasons)
            raise CannotStart(f"{self._module.__file__} defines no public function; one is needed, for example: "
                              f"def run(prompt): return prompt.upper(){because}")
        for reason in reasons:
            _log.info("%s", reason)
        for service in services:
            self._add(service, is_alone=len(services) == 1)
        predictors = [service for service in services if service.has("predict")]
        if predictors and "run" not in self.endpoints:
            self.endpoints["run"] = predictors[0].endpoint("run", "predict")
        return services

    def _add(self, service: Service, is_alone: bool) -> None:
        try:
            found = service.endpoints(is_alone)
        except BadSignature as error:
            raise BadSignature(f"{service.name}.{error} (a class whose name begins with _ is not served)") from None
        for name, endpoint in found.items():
            if name in self.endpoints:
                raise BadSignature(f"{name}() is there twice, the second time in the class {service.name}: give one of "
                                   "them another name")
            self.endpoints[name] = endpoint

    def set_up(self, wait: Callable[[Any], Any], timeout_ms: int = 0) -> None:
        """Calls the module's setup(), makes the instances and calls theirs. `wait` awaits what is async. The process
        ends where all that takes longer than `timeout_ms`, unless that is 0."""
        step = _Step(wait)
        with _limit(step, timeout_ms):
            step.take("setup()", getattr(self._module, "setup", None))
            for service in self._services:
                step.take(f"{service.name}()", service.make)
                step.take(f"{service.name}.setup()", getattr(service.instance, "setup", None))


class _Step:
    """What of a set-up is being done."""

    def __init__(self, wait: Callable[[Any], Any]):
        self._wait = wait
        self.name = ""

    def take(self, name: str, function: Any) -> None:
        self.name = name
        if not callable(function):
            return
        try:
            with Guard(name):
                result = function()
            if hasattr(result, "__await__"):
                self._wait(result)
        except (Exception, SystemExit) as error:
            raise CannotStart(f"{name} failed", error) from None


@contextlib.contextmanager
def _limit(step: _Step, timeout_ms: int) -> Iterator[None]:
    timer = threading.Timer(timeout_ms / 1000, _give_up, [step, threading.get_ident(), timeout_ms])
    timer.daemon = True
    if timeout_ms:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _give_up(step: _Step, thread: int, timeout_ms: int) -> None:
    """Nothing makes Python code stop but the end of its process; where it stood is in the log."""
    log.write(logging.ERROR, f"{step.name} has not ended within {timeout_ms / 1000:g} s (HOOKLINE_FUNCTION_SETUP_TIMEOUT)",
              [("traceback", log.stack_of(thread))])
    log.flush()
    os._exit(1)
