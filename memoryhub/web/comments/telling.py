"""A person acts on a version, and sends a note on the act to the agent that wrote this version."""

from django.utils.translation import gettext as _

from memoryhub.actions.comments import addressee, comments
from memoryhub.actions.core.audit import Act
from memoryhub.models import Memory, MemoryVersion
from memoryhub.templatetags.visible import isolated
from memoryhub.web.comments.refusals import REFUSALS, why


def problem(note: str, tell: str) -> str:
    """Return a sentence that says why a note cannot be delivered to the agent `tell`. Return "" if it can."""
    if not tell or (note and comments.can_be_note(note)):
        return ""
    return why(comments.NotANote()) if note else _("Write in the note what you tell the agent.")


def tell_note(version: MemoryVersion, note: str, tell: str, act: Act) -> str:
    """Send `note`, which is about a version, to the agent `tell`. Return a sentence that says when the agent will read
    the note, or why it will not."""
    try:
        comments.write(version.store_id, version.memory_id, version.pk, None, note, act, tell=tell)
    except REFUSALS as error:
        return why(error)
    memory = Memory.objects.get(store_id=version.store_id, pk=version.memory_id)
    agent = addressee.agent_of(memory, version.number, None)
    name = {"name": isolated(agent.name if agent else "")}
    if memory.is_live:
        return _("%(name)s reads the note when it next views the memory.") % name
    return (
        _(
            "The memory is in the trash: %(name)s reads the note only if it views the memory "
            "after the memory is restored."
        )
        % name
    )
