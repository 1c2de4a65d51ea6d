"""A process that has loaded the hub and begins others, which `starts` asks for: each reads its own settings.

It must not have read a setting that differs between hubs, so the modules of the hub may read none while they are
loaded; of the database, it has learned only which kind it is.
"""

import array
import atexit
import gc
import json
import os
import pkgutil
import runpy
import signal
import socket
import sys
import threading
import time
import traceback
from importlib import import_module
from typing import Any, NoReturn

import django
from django.conf import LazySettings, empty, settings
from django.db import connections
from django.template.backends.django import get_installed_libraries
from django.urls import get_resolver

SAME = {
    "ABSOLUTE_URL_OVERRIDES", "AUTH_USER_MODEL", "DATABASES", "DEBUG", "DEFAULT_AUTO_FIELD",
    "DEFAULT_EXCEPTION_REPORTER", "DEFAULT_INDEX_TABLESPACE", "DEFAULT_TABLESPACE",
    "FORCE_SCRIPT_NAME", "INSTALLED_APPS", "LANGUAGE_CODE",
    "LOCALE_PATHS", "LOGGING", "LOGGING_CONFIG", "MIDDLEWARE", "ROOT_URLCONF", "USE_I18N",
}  # fmt: skip
"""Settings that are equal for all hubs (or, as DATABASES and LOGGING, read again)."""
LEFT_OUT = {"memoryhub.rsgi", "memoryhub.wsgi"}


def load() -> None:
    """Loads all modules of the hub; fails if one of them reads a setting that may differ."""
    read: set[str] = set()
    original = LazySettings.__getattr__

    def noted(self: LazySettings, name: str) -> Any:
        read.add(name)
        return original(self, name)

    LazySettings.__getattr__ = noted  # type: ignore[method-assign]
    django.setup()
    package = import_module("memoryhub")
    for module in pkgutil.walk_packages(package.__path__, "memoryhub."):
        if module.name not in LEFT_OUT:
            import_module(module.name)
    for name in ("check", "migrate", "shell"):
        import_module(f"django.core.management.commands.{name}")
    for name in get_installed_libraries().values():
        import_module(name)
    get_resolver()._populate()  # type: ignore[attr-defined]
    LazySettings.__getattr__ = original  # type: ignore[method-assign]
    differing = {name for name in read - SAME if not name.startswith("NINJA_")}
    assert not differing, f"a module of the hub reads settings while it is loaded: {differing}"
    gc.collect()
    gc.freeze()


def forget() -> None:
    """The settings and connections are those of the process that begins."""
    settings._wrapped = empty
    del sys.modules["memoryhub.settings"], sys.modules["memoryhub"].settings  # type: ignore[attr-defined]
    connections._settings = None
    connections.__dict__.pop("settings", None)
    del connections["default"]


def serve(channel: socket.socket) -> list[str]:
    """Begins a process for each order until the channel is closed; in each of them, returns its arguments."""
    while True:
        head, rights, *_ = channel.recvmsg(4, socket.CMSG_SPACE(12))
        if not head:
            os._exit(0)
        descriptors = array.array("i", rights[0][2])
        order = json.loads(channel.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL))
        between = os.fork()
        if not between:
            first_parent = os.getpid()
            if child := os.fork():
                channel.sendall(str(child).encode())
                os._exit(0)
            channel.close()
            while os.getppid() == first_parent:
                time.sleep(0.001)
            become(order, list(descriptors))
            return order["arguments"]
        os.waitpid(between, 0)
        channel.sendall(b"\n")
        for descriptor in descriptors:
            os.close(descriptor)


def become(order: dict[str, Any], descriptors: list[int]) -> None:
    """Makes this process one as the shell would have begun it."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    os.closerange(3, max(descriptors) + 1)
    if order["session"]:
        os.setsid()
    os.umask(order["umask"])
    os.chdir(order["directory"])
    os.environ.clear()
    os.environ.update(order["environment"])
    time.tzset()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, errors="backslashreplace", closefd=False)
    forget()


def execute(arguments: list[str]) -> None:
    """Runs what the arguments of Python say, as the module `__main__`."""
    kind, *others = arguments
    if kind == "-m":
        sys.argv = others
        runpy.run_module(others[0], run_name="__main__", alter_sys=True)
    elif kind == "-c":
        sys.argv, sys.path[0] = ["-c", *others[1:]], ""
        exec(compile(others[0], "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102  (what `python -c` does)
    else:
        sys.argv = arguments
        runpy.run_path(kind, run_name="__main__")


def finish(arguments: list[str]) -> NoReturn:
    """Executes them and ends as Python does, but without taking apart all that is loaded."""
    status: object = 1
    try:
        execute(arguments)
        status = 0
    except SystemExit as error:
        status = error.code or 0
        if not isinstance(status, int):
            sys.stderr.write(f"{status}\n")
            status = 1
    except BaseException:
        traceback.print_exc()
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status if isinstance(status, int) else 1)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    load()
    finish(serve(socket.socket(fileno=int(sys.argv[1]))))
