"""Filters of pages that people saved under a name."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from memoryhub.models.access import User
from memoryhub.models.fields import IdField
from memoryhub.models.stores import MemoryStore


class SavedViewQuerySet(models.QuerySet["SavedView"]):
    def visible_to(self, user: User) -> SavedViewQuerySet:
        """Return a person's own views, and the views shared in stores in which the person has a role.

        A superuser sees every shared view.
        """
        if user.is_superuser:
            return self.filter(Q(owner=user) | Q(is_shared=True))
        return self.filter(Q(owner=user) | Q(is_shared=True, store__members__user=user)).distinct()

    def of_page(self, page: str) -> SavedViewQuerySet:
        return self.filter(page=page)

    def by_name(self) -> SavedViewQuerySet:
        return self.order_by("name", "id")


class SavedView(models.Model):
    """The query of a page, saved under a name. A shared view belongs to a store, and the store's members can see it.

    `page` is the name of the page's route, and `query` the part of its address after the `?`.
    """

    id = IdField(primary_key=True)
    owner = models.ForeignKey(User, models.CASCADE, related_name="+")
    store = models.ForeignKey(MemoryStore, models.CASCADE, null=True, related_name="+")
    page = models.CharField(max_length=40)
    name = models.CharField(max_length=100)
    query = models.TextField(default="", blank=True)
    is_shared = models.BooleanField(default=False)
    created_at = models.DateTimeField()

    objects = SavedViewQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "page", "name"], name="saved_view_name")]

    def __str__(self) -> str:
        return self.name
