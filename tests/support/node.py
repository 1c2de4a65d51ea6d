"""The TypeScript SDK for tests, where it can be had."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.api.server import ROOT


def typescript_sdk() -> Path:
    """Return where `tools/typescript.sh` installs the pinned SDK. Where it cannot, the test is skipped and says why."""
    done = subprocess.run(["sh", "tools/typescript.sh"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        why = f"The TypeScript SDK cannot be had: {done.stderr.strip() or done.stdout.strip()}"
        (pytest.fail if os.environ.get("MEMORYHUB_REQUIRE_NODE") else pytest.skip)(why)
    return ROOT / ".venv" / "typescript"
