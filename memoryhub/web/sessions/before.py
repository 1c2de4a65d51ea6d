"""The earlier sessions of an agent, and the changes from the end of each to the end of a given later session."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db.models import OuterRef, Subquery

from memoryhub.models import AuditEntry, MemoryStore, Session
from memoryhub.models.access import LOOKED_AT
from memoryhub.web.common.moment_addresses import of_changes

MOST_STORES = 3


@dataclass(frozen=True, slots=True)
class Before:
    """The earlier session in a store: its name, and the URL of the changes since its end."""

    store: MemoryStore
    name: str
    url: str


def sessions_before(session: Session, stores: Sequence[MemoryStore]) -> Iterator[Before]:
    """Yield for each store the newest earlier session of the same agent, in at most MOST_STORES stores. A store without
    such a session is left out."""
    earlier = Session.objects.filter(agent=session.agent_id, pk__lt=session.pk).newest().values("pk")[:LOOKED_AT]
    for store in stores[:MOST_STORES]:
        acts = AuditEntry.objects.filter(chain=store.pk, session=OuterRef("pk")).order_by("-seq").values("seq")[:1]
        before = Session.objects.filter(pk__in=Subquery(earlier)).known_in([store.pk]).newest()
        found = before.annotate(last=Subquery(acts)).values_list("name", "last").first()
        own = AuditEntry.objects.of_chain(store.pk).of_session(session.pk).newest()
        end = own.values_list("seq", flat=True).first()
        if found and end is not None:
            yield Before(store, found[0], of_changes(store.pk, found[1], end))
