"""The examples of frameworks in docs/agents.md, each run with the newest release in its registry, in the long form.

They are installed into a place of the test alone: each has dependencies of its own, and none is one of the hub.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.test_agents_doc import FRAMEWORKS, MEMORY, Desk, block, desk, run
from tests.support.any_model import any_model

__all__ = ["desk"]

pytestmark = pytest.mark.long
SAYS = "Ada likes it short."
QUIET = {"OPENAI_AGENTS_DISABLE_TRACING": "1", "OTEL_SDK_DISABLED": "true", "CREWAI_DISABLE_TELEMETRY": "true"}


def installed(language: str, packages: list[str], place: Path) -> list[str]:
    """Install packages into a place; return the command that runs a file there."""
    if language == "typescript":
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", *packages], cwd=place, check=True)
        return ["node", "example.mjs"]
    subprocess.run([sys.executable, "-m", "venv", "venv"], cwd=place, check=True)
    subprocess.run(["venv/bin/pip", "install", "--quiet", *packages], cwd=place, check=True)
    return ["venv/bin/python", "example.mjs"]


@pytest.mark.parametrize("heading", FRAMEWORKS)
def test_an_agent_of_a_framework_remembers(desk: Desk, heading: str, tmp_path: Path) -> None:
    language, packages = FRAMEWORKS[heading]
    command = installed(language, packages.split(), tmp_path)
    (tmp_path / "example.mjs").write_text(block(heading, language).text)
    with any_model(SAYS) as model:
        url = f"http://127.0.0.1:{model.port}"
        messages = url + "/v1" if language == "typescript" else url
        places = {"ANTHROPIC_BASE_URL": messages, "OPENAI_BASE_URL": f"{url}/v1"}
        keys = {"ANTHROPIC_API_KEY": "sk-none", "OPENAI_API_KEY": "sk-none", "HOME": str(tmp_path)}
        hub = {name: value for name, value in desk.environment.items() if name.startswith("MEMORYHUB_")}
        known = {"PATH": os.environ["PATH"], **hub, **places, **keys, **QUIET}
        printed = run(command, tmp_path, known)
    assert SAYS in printed
    assert MEMORY in model.results, "the model saw what the tool answered"
