"""The prompting guidance of the memory tool's documentation, as parts of a system prompt."""

PROTOCOL = """IMPORTANT: ALWAYS VIEW YOUR MEMORY DIRECTORY BEFORE DOING ANYTHING ELSE.
MEMORY PROTOCOL:
1. Use the `view` command of your `memory` tool to check for earlier progress.
2. ... (work on the task) ...
     - As you make progress, record status / progress / thoughts etc in your memory.
ASSUME INTERRUPTION: Your context window might be reset at any moment, so you risk losing any progress that is not \
recorded in your memory directory."""
"""The API adds this to the system prompt of every request with the memory tool."""

TIDY = """Note: when editing your memory folder, always try to keep its content up-to-date, coherent and organized. \
You can rename or delete files that are no longer relevant. Do not create new files unless necessary."""

ONLY = "Only write down information relevant to {topic} in your memory system."


def system_prompt(own: str = "", *, tidy: bool = False, topic: str = "") -> str:
    """Return a system prompt: a person's own text, and the guidance that they chose. `topic` is what to write down."""
    parts = [own.strip(), TIDY if tidy else "", ONLY.format(topic=topic.strip()) if topic.strip() else ""]
    return "\n\n".join(part for part in parts if part)
