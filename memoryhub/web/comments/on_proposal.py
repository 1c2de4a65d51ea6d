"""The conversations about a proposal."""

from collections import defaultdict

from memoryhub.actions.comments import notices
from memoryhub.models import Comment, Proposal
from memoryhub.web.comments import notes
from memoryhub.web.comments.threads import Thread


def of_proposal(proposal: Proposal) -> list[Thread]:
    """Return the conversations about a proposal, oldest first."""
    found = Comment.objects.of_proposals(proposal.store_id, [proposal.pk])
    rows = list(found.select_related("by", "resolved_by").order_by("pk"))
    by_thread: dict[str, list[Comment]] = defaultdict(list)
    for comment in rows:
        by_thread[comment.thread].append(comment)
    agents = notes.agents_of(rows)
    told = notes.notes_of(proposal.store_id, rows, agents)
    gone = notices.gone_from(proposal.store_id, rows)
    threads = [
        Thread(each, None, agent=agents.get(proposal.agent), notes=told, gone=gone) for each in by_thread.values()
    ]
    return [thread for thread in threads if thread.count]
