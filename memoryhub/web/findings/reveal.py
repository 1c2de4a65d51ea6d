"""Revealing the masked values of a version. Only a curator may do this, and it is audited."""

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from memoryhub.actions.findings import findings
from memoryhub.models import AuditEntry, MemoryStore, Role
from memoryhub.web.common.forms import LONGEST_NOTE
from memoryhub.web.common.guards.access import act, in_store
from memoryhub.web.common.request import Request
from memoryhub.web.common.texts.lines import numbered_lines
from memoryhub.web.common.texts.masking import cover_of, values_in
from memoryhub.web.common.versions import memory_of, version_of
from memoryhub.web.history.versions import page_context


@require_POST
@in_store(Role.CURATOR)
def reveal(request: Request, store: MemoryStore, version_id: str) -> HttpResponse:
    """Show the text once with its values unmasked. The response is not cached, so a reload asks again."""
    version = version_of(store, version_id)
    memory = memory_of(store, version.memory_id)
    text = findings.reveal(store.pk, version.pk, act(request, request.POST.get("note", "")[:LONGEST_NOTE]))
    if text is None:
        raise Http404
    spans = values_in(text, cover_of(store.pk, memory.pk))
    entry = AuditEntry.objects.of_chain(store.pk).filter(command="reveal", version=version.pk).newest().first()
    answer = render(
        request,
        "findings/reveal.html",
        page_context(
            request,
            store,
            memory,
            version=version,
            lines=numbered_lines(text, marks=spans),
            count=len(spans),
            entry=entry,
            is_current=version.pk == memory.head_id,
        ),
    )
    answer.headers["Cache-Control"] = "no-store"
    return answer
