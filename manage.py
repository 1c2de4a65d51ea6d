#!/usr/bin/env python
"""Django's command line for MemoryHub."""

import gc
import os
import sys

from django.core.management import execute_from_command_line


def main() -> None:
    """Runs a command, also where the shell has closed its input or an output: no file that it opens takes their place,
    to be written to as if it were one."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        continue
    os.close(descriptor)
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
    # What is loaded at a start stays. To look for garbage after each few hundred objects takes a fifth of the start.
    gc.set_threshold(50_000, 20, 50)

    try:
        execute_from_command_line(sys.argv)
    except KeyboardInterrupt:
        sys.exit(128 + 2)


if __name__ == "__main__":
    main()
